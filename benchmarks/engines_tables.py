"""Whole searches beside other engines, for ``render.py``, from ``results/engines/*.json``."""

from collections.abc import Sequence
from typing import Any

from table_means import Record, not_yet, read_records

TARGET = "bench-engines"
OURS, FULL = "chamfer", 0.99

Row = dict[str, Any]


def summary() -> str:
    """Against each engine at its defaults: how fast chamfer is at that quality or better, with the same threads."""
    sentences = []
    for record in _records():
        for theirs in _defaults(record):
            if theirs["engine"] == OURS or theirs["weights"] != "uniform":
                continue
            equal = [
                row
                for row in _defaults(record)
                if row["engine"] == OURS
                and _of(row, "threads", "weights") == _of(theirs, "threads", "weights")
                and row["nDCG@10"] >= theirs["nDCG@10"]
            ]
            if not equal:
                sentences.append(f"- {_about(record, theirs)}: no precision of chamfer has its nDCG@10.")
                continue
            ours = min(equal, key=lambda row: float(row["search"]["milliseconds"]))
            one, all_at_once = (_times(ours, theirs, name) for name in ("milliseconds", "queries_per_second"))
            sentences.append(
                f"- {_about(record, theirs)}: chamfer ({spoken(ours['build_settings'])}) is {one} as fast for one "
                f"query at a time, {all_at_once} for all in one call, and "
                f"{theirs['build']['seconds'] / ours['build']['seconds']:.0f}x as fast to build; nDCG@10 "
                f"{ours['nDCG@10']:.4f} vs {theirs['nDCG@10']:.4f}."
            )
    return "\n".join(sentences) or not_yet(TARGET)


def short() -> str:
    """Every engine with its defaults and two threads, on scifact."""
    record = next((one for one in _records() if one["trial"] == "scifact"), None)
    if record is None:
        return not_yet(TARGET)
    rows = [
        "| engine | nDCG@10 | one query, ms | all, queries/s | build, s | disk, MB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in _defaults(record):
        if (row["threads"], row["weights"]) != (2, "uniform"):
            continue
        precision = row["build_settings"].get("precision")
        cells = [
            f"{row['engine']}, {precision}" if precision else row["engine"],
            f"{row['nDCG@10']:.3f}",
            f"{row['search']['milliseconds']:.1f}",
            f"{row['search']['queries_per_second']:,.0f}",
            f"{row['build']['seconds']:,.1f}",
            f"{row['build']['bytes'] / 1e6:,.0f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def every_engine() -> str:
    """Every engine as built, with its defaults and with the settings that matter."""
    sections = []
    for record in _records():
        rows = [
            "| engine | built with | searched with | threads | weights | nDCG@10 | R@10 | one query, ms | "
            "all, queries/s | build, s | build, peak MB | search, peak MB | disk, MB |",
            "| --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        for row in _shown(record):
            build, search = row["build"], row["search"]
            cells = [
                row["engine"],
                spoken(row["build_settings"]),
                spoken(row["settings"]),
                str(row["threads"]),
                row["weights"],
                f"{row['nDCG@10']:.4f}",
                f"{row['R@10']:.4f}",
                f"{search['milliseconds']:.1f}",
                f"{search['queries_per_second']:,.0f}",
                f"{build['seconds']:,.1f}",
                f"{build['peak_mb']:,}",
                f"{search['peak_mb']:,}",
                f"{build['bytes'] / 1e6:,.0f}",
            ]
            rows.append(f"| {' | '.join(cells)} |")
        versions = ", ".join(
            f"{name} {version}" for name, version in record["environment"]["peers"]["versions"].items()
        )
        counts = f"{record['documents']:,} documents, {record['tokens']:,} tokens, {record['queries']} queries"
        sections.append(f"{record['trial']}: {counts}; {versions}.\n\n" + "\n".join(rows))
    return "\n\n".join(sections) or not_yet(TARGET)


def spoken(settings: dict[str, Any]) -> str:
    """Settings in words."""
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "its defaults"


def _records() -> list[Record]:
    return sorted(read_records("engines"), key=lambda record: int(record["tokens"]))


def _defaults(record: Record) -> list[Row]:
    return [row for row in record["rows"] if not row["settings"]]


def _shown(record: Record) -> list[Row]:
    """All rows with defaults; of the others, the fastest as good as them, and the fastest of full quality."""
    exact = max((row["nDCG@10"] for row in record["rows"] if "first_stage" in row["settings"]), default=0.0)
    shown = []
    for row in record["rows"]:
        if not row["settings"] or "first_stage" in row["settings"]:
            shown.append(row)
            continue
        own = [
            one
            for one in record["rows"]
            if _of(one, "engine", "build_settings", "threads", "weights")
            == _of(row, "engine", "build_settings", "threads", "weights")
        ]
        usual = next(one for one in own if not one["settings"])["nDCG@10"]
        if any(row is _fastest(own, bar) for bar in (usual, FULL * exact)):
            shown.append(row)
    return shown


def _fastest(rows: Sequence[Row], bar: float) -> Row | None:
    good = [row for row in rows if row["nDCG@10"] >= bar]
    return min(good, key=lambda row: float(row["search"]["milliseconds"]), default=None)


def _times(ours: Row, theirs: Row, name: str) -> str:
    mine, other = ours["search"][name], theirs["search"][name]
    return f"{other / mine if name == 'milliseconds' else mine / other:.1f}x"


def _about(record: Record, row: Row) -> str:
    threads = "one thread" if row["threads"] == 1 else f"{row['threads']} threads"
    return (
        f"{record['trial']} ({record['documents']:,} documents), {row['engine']} ({spoken(row['settings'])}), {threads}"
    )


def _of(row: Row, *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
