"""The GPU kernel beside its peers, in tables and words, from ``results/gpu.json``."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "gpu.json"
PEERS = ("late-interaction-kernels", "flash-maxsim")
STEPS = (
    "encode all documents",
    "build an index, encoding included",
    "open it",
    "search all test queries, encoding included",
    "encode all test queries",
    "rank all documents for all test queries",
    "learn weights, encoding included",
)


def speed() -> str:
    """Microseconds of scoring, by precision, beside the fastest function of each peer."""
    rows = [
        "| queries x documents | chamfer, float16 | share of floor | chamfer, int8 | share of floor | best 10, refined "
        "| late-interaction-kernels | times ours | flash-maxsim | times ours |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for record in _found()["speed"]:
        ours, floors = record["ours"], record["floors"]
        products = floors["products, float16"]
        half = max(floors["memory, float16"], products)
        short = max(floors["memory, int8"], products / 2)  # 8 bits are multiplied twice as fast
        fastest = min(ours["scores, float16"], ours["scores, int8"])
        cells = [
            record["work"],
            f"{ours['scores, float16']:,.0f}",
            f"{half / ours['scores, float16']:.0%}",
            f"{ours['scores, int8']:,.0f}",
            f"{short / ours['scores, int8']:.0%}",
            f"{min(ours['best 10, float16'], ours['best 10, int8']):,.0f}",
        ]
        for peer in PEERS:
            time = min(one["microseconds"] for one in record["peers"][peer].values())
            cells += [f"{time:,.0f}", f"{time / fastest:.1f}"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def summary() -> str:
    """One sentence for the README."""
    parts = []
    for record in _found()["speed"]:
        short, half = (record["ours"][f"scores, {kind}"] for kind in ("int8", "float16"))
        theirs = min(one["microseconds"] for peer in PEERS for one in record["peers"][peer].values())
        parts.append(f"{record['work']} in {short:,.0f} µs by 8 bits and {half:,.0f} by 16 (faster peer {theirs:,.0f})")
    gpu = _found()["environments"]["speed"]["gpu"]
    return "\n".join(
        [
            f"On a GPU ({gpu}), all scores of queries x documents, from which the exact best are then refined:",
            *(f"{part}{';' if place + 1 < len(parts) else '.'}" for place, part in enumerate(parts)),
        ]
    )


def facts() -> str:
    """What was checked in the same run."""
    found = _found()
    parity, many, ceilings, streaming = (found[name] for name in ("parity", "many", "ceilings", "streaming"))
    best = sum(record["same_best_10"] for record in found["speed"])
    queries = sum(record["queries"] for record in found["speed"])
    errors = ", ".join(f"{name} {error:.0e}" for name, error in parity["errors"].items())
    brought, held = streaming["nothing fits"], streaming["8 bits fit"]
    end_to_end = found["on_gpu"]
    equal = parity["equal_in_32_bits"] + sum(record["equal_in_32_bits"] for record in found["speed"])
    return "\n".join(
        [
            f"- {found['environments']['speed']['gpu']}: {ceilings['terabytes_per_second']:.1f} TB/s read and "
            f"{ceilings['teraflops']:.0f} TFLOP/s in 16 bits, measured in the same run; floors are of these.",
            f"- Best 10 after refinement: those of 64-bit arithmetic for {best} of {queries} queries above, and best "
            f"10 and 100 for {parity['same']} of {parity['rankings']} rankings of the parity grid (fresh vectors, both "
            "forms, ragged queries, candidate lists, documents without tokens, held and streamed). Scores that are "
            f"equal in 32 bits count as equal; there were some in {equal} rankings.",
            f"- Largest errors of scores before refinement: {errors}; of minima {parity['minima_error']:.0e}.",
            f"- Real vectors: on scifact the best 10 of {end_to_end['same_best_10_as_a_processor']} of "
            f"{end_to_end['queries']} test queries are those of the native kernel.",
            f"- {many['token_vectors']:,} token vectors, {many['numbers']:,} numbers: error {many['error']:.0e}.",
            f"- A corpus of {streaming['gigabytes']:.1f} GB that does not fit is searched in "
            f"{brought['milliseconds']:.0f} ms, and in {held['milliseconds']:.1f} ms where its 8 bits fit, with the "
            "same best 10.",
            f"- compute-sanitizer: {found['sanitizer']['memcheck']['said'].lower()} (memcheck), "
            f"{found['sanitizer']['racecheck']['said'].lower()} (racecheck).",
        ]
    )


def end_to_end() -> str:
    """Seconds of each step on a GPU and on processors."""
    found = _found()
    cores = found["environments"]["on_processor"]["cores"]
    systems = {"GPU": found["on_gpu"], f"its host's {cores} cores": found["on_processor"]}
    rows = [f"| scifact | {' | '.join(systems)} |", f"| --- | {' | '.join('---:' for _ in systems)} |"]
    for step in STEPS:
        cells = [_seconds(system, step) for system in systems.values()]
        rows.append(f"| {step} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _seconds(system: dict[str, Any], step: str) -> str:
    seconds = system["seconds"].get(step)
    return "-" if seconds is None else f"{seconds:.2f}"


def _found() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text())
    return found
