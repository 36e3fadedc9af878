"""Evidence beside the tokens and what labels add to it, from ``results/mixed`` and its folders for each encoder."""

import json

from chamfer.evaluate.collection_means import mean_percent
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.weights.mix import EVIDENCE
from few_shot import DRAWN, SHUFFLED
from pooled_tables import (
    AGAINST_MIX,
    AGAINST_UNIFORM,
    AUTO,
    BEIR,
    LEARNT,
    MIX,
    NDCG,
    PARTS,
    SOFT,
    UNIFORM,
    change,
    enough_in,
    marks_of,
    mean,
    percents,
    records_of,
    runs_below,
    value,
)
from table_means import RESULTS, Record, in_two_blocks

MINILM, LATE = "mixed/minilm", "mixed/late-interaction"
FRESH_MINILM, FRESH_LATE = "mixed/fresh-minilm", "mixed/fresh-late-interaction"

PIECES = (SOFT, "uniform + evidence", *(f"{MIX} without {name}" for name in EVIDENCE), f"{MIX} with pooled", MIX)
LEARNT_PIECES = (
    (AUTO, UNIFORM),
    (AUTO, MIX),
    *((f"{AUTO} without {name}", UNIFORM) for name in (*EVIDENCE, "adapter")),
    (f"{AUTO}, tokens only", UNIFORM),
)
CONTROLS = ((SHUFFLED, MIX), (DRAWN, MIX))
# Learning has enough to learn from.
MANY_JUDGED = 400
COMMANDS = {
    MINILM: "bench-mixed",
    LATE: "bench-late-interaction",
    FRESH_MINILM: "bench-fresh",
    FRESH_LATE: "bench-fresh",
}


def without_labels(benchmark: str) -> str:
    """Softened IDF and the mix against uniform weights, on every collection."""
    records = records_of(benchmark)
    columns = [("all", name, measure) for name in (SOFT, MIX) for measure in MAIN_MEASURES]
    marks = marks_of(records, columns, AGAINST_UNIFORM)
    head = [
        "| collection | test queries | uniform | softened IDF, nDCG@10 | softened IDF, R@10 | mix, nDCG@10 | mix, R@10 "
        "|",
        f"| --- |{' ---: |' * 6}",
    ]

    def row(record: Record) -> list[str]:
        changes = [change(record, column, AGAINST_UNIFORM, marks) for column in columns]
        cells = [record["dataset"], str(record["queries"]), value(record, "all", UNIFORM), *changes]
        return [f"| {' | '.join(cells)} |"]

    return in_two_blocks(records, head, row) if records else not_yet(COMMANDS[benchmark])


def pieces(benchmark: str) -> str:
    """What each piece of the mix is worth without labels: mean changes of uniform weights."""
    records = records_of(benchmark)
    large = enough_in(records, "all")
    if not large:
        return not_yet(COMMANDS[benchmark])
    rows = [
        f"| weights | nDCG@10, {len(large)} collections | R@10 | better / worse | nDCG@10, all {len(records)} | R@10 |",
        f"| --- |{' ---: |' * 5}",
    ]
    names = [name for name in PIECES if all(differs(record, name) for record in records)]
    for name in names:
        own, every = (
            [percents(chosen, "all", name, measure, UNIFORM) for measure in MAIN_MEASURES]
            for chosen in (large, records)
        )
        counts = f"{sum(one > 0 for one in own[0])} / {sum(one < 0 for one in own[0])}"
        rows.append(f"| {' | '.join([name, *map(mean_percent, own), counts, *map(mean_percent, every)])} |")
    return "\n".join(rows)


def with_labels(benchmark: str) -> str:
    """What ``auto`` learns against uniform weights, on all test queries and on those apart."""
    records = records_of(benchmark)
    marks = marks_of(records, LEARNT, AGAINST_UNIFORM)
    head = [
        "| collection | judged queries | test queries | uniform | mix | learnt | nDCG@10 | R@10 | test queries apart "
        "| nDCG@10 apart | R@10 apart |",
        f"| --- |{' ---: |' * 10}",
    ]

    def row(record: Record) -> list[str]:
        changes = [change(record, column, AGAINST_UNIFORM, marks) for column in LEARNT]
        cells = [
            record["dataset"],
            str(judged(record)),
            str(record["queries"]),
            *(value(record, "all", name) for name in (UNIFORM, MIX, AUTO)),
            *changes[:2],
            str(record["apart"]["queries"]),
            *changes[2:],
        ]
        return [f"| {' | '.join(cells)} |"]

    return in_two_blocks(records, head, row) if records else not_yet(COMMANDS[benchmark])


def over_mix(benchmark: str) -> str:
    """What labels add to the mix, collection by collection."""
    records = records_of(benchmark)
    marks = marks_of(records, LEARNT, AGAINST_MIX)
    head = [
        "| collection | nDCG@10 | R@10 | nDCG@10 apart | R@10 apart |",
        f"| --- |{' ---: |' * 4}",
    ]

    def row(record: Record) -> list[str]:
        cells = [record["dataset"], *(change(record, column, AGAINST_MIX, marks) for column in LEARNT)]
        return [f"| {' | '.join(cells)} |"]

    return in_two_blocks(records, head, row) if records else not_yet(COMMANDS[benchmark])


