"""Interrupts commands with Ctrl-C while they encode, and compares what they say with what is there.

    python -m tests.interruptions FOLDER MODEL

A process of its own, because it forks: it imports everything once, has no threads that a fork would miss, and each
command is a fork of it.
"""

import json
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from chamfer.cache import encoding
from chamfer.cache.manifest import encoded_in
from chamfer.cli.app import main as chamfer
from chamfer.encode import library_model
from chamfer.encode.encoder import Encoder
from chamfer.index import building
from chamfer.index.index import Index
from chamfer.index.manifest import SAMPLE, read_manifest

DOCUMENTS = 40
# Documents in a commit of an index, and of an encoded corpus.
CHUNK, COMMIT = 6, 4
# What commands import only when they encode: torch takes seconds.
IMPORTED = library_model
CORPUS = [{"_id": f"d{n:02}", "text": " ".join(["cat"] * (n + 1)), "n": n} for n in range(DOCUMENTS)]


def main(folder: Path, model: str) -> None:
    os.chdir(folder)
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever starts this may ignore it
    Path("c.jsonl").write_text("".join(json.dumps(one) + "\n" for one in CORPUS))
    Path("few.jsonl").write_text("".join(json.dumps(one) + "\n" for one in CORPUS[:5]))
    with (
        patch.multiple(building, CHUNK=CHUNK, sample_size=lambda tokens: tokens // 3),
        patch.object(encoding, "COMMIT_EVERY", COMMIT),
    ):
        said = [*builds(model), *additions(model), *encodings(model)]
    sys.stdout.write("\n".join(said) + "\n")


def builds(model: str) -> list[str]:
    """A build that is interrupted while its sample is encoded, and once more later."""
    folder = Path("index")
    build = ("index", "build", "c.jsonl", "--out", str(folder), "--encoder", model)
    said = []
    for reached in (lambda: encoded_in(folder / SAMPLE) > 0, lambda: done(folder) >= 2 * CHUNK):
        message = interrupted(build, reached)
        sentence = f"{done(folder)} of {DOCUMENTS} documents are indexed"
        assert message.startswith(f"interrupted: {sentence}"), message
        assert message.endswith("; run the same command again to continue\n"), message
        code, _, error = run("search", str(folder), "cat")
        assert code == 2, error
        assert f"index is unfinished: {sentence}".replace("index", f"index in {folder}", 1) in error, error
        _, facts, _ = run("index", "info", str(folder), "--json")
        assert json.loads(facts)["building"] == f"{done(folder)} of {DOCUMENTS} documents"
        assert json.loads(facts)["documents"] == done(folder)
        said.append(message.strip())
    code, _, error = run(*build)
    assert (code, error.splitlines()[-1].startswith(f"indexed {DOCUMENTS} documents")) == (0, True), error
    whole = Index.open(folder)
    assert [(name, whole[name].text, whole[name].metadata) for name in whole] == [
        (one["_id"], one["text"], {"n": one["n"]}) for one in CORPUS
    ]
    assert whole.verify(progress=False) == []
    return said


def additions(model: str) -> list[str]:
    """An addition that is interrupted: the index has what it says, and is searched."""
    folder = Path("added")
    code, _, error = run("index", "build", "few.jsonl", "--out", str(folder), "--encoder", model)
    assert code == 0, error
    add = ("index", "add", str(folder), "c.jsonl")
    message = interrupted(add, lambda: len(Index.open(folder)) > 5)
    now = len(Index.open(folder))
    assert message == (
        f"interrupted: {folder} holds {now} documents, {now - 5} more than before; "
        "run the same command again to continue\n"
    ), message
    code, found, error = run("search", str(folder), "cat", "-k", "100", "--json")
    assert (code, len(json.loads(found)["hits"])) == (0, now), error
    code, _, error = run(*add)
    assert f"added {DOCUMENTS - now} of {DOCUMENTS} documents ({now} already there)" in error, error
    assert len(Index.open(folder)) == DOCUMENTS
    return [message.strip()]


def encodings(model: str) -> list[str]:
    """Encoding into the cache."""

    def count() -> int:
        return max((encoded_in(folder) for folder in Path("cache").rglob("document-*")), default=0)

    encode = ("encode", "c.jsonl", "--encoder", model)
    message = interrupted(encode, lambda: count() >= COMMIT)
    assert message == (
        f"interrupted: {count()} of {DOCUMENTS} documents are encoded; run the same command again to continue\n"
    ), message
    code, _, error = run(*encode)
    assert code == 0, error
    assert count() == DOCUMENTS
    return [message.strip()]


def done(folder: Path) -> int:
    """Documents in an unfinished index, as its manifest says."""
    manifest = read_manifest(folder)
    return 0 if manifest is None or manifest.building is None else manifest.building["done"]


def interrupted(arguments: tuple[str, ...], reached: Callable[[], bool]) -> str:
    """What a slow command says when Ctrl-C comes as soon as something is reached."""
    child = started(*arguments, slowly=True)
    while not reached():
        time.sleep(0.01)
    os.kill(child, signal.SIGINT)
    code, output, error = ended(child)
    assert (code, output) == (130, ""), f"exit code {code}: {error}"
    assert "Traceback" not in error, error
    last = error.splitlines(keepends=True)[-1]
    assert re.fullmatch(r"interrupted: .*\n", last), error
    return last


def run(*arguments: str) -> tuple[int, str, str]:
    return ended(started(*arguments))


def started(*arguments: str, slowly: bool = False) -> int:
    child = os.fork()
    if child:
        return child
    try:
        for number, name in ((1, "output"), (2, "error")):
            os.dup2(os.open(f"{os.getpid()}.{name}", os.O_WRONLY | os.O_CREAT), number)
        if slowly:
            Encoder.encode = slow(Encoder.encode)  # type: ignore[method-assign]
        sys.argv = ["chamfer", *arguments]
        chamfer()
    except SystemExit as left:
        sys.stdout.flush()
        os._exit(int(left.code or 0))
    except BaseException:
        traceback.print_exc()
    os._exit(99)


def ended(child: int) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    _, status = os.waitpid(child, 0)
    output, error = (Path(f"{child}.{name}").read_text() for name in ("output", "error"))
    return os.waitstatus_to_exitcode(status), output, error


def slow(encode: Any) -> Any:
    def slowly(*arguments: Any, **named: Any) -> Any:
        time.sleep(0.1)
        return encode(*arguments, **named)

    return slowly


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
