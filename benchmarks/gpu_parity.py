"""Compare every variant of the GPU kernels with the reference, on random vectors; as a script, small cases only."""

import secrets
import sys
from itertools import product
from typing import Any

import numpy as np
import torch

from chamfer.kernels import dispatch, reference
from chamfer.kernels.cuda import launch
from chamfer.kernels.cuda.arrays import DeviceQueries, Precision
from chamfer.kernels.cuda.documents import DeviceDocuments
from chamfer.kernels.form import Form
from chamfer.tokens.batch import TokenBatch
from gpu_works import in_order

PRECISIONS: tuple[Precision, ...] = ("float16", "bfloat16", "int8", "fp8")
DIMENSIONS = (96, 128, 384)
SHAPES = {"one query": [32], "ragged queries": [1, 7, 32, 33, 64], "a long query": [300]}
FORMS: tuple[Form, ...] = ("l2", "cosine")
KS = (10, 100)


def measure(*, small: bool = False) -> dict[str, Any]:
    """Largest score errors before refinement, by precision, and the number of rankings equal to the reference."""
    seed = secrets.randbits(32)
    generator = np.random.default_rng(seed)
    errors: dict[str, float] = dict.fromkeys(PRECISIONS, 0.0)
    minima_error, same, equal, asked_for = 0.0, 0, 0, 0
    shapes = {"ragged queries": [1, 7, 33]} if small else SHAPES
    for dimensions, lengths, form in product((48, 128) if small else DIMENSIONS, shapes.values(), FORMS):
        documents = drawn(generator.integers(0, 90, 12 if small else 300), dimensions, generator)
        queries = drawn(np.array(lengths), dimensions, generator, np.float32)
        weights = generator.uniform(0, 2, len(queries.vectors)).astype(np.float32)
        own = [slice(*queries.offsets[n : n + 2]) for n in range(len(queries))]
        right = np.stack([reference.score(queries.vectors[one], weights[one], documents, form) for one in own])
        filled = documents.lengths > 0
        for precision in PRECISIONS:
            held = DeviceDocuments.of_tokens(documents, precisions=[precision])
            scores = torch.full(right.shape, torch.nan, device="cuda")
            asked = DeviceQueries(queries, weights, held.device, form)
            launch.score_all(asked, held.copies[precision], held.device_offsets, scores)
            found = scores.cpu().numpy()
            assert not np.isnan(found).any(), "some scores were not written"
            assert np.isneginf(found[:, ~filled]).all(), "a document without tokens scored"
            errors[precision] = max(errors[precision], float(np.abs(found[:, filled] - right[:, filled]).max()))
        # everything fits, int8 codes fit, nothing fits
        for room in (None, len(documents.vectors) * (dimensions + 4), 0):
            held = DeviceDocuments.of_tokens(documents, room=room)
            lists = [generator.permutation(len(documents))[: generator.integers(1, len(documents))] for _ in own]
            for candidates, k in product((None, [lists[0]] * len(own), lists), KS):
                answers = dispatch.best(queries, weights, held, k=k, candidates=candidates, form=form)
                chosen = [np.arange(len(documents))] * len(own) if candidates is None else candidates
                for answer, each, scored in zip(answers, chosen, right, strict=True):
                    order, as_in_64 = in_order(scored[each], k)
                    same += np.array_equal(answer.places, each[order])
                    equal += not as_in_64
                asked_for += len(answers)
            closest = dispatch.minima(queries[0], held, form=form)[filled]
            distances = reference.minima(queries[0].vectors, documents, form)[filled]
            minima_error = max(minima_error, float(np.abs(closest - distances).max()))
    return {
        "seed": seed,
        "errors": errors,
        "minima_error": minima_error,
        "rankings": asked_for,
        "same": same,
        "equal_in_32_bits": equal,
    }


def drawn(
    lengths: np.ndarray[Any, np.dtype[np.int64]],
    dimensions: int,
    generator: np.random.Generator,
    kind: type[np.floating[Any]] = np.float16,
) -> TokenBatch:
    """Random unit vectors as a batch of texts."""
    vectors = generator.standard_normal((int(lengths.sum()), dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    each = np.split(vectors.astype(kind), np.cumsum(lengths)[:-1])
    return TokenBatch.pack(each, [np.zeros(len(one), np.int32) for one in each])


if __name__ == "__main__":
    print(measure(small=True))
    sys.exit()
