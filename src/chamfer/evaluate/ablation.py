"""Ablations: the same weights with one piece switched off, to see what each piece gains."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from chamfer.evaluate.weightings import check_labels, label_of
from chamfer.weights.mix import EVIDENCE, NOTHING
from chamfer.weights.token_weights import TokenWeights


def with_ablations(
    weightings: Mapping[str, TokenWeights], other_systems: Sequence[str] = ()
) -> dict[str, TokenWeights]:
    """Each weighting, followed by its ablations; weights that have neither a mix nor an adapter have none.

    Args:
        weightings: weights by name.
        other_systems: names that an ablation must not have.

    >>> from chamfer.tokens.vocabulary import Vocabulary
    >>> from chamfer.weights.mix import Mix
    >>> weights = TokenWeights.uniform(Vocabulary(("the", "cat"), frozenset()))
    >>> list(with_ablations({"uniform": weights, "mix": weights.with_mix(Mix(lexical=0.012, pooled=0.4))}))
    ['uniform', 'mix', 'mix without lexical', 'mix without pooled', 'mix, tokens only']
    """
    systems = [
        pair for name, weights in weightings.items() for pair in [(name, weights), *_ablations(label_of(name), weights)]
    ]
    check_labels([*(name for name, _ in systems), *other_systems])
    return dict(systems)


def _ablations(label: str, weights: TokenWeights) -> Iterator[tuple[str, TokenWeights]]:
    counted = [name for name in EVIDENCE if getattr(weights.mix, name)]
    for name in counted:
        yield f"{label} without {name}", weights.with_mix(weights.mix.without(name))
    if weights.adapter is not None:
        yield f"{label} without adapter", replace(weights, adapter=None)
    if len(counted) > 1:  # otherwise that is the mix without its only evidence
        yield f"{label}, tokens only", weights.with_mix(NOTHING)
