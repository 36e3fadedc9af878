"""``chamfer.evaluate``: compare weightings on a judged collection or an index."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from chamfer.cache.encoded import default_cache
from chamfer.data.collection import Collection, load_collection
from chamfer.data.ranking import Ranking
from chamfer.encode.encoder import Encoder
from chamfer.evaluate.evaluation import Evaluation
from chamfer.evaluate.on_collection import BM25, evaluate_collection
from chamfer.evaluate.setup import Setup
from chamfer.evaluate.weightings import Weightings
from chamfer.kernels.form import Form
from chamfer.retrieve.stage import DEFAULT_DEPTH
from chamfer.support.progress import shown
from chamfer.weights.names import NAMES
from chamfer.weights.special import DEFAULT, Special
from chamfer.workers.connect import workers_at


def evaluate(
    data: Collection | str | Path,
    weights: Weightings = NAMES,
    *,
    split: str = "test",
    encoder: Encoder | str = "minilm",
    first_stage: str | None = None,
    candidates: Sequence[Ranking] | None = None,
    runs: Mapping[str, Sequence[Ranking]] | None = None,
    depth: int | None = None,
    form: Form = "l2",
    special: Special = DEFAULT,
    validation: str = "dev",
    baseline: str | None = None,
    cache: str | Path | None = None,
    progress: bool | None = None,
    ray: str | None = None,
) -> Evaluation:
    """Compare weightings: measures, significance, wins and losses per query.

    Args:
        data: a judged collection, or the path of one in the BEIR layout.
        weights: names (``uniform``, ``idf``, ``idf-soft``), files or :class:`chamfer.TokenWeights`; one, a list, or a
            mapping from the names to show.
        split: judged queries to measure.
        encoder: encoder, or the name of one; its lengths are those of the experiment.
        first_stage: first stage whose candidates are re-ranked; ``bm25`` by default.
        candidates: rankings to re-rank instead of a first stage's.
        runs: other rankings to measure beside ours, by name.
        depth: number of candidates per query; 1000 by default.
        form: form of the score, ``l2`` or ``cosine``.
        special: weight of special tokens under ``idf``: 0, 1, or ``"auto"`` for the better one on ``validation``.
        validation: split for ``special="auto"``; it must not be the one that is measured.
        baseline: system to compare with; ``uniform`` if it is there, else the first weighting.
        cache: folder for vectors, so that a second evaluation encodes nothing; the user's cache folder by default.
        progress: whether to show a progress bar; by default only if stderr is a terminal.
        ray: address of a Ray cluster, or ``"local"`` for Ray workers on this machine; by default this process works.
    """
    collection = data if isinstance(data, Collection) else load_collection(Path(data))
    encoder = encoder if isinstance(encoder, Encoder) else Encoder.load(encoder)
    cache = default_cache() if cache is None else Path(cache)
    with workers_at(ray) as workers:
        setup = Setup(collection, encoder, cache, form, depth or DEFAULT_DEPTH, shown(progress), workers)
        return evaluate_collection(
            setup,
            weights,
            split=split,
            first_stage=first_stage or BM25,
            candidates=candidates,
            runs=runs,
            special=special,
            validation=validation,
            baseline=baseline,
        )
