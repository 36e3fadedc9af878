"""``chamfer encode``."""

from pathlib import Path
from typing import Annotated

import typer

from chamfer.cli.options import AllowEmpty, AsJson, CacheFolder, DocumentLength, EncoderName
from chamfer.cli.terminal import print_json, progress_bar, say


def encode(
    corpus: Annotated[Path, typer.Argument(help="A BEIR folder, or a file of JSON lines.")],
    encoder: EncoderName = "minilm",
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    as_json: AsJson = False,
) -> None:
    """Encode a corpus once; rerank and evaluate then read its vectors from disk.

    Can be interrupted at any time and goes on where it stopped.

    Example: chamfer encode my-corpus/ --encoder colbert-ir/colbertv2.0
    """
    from chamfer.cache import default_cache, encode_cached
    from chamfer.encode import Encoder
    from chamfer.evaluation.beir import load_documents

    documents = load_documents(corpus, allow_empty=allow_empty)
    model = Encoder.load(encoder, document_length=document_length)
    label = (corpus if corpus.is_dir() else corpus.parent).resolve().name
    with progress_bar("encoding documents", len(documents)) as advance:
        encoded = encode_cached(
            cache or default_cache(),
            label,
            model,
            list(documents),
            list(documents.values()),
            advance=advance,
        )
    truncated = model.tokenize(list(documents.values()), "document").truncated
    if as_json:
        print_json(
            {
                "documents": len(encoded),
                "tokens": len(encoded.tokens.vectors),
                "dimensions": encoded.tokens.dimensions,
                "truncated": truncated,
                "folder": str(encoded.folder),
            }
        )
        return
    say(
        f"{len(encoded)} documents, {len(encoded.tokens.vectors)} token vectors of {encoded.tokens.dimensions} "
        f"dimensions; {truncated} documents were cut to {model.document_length} tokens"
    )
    typer.echo(encoded.folder)
