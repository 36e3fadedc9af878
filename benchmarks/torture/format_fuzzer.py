"""Fuzzes one parser in this process: ``python -m torture.format_fuzzer PARSER RUNS SEED FOLDER``.

With atheris, what reaches new lines of our code is mutated further; without it, mutations are random. Exceptions that
are not ours are appended to a file, once for each place that raises them.
"""

import random
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

try:
    import atheris
except ImportError:
    atheris = None

followed: AbstractContextManager[object] = atheris.instrument_imports(["chamfer"]) if atheris else nullcontext()
with followed:
    import numpy as np

    from chamfer.data.corpus import documents_from
    from chamfer.data.judgements import judgements_from
    from chamfer.data.queries import queries_from
    from chamfer.data.runs import read_run
    from chamfer.errors import InputError
    from chamfer.index.filters import parse_filter
    from chamfer.tokens.vocabulary import Vocabulary
    from chamfer.weights.token_weights import TokenWeights

VOCABULARY = Vocabulary(("[CLS]", "bak", "##ing"), frozenset({0}))

# For each parser: the end of its file's name, what it does with the file, and a file that it can read.
PARSERS: dict[str, tuple[str, Callable[[Path], object], bytes]] = {
    "weights": (".safetensors", TokenWeights.load, b""),
    "weights for an encoder": (".safetensors", lambda path: TokenWeights.load(path, VOCABULARY), b""),
    "weights as JSON": (".json", lambda path: TokenWeights.load(path, VOCABULARY), b'{"bak": 1.5, "##ing": 0}'),
    "weights as text": (".txt", lambda path: TokenWeights.load(path, VOCABULARY), b"bak 1.5\n##ing 0\n"),
    "filters": (
        ".txt",
        lambda path: parse_filter(path.read_text(errors="replace")),
        b"(year>=1990 or not a='b') and c",
    ),
    "judgements": (".tsv", judgements_from, b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t0\n"),
    "judgements of TREC": (".txt", judgements_from, b"q1 0 d1 1\nq2 0 d2 0\n"),
    "judgements in a table": (".csv", judgements_from, b'query,document,relevance\n"a, b",d1,1\nc,7,0\n'),
    "clicks": (".jsonl", judgements_from, b'{"query": "a", "shown": ["d1", 2], "clicked": "d1"}\n'),
    "judgements as JSON": (".json", judgements_from, b'{"a": ["d1"], "b": {"d2": 0}}'),
    "runs": (".trec", read_run, b"q1 Q0 d1 1 0.5 chamfer\nq1 Q0 d2 2 0.25 chamfer\n"),
    "documents": (
        ".jsonl",
        lambda path: list(documents_from(path).read()),
        b'{"_id": "a", "title": "t", "text": "x"}\n',
    ),
    "queries": (".jsonl", queries_from, b'{"_id": "a", "text": "x", "metadata": {}}\n'),
}


def fuzz(name: str, runs: int, seed: int, folder: Path) -> None:
    """Parse mutations of a valid file."""
    suffix, parse, example = PARSERS[name]
    file, corpus, failures = folder / f"fuzzed{suffix}", folder / "corpus", folder / "failures.txt"
    if not example:
        TokenWeights(np.ones(3, np.float32), VOCABULARY).save(file)
        example = file.read_bytes()
    known: set[tuple[str, int]] = set()

    def once(content: bytes) -> None:
        file.write_bytes(content)
        try:
            parse(file)
        except InputError:
            pass
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            if (key := (place.filename, place.lineno or 0)) not in known:
                known.add(key)
                with failures.open("a") as out:
                    out.write(f"{name}: {type(error).__name__} in {place.name} for {content[:80]!r}: {error}\n"[:400])

    if atheris is None:
        chance = random.Random(seed)
        for _ in range(runs):
            once(mutated(chance, example))
        return
    corpus.mkdir()
    (corpus / "example").write_bytes(example)
    options = [f"-runs={runs}", f"-seed={seed + 1}", "-max_len=2048", "-timeout=20", "-verbosity=0"]  # 0: random
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", str(corpus)], once)
    atheris.Fuzz()


def mutated(chance: random.Random, content: bytes) -> bytes:
    """A few bytes replaced, removed, added or repeated."""
    changed = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(changed) + 1)
        action = chance.randrange(4)
        if action == 0:
            changed[place : place + 1] = bytes([chance.randrange(256)])
        elif action == 1:
            del changed[place : place + chance.randint(1, 8)]
        elif action == 2:
            changed[place:place] = chance.choice(
                [b"\0", b"\xff", b"[" * 50, b"9" * 30, b"-1", b"null", b"\n", b'"', b"("]
            )
        else:
            changed[place:place] = changed[: chance.randint(1, 20)]
    return bytes(changed)


if __name__ == "__main__":
    fuzz(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
