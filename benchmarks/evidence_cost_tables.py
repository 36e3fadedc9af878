"""What evidence costs a search, and what learning costs, from ``results/evidence-cost.json``."""

import json

from table_means import RESULTS, not_yet


def cost() -> str:
    """What a mix costs a search and a served index, and how long learning takes."""
    path = RESULTS / "evidence-cost.json"
    if not path.exists():
        return not_yet("bench-evidence-cost BEFORE=../older")
    found = json.loads(path.read_text())
    rows = [
        "| index | documents | weights | ms per search | times before | memory, MB | times before |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, index in found["indexes"].items():
        before = next(iter(index["sides"].values()))
        for side, told in index["sides"].items():
            slower, larger = (told[key] / before[key] for key in ("milliseconds", "memory_mb"))
            cells = [
                *(name, f"{index['documents']:,}", side),
                *(f"{told['milliseconds']:.2f}", f"{slower:.2f}", f"{told['memory_mb']:.0f}", f"{larger:.2f}"),
            ]
            rows.append(f"| {' | '.join(cells)} |")
    learning, cores = found["learning"], found["environment"]["cores"]
    return "\n".join(
        [
            *rows,
            "",
            f"`auto` learns from {learning['queries']} queries of {learning['dataset']} in {learning['seconds']:.0f} "
            f"seconds on {cores} cores, and the process never holds more than "
            f"{learning['allocated_mb']['highest']:,} MB beside mapped files.",
        ]
    )
