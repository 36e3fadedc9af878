"""An index in Qdrant compared with the library, from ``results/qdrant.json``."""

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "qdrant.json"
TARGETS = {"edge": "embedded engine", "memory": "memory mode"}


def parity() -> str:
    """How many rankings are identical, the largest difference of scores, and the time per query."""
    found = json.loads(RESULTS.read_text())
    rows = [
        "| target | documents | form | first stage | identical rankings "
        "| largest score difference | ms | chamfer, ms |",
        "| --- | ---: | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for target, spoken in TARGETS.items():
        for one in found[target]["rankings"]:
            cells = [
                spoken,
                f"{found[target]['documents']:,}",
                f"`{one['form']}`",
                f"`{one['first_stage']}`",
                f"{one['same']} of {found['queries']}",
                f"{one['scores_apart']:.0e}",
                f"{one['milliseconds']['median']:,.0f}",
                f"{one['library_milliseconds']['median']:.0f}",
            ]
            rows.append(f"| {' | '.join(cells)} |")
    pushed, again = (found["edge"][name] for name in ("seconds_to_push", "seconds_to_push_again"))
    tokens = found["edge"]["tokens"]
    return "\n".join(
        [*rows, "", f"Pushing {tokens:,} tokens took {pushed:.0f} s; pushing them again, unchanged, {again:.0f} s."]
    )
