"""Batch jobs and shards on Ray, from ``results/ray-batch.json`` and ``results/sharded.json``."""

import json
import statistics
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
STEPS = {"encode": "encode all documents", "build": "build an index", "count": "count tokens", "evaluate": "evaluate"}
SYSTEMS = ("one process of 1 thread", "two workers")
CASES = {
    "one_replica_killed": "one replica of a shard",
    "all_replicas_of_a_shard_killed": "all replicas of a shard",
    "a_shard_gone": "all replicas of a shard, and its files",
}


def batch() -> str:
    """Seconds per step, encoding throughput, and whether the results are identical."""
    found = _read("ray-batch.json")
    seconds = found["seconds"]
    rows = [
        f"| {found['collection']}, {found['documents']:,} documents of up to {found['document_length']} tokens, "
        f"seconds | {' | '.join(SYSTEMS)} |",
        f"| --- | {' | '.join('---:' for _ in SYSTEMS)} |",
    ]
    for step, spoken in STEPS.items():
        cells = (f"{seconds[f'{step}, {system}']:.1f}" for system in SYSTEMS)
        rows.append(f"| {spoken} | {' | '.join(cells)} |")
    rates = {name: statistics.median(own) for name, own in found["documents_per_second"].items()}
    spoken_rates = ", ".join(f"{rate:.0f} ({name})" for name, rate in rates.items())
    equal = [name for name, is_same in found["same"].items() if is_same]
    other = [name for name, is_same in found["same"].items() if not is_same]
    return "\n".join(
        [
            *rows,
            "",
            f"- Documents encoded per second ({found['documents_for_rates']} documents, median of three runs): "
            f"{spoken_rates}. Two workers are {found['two_workers_against_one']}x faster than one, on "
            f"{found['environment']['cores']} cores shared with the driver and Ray itself.",
            "- Bit-identical between two workers and one process, over the whole collection: "
            f"{', '.join(equal)}. Workers killed while encoding: {found['killed']}.",
            *([f"- Not identical: {', '.join(other)}."] if other else []),
        ]
    )


def shards() -> str:
    """What clients see while replicas are killed."""
    found = _read("sharded.json")
    rows = [
        "| killed halfway through | correct | wrong | silently partial | marked partial | errors | recovered after, s "
        "| p50 before, ms | p50 after | p99 before | p99 after |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for case, spoken in CASES.items():
        one = found[case]
        before, after = one["milliseconds_before"], one["milliseconds_after"]
        back = one["processes_replaced_after_seconds"]
        cells = [
            spoken,
            *(f"{one[name]:,}" for name in ("right", "wrong", "silently_partial", "marked_partial")),
            f"{sum(one['errors'].values())}",
            "-" if back is None else f"{back:.1f}",
            *(f"{side[name]:,.0f}" for name in ("p50", "p99") for side in (before, after)),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    one = found["one_replica_killed"]
    sizes = " and ".join(f"{size:,}" for size in found["documents_in_shards"])
    return "\n".join(
        [
            *rows,
            "",
            f"{found['shards']} shards ({sizes} documents) with {found['replicas']} replicas each, closed loop of "
            f"{one['connections']} connections for {one['seconds']:.0f} s, {found['environment']['cores']} cores for "
            f"clients, server and replicas together: {one['answers_per_second']:.0f} answers per second.",
        ]
    )


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / name).read_text())
    return found
