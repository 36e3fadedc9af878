"""Quality against the number of judged queries, from ``results/learning-curve``."""

from table_means import Record, not_yet, read_records

# The method was designed on training and validation queries of these, see docs/results/learning.md.
DESIGNED_ON = ("climate-fever-sent", "cosqa", "nfcorpus", "perspectrum")


def curves() -> str:
    """A block for each collection; those that the method was designed on come last."""
    records = sorted(read_records("learning-curve"), key=lambda record: record["dataset"] in DESIGNED_ON)
    if not records:
        return not_yet("bench-learning-curve")
    baseline = " or ".join(sorted({record["baseline"] for record in records}))
    rows = [
        f"| collection | judged queries | nDCG@10 | Recall@10 | nDCG@10 gain | range | draws below {baseline} |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(row for record in records for row in _rows(record)),
    ]
    return "\n".join(rows)


def _rows(record: Record) -> list[str]:
    first, *others = record["points"]
    shown = f"{record['dataset']}{' †' if record['dataset'] in DESIGNED_ON else ''}"
    rows = [f"| {shown} | 0 | {first['ndcg']:.3f} | {first['recall']:.3f} | | | |"]
    for point in others:
        span = f"{point['gain_lowest']:+.3f} to {point['gain_highest']:+.3f}"
        rows.append(
            f"| | {point['queries']} | {point['ndcg']:.3f} | {point['recall']:.3f} | {point['gain']:+.3f} | {span} "
            f"| {point['below']:.0%} |"
        )
    return rows
