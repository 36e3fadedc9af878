"""Quality of the zero-shot weights that users can name, from ``results/zero-shot``, and of the paper's."""

from collections import Counter

from chamfer.evaluate.collection_means import mean_interval, mean_percent
from chamfer.reproduce.doubts import is_doubtful
from chamfer.reproduce.paper import printed
from table_means import Record, changes_in, counts, in_two_blocks, large, number_large, read_records

MEASURES = ("nDCG@10", "R@10", "RR@10")
WEIGHTS = {"idf": "plain IDF", "idf-soft": "softened IDF"}


def summary() -> str:
    """Each weighting against uniform weights, over the collections with enough queries."""
    records = weights_records()
    changes = changes_in(records, list(WEIGHTS), MEASURES)
    rows = [f"| {number_large(records)} | measure | better / worse | mean change |", "| --- | --- | ---: | ---: |"]
    sentences = []
    for name, spoken in WEIGHTS.items():
        where: dict[str, list[str]] = {}
        for measure in MEASURES:
            own = large(changes[name, measure])
            percents = [change.percent for change in own]
            rows.append(f"| {spoken} | {measure} | {counts(own)} | {mean_percent(percents)} |")
            _, low, high = mean_interval(percents)
            side = "lies above 0" if low > 0 else "lies below 0" if high < 0 else "includes 0"
            where.setdefault(side, []).append(measure)
        said = "; it ".join(f"{side} in {', '.join(measures)}" for side, measures in where.items())
        sentences.append(f"The interval of {spoken} {said}.")
    soft = sorted(large(changes["idf-soft", MEASURES[0]]), key=lambda change: change.percent)
    if soft:
        extremes = " and ".join(f"{change.percent:+.1f}% on {change.collection}" for change in (soft[0], soft[-1]))
        sentences.append(f"The extremes of softened IDF in {MEASURES[0]} are {extremes}.")
    return "\n".join([*rows, "", *sentences])


def every_collection() -> str:
    """Quality of each weighting on each collection; those with few queries in a block of their own."""
    records = weights_records()
    changes = changes_in(records, list(WEIGHTS), MEASURES)
    marks = {(*key, change.collection): change.mark for key, own in changes.items() for change in own}

    def rows(record: Record) -> list[str]:
        found = []
        for measure in MEASURES:
            cells = [
                f"{record['systems'][name]['measures'][measure]:.3f}{marks.get((name, measure, record['dataset']), '')}"
                for name in ("bm25", "uniform", *WEIGHTS)
            ]
            head = (record["dataset"], str(record["queries"])) if measure == MEASURES[0] else ("", "")
            found.append(f"| {' | '.join((*head, measure, *cells))} |")
        return found

    return in_two_blocks(
        records,
        [
            "| collection | queries | measure | BM25 | uniform | IDF | softened IDF |",
            "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
        ],
        rows,
    )


def paper() -> str:
    """What plain IDF gains over plain Chamfer in the paper's own re-ranking tables."""
    rows = [
        "| measure | datasets | better / equal / worse | mean change | without figures in doubt | mean change |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for measure in MEASURES:
        own = [row for row in printed() if (row.setting, row.measure) == ("rerank", measure)]
        signs = Counter((row.zero_shot > row.chamfer) - (row.zero_shot < row.chamfer) for row in own)
        sound = [row for row in own if not is_doubtful(row, "zero_shot")]
        change, sound_change = (
            mean_percent([100 * (row.zero_shot / row.chamfer - 1) for row in some]) for some in (own, sound)
        )
        signed = f"{signs[1]} / {signs[0]} / {signs[-1]}"
        rows.append(f"| {measure} | {len(own)} | {signed} | {change} | {len(sound)} | {sound_change} |")
    return "\n".join(rows)


def weights_records() -> list[Record]:
    """A record per collection, its systems by name."""
    records = read_records("zero-shot")
    for record in records:
        record["systems"] = {
            system["name"]: {"measures": system["measures"], "against_uniform": system["against_baseline"]}
            for system in record["systems"]
        }
    return records
