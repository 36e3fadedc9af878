"""The two forms of the score, which must never be mixed up silently."""

from typing import Literal

Form = Literal["l2", "cosine"]
"""``l2``: distances, as in the paper. ``cosine``: similarities, as in ColBERT's MaxSim and every engine
that computes it. The square root inside the sum makes them rank differently once tokens have weights."""

DEFAULT_FORM: Form = "l2"
"""The form that is used unless another one is given."""
