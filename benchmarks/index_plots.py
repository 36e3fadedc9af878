"""Draw ``docs/images/first-stages.svg`` and ``docs/images/growth.svg`` from ``results``."""

import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "chamfer",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def main() -> None:
    """Draw both plots."""
    with plt.rc_context(STYLE):
        stages = sorted((RESULTS / "first-stages").glob("*.json"))
        if stages:
            draw_stages([json.loads(path.read_text()) for path in stages])
        if (RESULTS / "growth.json").exists():
            draw_growth(json.loads((RESULTS / "growth.json").read_text()))


def draw_stages(records: list[dict[str, Any]]) -> None:
    """Quality against latency, one curve of depths per stage."""
    figure, axes = plt.subplots(len(records), 2, figsize=(9, 3.4 * len(records)), sharex="row", squeeze=False)
    for row, record in zip(axes, records, strict=True):
        for axis, weights in zip(row, ("uniform", "idf-soft"), strict=True):
            points = [point for point in record["points"] if point["weights"] == weights]
            for stage in dict.fromkeys(point["stage"] for point in points):
                own = [point for point in points if point["stage"] == stage]
                (line,) = axis.plot(
                    [point["milliseconds"] for point in own],
                    [point["nDCG@10"] for point in own],
                    marker="o",
                    markersize=3,
                    label=stage,
                )
                usual = [point for point in own if point["default"]]
                axis.plot(
                    [point["milliseconds"] for point in usual],
                    [point["nDCG@10"] for point in usual],
                    marker="o",
                    markersize=8,
                    fillstyle="none",
                    color=line.get_color(),
                )
            axis.set_xscale("log")
            axis.set_title(f"{record['collection']}, {weights}", loc="left")
            axis.set_xlabel("milliseconds a query (circled: as set by default)")
        row[0].set_ylabel("nDCG@10")
    axes[0, 0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "first-stages.svg", metadata={"Date": None})


def draw_growth(record: dict[str, Any]) -> None:
    """Plot time and memory against the number of documents."""
    points = record["points"]
    sizes = [point["documents"] for point in points]
    figure, (build, query, memory) = plt.subplots(1, 3, figsize=(9, 2.8))
    build.plot(sizes, [point["build"]["milliseconds_per_document"] for point in points], marker="o")
    build.set_title("build, ms a document", loc="left")
    build.set_ylim(bottom=0)
    query.plot(sizes, [point["serve"]["milliseconds"] for point in points], marker="o", label="centroids")
    query.plot(sizes, [point["serve"]["exhaustive_milliseconds"] for point in points], marker="o", label="exhaustive")
    query.set_yscale("log")
    query.set_title("query, ms", loc="left")
    query.legend(frameon=False)
    memory.plot(sizes, [point["serve"]["code_megabytes"] for point in points], marker="o", label="codes on disk")
    memory.plot(sizes, [point["serve"]["own_megabytes"] for point in points], marker="o", label="serving, own")
    memory.plot(sizes, [point["build"]["peak_megabytes"] for point in points], marker="o", label="building, peak")
    memory.set_yscale("log")
    memory.set_title("megabytes", loc="left")
    memory.legend(frameon=False)
    for axis in (build, query, memory):
        axis.set_xscale("log")
        axis.set_xlabel("documents")
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "growth.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
