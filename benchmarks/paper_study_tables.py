"""Readings of the paper's recipe, and weights of ``[MASK]``: ``results/paper-study`` and ``results/mask-weights``."""

import statistics
from collections.abc import Sequence
from typing import Any

from chamfer.evaluate.collection_means import FEWEST, mean_percent
from chamfer.evaluate.measures import MAIN_MEASURES
from learning_tables import LATE
from paper_controls import SYNTHETIC
from table_means import commits_in, not_yet, read_records

UNIFORM, PUBLISHED, OPTIMUM = "uniform", "published", "optimum"
Runs = Sequence[dict[str, Any]]
"""Runs on one collection with different seeds: the quality of each of their systems on test queries."""


def study() -> str:
    """One row for each reading: what it gains over uniform weights, and how many weights it sets to 0."""
    runs = {record["dataset"]: record["runs"] for record in read_records("paper-study")}
    control = runs.pop(SYNTHETIC, [])
    chosen = [own for own in runs.values() if own[0]["queries"]["test"] >= FEWEST]
    far = [own for own in runs.values() if own[0]["queries"]["apart"] >= FEWEST]
    rows = [
        f"| variant | {_head()} | {' | '.join(f'{measure} gain, apart' for measure in MAIN_MEASURES)} | weights at 0 "
        "| weights at 0 where uniform is right |",
        f"| --- |{' ---: |' * 7}",
    ]
    for name in _names(chosen):
        zeros = [_mean(own, name, "zeros") for own in chosen]
        apart = [mean_percent(_changes(far, name, measure, "apart")) for measure in MAIN_MEASURES]
        cells = [*_gains(chosen, name), *apart, _percent(zeros), _percent([_mean(control, name, "zeros")])]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    names = [name for name, own in runs.items() if own[0]["queries"]["test"] >= FEWEST]
    return "\n".join([*rows, "", *_facts(chosen, far, names)])


def mask_weights() -> str:
    """One row for each way to weight ``[MASK]``."""
    records = [record for record in read_records("mask-weights") if record["queries"]["test"] >= FEWEST]
    rows = [f"| weights | weight of `[MASK]` | {_head()} |", "| --- | ---: | ---: | ---: | ---: |"]
    chosen = [[record] for record in records]
    for name in _names(chosen):
        mask = statistics.fmean(record["systems"][name]["mask"] for record in records)
        rows.append(f"| {name} | {mask:.2f} | {' | '.join(_gains(chosen, name))} |")
    return "\n".join(rows)


def mask_weights_provenance() -> str:
    """Which model the weights of ``[MASK]`` are measured with, and whether it is that of the other results."""
    records = read_records("mask-weights")
    if not records:
        return not_yet("bench-late-interaction")
    own, others = ({record["encoder"]["model"] for record in measured} for measured in (records, read_records(LATE)))
    said = f"Measured on {commits_in(records)}, with the model {' and '.join(sorted(own))}."
    if not others - own:
        return said
    return (
        f"{said} [The other results of such a model](../results/late-interaction.md) are of one that was trained "
        f"anew, {' and '.join(sorted(others - own))}, so the two cannot be compared."
    )


def mask_weights_compared() -> str:
    """Weights of ``[MASK]`` against each other, in sentences."""
    records = [[record] for record in read_records("mask-weights") if record["queries"]["test"] >= FEWEST]
    if not records:
        return not_yet("bench-late-interaction")
    soft = "softened IDF, [MASK] 0"
    plain, learnt = (
        mean_percent(_changes(records, name, MAIN_MEASURES[0], against=against))
        for name, against in ((soft, "IDF, [MASK] 1"), ("all tokens learnt", soft))
    )
    masks = [own[0]["masks_per_query"] for own in records]
    return (
        f"Softened IDF with `[MASK]` at 0 differs from plain IDF with `[MASK]` at 1 by {plain} in {MAIN_MEASURES[0]}. "
        f"Learning all tokens differs from softened IDF with `[MASK]` at 0, which needs no labels, by {learnt}. "
        f"Queries have {min(masks):.1f} to {max(masks):.1f} masks on average."
    )


def _head() -> str:
    return f"{' | '.join(f'{measure} gain' for measure in MAIN_MEASURES)} | better / worse"


def _names(chosen: Sequence[Runs]) -> list[str]:
    return [name for name in chosen[0][0]["systems"] if name != UNIFORM] if chosen else []


def _gains(chosen: Sequence[Runs], name: str) -> list[str]:
    """Mean change in each measure with its interval over collections; collections that are better and worse in nDCG."""
    changes = [_changes(chosen, name, measure) for measure in MAIN_MEASURES]
    counts = f"{sum(one > 0 for one in changes[0])} / {sum(one < 0 for one in changes[0])}"
    return [*map(mean_percent, changes), counts]


def _changes(
    chosen: Sequence[Runs], name: str, measure: str, queries: str = "test", *, against: str = UNIFORM
) -> list[float]:
    """Relative change to other weights on each collection, in percent."""
    values, others = (
        [statistics.fmean(run["systems"][system][queries][measure] for run in own) for own in chosen]
        for system in (name, against)
    )
    return [100 * (value / base - 1) for value, base in zip(values, others, strict=True)]


def _mean(runs: Runs, name: str, key: str) -> float | None:
    found = [run["systems"][name][key] for run in runs if run["systems"][name].get(key) is not None]
    return statistics.fmean(found) if found else None


def _percent(shares: Sequence[float | None]) -> str:
    known = [share for share in shares if share is not None]
    if not known:
        return ""
    percent = 100 * statistics.fmean(known)
    return f"{percent:.0f}%" if percent >= 10 else f"{percent:.2g}%"


def _facts(chosen: Sequence[Runs], far: Sequence[Runs], names: Sequence[str]) -> list[str]:
    """How far Adam goes on these collections, and how close to the optimum the optima are."""
    if not chosen:
        return [not_yet("bench-paper-study")]
    means = {key: [statistics.fmean(run[key] for run in own) for own in chosen] for key in ("seen", "longest_path")}
    missed = [
        system["gap"] / (system["lowered"] + system["gap"])
        for own in chosen
        for run in own
        for system in run["systems"].values()
        if system.get("gap")
    ]
    published, optimum = (_percent([_mean(own, name, "largest") for own in chosen]) for name in (PUBLISHED, OPTIMUM))
    divisions = max(len(own) for own in chosen)
    drawn = (
        f"means over {divisions} random divisions of their queries"
        if divisions > 1
        else "one division of their queries each"
    )
    return [
        f"{len(chosen)} collections with at least {FEWEST} test queries ({', '.join(names)}), {len(far)} with as many "
        f"apart; {drawn}; means with 95% intervals over collections. "
        f"Their training queries have T = {min(means['seen']):.0f} to {max(means['seen']):.0f} distinct tokens, so all "
        f"steps of Adam together are {min(means['longest_path']):.1f} to {max(means['longest_path']):.1f} initial "
        f"weights long. The heaviest token has {published} of all weight in `{PUBLISHED}` and {optimum} in `{OPTIMUM}`."
        f" The optima miss at most {100 * statistics.median(missed):.2g}% (median) and {100 * max(missed):.2g}% "
        "(largest) of what the loss can be lowered by."
    ]
