"""The files of the page, read once at import, so that a name in a request never reaches the file system."""

from chamfer.evaluate.page import FOLDER, KINDS
from chamfer.evaluate.report import report_page

PAGE: dict[str, tuple[bytes, str]] = {
    entry.name: (entry.read_bytes(), KINDS[entry.name.rpartition(".")[2]])
    for entry in FOLDER.iterdir()
    if entry.name.rpartition(".")[2] in KINDS
}

# What the page puts an evaluation into to save it; as a page of the server, it would not be allowed to run its script.
PAGE["report.txt"] = report_page().encode(), "text/plain; charset=utf-8"
