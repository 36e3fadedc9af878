"""The GPU kernels beside their peers, as tables and text, from ``results/gpu.json``."""

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
    """Scoring time in microseconds, by precision, beside the fastest function of each peer."""
    rows = [
        "| queries x documents | chamfer, float16 | of hardware limit | chamfer, int8 | of hardware limit "
        "| exact top 10 | late-interaction-kernels | vs chamfer | flash-maxsim | vs chamfer |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for record in _found()["speed"]:
        ours, floors = record["ours"], record["floors"]
        products = floors["products, float16"]
        half = max(floors["memory, float16"], products)
        short = max(floors["memory, int8"], products / 2)  # int8 products run at twice the rate
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
            cells += [f"{time:,.0f}", f"{time / fastest:.1f}x"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def facts() -> str:
    """What the same run checked."""
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
            f"- {found['environments']['speed']['gpu']}: {ceilings['terabytes_per_second']:.1f} TB/s read bandwidth "
            f"and {ceilings['teraflops']:.0f} TFLOP/s in float16, measured in the same run; the hardware limits above "
            "follow from these.",
            f"- Top 10 after refinement equals the float64 result for {best} of {queries} queries above; top 10 and "
            f"top 100 do for {parity['same']} of {parity['rankings']} rankings of the parity grid (random vectors, "
            "both forms, ragged queries, candidate lists, documents without tokens, in GPU memory and streamed). "
            f"Scores that are equal in float32 count as ties; {equal} rankings had any.",
            f"- Largest score error before refinement: {errors}; of minima: {parity['minima_error']:.0e}.",
            f"- Real vectors: on scifact, GPU and native kernel agree on the top 10 for "
            f"{end_to_end['same_best_10_as_a_processor']} of {end_to_end['queries']} test queries.",
            f"- {many['token_vectors']:,} token vectors ({many['numbers']:,} numbers): error {many['error']:.0e}.",
            f"- A corpus of {streaming['gigabytes']:.1f} GB that does not fit in GPU memory is searched in "
            f"{brought['milliseconds']:.0f} ms, or in {held['milliseconds']:.1f} ms if its int8 codes fit, with the "
            "same top 10.",
            f"- compute-sanitizer: {found['sanitizer']['memcheck']['said'].lower()} (memcheck), "
            f"{found['sanitizer']['racecheck']['said'].lower()} (racecheck).",
        ]
    )


def end_to_end() -> str:
    """Seconds per step on a GPU and on a CPU."""
    found = _found()
    cores = found["environments"]["on_processor"]["cores"]
    systems = {"GPU": found["on_gpu"], f"its host, {cores} cores": found["on_processor"]}
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
