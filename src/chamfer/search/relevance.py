"""Relevance from 0 to 1, the scale that other libraries and services use for scores."""


def relevance(normalised: float) -> float:
    """Map a normalised score to the range from 0 to 1, where 1 is a perfect match on every token.

    >>> relevance(0.0), relevance(-0.5), relevance(float("-inf"))
    (1.0, 0.75, 0.0)
    """
    return min(max(1 + normalised / 2, 0.0), 1.0)
