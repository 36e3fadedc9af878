"""Folded queries in PyLate and fast-plaid compared with the library, from ``results/pylate_check.json``."""

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "pylate_check.json"
SYSTEMS = {
    "`rank.rerank`": "rank.rerank",
    "`indexes.PLAID`, 8 bits, 32 probes": "indexes.PLAID",
    "fast-plaid, 8 bits, 1 probe": "fast-plaid, n_ivf_probe 1",
    "fast-plaid, 8 bits, 32 probes": "fast-plaid, n_ivf_probe 32",
    "`rank.rerank`, queries normalised again by mistake": "rank.rerank, normalised again",
    "`rank.rerank`, uniform weights": "uniform weights",
}


def check() -> str:
    """The share of our top 10 that each finds with folded queries."""
    found = json.loads(RESULTS.read_text())
    rows = ["| system | share of our top 10 |", "| --- | ---: |"]
    rows += [f"| {spoken} | {100 * found[name]:.0f}% |" for spoken, name in SYSTEMS.items()]
    versions = ", ".join(f"{name} {found['versions'][name]}" for name in ("pylate", "fast-plaid"))
    difference = found["rank.rerank, largest difference of scores"]
    return "\n".join([*rows, "", f"{versions}; largest score difference of `rank.rerank`: {difference:.0e}."])
