"""Limits of a server."""

from dataclasses import dataclass

SHARD_SECONDS = 10.0
"""Time limit for a question to a shard, including retries."""

FILTER_SECONDS = 5.0
"""Time limit for finding the documents that pass the filter of a request, in one index or shard."""

FILTER_COMPARISONS = 50
"""Largest number of comparisons in the filter of a request."""


@dataclass(frozen=True)
class Limits:
    """Limits on requests and connections.

    Args:
        body_bytes: largest request body.
        file_bytes: largest weights file; enough for a vocabulary of 250,000 tokens.
        reading_seconds: time limit for a client to send a request.
        seconds: time limit for an answer.
        learning_seconds: time limit for learning.
        waiting: largest number of queued requests; more are refused with status 429.
        batch: largest number of searches in a batch.
        connections: largest number of open connections.
    """

    body_bytes: int = 4 << 20
    file_bytes: int = 64 << 20
    reading_seconds: float = 10.0
    seconds: float = 30.0
    learning_seconds: float = 600.0
    waiting: int = 64
    batch: int = 32
    connections: int = 512
