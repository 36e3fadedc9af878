"""Which token matched what, what its weight did, and why one document stands above another."""

from chamfer.explain.explanation import Difference, Explanation, Explanations, Match, Word
from chamfer.explain.matching import explain, explain_tokens

__all__ = ["Difference", "Explanation", "Explanations", "Match", "Word", "explain", "explain_tokens"]
