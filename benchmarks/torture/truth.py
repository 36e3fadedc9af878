"""What rankings must be: those of the reference kernel over a plain dictionary."""

import numpy as np
from tests.index_model import DIMENSIONS, Model

from chamfer.index.snapshot import Snapshot
from chamfer.kernels import reference
from chamfer.retrieve.stage import Queries
from chamfer.tokens.batch import TokenBatch
from torture.subject import Answers, answers

# The root of a rounding error of 32 bits, times the largest weight.
TOLERANCE = 2e-3


def wrong_rankings(index: Snapshot, model: Model, asked: Queries) -> list[str]:
    """A sentence for each first stage and query whose ranking is not that of the model."""
    if not model:
        return []
    return differences(answers(index, asked), model, asked)


def differences(found: Answers, model: Model, asked: Queries) -> list[str]:
    """A sentence for each ranking that the model does not give; equal scores may come in any order."""
    ids = sorted(identifier for identifier, kept in model.items() if kept.vectors)
    vectors = [np.frombuffer(model[one].vectors, np.float16).reshape(-1, DIMENSIONS) for one in ids]
    documents = TokenBatch.pack(vectors, [model[one].token_ids for one in ids]) if ids else TokenBatch.empty(DIMENSIONS)
    wrong = []
    for place in range(len(asked.tokens)):
        scores = reference.score(asked.tokens[place].vectors, asked.weights_of(place), documents)
        right = dict(zip(ids, scores.tolist(), strict=True))
        best = sorted(right.values(), reverse=True)
        for stage, rankings in found.items():
            k = len(rankings[place][0])
            ranked = [(one, score) for one, score in zip(*rankings[place], strict=True) if score > -np.inf]
            expected = best[: max(k, 1)]
            if any(one not in right for one, _ in ranked):
                wrong.append(f"{stage} found a document that the model does not hold, or that has no tokens")
            elif len(ranked) != len(expected):
                wrong.append(f"{stage} found {len(ranked)} documents, not {len(expected)}")
            elif any(
                abs(score - right[one]) > TOLERANCE or abs(score - should) > TOLERANCE
                for (one, score), should in zip(ranked, expected, strict=True)
            ):
                wrong.append(f"{stage} ranked {[one for one, _ in ranked]} wrongly")
    return wrong
