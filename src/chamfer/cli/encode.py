"""``chamfer encode``."""

import typer

from chamfer.cli.options import (
    AllowEmpty,
    AsJson,
    CacheFolder,
    CorpusPath,
    Delimiter,
    DocumentLength,
    EncoderName,
    FormatName,
    IdField,
    RayAddress,
    TextField,
    TitleField,
)
from chamfer.cli.terminal import AGAIN, print_json, resumable, say, say_truncated
from chamfer.data.reading import Reading
from chamfer.encode.settings import MINILM


def encode(
    corpus: CorpusPath,
    id_field: IdField = None,
    text_field: TextField = None,
    title_field: TitleField = None,
    format: FormatName = None,  # noqa: A002 -- the option's name
    delimiter: Delimiter = None,
    encoder: EncoderName = MINILM,
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Encode a corpus into the cache, which rerank, evaluate and learn read.

    An interrupted run resumes where it stopped.

    Example: chamfer encode my-corpus/ --encoder colbert-ir/colbertv2.0
    """
    from chamfer.data.collection import load_documents

    reading = Reading(id_field, text_field, title_field, format, delimiter)
    documents = load_documents(corpus, reading=reading, allow_empty=allow_empty)

    from chamfer.cache.encoded import cached_so_far, fill_cache
    from chamfer.encode.encoder import Encoder

    model = Encoder.load(encoder, document_length=document_length)

    def so_far() -> str:
        done = cached_so_far(model, documents, cache=cache)
        return f"{done:,} of {len(documents):,} documents are encoded; {AGAIN}"

    with resumable(so_far):
        encoded = fill_cache(model, documents, cache=cache, ray=ray)
    tokens, truncated = encoded.tokens, encoded.truncated
    if as_json:
        print_json(
            {
                "documents": len(encoded),
                "tokens": len(tokens.vectors),
                "dimensions": tokens.dimensions,
                "truncated": truncated,
                "folder": str(encoded.folder),
            }
        )
        return
    say(f"{len(encoded)} documents, {len(tokens.vectors)} token vectors of {tokens.dimensions} dimensions")
    say_truncated("documents", truncated or 0, len(documents), model.document_length)
    typer.echo(encoded.folder)
