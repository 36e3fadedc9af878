"""Limits of a server."""

from dataclasses import dataclass

SHARD_SECONDS = 10.0
"""Time limit for a question to a shard, including retries."""

FILTER_SECONDS = 5.0
"""Time limit for finding the documents that pass the filter of a request, in one index or shard."""

FILTER_COMPARISONS = 50
"""Largest number of comparisons in the filter of a request."""

FILTER_PATTERN = 200
"""Largest number of characters in a LIKE pattern of such a filter: the time for one value grows with them."""

BODY_VALUES = 250_000
"""Largest number of commas and opening brackets outside the strings of a request; 100,000 changed weights have half."""


@dataclass(frozen=True)
class Limits:
    """Limits on requests and connections.

    Args:
        body_bytes: largest request body.
        file_bytes: largest weights file, enough for 250,000 tokens; less if the encoder has fewer.
        head_bytes: largest request line and headers together; also the largest chunk extension or trailer of a body.
        head_seconds: time limit for a client to send the next request line and headers.
        reading_seconds: time limit for a client to send a request body.
        writing_seconds: time limit for a client to read an answer that fills the buffers.
        seconds: time limit for an answer.
        learning_seconds: time limit for learning.
        evaluating_seconds: time limit for an evaluation.
        changing_seconds: time limit for changing documents, which are encoded first.
        waiting: largest number of queued requests; more are refused with status 429.
        batch: largest number of searches in a batch.
        connections: largest number of open connections; more are refused with status 503.
        connections_per_address: largest number of them from one address. A reverse proxy is one address: its limit is
            still more than the requests that can wait.
    """

    body_bytes: int = 4 << 20
    file_bytes: int = 64 << 20
    head_bytes: int = 64 << 10
    head_seconds: float = 10.0
    reading_seconds: float = 10.0
    writing_seconds: float = 30.0
    seconds: float = 30.0
    learning_seconds: float = 600.0
    evaluating_seconds: float = 600.0
    changing_seconds: float = 300.0
    waiting: int = 64
    batch: int = 32
    connections: int = 512
    connections_per_address: int = 128
