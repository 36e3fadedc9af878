"""Errors that a person can act on. Any other exception is a bug in chamfer and keeps its traceback."""


class InputError(ValueError):
    """The input cannot be used; the message is one sentence that says why and what to do about it.

    The command line prints the message and exits with code 2, as it does for an ``OSError``.

    >>> from chamfer import Document, InputError
    >>> try:
    ...     Document(17, "Cats sleep all day.")
    ... except InputError as error:
    ...     print(error)
    a document id must be a string, not the integer 17; write it as '17'
    """


class DamagedError(InputError):
    """Files that chamfer wrote are damaged or missing; no other input would help."""


class UnknownNameError(InputError):
    """The input names something that does not exist: a document, a token, a version."""


class InputWarning(UserWarning):
    """The input can be used, but most likely not as intended; the message is one sentence that says why.

    The command line prints it as a note.
    """


class WorkerError(RuntimeError):
    """A worker of the Ray cluster failed, although the input is fine.

    Either it died more often than it is restarted, or its job raised an unexpected exception. Finished work stays on
    disk, so the same call resumes it. The command line prints the message and exits with code 1.
    """


class ServerError(RuntimeError):
    """A server cannot be reached, takes too long or fails to answer, although the input may be fine.

    The command line prints the message and exits with code 1.
    """


def first_line(error: Exception) -> str:
    """The first line of an error's message, without a full stop; libraries put hints and details after it."""
    return _lines(error)[0].rstrip(".")


def last_line(error: Exception) -> str:
    """The last line of an error's message; Ray puts a traceback before it."""
    return _lines(error)[-1]


def _lines(error: Exception) -> list[str]:
    return (str(error).strip() or type(error).__name__).splitlines()
