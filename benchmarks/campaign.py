"""What measurements of many collections share: options, a process for each job, results that outlive interruptions."""

import json
import os
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from chamfer.encode.settings import MINILM
from chamfer.reproduce.environment import environment
from chamfer.support.cache_folder import default_cache
from chamfer.support.files import write_json
from chamfer.support.threads import VARIABLE, cores
from corpora import collections

RESULTS = Path(__file__).parent / "results"

Record = dict[str, Any]


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

    Parts that are finished wait in the folder ``partial`` of ``--out``, where an interrupted run finds them again.

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
    now = _comparable({"environment": environment(), "encoder": {"name": Path(arguments.encoder).name}})

    def parts(name: str) -> list[Path]:
        return [out / "partial" / f"{name}-{number}.json" for number in range(count)]

    def finished(name: str) -> dict[Path, Record]:
        """The parts that this version has measured."""
        found = {path: json.loads(path.read_text()) for path in parts(name) if path.exists()}
        return {path: record for path, record in found.items() if _comparable(record) == now}

    def pool_if_whole(name: str) -> str:
        """Write the record of a collection and say what it has, if all of its parts are there."""
        found = finished(name)
        if len(found) < count:
            return ""
        records = list(found.values())
        whole = {"environment": records[-1]["environment"], **pool(records)}
        write_json(out / f"{name}.json", whole)
        for path in found:
            path.unlink()
        return f"; whole collection: {told(whole)}"

    results = missing(arguments, [out / f"{name}.json" for name in folders])
    names = [path.stem for path in results if not pool_if_whole(path.stem)]
    there = {path for name in names for path in finished(name)}
    jobs = {
        path: partial(measure_part, folders[name], number)
        # Part by part, because the first one of a collection encodes it for the others. The largest collections, which
        # take longest, begin first.
        for number in range(count)
        for name in reversed(names)
        if (path := parts(name)[number]) not in there
    }
    run(jobs, arguments, lambda record: f"finished{pool_if_whole(record['dataset'])}")
    with suppress(OSError):  # there was none, or it has parts of other collections
        (out / "partial").rmdir()


def missing(arguments: Namespace, results: Iterable[Path]) -> list[Path]:
    """The results that are not there yet; all of them with ``--again``."""
    return [out for out in results if arguments.again or not out.exists()]


def run(jobs: Mapping[Path, Callable[[], Record]], arguments: Namespace, told: Callable[[Record], str]) -> None:
    """Run jobs, and write the record of each to its file as soon as it is there.

    A job that fails, even one that is killed for its memory, does not stop the others.
    """
    _limit_threads(arguments.threads or max(1, cores() // arguments.jobs))
    measured_on = environment()  # before the run, in which the code may change
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
            write_json(out, {"environment": measured_on, **record})
            print(f"{out.stem}: {told(record)}", flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
    if failed:
        sys.exit(f"failed, see above: {', '.join(sorted(failed))}")


def _in_a_process(job: Callable[[], Record]) -> Record:
    """Run a job in its own process, which gives its memory back and may be killed alone."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(job).result()


def _limit_threads(threads: int) -> None:
    """Limit the threads of every process that starts from now on: libraries read this once, when they are loaded."""
    for name in (VARIABLE, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(threads)


def _comparable(record: Record) -> list[object]:
    """What the parts of a collection must have in common: machine, versions and encoder."""
    return [{**record["environment"], "date": None}, record["encoder"]["name"]]