def summary(benchmark: str) -> str:
    """What labels change over all collections with enough queries, and how often it is a loss."""
    records = records_of(benchmark)
    if not enough_in(records, "all"):
        return not_yet(COMMANDS[benchmark])
    head = [
        "| weights | relative to | test queries | collections | better / worse | nDCG@10 | R@10 | runs that lose |",
        f"| --- | --- | --- |{' ---: |' * 5}",
    ]
    measured = set.intersection(*({*record["all"]["systems"]} for record in records))
    rows = [
        _summed(records, name, baseline, part)
        for name, baseline in (*LEARNT_PIECES, *CONTROLS)
        for part in PARTS
        if name in measured
    ]
    many = [record for record in records if judged(record) >= MANY_JUDGED]
    if not enough_in(many, "all"):
        return "\n".join([*head, *rows])
    title = f"Collections with at least {MANY_JUDGED} judged queries to learn from:"
    again = [_summed(many, name, baseline, part) for name, baseline in LEARNT_PIECES[:2] for part in PARTS]
    return "\n".join([*head, *rows, "", title, "", *head, *again])


def _summed(records: list[Record], name: str, baseline: str, part: str) -> str:
    own = enough_in(records, part)
    changes = [percents(own, part, name, measure, baseline) for measure in MAIN_MEASURES]
    counts = f"{sum(one > 0 for one in changes[0])} / {sum(one < 0 for one in changes[0])}"
    lost = runs_below(records, part, name, baseline)
    cells = [name, baseline, PARTS[part], str(len(own)), counts, *map(mean_percent, changes), lost]
    return f"| {' | '.join(cells)} |"


def judged(record: Record) -> int:
    """Number of judged queries to learn from."""
    return int(record["splits"]["train"]) + int(record["splits"]["validation"])


def differs(record: Record, name: str) -> bool:
    """Whether a system was measured, and is not the mix under another name."""
    systems = record["all"]["systems"]
    return name == MIX or (name in systems and systems[name]["measures"] != systems[MIX]["measures"])


def short() -> str:
    """For README: the BEIR collections, and the mean over all collections with enough queries."""
    records = records_of(MINILM)
    if not enough_in(records, "apart"):
        return not_yet(COMMANDS[MINILM])
    columns = [("all", MIX, NDCG), ("all", AUTO, NDCG), ("apart", AUTO, NDCG)]
    marks = marks_of(records, columns, AGAINST_UNIFORM)
    rows = [
        "| collection | uniform | mix | learnt | gain without labels | gain with labels | on new questions |",
        f"| --- |{' ---: |' * 6}",
    ]
    for record in records:
        if record["dataset"] in BEIR:
            values = [value(record, "all", name) for name in (UNIFORM, MIX, AUTO)]
            gains = [change(record, column, AGAINST_UNIFORM, marks) for column in columns]
            rows.append(f"| {' | '.join([record['dataset'], *values, *gains])} |")
    own = enough_in(records, "all")
    values = [
        f"{mean([record['all']['systems'][name]['measures'][NDCG] for record in own]):.3f}"
        for name in (UNIFORM, MIX, AUTO)
    ]
    gains = []
    for part, name, measure in columns:
        chosen = enough_in(records, part)
        changes = mean_percent(percents(chosen, part, name, measure, UNIFORM), digits=1)
        gains.append(f"{changes}, {len(chosen)} collections")
    return "\n".join([*rows, f"| {' | '.join(['mean', *values, *gains])} |"])


def cost() -> str:
    """What a mix costs a search and a served index, and how long learning takes."""
    path = RESULTS / "mixed" / "cost.json"
    if not path.exists():
        return not_yet("bench-mixed-cost BEFORE=../older")
    found = json.loads(path.read_text())
    rows = [
        "| index | documents | weights | ms per search | times before | memory, MB | times before |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, index in found["indexes"].items():
        before = next(iter(index["sides"].values()))
        for side, told in index["sides"].items():
            slower, larger = (told[key] / before[key] for key in ("milliseconds", "memory_mb"))
            cells = [
                *(name, f"{index['documents']:,}", side),
                *(f"{told['milliseconds']:.2f}", f"{slower:.2f}", f"{told['memory_mb']:.0f}", f"{larger:.2f}"),
            ]
            rows.append(f"| {' | '.join(cells)} |")
    learning = found["learning"]
    return "\n".join(
        [
            *rows,
            "",
            f"`auto` learns from {learning['queries']} queries of {learning['dataset']} in {learning['seconds']:.0f} "
            f"seconds on two cores, and the process never holds more than {learning['allocated_mb']['highest']:,} MB "
            "beside mapped files.",
        ]
    )


def not_yet(target: str) -> str:
    """What stands in place of a table."""
    return f"Not measured yet on this version; run `make {target}`."
