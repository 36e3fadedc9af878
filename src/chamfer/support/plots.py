"""Whether a plot can be drawn; imports nothing that takes long."""

from pathlib import Path

from chamfer.errors import InputError

KINDS = (".png", ".svg", ".pdf")


def check_plot(path: Path) -> None:
    """Raise an error if a plot could not be drawn, before any work is done for it."""
    if path.suffix not in KINDS:
        raise InputError(f"a plot is saved as {', '.join(KINDS)}, not {path.name!r}")
    try:
        import matplotlib.figure  # noqa: F401 -- only whether it is there
    except ImportError as error:
        raise InputError("plots need matplotlib: pip install 'chamfer[plot]'") from error
