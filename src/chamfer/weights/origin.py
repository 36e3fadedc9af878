"""Where weights come from: the corpus and the encoder, for their metadata."""

from typing import TYPE_CHECKING, Any

from chamfer.support.strings import encodable

if TYPE_CHECKING:  # the encoder imports torch, which takes seconds
    from chamfer.encode.encoder import Encoder


def origin(corpus: str, encoder: "Encoder", *, texts: str | None = None) -> dict[str, Any]:
    """Provenance of weights that are counted over a corpus.

    Args:
        corpus: name of the corpus; that of a folder may not be UTF-8.
        encoder: encoder whose tokens are counted.
        texts: :func:`chamfer.data.fingerprint.fingerprint` of the documents; None for an index, which changes.
    """
    counted = {"corpus": encodable(corpus)} if texts is None else {"corpus": encodable(corpus), "texts": texts}
    return {**counted, "encoder": encodable(encoder.name), "document_length": encoder.document_length}
