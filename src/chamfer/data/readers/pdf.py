"""The title and the text of a PDF. Needs the extra ``chamfer[pdf]``."""

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from chamfer.data.readers.parts import Parts
from chamfer.data.reading import note
from chamfer.errors import InputError, first_line


def pdf_parts(content: bytes, where: str) -> Parts:
    """The title that the PDF gives itself, its pages with blank lines between them, and their number."""
    try:
        import pypdf
        from pypdf.errors import DependencyError
    except ModuleNotFoundError as error:
        raise InputError(f"{where} is PDF, which needs pypdf; run: pip install 'chamfer[pdf]'") from error
    try:
        with _quiet():
            file = pypdf.PdfReader(io.BytesIO(content))
            locked = file.is_encrypted and not file.decrypt("")
            pages = [] if locked else [page.extract_text().strip() for page in file.pages]
            title = "" if locked else str((file.metadata and file.metadata.title) or "").strip()
    except DependencyError as error:
        raise InputError(
            f"{where} is encrypted with AES, which needs cryptography: pip install cryptography"
        ) from error
    except Exception as error:
        # A damaged PDF makes pypdf raise anything.
        raise InputError(f"{where} cannot be read as PDF ({first_line(error)}); print it to PDF again") from error
    if locked:
        raise InputError(f"{where} is encrypted; save it without a password, for example with: qpdf --decrypt")
    text = "\n\n".join(filter(None, pages))
    without = pages.count("")
    if 0 < without < len(pages):
        have = "has" if without == 1 else "have"
        note(f"{where}: {without} of {len(pages)} pages {have} no text; OCR adds it, for example ocrmypdf")
    return Parts(_storable(title), _storable(text), {"pages": len(pages)})


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what pypdf reports of each PDF that it can repair, as viewers do."""
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def _storable(text: str) -> str:
    """Without NULs and halves of surrogate pairs, which broken fonts leave in a text."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode()
