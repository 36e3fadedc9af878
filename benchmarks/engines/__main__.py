"""Build and search with chamfer, fast-plaid and xtr-warp-rs: the same vectors, the same cores, in one run.

PYTHONPATH=benchmarks python -m engines --data ../shared/data [scifact acl-titles synthetic million]

Every build and every search is a process of its own; the other engines have their own environment, ``build/engines``.
Each trial is written to ``results/engines/TRIAL.json`` once it is measured; trials that have results are skipped.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from chamfer.data.ranking import Ranking
from chamfer.evaluate.measures import measure
from chamfer.index.settings import PRECISIONS
from chamfer.reproduce.environment import environment
from chamfer.support.files import write_json
from engines.environment import HOME, peer_python
from engines.material import LENGTHS
from engines.side import Request, ask
from engines.trials import TRIALS, Trial
from engines_tables import spoken

RESULTS = Path(__file__).parents[1] / "results" / "engines"
THREADS = (1, 2)

OURS = "chamfer"
MODULES = {
    OURS: "engines.chamfer_side",
    "fast-plaid": "engines.fast_plaid_side",
    "xtr-warp-rs": "engines.xtr_warp_side",
}
DEFAULTS: dict[str, Any] = {}

# Settings of searches beside the defaults, from fast to thorough: the fastest that are as good as the defaults, and the
# fastest that have FULL of the quality of an exhaustive search, are shown.
GRID: Mapping[str, Sequence[dict[str, Any]]] = {
    OURS: [],
    "fast-plaid": [{"n_ivf_probe": lists, "n_full_scores": many} for lists in (1, 4) for many in (256, 1024)],
    "xtr-warp-rs": [{"nprobe": probes} for probes in (1, 4, 8, 16, 32, 64)],
}
FULL = 0.99


def main() -> None:
    """Measure the trials that have no result yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ", ".join(TRIALS)
    parser.add_argument(
        "trials", nargs="*", choices=[[], *TRIALS], default=[], metavar="TRIAL", help=f"{names} (default: all)"
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--documents", type=int, help="try it with this many documents, without saving results")
    parser.add_argument("--again", action="store_true", help="measure again what has results already")
    arguments = parser.parse_args()
    python = peer_python()
    for name in arguments.trials or TRIALS:
        out = RESULTS / f"{name}.json"
        if out.exists() and not arguments.again and not arguments.documents:
            continue
        measured_on = environment()
        with tempfile.TemporaryDirectory(dir=HOME) as folder:
            trial = TRIALS[name](Path(folder) / name, arguments.data, arguments.documents)
            record = measure_trial(trial, python)
        show(record)
        if not arguments.documents:
            peers = {
                "versions": {one: _installed(python, one) for one in trial.peers},
                "torch": HOME.joinpath("torch").read_text(),
            }
            write_json(out, {"environment": measured_on | {"peers": peers}, **record})


def measure_trial(trial: Trial, python: Path) -> dict[str, Any]:
    """Measure every engine with every number of threads."""
    rows: list[dict[str, Any]] = []
    for precision in PRECISIONS:
        rows += measure_engine(trial, OURS, Path(sys.executable), {"precision": precision})
    settings = {"fast-plaid": DEFAULTS, "xtr-warp-rs": {"num_partitions": trial.partitions}}
    for engine in trial.peers:
        rows += measure_engine(trial, engine, python, settings[engine])
    lengths = np.load(trial.folder / LENGTHS)
    counts = {"documents": len(lengths), "tokens": int(lengths.sum()), "queries": len(trial.query_ids)}
    return {"trial": trial.name, **counts, "rows": rows}


def measure_engine(trial: Trial, engine: str, python: Path, built_with: dict[str, Any]) -> list[dict[str, Any]]:
    """Build once with all threads, and search with every setting, weighting and number of threads."""
    index, out = trial.folder / "index", trial.folder / "out.json"
    request = Request("build", str(trial.folder), str(index), max(THREADS), built_with)
    build = ask(python, MODULES[engine], request, out)
    searches = [DEFAULTS, *GRID[engine]]
    if engine == OURS and built_with["precision"] == "float16":
        searches.append({"first_stage": "exhaustive"})
    rows = []
    for settings in searches:
        for threads in THREADS:
            for weights in trial.weightings if settings == DEFAULTS else trial.weightings[:1]:
                asked = request._replace(do="search", threads=threads, settings=settings, weights=weights)
                found = ask(python, MODULES[engine], asked, out)
                row: dict[str, Any] = {
                    "engine": engine,
                    "build_settings": built_with,
                    "build": build,
                    "settings": settings,
                }
                row |= {"threads": threads, "weights": weights, **quality(trial, found.pop("found")), "search": found}
                print({name: value for name, value in row.items() if name != "build"}, flush=True)
                rows.append(row)
    shutil.rmtree(index)
    return rows


def quality(trial: Trial, found: Sequence[Sequence[int]]) -> dict[str, float]:
    """Measure the rankings."""
    rankings = [
        Ranking(query, tuple(map(str, places)), tuple(-float(n) for n in range(len(places))))
        for query, places in zip(trial.query_ids, found, strict=True)
    ]
    values = measure(rankings, trial.judgements)
    return {name: round(float(values[name].mean()), 5) for name in ("nDCG@10", "R@10")}


def _installed(python: Path, package: str) -> str:
    program = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def show(record: Mapping[str, Any]) -> None:
    """Print the results."""
    columns = ("engine", "built with", "settings", "threads", "weights", "nDCG@10", "R@10", "build s", "build MB")
    table = Table(*columns, "ms", "ms 95%", "q/s", "search MB", "disk MB")
    for row in record["rows"]:
        made, asked = row["build"], row["search"]
        table.add_row(
            row["engine"],
            spoken(row["build_settings"]),
            spoken(row["settings"]),
            str(row["threads"]),
            row["weights"],
            f"{row['nDCG@10']:.4f}",
            f"{row['R@10']:.4f}",
            f"{made['seconds']:.1f}",
            f"{made['peak_mb']} ({made['peak_own_mb']})",
            f"{asked['milliseconds']:.2f}",
            f"{asked['milliseconds_95']:.2f}",
            f"{asked['queries_per_second']:.0f}",
            f"{asked['peak_mb']} ({asked['peak_own_mb']})",
            f"{made['bytes'] / 1e6:.0f}",
        )
    Console(width=220).print(record["trial"], table)


if __name__ == "__main__":
    main()
