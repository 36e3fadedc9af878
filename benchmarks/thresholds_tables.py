"""How well scores tell whether a query has an answer, from ``results/thresholds``."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chamfer.search.background import SHARE
from table_means import Record, not_yet, read_records
from thresholds import FOREIGN, LEARN, NONSENSE, REMOVED, TEST

COMMAND = "bench-thresholds"

STATISTICS = {
    "kernel": "score before the common scale",
    "score": "score",
    "z": "standard deviations above random documents",
    "margin": "lead over the tenth document",
    "lexical": "share of the query's own BM25 score",
}


def separation() -> str:
    """AUC of every statistic on test queries, and on queries to learn from in brackets."""
    records = read_records("thresholds")
    if not records:
        return not_yet(COMMAND)
    rows = [
        "| best document's | relevant documents removed | queries of another collection | nonsense |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, shown in STATISTICS.items():
        cells = []
        for other in (REMOVED, FOREIGN, NONSENSE):
            test, learn = (_mean_auc(records, name, role, other) for role in (TEST, LEARN))
            cells.append(f"{test:.3f} ({learn:.3f})")
        rows.append(f"| {shown} | {' | '.join(cells)} |")
    return "\n".join(rows)


def flagged() -> str:
    """The share of queries of each kind that an index calls probably unanswered."""
    records = read_records("thresholds")
    if not records:
        return not_yet(COMMAND)
    rows = [
        "| collection | level | test queries | relevant documents removed | of another collection | nonsense | "
        "AUC, removed | its ceiling |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    whole = []
    for record in records:
        level = record["levels"][f"{SHARE:g}"]
        kinds = (TEST, f"{TEST} {REMOVED}", FOREIGN, NONSENSE)
        shares = [float((_values(record, "score", kind) < level).mean()) for kind in kinds]
        # Where the best document is not relevant, removing relevant ones changes nothing.
        ceiling = (1 + float(_values(record, "best is relevant", TEST).mean())) / 2
        whole.append([level, *shares, _auc(record, "score", TEST, f"{TEST} {REMOVED}"), ceiling])
        rows.append(_row(record["dataset"], whole[-1]))
    return "\n".join([*rows, _row("mean", np.mean(whole, axis=0).tolist())])


def levels() -> str:
    """Flagged queries by the share of unrelated pairs below the level, on queries to learn from."""
    records = read_records("thresholds")
    if not records:
        return not_yet(COMMAND)
    rows = [
        "| unrelated pairs below the level | queries to learn from | relevant documents removed "
        "| of another collection | nonsense |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for share in records[0]["levels"]:
        cells = []
        for kind in (LEARN, f"{LEARN} {REMOVED}", FOREIGN, NONSENSE):
            means = [(_values(record, "score", kind) < record["levels"][share]).mean() for record in records]
            cells.append(f"{np.mean(means):.0%}")
        rows.append(f"| {float(share):.1%} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _row(name: str, values: Sequence[float]) -> str:
    level, *shares, separated, ceiling = values
    shown = " | ".join(f"{share:.0%}" for share in shares)
    return f"| {name} | {level:.2f} | {shown} | {separated:.3f} | {ceiling:.3f} |"


def _mean_auc(records: Sequence[Record], statistic: str, role: str, other: str) -> float:
    kind = f"{role} {REMOVED}" if other == REMOVED else other
    return float(np.mean([_auc(record, statistic, role, kind) for record in records]))


def _auc(record: Record, statistic: str, one: str, other: str) -> float:
    """The probability that a query of one kind has the larger value than one of the other; ties count half."""
    answered, unanswered = _values(record, statistic, one), _values(record, statistic, other)
    larger = (answered[:, None] > unanswered).mean()
    return float(larger + (answered[:, None] == unanswered).mean() / 2)


def _values(record: Record, statistic: str, kind: str) -> npt.NDArray[np.float64]:
    return np.array([query[statistic] for query in record["queries"][kind]])
