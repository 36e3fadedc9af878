"""Quality of learnt weights, from ``results/few-shot`` and folders of the same layout for other encoders and data."""

import json
from typing import Any

from chamfer.evaluate.collection_means import mean_percent
from chamfer.evaluate.measures import MAIN_MEASURES
from few_shot import DRAWN, SHUFFLED
from pooled_tables import (
    AGAINST_SOFT,
    AGAINST_UNIFORM,
    AUTO,
    LEARNT,
    NDCG,
    PARTS,
    SOFT,
    UNIFORM,
    against,
    change,
    enough_in,
    marks_of,
    percents,
    records_of,
    runs_below,
    value,
)
from table_means import RESULTS, Record, in_two_blocks, read_records

MINILM, LATE = "few-shot", "late-interaction/few-shot"
FRESH_MINILM, FRESH_LATE = "fresh/minilm", "fresh/late-interaction"

IDF = "idf"
RECIPES = (UNIFORM, IDF, SOFT, "paper", "prior", "context", AUTO)
SHARING = "sharing"

# The method was designed on training and validation queries of these, see docs/results/few-shot.md.
DESIGNED_ON = ("climate-fever-sent", "cosqa", "nfcorpus", "perspectrum")


def every_collection(benchmark: str) -> str:
    """Learnt weights against softened IDF, on all test queries and on those apart."""
    records = records_of(benchmark)
    marks = marks_of(records, LEARNT, AGAINST_SOFT)
    head = [
        "| collection | judged queries | test queries | uniform | softened IDF | learnt | nDCG@10 | R@10 "
        "| test queries apart | nDCG@10 apart | R@10 apart |",
        f"| --- |{' ---: |' * 10}",
    ]

    def row(record: Record) -> list[str]:
        cells = [
            record["dataset"],
            str(record["splits"]["train"] + record["splits"]["validation"]),
            str(record["queries"]),
            *(value(record, "all", name) for name in (UNIFORM, SOFT, AUTO)),
            *(change(record, ("all", AUTO, measure), AGAINST_SOFT, marks) for measure in MAIN_MEASURES),
            str(record["apart"]["queries"]),
            *(change(record, ("apart", AUTO, measure), AGAINST_SOFT, marks) for measure in MAIN_MEASURES),
        ]
        return [f"| {' | '.join(cells)} |"]

    return in_two_blocks(records, head, row)


def apart_and_sharing() -> str:
    """Learnt weights against softened IDF, on test queries apart and on the others."""
    records = records_of(MINILM)
    columns = [(part, AUTO, measure) for part in ("apart", SHARING) for measure in MAIN_MEASURES]
    marks = marks_of(records, columns, AGAINST_SOFT)
    head = [
        "| collection | test queries apart | nDCG@10 | R@10 | other test queries | nDCG@10 | R@10 |",
        f"| --- |{' ---: |' * 6}",
    ]

    def row(record: Record) -> list[str]:
        changes = [change(record, column, AGAINST_SOFT, marks) for column in columns]
        sizes = [str(record[part]["queries"]) for part in ("apart", SHARING)]
        return [f"| {' | '.join([record['dataset'], sizes[0], *changes[:2], sizes[1], *changes[2:]])} |"]

    return in_two_blocks(records, head, row)


def without_labels(benchmark: str) -> str:
    """IDF and softened IDF against uniform weights, on all test queries."""
    records = records_of(benchmark)
    columns = [("all", name, measure) for name in (IDF, SOFT) for measure in MAIN_MEASURES]
    marks = marks_of(records, columns, AGAINST_UNIFORM)
    head = [
        "| collection | test queries | uniform | IDF, nDCG@10 | IDF, R@10 | softened IDF, nDCG@10 | softened IDF, R@10 "
        "|",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]

    def row(record: Record) -> list[str]:
        changes = [change(record, column, AGAINST_UNIFORM, marks) for column in columns]
        cells = [record["dataset"], str(record["queries"]), value(record, "all", UNIFORM), *changes]
        return [f"| {' | '.join(cells)} |"]

    return in_two_blocks(records, head, row)


def every_recipe(benchmark: str) -> str:
    """Every recipe on every collection, with its spread over seeds."""
    head = [
        f"| collection | train/validation/test | measure | {' | '.join(RECIPES)} |",
        f"| --- | ---: | --- |{' ---: |' * len(RECIPES)}",
    ]

    def rows(record: Record) -> list[str]:
        found = []
        for measure in MAIN_MEASURES:
            first = measure == NDCG
            cells = [record["dataset"] if first else "", "/".join(map(str, record["splits"].values())) if first else ""]
            systems = record["all"]["systems"]
            cells += [measure, *(_with_spread(systems[name], measure) for name in RECIPES)]
            found.append(f"| {' | '.join(cells)} |")
        return found

    return in_two_blocks(records_of(benchmark), head, rows)


def recipe_means(benchmark: str) -> str:
    """The mean change of each recipe against each kind of weights without labels, with intervals."""
    records = records_of(benchmark)
    columns = {
        "vs uniform": ("all", UNIFORM),
        "vs IDF": ("all", IDF),
        "vs softened IDF": ("all", SOFT),
        "vs IDF, queries apart": ("apart", IDF),
        "vs softened IDF, queries apart": ("apart", SOFT),
    }
    rows = [f"| weights | measure | {' | '.join(columns)} |", f"| --- | --- |{' ---: |' * len(columns)}"]
    for name in (IDF, SOFT, "paper", "prior", "context", AUTO):
        for measure in MAIN_MEASURES:
            cells = [
                mean_percent(percents(enough_in(records, part), part, name, measure, baseline))
                if name != baseline
                else ""
                for part, baseline in columns.values()
            ]
            rows.append(f"| {name if measure == NDCG else ''} | {measure} | {' | '.join(cells)} |")
    return "\n".join(rows)


