"""What is committed beside changes of an index: the parts of a build, and versions of weights."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.index_model import VOCABULARY, Model, Operation, addition, read, settings_of

from chamfer.index import encoded
from chamfer.index.manifest import read_manifest
from chamfer.index.settings import Precision
from chamfer.index.verify import verify
from chamfer.serve import versions
from chamfer.serve.versions import Versions
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.token_weights import TokenWeights
from torture.tally import Kind, Tally

# So small that a build has many commits, and that versions of weights are dropped.
CHUNK, VERSIONS = 40, 3

# The version in use, and of each version its number, name and weights.
Stored = tuple[int, list[tuple[int, str, str | list[float]]]]


def planned_build(generator: np.random.Generator) -> Operation:
    """Sixty documents to build an index from; the distinct tokens of each are those with vectors."""
    plan = addition(generator, [f"d{number:02}" for number in range(60)])
    return plan._replace(distinct=[np.unique(plan.tokens[n].token_ids) for n in range(60)])


def build(folder: Path, plan: Operation, precision: Precision) -> None:
    """Build an index, or continue to."""
    encoded.CHUNK = CHUNK
    encoded.build_encoded(folder, plan.documents, plan.tokens, settings_of(precision))


def documents_built(folder: Path) -> int:
    """The number of documents that a build has committed."""
    manifest = read_manifest(folder) if folder.exists() else None
    return 0 if manifest is None else manifest.documents


def check_build(folder: Path, allowed: set[int], tally: Tally, where: str) -> None:
    """Fail unless a build that was interrupted holds one of these numbers of documents, all of them intact."""
    manifest = read_manifest(folder) if folder.exists() else None
    found = documents_built(folder)
    if found not in allowed:
        tally.fail("lost" if found < min(allowed) else "phantom", f"{where}: {found} documents, not {sorted(allowed)}")
    if manifest is not None and manifest.building is not None and manifest.building["done"] != found:
        tally.fail("lost", f"{where}: {found} documents, of which the manifest counts {manifest.building['done']}")
    for problem in verify(folder) if found else ():
        tally.fail("lost", f"{where}: {problem}")


def finish_build(folder: Path, plan: Operation, precision: Precision) -> Model:
    """What a build holds in the end; it is continued unless it was finished."""
    manifest = read_manifest(folder) if folder.exists() else None
    if manifest is None or manifest.building is not None or not manifest.documents:
        build(folder, plan, precision)
    return read(folder)


def changes_of_versions(seed: int) -> list[Callable[[Versions], object]]:
    """Changes of the versions of weights, in an order that works."""
    generator = np.random.default_rng(seed)
    tables = [generator.uniform(0, 2, VOCABULARY).astype(np.float32) for _ in range(4)]
    tokens = Vocabulary(tuple(f"t{place}" for place in range(VOCABULARY)), frozenset())
    first, second, third, last = (TokenWeights(table, tokens) for table in tables)
    return [
        lambda stored: stored.put(first, "first"),
        lambda stored: stored.put(second, "second", use=False),
        lambda stored: stored.use(3),
        lambda stored: stored.put("idf", "by name"),
        lambda stored: stored.put(third, "third"),
        lambda stored: stored.drop(min(one.number for one in stored.all() if one != stored.current)),
        lambda stored: stored.put(last, "last"),
    ]


def change_versions(folder: Path, change: Callable[[Versions], object] | None = None) -> Stored:
    """What a folder of versions holds after a change, or when it is opened."""
    versions.MOST = VERSIONS
    stored = Versions("uniform", "uniform", folder)
    try:
        if change is not None:
            change(stored)
        listed = [
            (one.number, one.name, one.weights if isinstance(one.weights, str) else one.weights.table.tolist())
            for one in stored.all()
        ]
        return stored.current.number, listed
    finally:
        stored.close()


def check_versions(folder: Path, allowed: list[Stored], tally: Tally, where: str) -> None:
    """Fail unless a folder holds versions as they were before or after a change."""
    found = change_versions(folder)
    if found not in allowed:
        kept = {number for number, *_ in found[1]}
        needed = set.intersection(*({number for number, *_ in one[1]} for one in allowed))
        kind: Kind = "lost" if needed - kept else "phantom"
        tally.fail(kind, f"{where}: versions {sorted(kept)}, of which {found[0]} is used")
