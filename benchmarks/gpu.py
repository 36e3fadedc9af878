"""The GPU kernels beside their peers: checked against float64 and timed, in one run.

Writes ``results/gpu.json``. Needs a GPU, torch for CUDA and the peers of ``gpu-peers.txt``. Peers score every query
token alike by its largest product; chamfer weights tokens and takes distances, which is more work.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton

import gpu_parity
from chamfer.kernels import dispatch
from chamfer.kernels.cuda import launch
from chamfer.kernels.cuda.arrays import DeviceQueries, Packed
from chamfer.kernels.cuda.documents import DeviceDocuments
from chamfer.reproduce.environment import environment
from chamfer.support.files import write_json
from chamfer.tokens.batch import TokenBatch
from gpu_works import (
    DEVICE,
    DIMENSIONS,
    QUERY,
    Corpus,
    K,
    Ours,
    Work,
    exact,
    in_order,
    microseconds,
    peers,
    units,
    works,
)

IN_PROCESS = Path(__file__).parent
RESULT = IN_PROCESS / "results" / "gpu.json"
PEERS = ("late-interaction-kernels", "flash-maxsim")
# 40 million token vectors are more than 2^32 numbers, and far more than 2^31 bytes.
MANY, MANY_LENGTH = 40_000_000, 160


def main() -> None:
    """Run all parts, or those that ``--only`` names; the other results of an earlier run stay."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--encoder", default="minilm", help="encoder of the end-to-end run")
    parser.add_argument("--commit", help="commit of the code, outside a git checkout")
    parser.add_argument("--out", type=Path, default=RESULT, help="file to write")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run")
    arguments = parser.parse_args()
    measured: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    made_with = environment() | {
        "gpu": torch.cuda.get_device_name(),
        "triton": triton.__version__,
        **{peer: version(peer) for peer in PEERS},
        **({"commit": arguments.commit} if arguments.commit else {}),
    }
    for part in arguments.only:
        started = time.perf_counter()
        measured[part] = PARTS[part](arguments)
        measured.setdefault("environments", {})[part] = made_with
        torch.cuda.empty_cache()
        print(f"{part}: {time.perf_counter() - started:.0f} s", flush=True)
        write_json(arguments.out, measured)


def ceilings(_: argparse.Namespace) -> dict[str, float]:
    """Measure peak memory bandwidth and peak FLOP/s of this GPU."""
    numbers = torch.randn(1 << 30, device=DEVICE)
    read = microseconds(lambda: numbers.sum())
    a, b = (torch.randn(8192, 8192, device=DEVICE).half() for _ in range(2))
    product = microseconds(lambda: a @ b)
    return {"terabytes_per_second": 4 * numbers.numel() / read / 1e6, "teraflops": 2 * 8192**3 / product / 1e6}


