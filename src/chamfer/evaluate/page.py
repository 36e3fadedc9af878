"""The files of the web page: a report of an evaluation contains some, and a server serves all of them.

They are data here: nothing of the server is imported.
"""

from importlib.resources import files

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
"""Types of the files, by the ends of their names."""

FOLDER = files("chamfer") / "serve" / "page"


def page_file(name: str) -> str:
    """The text of a file of the page."""
    return (FOLDER / name).read_text(encoding="utf-8")
