"""How a client reaches its server: the address, the key, and httpx."""

import json
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from chamfer.client import answers
from chamfer.client.outcomes import answer_of, foreign
from chamfer.client.questions import Question
from chamfer.errors import InputError
from chamfer.support.api_key import check_key

if TYPE_CHECKING:
    from types import ModuleType

    from chamfer.client.outcomes import Outcome

SECONDS = 60.0
"""Time for a call by default: twice what a server gives itself."""

Result = TypeVar("Result")


class Connection:
    """What requests to one server have in common.

    Args:
        url: address of the server.
        key: API key, if the server requires one.
        timeout: seconds that a call may take.
    """

    def __init__(self, url: str, key: str | None, timeout: float) -> None:
        self.url, self.seconds, self._has_key = _checked(url), timeout, key is not None
        self.headers = {"content-type": "application/json", "accept": "application/json"}
        if not timeout > 0:
            raise InputError(f"timeout must be more than 0 seconds, not {timeout:g}")
        if key is not None:
            check_key(key)
            self.headers["authorization"] = f"Bearer {key}"

    def settings(self) -> dict[str, Any]:
        """Arguments of httpx's clients."""
        return {"base_url": self.url, "headers": self.headers}

    def read(self, question: Question[Result], outcome: "Outcome") -> tuple[Result, list[str]]:
        """The result that an outcome holds, and what the server notes about the request; or its error."""
        where = None if question.body is None else question.body.get("where")
        answer = answer_of(outcome, self.url, seconds=self.seconds, has_key=self._has_key, where=where)
        try:
            return question.read(answer), answers.notes(answer)
        except InputError:
            raise
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise foreign(self.url, f"{type(error).__name__}: {error}") from error


def body_of(question: Question[Any]) -> bytes | None:
    """The body of a request, if it has one; what is not text is escaped, for the server to refuse."""
    if question.body is None:
        return None
    try:
        return json.dumps(question.body).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"the request cannot be written as JSON: {error}") from error


def _checked(url: str) -> str:
    httpx, authority = needed_httpx(), url
    try:
        parts = urlsplit(url)
        authority = parts.netloc or url
        httpx.URL(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        known = known and not parts.query and not parts.fragment
    except (ValueError, httpx.InvalidURL):  # such as a port that is no number
        known = False
    if "@" in authority:  # would replace the key, and be printed in messages
        raise InputError(
            "the address of a server must not hold a user name or a password; give the API key with key=, or to "
            "commands with CHAMFER_API_KEY"
        )
    if not known:
        raise InputError(f"{url!r} is not the address of a server; give one such as http://localhost:8000")
    return url.rstrip("/")


def needed_httpx() -> "ModuleType":
    """The library that sends requests."""
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is missing; install the client with: pip install 'chamfer[client]'") from error
    return httpx
