"""Learning on a collection, from texts to weights."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chamfer import Encoder, InputError, TokenWeights, evaluate, rerank
from chamfer.cache.manifest import (
    DISTINCT_FILE,
    DISTINCT_LENGTHS_FILE,
    MANIFEST,
    TRUNCATED_FILE,
    VECTORS_ONLY,
)
from chamfer.data.collection import Collection
from chamfer.encode.fingerprints import parameters_digest
from chamfer.encode.library_model import module_of
from chamfer.evaluate import setup
from chamfer.kernels.form import Form
from chamfer.learn.learning import learn
from chamfer.support.files import write_json
from tests import checkpoints

THINGS = ["cat", "dog", "sky", "night", "day", "mat"]


@pytest.fixture
def collection() -> Collection:
    """Thirty-six documents about two things each, twelve queries for one of them."""
    asked = [(one, other) for one in THINGS for other in THINGS[:2]]
    queries = {f"{one}+{other}": f"why {one} {other}" for one, other in asked}
    judged = {f"{one}+{other}": {f"{one}-{other}": 1} for one, other in asked}
    names = list(judged)
    return Collection(
        name="things",
        documents={f"{one}-{other}": f"the {one} and a {other}" for one in THINGS for other in THINGS},
        queries=queries,
        judgements={
            "train": {name: judged[name] for name in names[:8]},
            "test": {name: judged[name] for name in names[8:]},
        },
    )


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_the_model_stays_and_the_same_input_gives_the_same_weights(
    collection: Collection, encoder: Encoder, tmp_path: Path, form: Form
) -> None:
    before = parameters_digest(module_of(encoder._model))
    first, second = (
        learn(collection, encoder=encoder, cache=tmp_path, test="test", recipe="context", form=form) for _ in range(2)
    )
    assert parameters_digest(module_of(encoder._model)) == before
    np.testing.assert_array_equal(first.weights.table, second.weights.table)
    assert replace(first.report, folds=()) == replace(second.report, folds=())
    assert len(first.report.folds) == len(second.report.folds) > 0
    for one, other in zip(first.report.folds, second.report.folds, strict=True):
        assert one.held_out == other.held_out
        np.testing.assert_array_equal(one.weights.table, other.weights.table)
    assert first.held_out is not None
    assert first.held_out.queries == 4
    made = first.weights.metadata
    assert (made["form"], made["learnt_from"], made["corpus"], made["recipe"]) == (form, 8, "things", "context")


@pytest.mark.parametrize("form", ["l2", "cosine"])
def test_an_adapter_is_learnt_from_a_collection_and_measured_as_it_is_used(
    collection: Collection, encoder: Encoder, tmp_path: Path, form: Form
) -> None:
    learnt = learn(collection, encoder=encoder, cache=tmp_path, test="test", recipe="adapter", form=form, folds=2)
    assert learnt.weights.adapter is not None
    assert learnt.weights.metadata["recipe"] == "adapter"
    assert "adapter_penalty" in learnt.weights.metadata
    assert learnt.held_out is not None
    evaluated = evaluate(collection, {"mine": learnt.weights}, split="test", encoder=encoder, cache=tmp_path, form=form)
    assert evaluated["mine"].measures["nDCG@10"] == pytest.approx(learnt.held_out.learnt["nDCG@10"])


def test_weights_are_refused_where_they_mean_something_else(
    collection: Collection, encoder: Encoder, tmp_path: Path
) -> None:
    weights = learn(collection, encoder=encoder, cache=tmp_path, recipe="context").weights
    assert rerank("why cat", ["cat", "dog"], encoder=encoder, weights=weights).document_ids
    with pytest.raises(InputError, match="learnt for the form 'l2', not 'cosine'"):
        rerank("why cat", ["cat"], encoder=encoder, weights=weights, form="cosine")
    checkpoints.make_plain(tmp_path / "other", seed=1)
    with pytest.raises(InputError, match="learnt with another model"):
        rerank("why cat", ["cat"], encoder=Encoder.load(str(tmp_path / "other")), weights=weights)


def test_a_query_is_never_learnt_from_and_measured_on(collection: Collection, encoder: Encoder, tmp_path: Path) -> None:
    mixed = replace(collection, judgements={**collection.judgements, "more": collection.judgements["test"]})
    for splits, sentence in (
        (["test"], "'test' cannot be both a split to learn from and the test split"),
        (["more"], "is judged in 'more' and in 'test'"),
        ("train", r"splits must be a list of strings, .* \['train'\]"),
    ):
        with pytest.raises(InputError, match=sentence):
            learn(mixed, encoder=encoder, cache=tmp_path, splits=splits, test="test")
    with pytest.raises(InputError, match="cannot be both the validation and the test split"):
        learn(mixed, encoder=encoder, cache=tmp_path, validation="test", test="test")
    with pytest.raises(InputError, match="has no judgements to learn from"):
        learn(replace(collection, judgements={}), encoder=encoder, cache=tmp_path)


def test_a_relevant_document_without_text_teaches_nothing(
    collection: Collection, encoder: Encoder, tmp_path: Path
) -> None:
    empty = replace(collection, documents={**collection.documents, "cat-cat": ""})
    learnt = learn(empty, encoder=encoder, cache=tmp_path, recipe="prior")
    assert learnt.left_out.without_relevant == ("cat+cat",)
    assert np.isfinite(learnt.weights.table).all()


def test_reports_name_tokens_of_the_queries_also_those_without_weight(encoder: Encoder) -> None:
    table = np.ones(len(encoder.vocabulary), np.float32)
    ids = np.flatnonzero(~encoder.vocabulary.is_special)[:3].astype(np.int32)
    table[ids] = [0, 2, 3]
    heaviest, lightest = TokenWeights(table, encoder.vocabulary).extremes(10, among=ids)
    assert [weight for _, weight in heaviest] == [3, 2, 0]
    assert [weight for _, weight in lightest] == [0, 2, 3]


def test_the_corpus_is_fingerprinted_and_encoded_once_and_counted_on_the_way(
    collection: Collection, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def counting(name: str) -> Callable[..., Any]:
        original = getattr(setup, name)

        def call(*arguments: Any, **named: Any) -> Any:
            if named.get("role") != "query":
                calls.append(name)
            return original(*arguments, **named)

        return call

    for name in ("fingerprint", "count_tokens", "encode_cached"):
        monkeypatch.setattr(setup, name, counting(name))
    judged = collection.judgements["train"]
    parts = {name: {query: judged[query] for query in list(judged)[at::2]} for at, name in enumerate(("train", "dev"))}
    several = replace(collection, judgements={**parts, "test": collection.judgements["test"]})
    learn(several, encoder=encoder, cache=tmp_path, splits=["train"], validation="dev", test="test", recipe="prior")
    assert sorted(calls) == ["encode_cached", "fingerprint"]


def test_a_text_is_tokenised_once_and_never_if_it_is_cached(
    collection: Collection, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = checkpoints.count_tokenized(monkeypatch)
    once = Counter([*collection.documents.values(), *collection.queries.values()])
    for times in (once, Counter()):
        seen.clear()
        learn(collection, encoder=encoder, cache=tmp_path, test="test", recipe="prior")
        assert Counter(seen) == times


def test_a_corpus_that_an_earlier_version_encoded_is_counted_from_its_texts(
    collection: Collection, encoder: Encoder, tmp_path: Path
) -> None:
    before = learn(collection, encoder=encoder, cache=tmp_path, recipe="prior")
    (folder,) = tmp_path.glob("document-*")
    for name in (DISTINCT_FILE, DISTINCT_LENGTHS_FILE, TRUNCATED_FILE):
        (folder / name).unlink()
    manifest = json.loads((folder / MANIFEST).read_text())
    write_json(folder / MANIFEST, {**manifest, "format": VECTORS_ONLY})
    again = learn(collection, encoder=encoder, cache=tmp_path, recipe="prior")
    np.testing.assert_array_equal(again.start.soft.table, before.start.soft.table)
    assert again.truncated == before.truncated
