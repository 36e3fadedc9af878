"""A cache of encoded texts: the same texts and encoder are encoded once, then read from disk."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from chamfer.cache.corpus import EncodedCorpus
from chamfer.cache.encoding import encode_corpus
from chamfer.cache.manifest import encoded_in
from chamfer.cache.text_encoder import TextEncoder
from chamfer.data.fingerprint import fingerprint
from chamfer.encode.encoder import Encoder
from chamfer.encode.settings import Role
from chamfer.support.cache_folder import default_cache
from chamfer.support.progress import Advance, ignore, shown
from chamfer.workers.connect import workers_at
from chamfer.workers.jobs import IN_PROCESS, Workers


def fill_cache(
    encoder: Encoder,
    documents: Mapping[str, str],
    *,
    cache: Path | None = None,
    progress: bool | None = None,
    ray: str | None = None,
) -> EncodedCorpus:
    """Encode documents into the cache, from which evaluating, learning and re-ranking read them.

    Args:
        encoder: the encoder.
        documents: texts by id.
        cache: folder of the cache; the user's cache folder by default.
        progress: whether to show a progress bar; by default only if stderr is a terminal.
        ray: address of a Ray cluster, or ``"local"`` for Ray workers on this machine; by default this process encodes.
    """
    ids, texts = list(documents), list(documents.values())
    with workers_at(ray) as workers, shown(progress)("encoding documents", len(texts)) as advance:
        return encode_cached(cache or default_cache(), encoder, ids, texts, advance=advance, workers=workers)


def encode_cached(
    cache: Path,
    encoder: Encoder,
    ids: Sequence[str],
    texts: Sequence[str],
    *,
    role: Role = "document",
    digest: str | None = None,
    advance: Advance = ignore,
    workers: Workers = IN_PROCESS,
) -> EncodedCorpus:
    """Encode texts, or open the result of an earlier call with the same ids, texts and encoder.

    An interrupted call is resumed.

    Args:
        cache: folder of the cache.
        encoder: the encoder.
        ids: unique ids.
        texts: the texts.
        role: whether they are queries or documents.
        digest: :func:`chamfer.data.fingerprint.fingerprint` of ids and texts, if already known.
        advance: progress callback.
        workers: workers that encode.
    """
    made_from = _made_from(encoder, role, digest or fingerprint(ids, texts))
    return encode_corpus(
        cache / _folder_of(made_from),
        ids,
        texts,
        encode=TextEncoder(encoder, role),
        made_from=made_from,
        advance=advance,
        device=encoder.scoring_device,
        workers=workers,
        gpu=encoder.may_use_gpu,
    )


def cached_so_far(encoder: Encoder, documents: Mapping[str, str], *, cache: Path | None = None) -> int:
    """Number of documents that :func:`fill_cache` has committed, after an interruption, say."""
    made_from = _made_from(encoder, "document", fingerprint(list(documents), list(documents.values())))
    return encoded_in((cache or default_cache()) / _folder_of(made_from))


def _made_from(encoder: Encoder, role: Role, digest: str) -> dict[str, str]:
    return {"encoder": encoder.fingerprint(role), "role": role, "texts": digest}


def _folder_of(made_from: Mapping[str, str]) -> str:
    key = hashlib.sha256("-".join(made_from.values()).encode()).hexdigest()[:16]
    return f"{made_from['role']}-{key}"
