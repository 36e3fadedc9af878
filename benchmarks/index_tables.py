"""Tables of the index and its first stages, for ``render.py``."""

import json
from pathlib import Path
from typing import Any

from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.significance import SIGNIFICANCE

RESULTS = Path(__file__).parent / "results"
EXACT = "exhaustive"


def first_stages() -> str:
    """Every first stage at its default depth, compared with exhaustive search."""
    sections = []
    for record in _records("first-stages"):
        rows = [
            "| first stage | weights | candidates | nDCG@10 | vs exhaustive | Recall@10 | vs exhaustive | ms | "
            "speed-up |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        ]
        exact = {point["weights"]: point for point in record["points"] if point["stage"] == EXACT}
        for point in record["points"]:
            if not point["default"]:
                continue
            whole = exact[point["weights"]]
            cells = [point["stage"], point["weights"], f"{point['depth']:,}" if point["depth"] else "all"]
            for name in ("nDCG@10", "R@10"):
                cells += [f"{point[name]:.3f}", f"{point[name] / whole[name]:.3f}"]
            cells += [f"{point['milliseconds']:.1f}", f"{whole['milliseconds'] / point['milliseconds']:.1f}x"]
            rows.append(f"| {' | '.join(cells)} |")
        caption = (
            f"{record['collection']}: {record['documents']:,} documents, {record['tokens']:,} tokens, "
            f"{record['queries']} test queries, one at a time; median time from encoded query to ids. "
            f"{record['centroids']:,} centroids; {record['seconds_to_build']:.0f} s to build from vectors."
        )
        sections.append(f"{caption}\n\n" + "\n".join(rows))
    return "\n\n".join(sections)


def small_indexes() -> str:
    """Where exhaustive search stops being the fastest."""
    rows = [
        "| documents | tokens | exhaustive, ms | centroids, ms |",
        "| ---: | ---: | ---: | ---: |",
        *(
            f"| {one['documents']:,} | {one['tokens']:,} | {one['milliseconds'][EXACT]:.1f} | "
            f"{one['milliseconds']['centroids']:.1f} |"
            for record in _records("first-stages")
            for one in record.get("small", [])
        ),
    ]
    return "\n".join(rows)


def compression() -> str:
    """Quality, size and speed by precision, pooling and dimensions."""
    rows = [
        "| collection | precision | pool | dimensions | nDCG@10 | Recall@10 | bytes per document | ms |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for record in _records("compression"):
        for row in record["rows"]:
            marks = {
                name: "*" if row["against_float16"][name]["p_value"] < SIGNIFICANCE else "" for name in MAIN_MEASURES
            }
            cells = [
                record["collection"],
                row["precision"],
                str(row["pool"]),
                str(row["dimensions"]),
                *(f"{row[name]:.3f}{mark}" for name, mark in marks.items()),
                f"{row['vector_bytes_per_document']:,}",
                f"{row['milliseconds']:.0f}",
            ]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def growth() -> str:
    """How time and memory grow with the corpus."""
    record = _record("growth.json")
    rows = [
        "| documents | build, ms per document | build, peak MB | query, ms | exhaustive, ms | top-10 overlap | "
        "serving, private MB | with mapped pages, MB | mapped codes, MB |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for point in record.get("points", []):
        build, serve = point["build"], point["serve"]
        cells = [
            f"{point['documents']:,}",
            f"{build['milliseconds_per_document']:.2f}",
            f"{build['peak_megabytes']:,.0f}",
            f"{serve['milliseconds']:.1f}",
            f"{serve['exhaustive_milliseconds']:.0f}",
            f"{serve['overlap']:.3f}",
            f"{serve['own_megabytes']:,.0f}",
            f"{serve['peak_megabytes']:,.0f}",
            f"{serve['code_megabytes']:,.0f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def encoding() -> str:
    """Documents per second, and the effect of 16-bit arithmetic on quality."""
    record = _record("encoding.json")
    rows = [
        "| collection | system | documents/s | speed-up |",
        "| --- | --- | ---: | ---: |",
        *(
            f"| {speed['collection']} | {name} | {figures['documents_per_second']:.1f} | {figures['times']:.2f}x |"
            for speed in record.get("speed", [])
            for name, figures in speed["systems"].items()
        ),
        "",
        "| queries | documents | weights | nDCG@10 | p | Recall@10 | p |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for pair in record.get("quality", {}).get("pairs", []):
        cells = [pair["queries"], pair["documents"], pair["weights"]]
        for name in ("nDCG@10", "R@10"):
            cells += [f"{pair['measures'][name]:.4f}", f"{pair['against_exact'][name]['p_value']:.2f}"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _records(folder: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((RESULTS / folder).glob("*.json"))]


def _record(name: str) -> dict[str, Any]:
    path = RESULTS / name
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found
