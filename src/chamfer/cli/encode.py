"""``chamfer encode``."""

import typer

from chamfer.cli.options import AllowEmpty, AsJson, CacheFolder, CorpusPath, DocumentLength, EncoderName, RayAddress
from chamfer.cli.terminal import print_json, progress_bar, resumable, say, say_truncated
from chamfer.encode.settings import MINILM
from chamfer.workers.connect import workers_at


def encode(
    corpus: CorpusPath,
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

    documents = load_documents(corpus, allow_empty=allow_empty)

    from chamfer.cache.encoded import encode_cached
    from chamfer.cache.location import default_cache
    from chamfer.encode.encoder import Encoder
    from chamfer.weights.counting import count_tokens

    texts = list(documents.values())
    model = Encoder.load(encoder, document_length=document_length)
    with resumable(), workers_at(ray) as workers:
        with progress_bar("encoding documents", len(texts)) as advance:
            encoded = encode_cached(
                cache or default_cache(), model, list(documents), texts, advance=advance, workers=workers
            )
        truncated = count_tokens(model, texts, progress=progress_bar, workers=workers).truncated
    tokens = encoded.tokens
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
    say_truncated("documents", truncated, len(texts), model.document_length)
    typer.echo(encoded.folder)
