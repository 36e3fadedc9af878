"""Compiles the GPU kernels for a compute capability (80 is Ampere, 90 Hopper), which needs no GPU.

A process of its own, because the tests run them in Triton's interpreter.
"""

import sys
from collections.abc import Iterator
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from chamfer.kernels.cuda import kernels

POINTERS = {"float16": "*fp16", "int8": "*i8", "float32": "*fp32"}
SCORE = {
    **dict.fromkeys(("query_squares", "query_scales", "weights", "token_factors", "scores"), "*fp32"),
    **dict.fromkeys(("offsets", "piece_of", "document_of"), "*i64"),
    **dict.fromkeys(("pieces", "items", "stride"), "i32"),
    "lengths": "*i32",
}
NARROW = {"scores": "*fp32", "starts": "*i64", "keys": "*i64", "kept": "*i64", "width": "i32"}
REFINE = {
    **dict.fromkeys(("query_vectors", "weights", "distances"), "*fp32"),
    **dict.fromkeys(("offsets", "keys", "begins", "query_of", "document_of"), "*i64"),
    "lengths": "*i32",
    "scores": "*fp64",
    "R": "i32",
}


def variants() -> Iterator[tuple[Any, dict[str, str], dict[str, Any], dict[str, int]]]:
    """Kernels with the types of their arguments, their constants and their options."""
    shape = {"P": 1, "D": 128, "K": 128, "R": 32, "L2": True, "UNIT": True}
    for kind, pairs, together in (("float16", True, 1), ("int8", False, 8)):
        types = SCORE | dict.fromkeys(("query_vectors", "vectors"), POINTERS[kind])
        known = {"SCALED": kind == "int8", "PAIRS": pairs, "LISTED": pairs, "G": together, "B": 64}
        yield kernels.score, types, shape | known, {"num_warps": 2 * min(together, 2), "num_stages": 3}
    yield kernels.narrow, NARROW, {"FIRST": True, "BLOCK": 1024, "KEEP": 32}, {"num_warps": 16}
    for kind in ("float16", "float32"):
        known = {"D": 128, "S": 32, "B": 64, "C": 128, "HALF": kind == "float16", "L2": True, "KEEP": 32}
        known |= {"KEYED": True, "LISTED": True, "DISTANCES": True}
        yield kernels.refine, REFINE | {"vectors": POINTERS[kind]}, known, {"num_warps": 4}


def main(capability: int) -> None:
    """Fail at the first kernel that does not compile."""
    for kernel, types, known, how in variants():
        signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
        constants = {(kernel.arg_names.index(name),): value for name, value in known.items()}
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        triton.compile(source, target=GPUTarget("cuda", capability, 32), options=how)


if __name__ == "__main__":
    main(int(sys.argv[1]))
