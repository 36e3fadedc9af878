"""The weightings that an evaluation compares, by name."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chamfer.encode.encoder import Encoder
from chamfer.errors import InputError
from chamfer.kernels.form import Form
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.learnt_queries import learnt_from
from chamfer.weights.names import check_name, check_weights, weights_by_name
from chamfer.weights.special import DEFAULT, Special
from chamfer.weights.token_weights import SUFFIXES, TokenWeights, Validate

OneWeighting = str | Path | TokenWeights
Weightings = OneWeighting | Sequence[OneWeighting] | Mapping[str, OneWeighting]
"""``"idf"``, ``["uniform", "mine.safetensors"]`` or ``{"mine": weights}``."""


def name_weightings(weights: Weightings, other_systems: Sequence[str] = ()) -> dict[str, str | TokenWeights]:
    """Give every weighting a name: its own, its path, or the recipe that made it.

    Args:
        weights: names, files or weights.
        other_systems: names that the weightings must not have, because a first stage or a run has them.
    """
    if isinstance(weights, Mapping):
        pairs = list(weights.items())
    else:
        several = [weights] if isinstance(weights, OneWeighting) else list(weights)
        pairs = [(_name(one), one) for one in several]
    if not pairs:
        raise InputError("an evaluation needs at least one weighting, such as 'uniform'")
    check_labels([*(name for name, _ in pairs), *other_systems])
    named = {name: one if isinstance(one, TokenWeights) else str(one) for name, one in pairs}
    for one in named.values():
        if isinstance(one, str):
            check_name(one)
    return named


def label_of(name: str) -> str:
    """The name of a system in tables: a weights file without its folder and suffix.

    >>> label_of("runs/mine-1.2.safetensors"), label_of("mix without lexical")
    ('mine-1.2', 'mix without lexical')
    """
    return Path(name).stem if Path(name).suffix in SUFFIXES else name


def check_labels(names: Sequence[str]) -> None:
    """Raise an error if two systems would have the same name in tables."""
    labels = [label_of(name) for name in names]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise InputError(
            f"two systems would be called {twice!r}; rename a file, or give the weights as a mapping from names"
        )


def _name(weights: OneWeighting) -> str:
    return str(weights.metadata.get("recipe")) if isinstance(weights, TokenWeights) else str(weights)


def choose_baseline(baseline: str | None, weightings: Sequence[str], systems: Sequence[str]) -> str:
    """Return the baseline: the given system, else ``uniform``, else the first weighting."""
    baseline = baseline or ("uniform" if "uniform" in weightings else weightings[0])
    if baseline not in systems:
        raise InputError(f"the baseline must be one of {', '.join(systems)}, not {baseline!r}")
    return baseline


def new_queries(queries: Mapping[str, str], weightings: Mapping[str, TokenWeights]) -> tuple[dict[str, str], int]:
    """The queries that no weights were learnt from, and the number of the others; all of them if there are no others.

    Args:
        queries: query texts by id.
        weightings: weights by name.
    """
    seen = learnt_from((one.metadata for one in weightings.values()), queries)
    if len(seen) == len(queries):
        return dict(queries), 0
    return {query: text for query, text in queries.items() if query not in seen}, len(seen)


def resolve_weightings(
    weightings: Mapping[str, str | TokenWeights],
    encoder: Encoder,
    frequencies: Callable[[], DocumentFrequencies],
    *,
    form: Form,
    special: Special = DEFAULT,
    validate: Validate | None = None,
    made_from: Mapping[str, Any] | None = None,
) -> dict[str, TokenWeights]:
    """Make or load each weighting; see :func:`chamfer.weights.names.weights_by_name`."""
    resolved = {}
    for name, one in weightings.items():
        if isinstance(one, TokenWeights):
            check_weights(one, encoder, form)
            resolved[name] = one
        else:
            resolved[name] = weights_by_name(
                one, encoder, frequencies, special=special, validate=validate, made_from=made_from, form=form
            )
    return resolved
