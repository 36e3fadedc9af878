"""Vectors that are made once: the same texts through the same model are read back from disk."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chamfer.cache.corpus import EncodedCorpus, encode_corpus
from chamfer.data.fingerprint import fingerprint
from chamfer.encode.encoder import Encoder
from chamfer.encode.settings import Role
from chamfer.support.progress import Advance, ignore
from chamfer.workers.jobs import HERE, Workers


def default_cache() -> Path:
    """``chamfer`` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chamfer"


def encode_cached(
    cache: Path,
    encoder: Encoder,
    ids: Sequence[str],
    texts: Sequence[str],
    *,
    role: Role = "document",
    advance: Advance = ignore,
    workers: Workers = HERE,
) -> EncodedCorpus:
    """Encode texts, or open what an earlier run made of the same ids, texts and encoder.

    Interrupted work goes on where it stopped.
    """
    made_from = {"encoder": encoder.fingerprint(role), "role": role, "texts": fingerprint(ids, texts)}
    key = hashlib.sha256("-".join(made_from.values()).encode()).hexdigest()[:16]
    return encode_corpus(
        cache / f"{role}-{key}",
        ids,
        texts,
        encode=encoder.encode_queries if role == "query" else encoder.encode_documents,
        made_from=made_from,
        advance=advance,
        device=encoder.scoring_device,
        workers=workers,
        gpu=encoder.may_use_gpu,
    )


def origin(corpus: str, documents: Mapping[str, str], encoder: Encoder) -> dict[str, Any]:
    """What weights that are counted over a corpus are made from, for their metadata."""
    return {
        "corpus": corpus,
        "texts": fingerprint(list(documents), list(documents.values())),
        "encoder": encoder.name,
        "document_length": encoder.document_length,
    }
