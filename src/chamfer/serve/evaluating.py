"""Weights compared on judged queries that a client sends."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from chamfer.data.judged import Judged, read_judged
from chamfer.data.reading import collected_notes
from chamfer.errors import InputError
from chamfer.evaluate.judged_data import check_in_index
from chamfer.evaluate.on_index import evaluate_index
from chamfer.evaluate.report import EXPLAINED
from chamfer.search.searcher import Searcher
from chamfer.serve.answers import public_name
from chamfer.serve.backend import Asked
from chamfer.serve.batches import AbandonedError
from chamfer.serve.judged_files import LargeFileError
from chamfer.serve.learning import merge_judgements
from chamfer.serve.schemas.evaluation import MOST_EVALUATED, EvaluateResponse
from chamfer.serve.schemas.fields import MOST_QUERY_CHARACTERS
from chamfer.serve.schemas.learning import Judgement
from chamfer.serve.service import weights_for
from chamfer.serve.versions import Versions, WeightsVersion
from chamfer.support.progress import Advance
from chamfer.weights.token_weights import TokenWeights


class ChosenWeights(NamedTuple):
    """Weights to compare, by the names to show, and the numbers of those that are versions."""

    weights: Mapping[str, str | TokenWeights]
    versions: Mapping[str, int]
    baseline: str | None


def compared(versions: Versions, asked: Sequence[str | int], baseline: str | int | None) -> ChosenWeights:
    """Find the weights that a request names; those that are named twice count once.

    Args:
        versions: all versions of the weights.
        asked: numbers of versions, and names.
        baseline: the one that the others are compared with; it need not be among them.
    """
    weights, numbers = dict[str, str | TokenWeights](), dict[str, int]()

    def named(one: str | int) -> str:
        current = versions.current
        version = current if one == "current" else versions.find(one) if isinstance(one, int) else None
        if version is None:
            weights[str(one)] = weights_for(str(one), current)
            return str(one)
        name = name_of(version)
        weights[name], numbers[name] = version.weights, version.number
        return name

    for one in asked:
        named(one)
    return ChosenWeights(weights, numbers, None if baseline is None else named(baseline))


def name_of(version: WeightsVersion) -> str:
    """What a version is called in an evaluation."""
    return f"version {version.number} ({version.name})"


def read_marks(judgements: Sequence[Judgement]) -> Judged:
    """The queries of judgements that were sent as such."""
    return read_judged(None, merge_judgements(judgements))


def evaluate(searcher: Searcher, asked: Asked, is_abandoned: Callable[[], bool]) -> EvaluateResponse:
    """Compare weights on judged queries of an index.

    Args:
        searcher: searcher of the index.
        asked: the judged queries, and the weights.
        is_abandoned: whether the client has stopped waiting.
    """

    @contextmanager
    def until_abandoned(_what: str, _total: int) -> Iterator[Advance]:
        def check(_done: int) -> None:
            if is_abandoned():
                raise AbandonedError

        check(0)
        yield check

    with collected_notes() as notes:
        judged = asked.read()
        _check(judged, asked.split)
        check_in_index(searcher, judged.judgements)
    evaluation = evaluate_index(
        searcher,
        judged.queries,
        judged.judgements,
        asked.weights,
        baseline=asked.baseline,
        split=asked.split,
        progress=until_abandoned,
    )
    with until_abandoned("comparing", 0) as advance:
        found = evaluation.made_json(EXPLAINED, advance)
    found["settings"]["encoder"] = public_name(found["settings"]["encoder"])
    found["notes"] = list(dict.fromkeys([*notes, *found["notes"]]))
    for system in found["systems"]:
        system["version"] = asked.versions.get(system["name"])
    return EvaluateResponse.model_validate(found)


def _check(judged: Judged, name: str) -> None:
    if len(judged.judgements) > MOST_EVALUATED:
        raise LargeFileError(
            f"{name} holds {len(judged.judgements):,} queries, and a server evaluates up to {MOST_EVALUATED:,}; "
            "send fewer, or use chamfer evaluate"
        )
    longest = max(judged.queries.values(), key=len, default="")
    if len(longest) > MOST_QUERY_CHARACTERS:
        raise InputError(
            f"{name} holds a query of {len(longest):,} characters, but a query has at most {MOST_QUERY_CHARACTERS:,}"
        )
