"""What special tokens of a query should weigh, from ``results/special-tokens``: queries to learn from alone."""

from chamfer.evaluate.collection_means import mean_percent
from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.weights.special import DEFAULT
from special_tokens import ALONE, MIXED, WEIGHTS, name_of
from table_means import not_yet, read_records


def weights() -> str:
    """Other weights of special tokens against the default one, with and without evidence."""
    records = read_records("special-tokens")
    if not records:
        return not_yet("bench-special-tokens")
    rows = [
        f"| special tokens weigh, {len(records)} collections | nDCG@10 | R@10 | better / worse |",
        "| --- | ---: | ---: | ---: |",
    ]
    for kind in (MIXED, ALONE):
        for special in WEIGHTS:
            if special == DEFAULT:
                continue
            changes = []
            for measure in MAIN_MEASURES:
                systems = [record["systems"] for record in records]
                pairs = [
                    (one[name_of(kind, special)][measure], one[name_of(kind, DEFAULT)][measure]) for one in systems
                ]
                changes.append([100 * (value / usual - 1) for value, usual in pairs])
            counts = f"{sum(one > 0 for one in changes[0])} / {sum(one < 0 for one in changes[0])}"
            shown = f"{special:g}" if kind == MIXED else f"{special:g}, {kind}"
            rows.append(f"| {shown} | {' | '.join(map(mean_percent, changes))} | {counts} |")
    return "\n".join(rows)
