"""What measurements of many collections share: options, a process for each job, results that outlive interruptions."""

import hashlib
import json
import os
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from chamfer.encode.settings import MINILM
from chamfer.reproduce.environment import environment
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from chamfer.support.threads import VARIABLE, cores
from corpora import collections, model_of

RESULTS = Path(__file__).parent / "results"

Record = dict[str, Any]
Result = TypeVar("Result")


class Skipped(Exception):  # noqa: N818 -- nothing is wrong
    """Why a collection is not measured."""


def options(description: str | None, *, out: Path, encoder: str = MINILM) -> ArgumentParser:
    """The options of every campaign.

    Args:
        description: what is measured.
        out: folder for the results, by default.
        encoder: encoder, by default.
    """
    parser = ArgumentParser(description=description)
    parser.add_argument("collections", nargs="*", help="names of collections (default: all)")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--encoder", default=encoder, help=f"name or path of the encoder (default: {encoder})")
    parser.add_argument("--out", type=Path, default=out, help="folder for the results, one file per collection")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--threads", type=int, help="threads of each process (default: cores divided by --jobs)")
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    return parser


def measure(arguments: Namespace, measure_one: Callable[[Path], Record], told: Callable[[Record], str]) -> None:
    """Measure each collection that has no result yet, smallest first.

    Args:
        arguments: the parsed :func:`options`.
        measure_one: measures the collection in a folder.
        told: says in a few words what a record has.
    """
    folders = collections(arguments.data, arguments.collections)
    jobs = {arguments.out / f"{folder.name}.json": partial(measure_one, folder) for folder in folders}
    run({out: jobs[out] for out in missing(arguments, jobs)}, arguments, told)


def measure_in_parts(
    arguments: Namespace,
    count: int,
    measure_part: Callable[[Path, int], Record],
    pool: Callable[[Sequence[Record]], Record],
    told: Callable[[Record], str],
) -> None:
    """Measure each collection that has no result yet in parts that run at the same time, such as seeds.

    Parts stay in the folder ``partial`` of ``--out``, where an interrupted run finds them again, and so does one that
    asks for more parts: it measures the missing ones if code, machine and model are the same, and otherwise all.

    Args:
        arguments: the parsed :func:`options`.
        count: number of parts of a collection.
        measure_part: measures a part of the collection in a folder, by its number; its record has the name ``dataset``
            of the collection, and ``encoder``.
        pool: makes the record of a collection from those of its parts.
        told: says in a few words what that record has.
    """
    out: Path = arguments.out
    folders = {folder.name: folder for folder in collections(arguments.data, arguments.collections)}
    now = {"environment": environment(), "code": code()}

    def path_of(name: str, number: int) -> Path:
        return out / "partial" / f"{name}-{number}.json"

    def finished(name: str) -> dict[int, Record]:
        """The parts that this version has measured; with ``--again``, since the collection was last pooled."""
        whole, found = out / f"{name}.json", {}
        pooled = whole.stat().st_mtime_ns if arguments.again and whole.exists() else 0
        for number in range(count):
            path = path_of(name, number)
            if path.exists() and path.stat().st_mtime_ns > pooled:
                record = json.loads(path.read_text())
                if _comparable(record) == _comparable(now) and _is_of(record, arguments.encoder):
                    found[number] = record
        return found

    def pool_if_whole(name: str) -> str:
        """Write the record of a collection and say what it has, if all of its parts are there."""
        records = list(finished(name).values())
        if len(records) < count:
            return ""
        whole = {"environment": records[-1]["environment"], "code": now["code"], "parts": count, **pool(records)}
        write_json(out / f"{name}.json", whole)
        return f"; whole collection: {told(whole)}"

    results = missing(arguments, [out / f"{name}.json" for name in folders], parts=count)
    names = [path.stem for path in results if not pool_if_whole(path.stem)]
    there = {(name, number) for name in names for number in finished(name)}
    jobs = {
        path_of(name, number): partial(measure_part, folders[name], number)
        # Part by part, because the first one of a collection encodes it for the others. The largest collections, which
        # take longest, begin first.
        for number in range(count)
        for name in reversed(names)
        if (name, number) not in there
    }
    run(jobs, arguments, lambda record: f"finished{pool_if_whole(record['dataset'])}")


def missing(arguments: Namespace, results: Iterable[Path], *, parts: int = 1) -> list[Path]:
    """The results that are not there yet, have fewer parts, or are of another model; all of them with ``--again``."""
    return [out for out in results if arguments.again or not _is_there(out, arguments.encoder, parts)]


def _is_there(out: Path, encoder: str, parts: int) -> bool:
    if not out.exists():
        return False
    record = json.loads(out.read_text())
    if not _is_of(record, encoder):
        print(f"{out.stem}: was measured with another model, so it is measured again", flush=True)
        return False
    return bool(record.get("parts", record.get("seeds", parts)) >= parts)


def _is_of(record: Record, encoder: str) -> bool:
    """Whether a record is of the model that an encoder has now; one that does not name its model may be."""
    return record.get("encoder", {}).get("model") in (None, _model(encoder))


@cache
def _model(encoder: str) -> str:
    return _in_a_process(partial(model_of, encoder))


@cache
def code() -> str:
    """Digest of the code that measures. It does not change with a commit of docs, tests or results."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for path in sorted([*(root / "src").rglob("*.py"), *(root / "native").glob("*"), *root.glob("benchmarks/*.py")]):
        digest.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def run(jobs: Mapping[Path, Callable[[], Record]], arguments: Namespace, told: Callable[[Record], str]) -> None:
    """Run jobs, and write the record of each to its file as soon as it is there.

    A job that fails, even one that is killed for its memory, does not stop the others.
    """
    _limit_threads(arguments.threads or max(1, cores() // arguments.jobs))
    measured_on, measured_by = environment(), code()  # before the run, in which the code may change
    failed = []
    pool = ThreadPoolExecutor(arguments.jobs)
    try:
        waiting = {pool.submit(_in_a_process, job): out for out, job in jobs.items()}
        for finished in as_completed(waiting):
            out = waiting[finished]
            try:
                record = finished.result()
            except Skipped as why:
                print(f"{out.stem}: {why}", flush=True)
                continue
            except Exception as error:
                traceback.print_exception(error)
                failed.append(out.stem)
                continue
            write_json(out, {"environment": measured_on, "code": measured_by, **record})
            print(f"{out.stem}: {told(record)}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    if failed:
        sys.exit(f"failed, see above: {', '.join(sorted(failed))}")


def _in_a_process(job: Callable[[], Result]) -> Result:
    """Run a job in its own process, which gives its memory back and may be killed alone."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(job).result()


def _limit_threads(threads: int) -> None:
    """Limit the threads of every process that starts from now on: libraries read this once, when they are loaded."""
    for name in (VARIABLE, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(threads)


def _comparable(record: Record) -> list[object]:
    """What the parts of a collection must have in common, beside the model: machine, versions and code."""
    return [{**record["environment"], "date": None, "commit": None}, record.get("code")]