def speed(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Time each workload, and check its results."""
    limits = json.loads(arguments.out.read_text())["ceilings"]
    corpus = Corpus.drawn()
    # Largest first: an idle GPU takes some time to reach full speed.
    return [measure(corpus, work, limits) for work in reversed(list(works(corpus)))][::-1]


def measure(corpus: Corpus, work: Work, limits: dict[str, float]) -> dict[str, Any]:
    """Check ours and the peers, then time them."""
    right = [(ours.cpu().numpy(), theirs) for ours, theirs in exact(corpus, work)]
    ours = Ours(corpus, work)
    errors = {}
    for kind, packed in corpus.held.copies.items():
        ours.scores.fill_(torch.nan)  # to notice scores that are not written
        scores = ours.score(packed).cpu().numpy()
        errors[kind] = float(max(np.abs(own - one).max() for own, (one, _) in zip(scores, right, strict=True)))
    found = dispatch.best(work.queries, work.weights, corpus.held, k=K, candidates=work.lists)
    ordered = [in_order(one, K) for one, _ in right]
    places = [order for order, _ in ordered]
    if work.lists is not None:
        places = [own[order] for own, order in zip(work.lists, places, strict=True)]
    same = sum(np.array_equal(one.places, own) for one, own in zip(found, places, strict=True))
    theirs = torch.stack([score for _, score in right])
    measured: dict[str, dict[str, Any]] = {}
    for peer, functions in peers(corpus, work).items():
        measured[peer] = {}
        for name, function in functions.items():
            error = float((function().view(theirs.shape).double() - theirs).abs().max())
            measured[peer][name] = {"microseconds": microseconds(function), "error": error}
    reads = int(corpus.lengths.sum() if work.candidates is None else corpus.lengths[work.candidates.flatten()].sum())
    products = 2 * DIMENSIONS * QUERY * reads * (len(work.queries) if work.candidates is None else 1)
    record = {
        "work": work.name,
        "errors": errors,
        "queries": len(work.queries),
        "same_best_10": same,
        "equal_in_32_bits": sum(not as_in_64 for _, as_in_64 in ordered),
        "refined": max(one.read for one in found),
        "ours": ours.times(),
        "peers": measured,
        "floors": {
            "memory, float16": reads * DIMENSIONS * 2 / limits["terabytes_per_second"] / 1e6,
            "memory, int8": reads * (DIMENSIONS + 4) / limits["terabytes_per_second"] / 1e6,
            "products, float16": products / limits["teraflops"] / 1e6,
        },
    }
    print(json.dumps(record), flush=True)
    return record


def many(_: argparse.Namespace) -> dict[str, Any]:
    """A corpus of more than 2^32 numbers."""
    vectors = units(MANY)
    count = MANY // MANY_LENGTH
    offsets = torch.arange(count + 1, device=DEVICE) * MANY_LENGTH
    query = units(QUERY).float().cpu().numpy()
    batch = TokenBatch(query, np.zeros(QUERY, np.int32), np.array([0, QUERY]))
    asked = DeviceQueries(batch, np.ones(QUERY, np.float32), DEVICE)
    scores = torch.full((1, count), torch.nan, device=DEVICE)
    launch.score_all(asked, Packed.of(vectors, "float16", unit=True), offsets, scores)
    places = [*range(3), *range(count // 2 - 2, count // 2 + 2), *range(count - 3, count), *range(0, count, 997)]
    wide = torch.from_numpy(query).to(DEVICE).double()
    own = [vectors[place * MANY_LENGTH : (place + 1) * MANY_LENGTH].double() for place in places]
    right = torch.stack([-torch.cdist(wide, one).amin(1).mean() for one in own])
    return {
        "token_vectors": MANY,
        "numbers": MANY * DIMENSIONS,
        "error": float((scores[0, places].double() - right).abs().max()),
        "all_written": not bool(scores.isnan().any()),
    }


def streaming(_: argparse.Namespace) -> dict[str, Any]:
    """Stream a corpus that does not fit in GPU memory: check the results, and time it."""
    corpus = Corpus.drawn(40_000)
    work = next(work for work in works(corpus) if work.candidates is None and len(work.queries) == 1)
    vectors = corpus.vectors.cpu().numpy()
    tokens = TokenBatch(vectors, np.zeros(len(vectors), np.int32), corpus.held.offsets)
    result: dict[str, Any] = {"gigabytes": vectors.nbytes / 1e9}
    held = dispatch.best(work.queries, work.weights, corpus.held, k=K)[0]
    for name, room in (("nothing fits", 0), ("8 bits fit", len(vectors) * (DIMENSIONS + 4))):
        documents = DeviceDocuments.of_tokens(tokens, room=room)
        [found] = dispatch.best(work.queries, work.weights, documents, k=K)
        started = time.perf_counter()
        for _repeat in range(3):
            dispatch.best(work.queries, work.weights, documents, k=K)
        result[name] = {
            "milliseconds": (time.perf_counter() - started) / 3 * 1e3,
            "same_best_10": bool(np.array_equal(found.places, held.places)),
        }
    return result


def sanitizer(_: argparse.Namespace) -> dict[str, Any]:
    """Run the small cases of the parity grid under compute-sanitizer."""
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    found = {}
    for tool in ("memcheck", "racecheck"):
        done = subprocess.run(
            [program, "--tool", tool, sys.executable, str(IN_PROCESS / "gpu_parity.py")],
            env=os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        said = [line for line in done.stdout.splitlines() if "SUMMARY" in line]
        found[tool] = {"exit": done.returncode, "said": said[-1].strip("= ") if said else done.stderr[-300:]}
    return found


def end_to_end(arguments: argparse.Namespace, device: str) -> dict[str, Any]:
    """Encode, build, search and learn, in a separate process."""
    command = [sys.executable, str(IN_PROCESS / "gpu_end_to_end.py"), str(arguments.data), arguments.encoder]
    asked = os.environ | {"CHAMFER_DEVICE": device}
    done = subprocess.run(command, env=asked, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "ceilings": ceilings,
    "speed": speed,
    "parity": lambda _: gpu_parity.measure(),
    "many": many,
    "streaming": streaming,
    "sanitizer": sanitizer,
    "on_gpu": lambda arguments: end_to_end(arguments, "cuda"),
    "on_processor": lambda arguments: end_to_end(arguments, "cpu"),
}

if __name__ == "__main__":
    main()
