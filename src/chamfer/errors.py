"""The one exception that means: the input must change, not the program."""


class InputError(ValueError):
    """What was given cannot be used; the message is one sentence that says why and what to do.

    The command line prints it and exits with code 2, as it does for what the machine refuses (``OSError``).
    Everything else that is raised is a bug and keeps its traceback.
    """


class UnknownNameError(InputError):
    """Something was named that is not there: a document, a token, a version."""


def last_line(error: Exception) -> str:
    """What an error says, without the trace that Ray puts before it."""
    return (str(error).strip() or type(error).__name__).splitlines()[-1]
