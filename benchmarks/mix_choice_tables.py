"""What the default mix was chosen on, from ``results/mix-choice``: queries to learn from, never test queries."""

from collections.abc import Sequence

from chamfer.evaluate.collection_means import mean_percent
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.weights.idf import POWER, POWER_BESIDE_EVIDENCE
from chamfer.weights.mix import FOR_LATE_INTERACTION, FOR_POOLED_ENCODERS
from mix_choice import DEFAULT, LEXICAL, POOLED, POWERS, grid_name, names
from table_means import Record, not_yet, read_records

MINILM, LATE = "mix-choice/minilm", "mix-choice/late-interaction"
COMMANDS = {MINILM: "bench-mix-choice", LATE: "bench-late-interaction"}
DEFAULTS = {MINILM: (POWER_BESIDE_EVIDENCE, FOR_POOLED_ENCODERS), LATE: (POWER, FOR_LATE_INTERACTION)}
"""Power of softened IDF, and factors, of the default mix."""
UNIFORM = grid_name(0, 0, 0)


def factors(benchmark: str) -> str:
    """Every pair of factors, at the power of the default mix, against uniform weights without evidence."""
    records = read_records(benchmark)
    if not records:
        return not_yet(COMMANDS[benchmark])
    own_power, mix = DEFAULTS[benchmark]
    rows = [
        f"| lexical | {' | '.join(f'pooled {factor:g}' for factor in POOLED)} |",
        f"| ---: |{' ---: |' * len(POOLED)}",
    ]
    for words in LEXICAL:
        cells = [_change(records, grid_name(own_power, words, meaning)) for meaning in POOLED]
        rows.append(f"| {words:g} | {' | '.join(cells)} |")
    powers = [f"{power:g}: {_change(records, grid_name(power, mix.lexical, mix.pooled))}" for power in POWERS]
    said = f"Powers of softened IDF beside the factors {mix.lexical:g} and {mix.pooled:g}: {'; '.join(powers)}."
    return "\n".join([*rows, "", said])


def left_out(benchmark: str) -> str:
    """Evidence that is not part of the default mix, against the default mix."""
    records = read_records(benchmark)
    if not records:
        return not_yet(COMMANDS[benchmark])
    rows = [
        f"| default mix, {len(records)} collections | nDCG@10 | R@10 | better / worse |",
        "| --- | ---: | ---: | ---: |",
    ]
    measured = set.intersection(*({*record["systems"]} for record in records))
    for name in (one for one in names()[1:] if one in measured):
        changes = [_percents(records, name, measure, DEFAULT) for measure in MAIN_MEASURES]
        counts = f"{sum(one > 0 for one in changes[0])} / {sum(one < 0 for one in changes[0])}"
        rows.append(f"| {name} | {' | '.join(map(mean_percent, changes))} | {counts} |")
    if waiting := [name for name in names() if name not in measured]:
        rows += ["", f"Not measured yet: {'; '.join(waiting)}."]
    return "\n".join(rows)


def _change(records: Sequence[Record], name: str) -> str:
    """Mean changes of both measures against uniform weights, in percent."""
    found = [_percents(records, name, measure, UNIFORM) for measure in MAIN_MEASURES]
    return " / ".join(f"{sum(one) / len(one):+.1f}" for one in found)


def _percents(records: Sequence[Record], name: str, measure: str, baseline: str) -> list[float]:
    systems = [record["systems"] for record in records]
    return [100 * (one[name][measure] / one[baseline][measure] - 1) for one in systems]
