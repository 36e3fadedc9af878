"""What became of a request: an answer, an error in one sentence, or another try."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from chamfer.errors import InputError, ServerError, UnknownNameError, first_line
from chamfer.index.filter_errors import at_position

if TYPE_CHECKING:
    import httpx

    Outcome: TypeAlias = httpx.Response | httpx.RequestError

TRIES = 3

# The server sends Retry-After with these: too many requests are waiting, or time was up.
LATER = (429, 503)


class Turns:
    """The tries of one call, which end with its time.

    A request is sent again if the server asks for that, or if the connection broke before the answer came: a server
    may close one that was idle just as it is used again.

    Args:
        seconds: time for the whole call.
    """

    def __init__(self, seconds: float) -> None:
        self._until, self._tries = time.monotonic() + seconds, 0

    @property
    def seconds(self) -> float:
        """The time that is left."""
        return max(self._until - time.monotonic(), 0.001)

    def pause_after(self, outcome: "Outcome") -> float | None:
        """Seconds until the next try; None if there is none."""
        import httpx

        self._tries += 1
        pause = None
        if isinstance(outcome, httpx.Response):
            after = outcome.headers.get("retry-after", "")
            if outcome.status_code in LATER and after.isdecimal():
                pause = float(after)
        elif isinstance(outcome, httpx.RemoteProtocolError | httpx.ReadError | httpx.WriteError):
            pause = 0.0
        return pause if pause is not None and self._tries < TRIES and pause < self.seconds else None


def answer_of(
    outcome: "Outcome", url: str, *, seconds: float, has_key: bool, where: object = None
) -> Mapping[str, Any]:
    """The JSON of an answer, or the error that an outcome stands for.

    Args:
        outcome: what became of the request.
        url: address of the server.
        seconds: time that the call had.
        has_key: whether a key was sent.
        where: the filter that was sent, if there was one.
    """
    import httpx

    if isinstance(outcome, httpx.Response):
        return _json_of(outcome, url, has_key=has_key, where=where)
    if isinstance(outcome, httpx.ConnectError | httpx.ConnectTimeout):
        raise ServerError(
            f"cannot connect to {url} ({first_line(outcome)}); check the address, and that chamfer serve runs there"
        ) from outcome
    if isinstance(outcome, httpx.TimeoutException):
        raise ServerError(
            f"{url} did not answer within {seconds:g} seconds; ask for less at a time, or allow more"
        ) from outcome
    raise ServerError(f"the connection to {url} broke ({first_line(outcome)}); try again") from outcome


def _json_of(response: "httpx.Response", url: str, *, has_key: bool, where: object) -> Mapping[str, Any]:
    status = response.status_code
    try:
        parsed = response.json()
    except ValueError:  # not JSON, or not text
        parsed = None
    if response.is_success and isinstance(parsed, dict):
        return parsed
    if response.has_redirect_location:
        raise InputError(f"{url} redirects to {response.headers['location']}; give the address that it redirects to")
    message = parsed.get("message") if isinstance(parsed, dict) else None
    if not isinstance(message, str):
        raise foreign(url, f"HTTP {status}")
    if status == 401:
        raise InputError(
            f"{url} refuses the API key; check it"
            if has_key
            else f"{url} requires an API key; give one with key=, or to commands with CHAMFER_API_KEY"
        )
    if status == 404:
        raise UnknownNameError(message)
    if status in LATER or status >= 500:
        raise ServerError(message)
    position = parsed.get("position")
    if isinstance(where, str) and isinstance(position, int) and 0 < position <= len(where) + 1:
        raise at_position(message, where, position)
    raise InputError(message)


def foreign(url: str, why: str) -> InputError:
    """The error about an answer that a chamfer server of this version does not give."""
    return InputError(f"{url} does not answer as chamfer serve of this version does ({why}); check the address")
