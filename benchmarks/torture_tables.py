"""The campaign of attacks, from ``results/torture.json``."""

import json
from pathlib import Path

from torture.table import lines

RESULTS = Path(__file__).parent / "results" / "torture.json"


def campaign() -> str:
    """One row per attack, and how the campaign was run."""
    found = json.loads(RESULTS.read_text())
    length = "A short version" if found["quick"] else "The whole campaign"
    return "\n".join([f"{length} with seed {found['seed']}, {found['seconds'] / 60:.0f} minutes.", "", *lines(found)])


def safety_costs() -> str:
    """Ingestion and search of an older checkout and of this one, in one run."""
    found = json.loads((RESULTS.parent / "before-after.json").read_text())
    commits = found["commits"]
    rows = [
        f"| work | {commits['before']}, ms | {commits['after']}, ms | ratio, median of {found['rounds']} | range |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for work, one in found["milliseconds"].items():
        span = f"{one['ratios'][0]:.2f} to {one['ratios'][-1]:.2f}"
        rows.append(f"| {work} | {one['before']:,.1f} | {one['after']:,.1f} | {one['ratio']:.2f} | {span} |")
    return "\n".join(rows)
