"""Variants of softened IDF and other weights without judgements, from ``results/zero-shot-variants``."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from chamfer.evaluate.collection_means import mean_percent
from chamfer.evaluate.measures import MAIN, MAIN_MEASURES
from chamfer.weights.idf import POWER
from chamfer.weights.zero_shot import UNIFORM
from table_means import Changes, Record, changes_in, counts, enough, in_two_blocks, large, number_large, read_records
from zero_shot_variants import (
    FIRST_HALF,
    FRACTIONS,
    NORMS,
    NORMS_SPECIAL,
    POWERS,
    QUERY_MEAN,
    SEEDS,
    power_name,
    sample_name,
)

SOFT = power_name(POWER)
ELSEWHERE = "elsewhere"
NOT_MEASURED = "Not measured yet; run `make bench-zero-shot`."


def differences() -> str:
    """Softened IDF minus uniform weights on each collection, with bootstrap intervals over its queries."""
    records = variants_records()
    if not records:
        return NOT_MEASURED

    def row(record: Record) -> list[str]:
        cells = [record["dataset"], str(record["queries"])]
        for measure in MAIN_MEASURES:
            found = record["systems"][SOFT]["against_uniform"][measure]
            low, high = found["interval"]
            cells.append(f"{found['difference']:+.4f} ({low:+.4f} to {high:+.4f})")
        return [f"| {' | '.join(cells)} |"]

    head = [f"| collection | queries | {' | '.join(MAIN_MEASURES)} |", "| --- | ---: | ---: | ---: |"]
    return in_two_blocks(records, head, row)


def powers() -> str:
    """Softened IDF with different powers, and with the power that is best on all other collections."""
    records = variants_records()
    names = {power_name(power): f"{power:g}" for power in POWERS}
    names[power_name(0)] += " (uniform)"
    names[SOFT] += " (softened IDF)"
    if not records:
        return NOT_MEASURED
    changes = changes_in(records, list(names), MAIN_MEASURES)
    rows = _rows(records, "power", names, changes)
    chosen = powers_chosen_elsewhere(changes)
    if chosen:
        times = ", ".join(f"{power:g} for {number}" for power, number in sorted(Counter(chosen).items()))
        own: Changes = {
            (ELSEWHERE, measure): [
                large(changes[power_name(power), measure])[place] for place, power in enumerate(chosen)
            ]
            for measure in MAIN_MEASURES
        }
        rows.append(_row(f"best on the other collections ({times})", ELSEWHERE, own))
    return "\n".join(rows)


def powers_chosen_elsewhere(changes: Changes) -> list[float]:
    """For each collection, the power with the highest mean gain in nDCG@10 on all others, the smaller one in a tie.

    So no collection is measured with a power that was chosen on its queries.
    """
    gains = {power: [change.percent for change in large(changes[power_name(power), MAIN])] for power in POWERS}
    collections = len(gains[POWERS[0]])
    if collections < 2:
        return []

    def best_without(left_out: int) -> float:
        return max(POWERS, key=lambda power: sum(gains[power]) - gains[power][left_out])

    return [best_without(place) for place in range(collections)]


def others() -> str:
    """Other weights that need no judgements, beside softened IDF."""
    names = {
        SOFT: "softened IDF",
        QUERY_MEAN: "softened IDF divided by the mean over query tokens",
        NORMS: "norms",
        NORMS_SPECIAL: "norms divided by the query's mean, special tokens at 1",
    }
    records = variants_records()
    if not records:
        return NOT_MEASURED
    return "\n".join(_rows(records, "weights", names, changes_in(records, list(names), MAIN_MEASURES)))


def counted() -> str:
    """Softened IDF with frequencies of a part of the corpus."""
    shares = {sample_name(fraction): f"{100 * fraction:g}% at random" for fraction in FRACTIONS}
    names = {SOFT: "all", FIRST_HALF: "the first half", **shares}
    records = variants_records()
    if not records:
        return NOT_MEASURED
    rows = _rows(records, "documents counted", names, changes_in(records, list(names), MAIN_MEASURES))
    spreads = []
    for fraction in FRACTIONS:
        own = [f"{seed_spread(records, fraction, measure):.2f}" for measure in MAIN_MEASURES]
        spreads.append(f"{100 * fraction:g}%: {' and '.join(own)}")
    sentences = [
        f"A sample's row is the mean of {len(SEEDS)} samples.",
        f"From sample to sample, the mean changes in {' and '.join(MAIN_MEASURES)} have standard deviations, in "
        f"percentage points, of {'; '.join(spreads)}.",
    ]
    return "\n".join([*rows, "", *sentences])


def seed_spread(records: Sequence[Record], fraction: float, measure: str) -> float:
    """Standard deviation over seeds of the mean relative change, in percent, over collections."""
    name = sample_name(fraction)
    systems = [record["systems"] for record in enough(records)]
    means = [
        statistics.fmean(
            100 * (one[name]["seeds"][place]["measures"][measure] / one[UNIFORM]["measures"][measure] - 1)
            for one in systems
        )
        for place in range(len(SEEDS) if systems else 0)
    ]
    return statistics.stdev(means) if means else 0.0


def variants_records() -> list[Record]:
    """A record per collection, its systems by name."""
    return read_records("zero-shot-variants")


def _rows(records: Sequence[Record], head: str, names: Mapping[str, str], changes: Changes) -> list[str]:
    columns = " | ".join(f"{measure} better / worse | mean change" for measure in MAIN_MEASURES)
    return [
        f"| {head}, {number_large(records)} | {columns} |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(_row(spoken, name, changes) for name, spoken in names.items()),
    ]


def _row(spoken: str, name: str, changes: Changes) -> str:
    cells = [spoken]
    for measure in MAIN_MEASURES:
        own = large(changes[name, measure])
        cells += [counts(own), mean_percent([change.percent for change in own])]
    return f"| {' | '.join(cells)} |"
