"""Time from typing a command to its answer, in a new process, here and in an older checkout with its own ``.venv``.

Writes ``results/cold.json``, and prints medians and ranges.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import serving_tables
from campaign import RESULTS
from chamfer import build_index
from chamfer.data.collection import load_collection
from chamfer.reproduce.environment import environment
from chamfer.support.files import write_json

RESULT = RESULTS / "cold.json"
COLLECTION, QUERY = "med", "effects of the crystalline lens in vertebrates"
REQUEST = json.dumps({"query": QUERY, "documents": ["the lens of the eye", "a telescope", "glasses"]}) + "\n"


def main() -> None:
    """Measure command after command, round after round, so that a busy minute falls on all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="the older checkout")
    parser.add_argument("--data", type=Path, required=True, help="folder of judged collections")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    sides = {
        "before": arguments.before / ".venv" / "bin" / "chamfer",
        "now": Path(sys.executable).with_name("chamfer"),
    }
    documents = load_collection(arguments.data / COLLECTION).documents
    with TemporaryDirectory() as folder:
        index = str(Path(folder) / "index")
        build_index(index, documents, progress=False)
        commands: dict[str, Callable[[Path], float]] = {
            "search": lambda chamfer: seconds_of([chamfer, "search", index, QUERY]),
            "explain": lambda chamfer: seconds_of([chamfer, "explain", index, QUERY]),
            "rerank, three texts": lambda chamfer: seconds_of([chamfer, "rerank"], REQUEST),
            "serve, until it answers": lambda chamfer: seconds_to_serve(chamfer, index),
        }
        for measure in commands.values():  # fills the caches of both sides
            for chamfer in sides.values():
                measure(chamfer)
        found: dict[str, dict[str, list[float]]] = {name: {side: [] for side in sides} for name in commands}
        for _ in range(arguments.rounds):
            for name, measure in commands.items():
                for side, chamfer in sides.items():
                    found[name][side].append(measure(chamfer))
    commands_told = {
        name: {
            side: {
                "median_seconds": round(median(each), 2),
                "seconds": [round(one, 2) for one in each],
            }
            for side, each in of_sides.items()
        }
        for name, of_sides in found.items()
    }
    write_json(RESULT, {"environment": environment(), "documents": len(documents), "commands": commands_told})
    print(serving_tables.cold())


def seconds_of(command: list[Path | str], given: str | None = None) -> float:
    """Seconds that a command takes."""
    began = time.perf_counter()
    subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return time.perf_counter() - began


def seconds_to_serve(chamfer: Path, index: str) -> float:
    """Seconds until a server answers its first search."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/search",
        json.dumps({"query": QUERY}).encode(),
        {"Content-Type": "application/json"},
    )
    began = time.perf_counter()
    environ = {name: value for name, value in os.environ.items() if name != "CHAMFER_API_KEY"}
    with subprocess.Popen(
        [chamfer, "serve", index, "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environ,
    ) as server:
        try:
            while server.poll() is None:
                try:
                    with urllib.request.urlopen(request, timeout=60):
                        return time.perf_counter() - began
                except urllib.error.URLError:
                    time.sleep(0.01)
            raise RuntimeError(f"the server stopped with exit code {server.returncode}")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
