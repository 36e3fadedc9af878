"""Evidence beside the tokens and learnt weights, from ``results/learning`` and its folders for encoders and data."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from chamfer.evaluate.collection_means import mean_percent
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.weights.mix import EVIDENCE
from learning import DRAWN, SHUFFLED
from pooled_tables import (
    AGAINST_MIX,
    AGAINST_UNIFORM,
    AUTO,
    BEIR,
    LEARNT,
    MIX,
    NDCG,
    PARTS,
    SHARING,
    SOFT,
    UNIFORM,
    Column,
    change,
    enough_in,
    marks_of,
    mean,
    percents,
    records_of,
    runs_below,
    value,
)
from table_means import RESULTS, Record, commits_in, in_two_blocks, not_yet, read_records

MINILM, LATE = "learning/minilm", "learning/late-interaction"
FRESH_MINILM, FRESH_LATE = "learning/fresh-minilm", "learning/fresh-late-interaction"
COMMANDS = {
    MINILM: "bench-learning",
    LATE: "bench-late-interaction",
    FRESH_MINILM: "bench-fresh",
    FRESH_LATE: "bench-fresh",
}

IDF, TOKENS_ONLY = "idf", f"{AUTO}, tokens only"
RECIPES = ("paper", "prior", "context")
PIECES = (SOFT, "uniform + evidence", *(f"{MIX} without {name}" for name in EVIDENCE), f"{MIX} with pooled", MIX)
LEARNT_PIECES = (
    (AUTO, UNIFORM),
    (AUTO, MIX),
    *((f"{AUTO} without {name}", UNIFORM) for name in (*EVIDENCE, "adapter")),
    (TOKENS_ONLY, UNIFORM),
)
CONTROLS = ((SHUFFLED, MIX), (DRAWN, MIX))
SPOKEN = {UNIFORM: "uniform", IDF: "IDF", SOFT: "softened IDF", MIX: "mix"}
# Learning has enough to learn from.
MANY_JUDGED = 400


def without_labels(benchmark: str) -> str:
    """IDF, softened IDF and the mix against uniform weights, on every collection."""
    names = (IDF, SOFT, MIX)
    columns = [("all", name, measure) for name in names for measure in MAIN_MEASURES]
    titles = [f"{SPOKEN[name]}, {measure}" for name in names for measure in MAIN_MEASURES]
    records = records_of(benchmark)
    marks = marks_of(records, columns, AGAINST_UNIFORM)

    def cells(record: Record) -> list[str]:
        return [value(record, "all", UNIFORM), *(change(record, column, AGAINST_UNIFORM, marks) for column in columns)]

    return _by_collection(benchmark, records, ["uniform", *titles], cells)


def with_labels(benchmark: str) -> str:
    """What ``auto`` learns against uniform weights, on all test queries and on those apart."""
    titles = ["judged queries", "uniform", "mix", "learnt", *MAIN_MEASURES, "test queries apart"]
    titles += [f"{measure} apart" for measure in MAIN_MEASURES]
    records = records_of(benchmark)
    marks = marks_of(records, LEARNT, AGAINST_UNIFORM)

    def cells(record: Record) -> list[str]:
        changes = [change(record, column, AGAINST_UNIFORM, marks) for column in LEARNT]
        values = (value(record, "all", name) for name in (UNIFORM, MIX, AUTO))
        return [str(_judged(record)), *values, *changes[:2], str(record["apart"]["queries"]), *changes[2:]]

    return _by_collection(benchmark, records, titles, cells)


def over_mix(benchmark: str) -> str:
    """What labels add to the mix: on all test queries, on those apart, and on the others."""
    columns: list[Column] = [*LEARNT, *((SHARING, AUTO, measure) for measure in MAIN_MEASURES)]
    titles = [*MAIN_MEASURES, "test queries apart", *(f"{measure} apart" for measure in MAIN_MEASURES)]
    titles += ["others", *(f"{measure} others" for measure in MAIN_MEASURES)]
    records = records_of(benchmark)
    marks = marks_of(records, columns, AGAINST_MIX)

    def cells(record: Record) -> list[str]:
        changes = [change(record, column, AGAINST_MIX, marks) for column in columns]
        apart, sharing = (str(record[part]["queries"]) for part in ("apart", SHARING))
        return [*changes[:2], apart, *changes[2:4], sharing, *changes[4:]]

    return _by_collection(benchmark, records, titles, cells)


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
    for name in (one for one in PIECES if all(_differs(record, one) for record in records)):
        own, every = (
            [percents(chosen, "all", name, measure, UNIFORM) for measure in MAIN_MEASURES]
            for chosen in (large, records)
        )
        rows.append(f"| {' | '.join([name, *map(mean_percent, own), _counts(own[0]), *map(mean_percent, every)])} |")
    return "\n".join(rows)


def summary(benchmark: str) -> str:
    """What true and false labels change over all collections with enough queries, and how often it is a loss."""
    records = records_of(benchmark)
    if not enough_in(records, "all"):
        return not_yet(COMMANDS[benchmark])
    head = [
        "| weights | relative to | test queries | collections | better / worse | nDCG@10 | R@10 | runs that lose |",
        f"| --- | --- | --- |{' ---: |' * 5}",
    ]
    measured = set.intersection(*({*record["all"]["systems"]} for record in records))
    controls = [control for control in CONTROLS if control[0] in measured]
    rows = [_summed(records, name, baseline, part) for name, baseline in (*LEARNT_PIECES, *controls) for part in PARTS]
    if not controls:
        rows += ["", "False labels have not been learnt from with this version yet."]
    many = [record for record in records if _judged(record) >= MANY_JUDGED]
    if not enough_in(many, "all"):
        return "\n".join([*head, *rows])
    title = f"Collections with at least {MANY_JUDGED} judged queries to learn from:"
    again = [_summed(many, name, baseline, part) for name, baseline in LEARNT_PIECES[:2] for part in PARTS]
    return "\n".join([*head, *rows, "", title, "", *head, *again])


def recipe_means(benchmark: str) -> str:
    """The mean change of each recipe against weights without labels, with intervals."""
    records = records_of(benchmark)
    if not enough_in(records, "all"):
        return not_yet(COMMANDS[benchmark])
    columns = {
        "vs uniform": ("all", UNIFORM),
        "vs softened IDF": ("all", SOFT),
        "vs mix": ("all", MIX),
        "vs softened IDF, queries apart": ("apart", SOFT),
        "vs mix, queries apart": ("apart", MIX),
    }
    rows = [f"| weights | measure | {' | '.join(columns)} |", f"| --- | --- |{' ---: |' * len(columns)}"]
    for name in (IDF, SOFT, MIX, *RECIPES, TOKENS_ONLY, AUTO):
        for measure in MAIN_MEASURES:
            cells = [
                mean_percent(percents(enough_in(records, part), part, name, measure, baseline))
                if name != baseline
                else ""
                for part, baseline in columns.values()
            ]
            rows.append(f"| {name if measure == NDCG else ''} | {measure} | {' | '.join(cells)} |")
    return "\n".join(rows)


def new_questions() -> str:
    """What each recipe adds to softened IDF on new questions, in a sentence."""
    records = enough_in(records_of(MINILM), "apart")
    if not records:
        return not_yet(COMMANDS[MINILM])
    paper, prior, context = (mean_percent(percents(records, "apart", name, NDCG, SOFT), digits=1) for name in RECIPES)
    beyond = mean_percent(percents(records, "apart", "context", NDCG, "prior"), digits=1)
    return (
        f"On new questions, relative to softened IDF, the paper's own recipe changes nDCG@10 by {paper}, our one "
        f"weight per token by {prior}, and weights that also depend on a token's context by {context}; the last two "
        f"differ by {beyond}."
    )


def every_recipe(benchmark: str) -> str:
    """Every recipe on every collection, with its spread over seeds."""
    names = (UNIFORM, IDF, SOFT, MIX, *RECIPES, AUTO)
    records = records_of(benchmark)
    if not records:
        return not_yet(COMMANDS[benchmark])
    head = [
        f"| collection | train/validation/test | measure | {' | '.join(names)} |",
        f"| --- | ---: | --- |{' ---: |' * len(names)}",
    ]

    def rows(record: Record) -> list[str]:
        found = []
        for measure in MAIN_MEASURES:
            splits = "/".join(map(str, record["splits"].values()))
            cells = [record["dataset"], splits] if measure == NDCG else ["", ""]
            systems = record["all"]["systems"]
            cells += [measure, *(_with_spread(systems[name], measure) for name in names)]
            found.append(f"| {' | '.join(cells)} |")
        return found

    return in_two_blocks(records, head, rows)


def provenance(benchmark: str) -> str:
    """Which collections were measured on which commits, devices and arithmetic, and which were not."""
    records = read_records(benchmark)
    if not records:
        return not_yet(COMMANDS[benchmark])
    arithmetic, devices = (
        " and ".join(sorted({str(one) for one in found}))
        for found in (
            [record["encoder"]["arithmetic"] for record in records],
            [{"cpu": "CPUs"}.get(record["encoder"]["device"], "a GPU") for record in records],
        )
    )
    said = (
        f"{len(records)} collection{'' if len(records) == 1 else 's'}, encoded in {arithmetic} on {devices}; "
        f"{_seeds(records)}; {commits_in(records)}."
    )
    missing = sorted(_expected(benchmark) - {record["dataset"] for record in records})
    return f"{said} Not measured with this version yet: {', '.join(missing)}." if missing else said


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
    return "\n".join([*rows, f"| {' | '.join(['mean', *values, *gains])} |", "", f"Measured with {_seeds(records)}."])


def similar_queries() -> str:
    """How many test queries of the fresh collections resemble one that may be learnt from."""
    found = _similar()
    if not found:
        return "Not counted yet; run `make bench-fresh`."
    levels = list(next(iter(found.values()))["shares"])
    rows = [
        f"| collection | {' | '.join(f'overlap of at least {float(level):.0%}' for level in levels)} |",
        f"| --- |{' ---: |' * len(levels)}",
        *(
            f"| {name} | {' | '.join(f'{share:.1%}' for share in one['shares'].values())} |"
            for name, one in found.items()
        ),
    ]
    said = "Test queries whose words overlap with those of a training or validation query (Jaccard, all queries):"
    return "\n".join([said, "", *rows])


def _by_collection(
    benchmark: str, records: Sequence[Record], titles: Sequence[str], cells: Callable[[Record], list[str]]
) -> str:
    """A row for each collection: its name, its number of test queries, and cells with titles."""
    if not records:
        return not_yet(COMMANDS[benchmark])
    head = [f"| collection | test queries | {' | '.join(titles)} |", f"| --- |{' ---: |' * (len(titles) + 1)}"]

    def rows(record: Record) -> list[str]:
        return [f"| {' | '.join([record['dataset'], str(record['queries']), *cells(record)])} |"]

    return in_two_blocks(records, head, rows)


def _summed(records: Sequence[Record], name: str, baseline: str, part: str) -> str:
    own = enough_in(records, part)
    changes = [percents(own, part, name, measure, baseline) for measure in MAIN_MEASURES]
    lost = runs_below(records, part, name, baseline)
    cells = [name, baseline, PARTS[part], str(len(own)), _counts(changes[0]), *map(mean_percent, changes), lost]
    return f"| {' | '.join(cells)} |"


def _counts(changes: Sequence[float]) -> str:
    return f"{sum(one > 0 for one in changes)} / {sum(one < 0 for one in changes)}"


def _seeds(records: Sequence[Record]) -> str:
    """The number of seeds: one, or as many as each collection has."""
    found = sorted({record["seeds"] for record in records})
    return f"{' or '.join(map(str, found))} seed{'' if found == [1] else 's'}"


def _judged(record: Record) -> int:
    """Number of judged queries to learn from."""
    return int(record["splits"]["train"]) + int(record["splits"]["validation"])


def _differs(record: Record, name: str) -> bool:
    """Whether a system is not the mix under another name."""
    systems = record["all"]["systems"]
    return name == MIX or systems[name]["measures"] != systems[MIX]["measures"]


def _with_spread(system: dict[str, Any], measure: str) -> str:
    low, high = min(system["by_seed"][measure]), max(system["by_seed"][measure])
    span = f" ({low:.3f}-{high:.3f})" if high - low >= 0.0005 else ""
    return f"{system['measures'][measure]:.3f}{span}"


def _expected(benchmark: str) -> set[str]:
    """Names of the collections that there are: those with results of other benchmarks."""
    if benchmark in (FRESH_MINILM, FRESH_LATE):
        return {*_similar()}
    return {path.stem for folder in ("zero-shot", "mix-choice/minilm") for path in (RESULTS / folder).glob("*.json")}


def _similar() -> dict[str, Any]:
    path = RESULTS / "similar-queries.json"
    found: dict[str, Any] = json.loads(path.read_text())["collections"] if path.exists() else {}
    return found
