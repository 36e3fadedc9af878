"""The capacity model, its test, plans and the tail-latency simulation, from ``results/capacity.json``."""

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from index_plots import ROOT, STYLE

RESULTS = Path(__file__).parent / "results" / "capacity.json"
SPOKEN = {
    "core_milliseconds_to_build": ("build, core seconds", 1e-3),
    "core_milliseconds_per_query": ("query, core milliseconds", 1.0),
    "bytes_on_disk": ("disk, GB", 1e-9),
    "megabytes_served": ("server memory, MB", 1.0),
}


def model() -> str:
    """The power laws, and their prediction for a size they were not fitted to."""
    found = _found()
    sizes, trial = found["fitted_to"], found["trial"]
    rows = [
        f"| documents | {' | '.join(f'{int(size):,}' for size in sizes)} | exponent "
        f"| {trial['documents']:,}, predicted | measured | error |",
        f"| --- | {' | '.join('---:' for _ in sizes)} | ---: | ---: | ---: | ---: |",
    ]
    for name, (spoken, unit) in SPOKEN.items():
        predicted, measured = (trial[kind][name] * unit for kind in ("predicted", "measured"))
        cells = [spoken, *(f"{point[name] * unit:,.1f}" for point in sizes.values())]
        cells += [f"{found['laws'][name]['power']:.2f}", f"{predicted:,.1f}", f"{measured:,.1f}"]
        rows.append(f"| {' | '.join(cells)} | {predicted / measured - 1:+.0%} |")
    return "\n".join(rows)


def plans() -> str:
    """Shards and nodes for corpora larger than our machines hold."""
    found = _found()
    rows = [
        "| documents | shards | documents per shard | ms per shard | disk, TB | build, core hours | nodes for disk "
        "| for memory | for queries | nodes needed |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for plan in found["plans"]:
        needs = plan["nodes_for"]
        cells = [
            f"{plan['documents']:,}",
            f"{plan['shards']:,}",
            f"{plan['documents_in_a_shard']:,}",
            f"{plan['shard_milliseconds']:.0f}",
            f"{plan['terabytes']:.2f}",
            f"{plan['core_hours_to_build']:,.0f}",
            *(f"{needs[name]:,.1f}" for name in ("disk", "memory", "cores")),
            f"{plan['nodes']:,}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def tail() -> str:
    """Latency of the slowest of many shards."""
    rows = [
        "| shards | p50, ms | p99, ms | hedged p50, ms | hedged p99, ms | second requests |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for record in _found()["simulation"]:
        alone, hedged = record["one replica"], record["hedged"]
        cells = [record["shards"], *(one[p] for one in (alone, hedged) for p in ("p50", "p99"))]
        rows.append(f"| {' | '.join(map(str, cells))} | {record['second_requests']:.1%} |")
    return "\n".join(rows)


def draw() -> None:
    """Plot the simulated latencies."""
    found = _found()
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6, 3.4))
        shards = [record["shards"] for record in found["simulation"]]
        for name, style in (("one replica", "-"), ("hedged", "--")):
            for percentile, colour in (("p50", "C0"), ("p99", "C3")):
                values = [record[name][percentile] for record in found["simulation"]]
                axis.plot(shards, values, style, color=colour, marker="o", markersize=3, label=f"{percentile}, {name}")
        axis.set_xscale("log", base=2)
        axis.set_xticks(shards, [str(count) for count in shards])
        axis.set_yscale("log")
        axis.set_xlabel("shards per query")
        axis.set_ylabel("milliseconds")
        axis.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(ROOT / "docs" / "images" / "scaling.svg", metadata={"Date": None})
        plt.close(figure)


def _found() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text())
    return found


if __name__ == "__main__":
    draw()
