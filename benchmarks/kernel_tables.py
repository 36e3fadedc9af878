"""The native kernel beside its peers, from ``results/kernel.json``."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "kernel.json"
HEADLINE = "32 x 128"


def headline() -> str:
    """Our kernel and its peers on the most common shape, as times and ratios."""
    shapes = [shape for shape in _found()["shapes"] if shape["shape"] == HEADLINE]
    columns = "".join(f" {_threads(shape)}, ms | vs chamfer |" for shape in shapes)
    rows = [f"| system |{columns}", f"| --- |{' ---: | ---: |' * len(shapes)}"]
    for name in shapes[0]["systems"]:
        cells = [cell for shape in shapes for cell in _time_and_ratio(shape, name)]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def short() -> str:
    """The same for one thread only: time, and how much slower than ours."""
    shape = next(shape for shape in _found()["shapes"] if shape["shape"] == HEADLINE and shape["threads"] == 1)
    rows = ["| system | ms per query | vs chamfer |", "| --- | ---: | ---: |"]
    for name in shape["systems"]:
        if name != "chamfer, l2":  # as fast as the cosine form, which the peers compute
            rows.append(f"| {name.removesuffix(', cosine')} | {' | '.join(_time_and_ratio(shape, name))} |")
    return "\n".join(rows)


def every_shape() -> str:
    """Every shape and system."""
    shapes = _found()["shapes"]
    names = list(shapes[0]["systems"])
    rows = [
        f"| shape | threads | {' | '.join(f'{name} | agree' for name in names)} |",
        f"| --- | ---: |{' ---: | ---: |' * len(names)}",
    ]
    for shape in shapes:
        cells = []
        for name in names:
            found = shape["systems"][name]
            cells += ["crashed", ""] if "crashed" in found else _time_and_agreement(found)
        rows.append(f"| {shape['shape']} | {shape['threads']} | {' | '.join(cells)} |")
    return "\n".join(rows)


def facts() -> str:
    """What the same run measured besides times."""
    record = _found()
    main_shape = next(shape for shape in record["shapes"] if shape["shape"] == HEADLINE)
    computed = main_shape["operations"] * (1 - main_shape["saved"])
    speed = computed / main_shape["systems"]["chamfer, cosine"]["median_ms"] / 1e6
    peak = record["peak_gop"]
    memory = record["memory"]
    of_peak = f", {100 * speed / peak:.0f}% of the {peak:.0f} billion that one core peaks at" if peak else ""
    facts = [
        f"- Peers: numkong {record['environment']['numkong']}, maxsim-cpu {record['environment']['maxsim-cpu']}, torch "
        f"{record['environment']['torch']}.",
        f"- {HEADLINE}, one thread: {speed:.0f} billion 8-bit operations per second{of_peak}.",
        *(
            f"- {shape['shape']}: {shape['read']:.0f} of 1,000 documents were rescored in 16 bits; early exits saved "
            f"{100 * shape['saved']:.0f}% of the screening."
            for shape in record["shapes"]
            if shape["threads"] == 1
        ),
        f"- Ranking 1,000 scifact documents from disk takes {memory['ranking_own']:.0f} MB of private memory (a bare "
        f"Python interpreter: {memory['interpreter_own']:.0f} MB). Including memory-mapped file pages, which the "
        f"operating system can reclaim, it is {memory['ranking_resident']:.0f} MB.",
    ]
    return "\n".join(facts)


def _found() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(RESULTS.read_text())
    return record


def _threads(shape: dict[str, Any]) -> str:
    return "one thread" if shape["threads"] == 1 else f"{shape['threads']} threads"


def _time_and_ratio(shape: dict[str, Any], name: str) -> list[str]:
    ours, took = (shape["systems"][system].get("median_ms") for system in ("chamfer, cosine", name))
    if took is None:
        return ["crashed", ""]
    return [f"{took:.1f}", "" if name.startswith("chamfer") else f"{took / ours:.1f}x"]


def _time_and_agreement(found: dict[str, float]) -> list[str]:
    return [f"{found['median_ms']:.1f}", f"{100 * found['same_best_10']:.0f}%"]
