"""Quality of zero-shot and learnt weights, from ``results/zero-shot`` and ``results/few-shot``."""

import json
import statistics
from pathlib import Path
from typing import Any

from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.significance import SIGNIFICANCE

RESULTS = Path(__file__).parent / "results"
# The README shows these and the mean of all; docs/ has every collection.
BEIR = ("arguana", "climate-fever-sent", "dbpedia-entity-50q", "nfcorpus", "scifact")


def zero_shot_table(*measures: str) -> str:
    """Quality of each system on each collection; an asterisk marks a significant difference from uniform."""
    rows = [
        "| collection | queries | measure | BM25 | uniform | IDF | softened IDF |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for record in _records("zero-shot"):
        systems = {system["name"]: system for system in record["systems"]}
        for measure in measures:
            cells = [_cell(systems[name], measure) for name in ("bm25", "uniform", "idf", "idf-soft")]
            name, queries = (record["dataset"], str(record["queries"])) if measure == measures[0] else ("", "")
            rows.append(f"| {name} | {queries} | {measure} | {' | '.join(cells)} |")
    return "\n".join(rows)


def zero_shot_summary() -> str:
    """On how many collections each weighting beats uniform weights."""
    measured = _records("zero-shot")
    sentences = []
    for name, spoken in (
        ("idf-soft", "Softened IDF"),
        ("idf", "Plain IDF"),
        ("idf-soft-query-mean", "Softened IDF divided by the mean over query tokens"),
    ):
        parts = []
        for measure in MAIN_MEASURES:
            found = [
                next(system for system in record["systems"] if system["name"] == name)["against_baseline"][measure]
                for record in measured
            ]
            above, certain = _counts(found, 1)
            _, harmed = _counts(found, -1)
            mean = sum(one["difference"] for one in found) / max(len(found), 1)
            parts.append(
                f"in {measure} on {above} of {len(found)} collections "
                f"(significant gains: {certain}, significant losses: {harmed}; mean change {mean:+.4f})"
            )
        sentences.append(f"{spoken} beats uniform weights {' and '.join(parts)}.")
    return "\n".join(sentences)


def few_shot_table() -> str:
    """Zero-shot and learnt weights on the same test queries: nDCG@10, and the gain of learnt over uniform weights."""
    rows = [
        "| collection | judged queries to learn from | test queries | uniform | softened IDF | learnt "
        "| nDCG@10 gain | Recall@10 gain |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for record in _records("few-shot"):
        queries, learnt = record["splits"], record["systems"]["auto"]
        cells = [
            record["dataset"],
            str(queries["train"] + queries["validation"]),
            str(queries["test"]),
            f"{learnt['uniform']['nDCG@10']:.3f}",
            _value(record["systems"]["idf-soft"], "nDCG@10"),
            _value(learnt, "nDCG@10"),
            *(_change(learnt, measure, record["report"]["chosen"]) for measure in MAIN_MEASURES),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def few_shot_short() -> str:
    """The BEIR collections, and the mean over all collections: nDCG@10."""
    measured = _records("few-shot")
    rows = ["| collection | uniform | softened IDF | learnt | gain |", "| --- | ---: | ---: | ---: | ---: |"]
    for record in measured:
        if record["dataset"] in BEIR:
            learnt = record["systems"]["auto"]
            uniform, soft = f"{learnt['uniform']['nDCG@10']:.3f}", _value(record["systems"]["idf-soft"], "nDCG@10")
            cells = [uniform, soft, _value(learnt, "nDCG@10"), _change(learnt, "nDCG@10", record["report"]["chosen"])]
            rows.append(f"| {record['dataset']} | {' | '.join(cells)} |")
    uniform, soft, learnt = (
        statistics.mean(record["systems"][name][kind]["nDCG@10"] for record in measured)
        for name, kind in (("auto", "uniform"), ("idf-soft", "learnt"), ("auto", "learnt"))
    )
    means = f"{uniform:.3f} | {soft:.3f} | {learnt:.3f} | {100 * (learnt / uniform - 1):+.1f}%"
    return "\n".join([*rows, f"| mean of {len(measured)} collections | {means} |"])


def few_shot_recipes() -> str:
    """Every recipe on every collection."""
    names = ("idf", "idf-soft", "paper", "prior", "context", "auto")
    rows = [
        f"| collection | train/validation/test | measure | uniform | {' | '.join(names)} | chosen |",
        f"| --- | ---: | --- | ---: |{' ---: |' * len(names)} --- |",
    ]
    for record in _records("few-shot"):
        for measure in MAIN_MEASURES:
            first = measure == MAIN_MEASURES[0]
            head = [record["dataset"], "/".join(map(str, record["splits"].values()))] if first else ["", ""]
            uniform = f"{record['systems']['auto']['uniform'][measure]:.3f}"
            cells = [_value(record["systems"][name], measure) for name in names]
            rows.append(
                f"| {' | '.join([*head, measure, uniform, *cells, record['report']['chosen'] if first else ''])} |"
            )
    return "\n".join(rows)


def few_shot_summary() -> str:
    """How often learning helps, and how often it hurts."""
    measured = _records("few-shot")
    sentences = []
    for name, spoken in (("auto", "Recipe `auto`"), ("paper", "The paper's recipe")):
        parts = []
        for measure in MAIN_MEASURES:
            found = [record["systems"][name]["against_uniform"][measure] for record in measured]
            above, certain = _counts(found, 1)
            below, harmed = _counts(found, -1)
            parts.append(
                f"{measure} rises on {above} ({certain} significantly) and falls on {below} ({harmed} significantly)"
            )
        sentences.append(f"{spoken}, over {len(measured)} collections: {'; '.join(parts)}.")
    kept = [record["splits"] for record in measured if record["report"]["chosen"] == "uniform"]
    sizes = sorted(queries["train"] + queries["validation"] for queries in kept)
    sentences.append(
        f"`auto` fell back to uniform weights on {len(kept)} collections, which had {', '.join(map(str, sizes))} "
        "judged queries to learn from."
    )
    return "\n".join(sentences)


def learning_curve() -> str:
    """Quality against the number of judged queries, on scifact."""
    path = RESULTS / "learning-curve.json"
    points = json.loads(path.read_text())["curve"] if path.exists() else []
    rows = [
        "| judged queries | nDCG@10 | Recall@10 | nDCG@10 gain | range |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for point in points:
        span = f"{point['gain_lowest']:+.3f} to {point['gain_highest']:+.3f}" if point["queries"] else ""
        name = point["queries"] or "0 (uniform)"
        rows.append(f"| {name} | {point['ndcg']:.3f} | {point['recall']:.3f} | {point['gain']:+.3f} | {span} |")
    return "\n".join(rows)


def _records(benchmark: str) -> list[dict[str, Any]]:
    """One benchmark's results, a record per collection."""
    return [json.loads(path.read_text()) for path in sorted((RESULTS / benchmark).glob("*.json"))]


def _value(system: dict[str, Any], measure: str) -> str:
    return f"{system['learnt'][measure]:.3f}{_mark(system['against_uniform'][measure])}"


def _change(system: dict[str, Any], measure: str, chosen: str) -> str:
    return "uniform chosen" if chosen == "uniform" else f"{100 * system['change'][measure]:+.1f}%"


def _counts(comparisons: list[dict[str, Any]], sign: int) -> tuple[int, int]:
    """How many differences have this sign, and how many of those are significant."""
    found = [one for one in comparisons if one["difference"] * sign > 0]
    return len(found), sum(bool(_mark(one)) for one in found)


def _mark(comparison: dict[str, Any]) -> str:
    return "*" if comparison["p_value"] < SIGNIFICANCE else ""


def _cell(system: dict[str, Any], measure: str) -> str:
    mark = "" if system["name"] == "bm25" else _mark(system["against_baseline"][measure])
    return f"{system['measures'][measure]:.3f}{mark}"
