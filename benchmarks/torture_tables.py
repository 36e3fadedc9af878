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
