"""Where weights come from: the corpus and the encoder, for their metadata."""

from typing import TYPE_CHECKING, Any

from chamfer.support.strings import encodable

if TYPE_CHECKING:  # the encoder imports torch, which takes seconds
    from chamfer.encode.encoder import Encoder


def origin(
    corpus: str,
    encoder: "Encoder",
    *,
    texts: str | None = None,
    documents: int | None = None,
    passages: int | None = None,
) -> dict[str, Any]:
    """Provenance of weights that are counted over a corpus.

    Args:
        corpus: name of the corpus; that of a folder may not be UTF-8.
        encoder: encoder whose tokens are counted.
        texts: :func:`chamfer.data.fingerprint.fingerprint` of the documents; None for an index, which changes.
        documents: number of documents, if what is counted are their passages.
        passages: number of passages that are counted, if not documents.
    """
    told = {
        "corpus": encodable(corpus),
        "texts": texts,
        "encoder": encodable(encoder.name),
        "document_length": encoder.document_length,
        "documents": documents,
        "passages": passages,
    }
    return {name: value for name, value in told.items() if value is not None}
