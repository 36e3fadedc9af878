"""Relevance from 0 to 1, the scale that other libraries and services use for scores."""


def relevance(normalised: float) -> float:
    """Map a normalised score to the range from 0 to 1, where a perfect match on every token is 1.

    Evidence of a mix raises a score, so that other good matches may reach 1, too: rank by score, not by relevance.

    >>> relevance(0.0), relevance(-0.5), relevance(float("-inf"))
    (1.0, 0.75, 0.0)
    """
    return min(max(1 + normalised / 2, 0.0), 1.0)
