"""Latency, throughput and memory of the server, and the time until a new process answers."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
RESULTS, COLD = FOLDER / "serving.json", FOLDER / "cold.json"


def serving() -> str:
    """Latency under load, memory, and the overhead of HTTP."""
    found = json.loads(RESULTS.read_text())
    rows = [
        "| connections | seconds | answers per second | p50, ms | p90, ms | p99, ms | refused (429) | other errors |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for run in (found["closed_loop"], found["crowd"]):
        times, statuses = run["milliseconds"], run["statuses"]
        others = sum(count for status, count in statuses.items() if status not in ("200", "429"))
        cells = [run["connections"], f"{run['seconds']:g}", f"{run['answered_per_second']:.0f}"]
        cells += [f"{times[name]:.0f}" for name in ("p50", "p90", "p99")]
        rows.append(f"| {' | '.join(map(str, [*cells, statuses.get('429', 0), others]))} |")
    library, server = found["library_milliseconds"]["p50"], found["server_milliseconds"]["p50"]
    growth = found["closed_loop"]["memory_growth_of_second_half"]
    held = found["closed_loop"]["memory_mb"][-1]
    return "\n".join(
        [
            f"{found['documents']:,} documents. A single search takes {library:.1f} ms in the library and "
            f"{server:.1f} ms over HTTP (p50): the server adds {found['overhead_p50_milliseconds']:.2f} ms. Over the "
            f"second half of the first run, its memory grew by {growth:.1%} to {held:.0f} MB.",
            "",
            *rows,
        ]
    )


def cold() -> str:
    """Seconds until a new process answers, before queries were encoded without torch, and now."""
    found = json.loads(COLD.read_text())
    rows = ["| command | before | now | |", "| --- | ---: | ---: | ---: |"]
    rounds = set()
    for name, sides in found["commands"].items():
        before, now = sides["before"], sides["now"]
        command, comma, rest = name.partition(",")
        cells = [f"`chamfer {command}`{comma}{rest}", _with_range(before), _with_range(now)]
        rows.append(f"| {' | '.join(cells)} | {before['median_seconds'] / now['median_seconds']:.1f}x |")
        rounds |= {len(before["seconds"]), len(now["seconds"])}
    facts = (
        f"Seconds until a new process answers, on {found['environment']['cores']} CPU cores, with an index of "
        f"{found['documents']:,} documents: medians of {' or '.join(map(str, sorted(rounds)))} rounds, and "
        "from the fastest to the slowest."
    )
    return "\n".join([facts, "", *rows])


def _with_range(side: dict[str, Any]) -> str:
    return f"{side['median_seconds']:.1f} ({min(side['seconds']):.1f} to {max(side['seconds']):.1f})"
