"""Render the tables in README and docs from ``results/*.json``; with ``--check``, fail if they are out of date.

A table stands between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def main() -> None:
    """Rewrite every page, or say which one is stale."""
    tables = {
        "zero-shot": zero_shot_table("nDCG@10"),
        "zero-shot-all": zero_shot_table("nDCG@10", "R@10", "RR@10"),
        "zero-shot-summary": summary(),
    }
    stale = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        before = page.read_text()
        after = before
        for name, table in tables.items():
            begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
            if begin in after:
                head, rest = after.split(begin, 1)
                after = f"{head}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}"
        if after != before:
            stale.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(after)
    if stale and "--check" in sys.argv:
        sys.exit(f"out of date: {', '.join(stale)}; run: make readme")


def zero_shot() -> list[dict[str, Any]]:
    """The measured collections, by name."""
    return [json.loads(path.read_text()) for path in sorted((RESULTS / "zero-shot").glob("*.json"))]


def zero_shot_table(*measures: str) -> str:
    """Quality of each system on each collection; an asterisk marks a difference to uniform beyond chance."""
    rows = [
        "| collection | queries | measure | BM25 | uniform | IDF | softened IDF |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for record in zero_shot():
        systems = {system["name"]: system for system in record["systems"]}
        for measure in measures:
            cells = [_cell(systems[name], measure) for name in ("bm25", "uniform", "idf", "idf-soft")]
            name, queries = (record["dataset"], str(record["queries"])) if measure == measures[0] else ("", "")
            rows.append(f"| {name} | {queries} | {measure} | {' | '.join(cells)} |")
    return "\n".join(rows)


def summary() -> str:
    """On how many collections a weighting is above uniform."""
    records = zero_shot()
    sentences = []
    for name, spoken in (
        ("idf-soft", "Softened IDF"),
        ("idf", "Plain IDF"),
        ("idf-soft-query-mean", "Softened IDF divided by the mean over query tokens"),
    ):
        parts = []
        for measure in ("nDCG@10", "R@10"):
            found = [
                next(system for system in record["systems"] if system["name"] == name)["against_baseline"][measure]
                for record in records
            ]
            above = sum(one["difference"] > 0 for one in found)
            certain = sum(one["difference"] > 0 and one["p_value"] < 0.05 for one in found)
            harmed = sum(one["difference"] < 0 and one["p_value"] < 0.05 for one in found)
            mean = sum(one["difference"] for one in found) / max(len(found), 1)
            parts.append(
                f"above uniform in {measure} on {above} of {len(found)} collections "
                f"({certain} significantly, {harmed} significantly below; mean change {mean:+.4f})"
            )
        sentences.append(f"{spoken} is {', and '.join(parts)}.")
    return "\n".join(sentences)


def _cell(system: dict[str, Any], measure: str) -> str:
    significant = system["name"] != "bm25" and system["against_baseline"][measure]["p_value"] < 0.05
    return f"{system['measures'][measure]:.3f}{'*' if significant else ''}"


if __name__ == "__main__":
    main()
