"""The title and the text of a PDF. Needs the extra ``chamfer[pdf]``."""

import io
import logging
import warnings

from chamfer.data.readers.parts import Parts
from chamfer.errors import InputError, first_line


def pdf_parts(content: bytes, where: str) -> Parts:
    """The title that the PDF gives itself, its pages with blank lines between them, and their number."""
    try:
        import pypdf
        from pypdf.errors import DependencyError
    except ModuleNotFoundError as error:
        raise InputError(f"{where} is PDF, which needs pypdf; run: pip install 'chamfer[pdf]'") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports what it could repair
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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
    return Parts(_storable(title), _storable(text), {"pages": len(pages)})


def _storable(text: str) -> str:
    """Without NULs and halves of surrogate pairs, which broken fonts leave in a text."""
    return text.replace("\0", "").encode("utf-8", "ignore").decode()
