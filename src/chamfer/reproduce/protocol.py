"""The paper's protocol for one dataset in one setting: candidates, zero-shot and few-shot weights, measures."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.data.collection import Collection
from chamfer.data.runs import write_run
from chamfer.encode.encoder import Encoder
from chamfer.evaluate.groups import are_apart, group
from chamfer.evaluate.measures import DEPTH as MEASURED
from chamfer.evaluate.measures import PerQuery
from chamfer.evaluate.rankings import without_own_document
from chamfer.evaluate.setup import Setup
from chamfer.evaluate.significance import Bootstrap, Groups, compare
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.learn.fit import fit_weights
from chamfer.learn.judged import JudgedQuery
from chamfer.learn.on_collection import starting_weights
from chamfer.learn.presets import PAPER
from chamfer.learn.quality import quality
from chamfer.learn.start import Start
from chamfer.reproduce.capped_recall import measure_all
from chamfer.reproduce.datasets import Dataset
from chamfer.reproduce.debates import grouped_by
from chamfer.reproduce.paper import DEPTH, MOST_QUERIES, Setting
from chamfer.reproduce.saved_splits import load_splits
from chamfer.reproduce.scoring import Scoring
from chamfer.reproduce.separator import with_separator_idf
from chamfer.reproduce.systems import APART, CHAMFER, FEW_SHOT, FEW_SHOT_PAPER, OWN_KEPT
from chamfer.support.progress import Progress, quiet
from chamfer.weights.names import weights_by_name
from chamfer.weights.special import choose_special
from chamfer.weights.token_weights import TokenWeights
from chamfer.weights.zero_shot import IDF, MIX, SOFT_IDF

# Fewer queries cannot be cross-validated.
MIN_QUERIES = 3


@dataclass(frozen=True)
class Protocol:
    """The settings that all datasets of a run share.

    Args:
        cache: cache folder for vectors, minima and indexes.
        depth: number of candidates per query.
        form: ``l2`` or ``cosine``.
        most: maximum number of train and of validation queries.
        seed: random seed.
    """

    cache: Path
    depth: int = DEPTH
    form: Form = DEFAULT_FORM
    most: int = MOST_QUERIES
    seed: int = 0

    def setup(self, collection: Collection, encoder: Encoder, *, progress: Progress = quiet) -> Setup:
        """The setup of one dataset, which its two settings share."""
        return Setup(collection, encoder, self.cache, self.form, self.depth, progress)


def reproduce_dataset(
    setup: Setup, dataset: Dataset, setting: Setting, protocol: Protocol, folder: Path
) -> dict[str, Any]:
    """Run the protocol, write weights and rankings, and return the results, ready for ``json.dumps``.

    Args:
        setup: collection, encoder and shared settings, from :meth:`Protocol.setup`.
        dataset: settings of the dataset.
        setting: ``rerank`` BM25's candidates, or search ``end-to-end``.
        protocol: settings that all datasets share.
        folder: folder of the dataset; its splits go there, and results into one subfolder per setting.
    """
    started = time.perf_counter()
    collection, encoder, progress = setup.collection, setup.encoder, setup.progress
    splits = load_splits(folder / "splits.json", collection, most=protocol.most, seed=protocol.seed)
    start = starting_weights(setup, learnt_from=len(splits.queries["train"]) + len(splits.queries["validation"]))
    scoring = Scoring(setup, setting, splits)
    train, validation = (scoring.minima(role, start.uniform) for role in ("train", "validation"))
    learning = time.perf_counter()
    theirs = with_separator_idf(start, setup.frequencies)
    weightings, chosen = learn_all(
        train, validation, start, dataset, theirs=theirs, seed=protocol.seed, progress=progress
    )
    learnt = time.perf_counter() - learning
    weightings[MIX] = weights_by_name(MIX, encoder, lambda: setup.frequencies, made_from=setup.origin)
    rankings = scoring.rankings(weightings, with_own=dataset.own_documents)
    judgements = splits.judgements(collection, "test")
    others = {
        name: [without_own_document(collection, one, len(one)) for one in ranked] for name, ranked in rankings.items()
    }
    values = {name: measure_all(ranked, judgements) for name, ranked in others.items()}
    kept = {name: measure_all(rankings[name], judgements) for name in weightings if dataset.own_documents}
    tested = splits.tied(collection, "test")
    apart = are_apart(tested, [*splits.tied(collection, "train"), *splits.tied(collection, "validation")])
    grouping = group(tested, grouped_by(collection))
    for name, weights in weightings.items():
        weights.save(folder / setting / f"{name}.safetensors")
    for name, ranked in others.items():
        write_run(folder / setting / f"{name}.trec", ranked, k=MEASURED, tag=name)
    return {
        "dataset": dataset.name,
        "group": dataset.group,
        "setting": setting,
        "documents": len(collection.documents),
        "queries": {role: len(queries) for role, queries in splits.queries.items()},
        "encoder": {
            "name": encoder.name,
            "model": encoder.model_fingerprint,
            "query_length": encoder.query_length,
            "document_length": encoder.document_length,
        },
        "truncated": setup.truncated(splits.texts(collection, "test")),
        "chosen": chosen,
        "resampled": {"by": grouping.by, "groups": grouping.groups},
        "systems": _all_figures(values, grouping.labels),
        APART: {
            "queries": int(apart.sum()),
            "systems": _all_figures(_only(values, apart), grouping.labels[apart]) if apart.any() else {},
        },
        OWN_KEPT: _all_figures(kept, grouping.labels) if kept else {},
        "bm25_on_all_test_queries": scoring.bm25_on_all() if setting == "rerank" else None,
        "seconds": {"all": round(time.perf_counter() - started, 1), "learning": round(learnt, 1)},
    }


def learn_all(
    train: Sequence[JudgedQuery],
    validation: Sequence[JudgedQuery],
    start: Start,
    dataset: Dataset,
    *,
    theirs: Start | None = None,
    seed: int = 0,
    progress: Progress = quiet,
) -> tuple[dict[str, TokenWeights], dict[str, str]]:
    """Make the weights of every system but the mix, and report what was chosen.

    The weight of special tokens under IDF is chosen on the validation queries. With too few queries to learn from,
    the few-shot systems fall back to weights that need no labels.

    Args:
        train: queries to learn from.
        validation: queries to choose on.
        start: weights without labels, for our systems.
        dataset: settings of the dataset.
        theirs: the same for the paper's systems, see :mod:`chamfer.reproduce.separator`; by default ours.
        seed: random seed.
        progress: progress callback.
    """
    theirs = theirs or start
    can_learn = len(train) > 0 and len(validation) > 0 and len(train) + len(validation) >= MIN_QUERIES
    special, zero_shot = choose_special(
        (theirs.idf, theirs.idf_without_special),
        lambda options: [float(quality(validation, one).mean()) if can_learn else 0.0 for one in options],
    )
    weightings = {
        CHAMFER: start.uniform,
        IDF: zero_shot,
        SOFT_IDF: start.soft,
        FEW_SHOT_PAPER: zero_shot,
        FEW_SHOT: start.mix,
    }
    nothing = "nothing could be learnt"
    chosen = {IDF: f"special tokens at {special:g}", FEW_SHOT_PAPER: nothing, FEW_SHOT: nothing}
    if can_learn:
        weightings[FEW_SHOT_PAPER], report = fit_weights(
            train, theirs, recipe=PAPER, validation=validation, preset=dataset.preset, seed=seed, progress=progress
        )
        chosen[FEW_SHOT_PAPER] = report.choice.name
        weightings[FEW_SHOT], report = fit_weights([*train, *validation], start, seed=seed, progress=progress)
        chosen[FEW_SHOT] = report.choice.name
    return weightings, chosen


def _only(values: dict[str, PerQuery], chosen: npt.NDArray[np.bool_]) -> dict[str, PerQuery]:
    """The values of some queries."""
    return {name: {measure: one[chosen] for measure, one in own.items()} for name, own in values.items()}


def _all_figures(values: dict[str, PerQuery], groups: Groups) -> dict[str, Any]:
    """Means of every system, and comparisons with Chamfer that swap and resample whole groups of queries."""
    bootstrap = Bootstrap(len(groups), groups=groups)
    return {name: _figures(own, values[CHAMFER], groups, bootstrap) for name, own in values.items()}


def _figures(values: PerQuery, chamfer: PerQuery, groups: Groups, bootstrap: Bootstrap) -> dict[str, Any]:
    intervals = bootstrap.intervals(np.stack([values[name] - chamfer[name] for name in values], axis=1))
    return {
        "measures": {name: round(float(one.mean()), 6) for name, one in values.items()},
        "against_chamfer": {
            name: {
                **compare(values[name], chamfer[name], groups=groups)._asdict(),
                "interval": [round(low, 6), round(high, 6)],
            }
            for name, (low, high) in zip(values, intervals, strict=True)
        },
    }
