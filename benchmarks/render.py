"""Render the tables in README and docs from ``results/*.json``; with ``--check``, fail if they are out of date.

A table stands between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``.
"""

import json
import sys
from pathlib import Path
from typing import Any

import capacity_tables
import gpu_tables
import index_tables
import qdrant_tables
import ray_tables
import reproduce_tables
import serving_tables

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MEASURES = ("nDCG@10", "R@10")
KERNEL_HEADLINE = "32 x 128"


def main() -> None:
    """Rewrite every page, or say which one is stale."""
    tables = {
        "zero-shot-all": zero_shot_table("nDCG@10", "R@10", "RR@10"),
        "zero-shot-summary": zero_shot_summary(),
        "few-shot": few_shot_table(),
        "few-shot-all": few_shot_recipes(),
        "few-shot-summary": few_shot_summary(),
        "learning-curve": learning_curve(),
        "kernel": kernel_headline(),
        "kernel-all": kernel_table(),
        "kernel-facts": kernel_facts(),
        "gpu": gpu_tables.speed(),
        "gpu-summary": gpu_tables.summary(),
        "gpu-facts": gpu_tables.facts(),
        "gpu-end-to-end": gpu_tables.end_to_end(),
        "first-stages": index_tables.first_stages(),
        "small-indexes": index_tables.small_indexes(),
        "compression": index_tables.compression(),
        "growth": index_tables.growth(),
        "plaid": index_tables.plaid(),
        "plaid-summary": index_tables.plaid_summary(),
        "encoding": index_tables.encoding(),
        "reproduce-summary": reproduce_tables.summary(),
        "reproduce": reproduce_tables.reproduced(),
        "capacity-model": capacity_tables.model(),
        "capacity-plans": capacity_tables.plans(),
        "capacity-tail": capacity_tables.tail(),
        "qdrant": qdrant_tables.parity(),
        "ray-batch": ray_tables.batch(),
        "sharded": ray_tables.shards(),
        "serving": serving_tables.serving(),
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


def records(benchmark: str) -> list[dict[str, Any]]:
    """The measured collections, by name."""
    return [json.loads(path.read_text()) for path in sorted((RESULTS / benchmark).glob("*.json"))]


def zero_shot_table(*measures: str) -> str:
    """Quality of each system on each collection; an asterisk marks a difference to uniform beyond chance."""
    rows = [
        "| collection | queries | measure | BM25 | uniform | IDF | softened IDF |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for record in records("zero-shot"):
        systems = {system["name"]: system for system in record["systems"]}
        for measure in measures:
            cells = [_cell(systems[name], measure) for name in ("bm25", "uniform", "idf", "idf-soft")]
            name, queries = (record["dataset"], str(record["queries"])) if measure == measures[0] else ("", "")
            rows.append(f"| {name} | {queries} | {measure} | {' | '.join(cells)} |")
    return "\n".join(rows)


def zero_shot_summary() -> str:
    """On how many collections a weighting is above uniform."""
    measured = records("zero-shot")
    sentences = []
    for name, spoken in (
        ("idf-soft", "Softened IDF"),
        ("idf", "Plain IDF"),
        ("idf-soft-query-mean", "Softened IDF divided by the mean over query tokens"),
    ):
        parts = []
        for measure in MEASURES:
            found = [
                next(system for system in record["systems"] if system["name"] == name)["against_baseline"][measure]
                for record in measured
            ]
            above, certain = _counts(found, 1)
            _, harmed = _counts(found, -1)
            mean = sum(one["difference"] for one in found) / max(len(found), 1)
            parts.append(
                f"above uniform in {measure} on {above} of {len(found)} collections "
                f"({certain} significantly, {harmed} significantly below; mean change {mean:+.4f})"
            )
        sentences.append(f"{spoken} is {', and '.join(parts)}.")
    return "\n".join(sentences)


def few_shot_table() -> str:
    """Weights that need labels beside those that need none, on the same test queries."""
    rows = [
        "| collection | queries learnt from | measured on | uniform | softened IDF | learnt | nDCG@10 | Recall@10 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for record in records("few-shot"):
        queries, learnt = record["splits"], record["systems"]["auto"]
        cells = [
            record["dataset"],
            str(queries["train"] + queries["validation"]),
            str(queries["test"]),
            f"{learnt['uniform']['nDCG@10']:.3f}",
            _value(record["systems"]["idf-soft"], "nDCG@10"),
            _value(learnt, "nDCG@10"),
            *(_change(learnt, measure, record["report"]["chosen"]) for measure in MEASURES),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def few_shot_recipes() -> str:
    """Every recipe on every collection."""
    names = ("idf", "idf-soft", "paper", "prior", "context", "auto")
    rows = [
        f"| collection | train/validation/test | measure | uniform | {' | '.join(names)} | chosen |",
        f"| --- | ---: | --- | ---: |{' ---: |' * len(names)} --- |",
    ]
    for record in records("few-shot"):
        for measure in MEASURES:
            first = measure == MEASURES[0]
            head = [record["dataset"], "/".join(map(str, record["splits"].values()))] if first else ["", ""]
            uniform = f"{record['systems']['auto']['uniform'][measure]:.3f}"
            cells = [_value(record["systems"][name], measure) for name in names]
            rows.append(
                f"| {' | '.join([*head, measure, uniform, *cells, record['report']['chosen'] if first else ''])} |"
            )
    return "\n".join(rows)


def few_shot_summary() -> str:
    """How often learning helps, and whether it harms."""
    measured = records("few-shot")
    sentences = []
    for name, spoken in (("auto", "`auto`"), ("paper", "The paper's recipe")):
        parts = []
        for measure in MEASURES:
            found = [record["systems"][name]["against_uniform"][measure] for record in measured]
            above, certain = _counts(found, 1)
            below, harmed = _counts(found, -1)
            parts.append(f"{measure} on {above} ({certain} significantly) and lowers it on {below} ({harmed})")
        sentences.append(f"{spoken} raises {', and '.join(parts)} of {len(measured)} collections.")
    kept = [record["splits"] for record in measured if record["report"]["chosen"] == "uniform"]
    sizes = sorted(queries["train"] + queries["validation"] for queries in kept)
    sentences.append(
        f"`auto` kept uniform weights on {len(kept)}, where it had {', '.join(map(str, sizes))} queries to learn from."
    )
    return "\n".join(sentences)


def learning_curve() -> str:
    """Quality against the number of judged queries, on scifact."""
    path = RESULTS / "learning-curve.json"
    points = json.loads(path.read_text())["curve"] if path.exists() else []
    rows = [
        "| judged queries | nDCG@10 | Recall@10 | gain in nDCG@10 | lowest to highest |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for point in points:
        span = f"{point['gain_lowest']:+.3f} to {point['gain_highest']:+.3f}" if point["queries"] else ""
        name = point["queries"] or "0 (uniform)"
        rows.append(f"| {name} | {point['ndcg']:.3f} | {point['recall']:.3f} | {point['gain']:+.3f} | {span} |")
    return "\n".join(rows)


def kernel_headline() -> str:
    """Our kernel and its peers on the shape that matters most, as times and ratios."""
    shapes = [shape for shape in _kernel()["shapes"] if shape["shape"] == KERNEL_HEADLINE]
    columns = "".join(f" {_threads(shape)}, ms | times ours |" for shape in shapes)
    rows = [f"| system |{columns}", f"| --- |{' ---: | ---: |' * len(shapes)}"]
    for name in shapes[0]["systems"]:
        cells = []
        for shape in shapes:
            ours, took = (shape["systems"][system].get("median_ms") for system in ("chamfer, cosine", name))
            ratio = "" if name.startswith("chamfer") or took is None else f"{took / ours:.1f}"
            cells += ["crashed" if took is None else f"{took:.1f}", ratio]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


def kernel_table() -> str:
    """Every shape and system."""
    shapes = _kernel()["shapes"]
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


def kernel_facts() -> str:
    """What else was measured."""
    record = _kernel()
    headline = next(shape for shape in record["shapes"] if shape["shape"] == KERNEL_HEADLINE)
    computed = headline["operations"] * (1 - headline["saved"])
    speed = computed / headline["systems"]["chamfer, cosine"]["median_ms"] / 1e6
    peak = record["peak_gop"]
    memory = record["memory"]
    of_peak = f", {100 * speed / peak:.0f} % of the {peak:.0f} that one core does at best" if peak else ""
    facts = [
        f"- {KERNEL_HEADLINE}, one thread: {speed:.0f} billion 8-bit operations a second in all{of_peak}.",
        *(
            f"- {shape['shape']}: of 1,000 documents {shape['read']:.0f} were read in 16 bits, and "
            f"{100 * shape['saved']:.0f} % of the products were not computed while screening."
            for shape in record["shapes"]
            if shape["threads"] == 1
        ),
        f"- Ranking 1,000 documents of scifact from disk takes {memory['ranking_own']:.0f} MB of own memory; an "
        f"interpreter that only starts has {memory['interpreter_own']:.0f} MB. With the mapped pages of files, which "
        f"the system takes back when it needs room, it is {memory['ranking_resident']:.0f} MB.",
    ]
    return "\n".join(facts)


def _kernel() -> dict[str, Any]:
    record: dict[str, Any] = json.loads((RESULTS / "kernel.json").read_text())
    return record


def _threads(shape: dict[str, Any]) -> str:
    return "one thread" if shape["threads"] == 1 else f"{shape['threads']} threads"


def _time_and_agreement(found: dict[str, float]) -> list[str]:
    return [f"{found['median_ms']:.1f}", f"{100 * found['same_best_10']:.0f} %"]


def _value(system: dict[str, Any], measure: str) -> str:
    return f"{system['learnt'][measure]:.3f}{_mark(system['against_uniform'][measure])}"


def _change(system: dict[str, Any], measure: str, chosen: str) -> str:
    return "uniform kept" if chosen == "uniform" else f"{100 * system['change'][measure]:+.1f} %"


def _counts(comparisons: list[dict[str, Any]], sign: int) -> tuple[int, int]:
    """How many differences have a sign, and how many of these are significant."""
    found = [one for one in comparisons if one["difference"] * sign > 0]
    return len(found), sum(bool(_mark(one)) for one in found)


def _mark(comparison: dict[str, Any]) -> str:
    return "*" if comparison["p_value"] < 0.05 else ""


def _cell(system: dict[str, Any], measure: str) -> str:
    mark = "" if system["name"] == "bm25" else _mark(system["against_baseline"][measure])
    return f"{system['measures'][measure]:.3f}{mark}"


if __name__ == "__main__":
    main()