def summary(benchmark: str) -> str:
    """What labels and false labels change over all collections, with intervals, and how often it is a loss."""
    records = records_of(benchmark)
    if not records:
        return "Not measured yet."
    rows = [
        "| learnt from | relative to | test queries | collections | better / worse | nDCG@10 | R@10 | runs that lose |",
        f"| --- | --- | --- |{' ---: |' * 5}",
    ]
    for name, spoken, baseline in (
        (AUTO, "labels", SOFT),
        (AUTO, "labels", IDF),
        (SHUFFLED, "shuffled labels", SOFT),
        (DRAWN, "labels drawn by softened IDF", SOFT),
    ):
        for part, where in PARTS.items():
            own = enough_in(records, part)
            changes = [percents(own, part, name, measure, baseline) for measure in MAIN_MEASURES]
            counts = f"{sum(one > 0 for one in changes[0])} / {sum(one < 0 for one in changes[0])}"
            relative_to = {SOFT: "softened IDF", IDF: "plain IDF"}[baseline]
            lost = runs_below(records, part, name, baseline)
            cells = [spoken, relative_to, where, str(len(own)), counts, *map(mean_percent, changes), lost]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def where_it_comes_from() -> str:
    """What each recipe adds to softened IDF on new questions, in a sentence."""
    records = enough_in(records_of(MINILM), "apart")
    paper, prior, context = (
        mean_percent(percents(records, "apart", name, NDCG, SOFT), digits=1) for name in ("paper", "prior", "context")
    )
    beyond = mean_percent(percents(records, "apart", "context", NDCG, "prior"), digits=1)
    return (
        f"On new questions, relative to softened IDF, the paper's own recipe changes nDCG@10 by {paper}, our one "
        f"weight per token by {prior}, and weights that also depend on a token's context by {context}; the last two "
        f"differ by {beyond}."
    )


def provenance(benchmark: str) -> str:
    """On which commits, and in which arithmetic, the results of a page were measured."""
    records = read_records(benchmark)
    if not records:
        return "Not measured yet."
    commits = sorted({record["environment"]["commit"] for record in records})
    # Before it was recorded, the plain model was encoded in 32 bits and the late-interaction model in 16.
    before = {MINILM: "float32", FRESH_MINILM: "float32"}.get(benchmark, "bfloat16")
    arithmetic = sorted({record["encoder"].get("arithmetic", before) for record in records})
    plural = "s" if len(commits) > 1 else ""
    said = f"{len(records)} collections, encoded in {' and '.join(arithmetic)}; commit{plural} {', '.join(commits)}."
    if not all("relative_interval" in against(record, "all", AUTO, NDCG, AGAINST_SOFT) for record in records):
        said += " Intervals of relative changes are those of the difference, divided by the baseline's mean."
    return said


def similar_queries() -> str:
    """How many test queries of the fresh collections resemble one that may be learnt from."""
    path = RESULTS / "similar-queries.json"
    if not path.exists():
        return "Not counted yet; run `make bench-fresh`."
    found = json.loads(path.read_text())["collections"]
    levels = list(next(iter(found.values()))["shares"])
    rows = [
        f"| collection | {' | '.join(f'overlap of at least {float(level):.0%}' for level in levels)} |",
        f"| --- |{' ---: |' * len(levels)}",
        *(
            f"| {name} | {' | '.join(f'{share:.1%}' for share in one['shares'].values())} |"
            for name, one in found.items()
        ),
    ]
    return "\n".join(
        [
            "Test queries whose words overlap with those of a training or validation query (Jaccard, all queries):",
            "",
            *rows,
        ]
    )


def learning_curve() -> str:
    """Quality against the number of judged queries, a block for each collection."""
    path = RESULTS / "learning-curve.json"
    found = json.loads(path.read_text())["curves"] if path.exists() else {}
    # Curves of earlier versions do not say it.
    baseline = " or ".join(sorted({curve.get("baseline", "softened IDF") for curve in found.values()}))
    rows = [
        f"| collection | judged queries | nDCG@10 | Recall@10 | nDCG@10 gain | range | draws below {baseline} |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, curve in found.items():
        shown = f"{name}{' †' if name in DESIGNED_ON else ''}"
        for point in curve["points"]:
            if not point["queries"]:
                rows.append(f"| {shown} | 0 | {point['ndcg']:.3f} | {point['recall']:.3f} | | | |")
                continue
            span = f"{point['gain_lowest']:+.3f} to {point['gain_highest']:+.3f}"
            rows.append(
                f"| | {point['queries']} | {point['ndcg']:.3f} | {point['recall']:.3f} | {point['gain']:+.3f} | {span} "
                f"| {point['below']:.0%} |"
            )
    return "\n".join(rows)


def _with_spread(system: dict[str, Any], measure: str) -> str:
    low, high = min(system["by_seed"][measure]), max(system["by_seed"][measure])
    span = f" ({low:.3f}-{high:.3f})" if high - low >= 0.0005 else ""
    return f"{system['measures'][measure]:.3f}{span}"
