"""Errors that a person can act on. Any other exception is a bug in chamfer and keeps its traceback."""


class InputError(ValueError):
    """The input cannot be used; the message is one sentence that says why and what to do about it.

    The command line prints the sentence and exits with code 2, as it does for an ``OSError``.
    """


class UnknownNameError(InputError):
    """The input names something that does not exist: a document, a token, a version."""


class WorkerError(RuntimeError):
    """A worker of the Ray cluster failed, although the input is fine.

    Either it was lost more often than it is restarted, or its job raised an unexpected exception. Finished work stays
    on disk, so the same call resumes it. The command line prints the sentence and exits with code 1.
    """


def last_line(error: Exception) -> str:
    """The last line of an error's message, which leaves out the traceback that Ray puts before it."""
    return (str(error).strip() or type(error).__name__).splitlines()[-1]
