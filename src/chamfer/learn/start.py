"""Weights that need no judgements: what learning starts from, and what it must beat."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from chamfer.encode.encoder import Encoder
from chamfer.kernels.form import Form
from chamfer.weights import zero_shot
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.special import CHOICES
from chamfer.weights.token_weights import TokenWeights


@dataclass(frozen=True)
class ZeroShot:
    """Weights without labels as a contender in a report."""

    name: str
    """Name in reports."""

    @property
    def recipe(self) -> str:
        """Their own kind."""
        return self.name

    @property
    def settings(self) -> tuple[str, ...]:
        """There are no hyper-parameters."""
        return ()


UNIFORM, IDF, SOFT = ZeroShot(zero_shot.UNIFORM), ZeroShot(zero_shot.IDF), ZeroShot(zero_shot.SOFT_IDF)
# Not the name of the weights alone: there is a recipe of that name.
MIX = ZeroShot(f"zero-shot {zero_shot.MIX}")
UNIFORM_MIX = ZeroShot(f"{zero_shot.UNIFORM} + evidence")
IDF_WITHOUT_SPECIAL = ZeroShot(f"{zero_shot.IDF} (special 0)")


class Start(NamedTuple):
    """Weights of one corpus that need no judgements."""

    uniform: TokenWeights
    """Weight 1 for every token."""
    idf: TokenWeights
    """IDF with special tokens at 1."""
    idf_without_special: TokenWeights
    """IDF with special tokens at 0; the paper takes the better of the two."""
    soft: TokenWeights
    """Softened IDF."""
    mix: TokenWeights
    """The zero-shot mix: what is used without labels, and what labels have to beat."""

    @classmethod
    def counted(
        cls,
        frequencies: DocumentFrequencies,
        encoder: Encoder,
        origin: Mapping[str, Any],
        *,
        learnt_from: int,
        form: Form,
    ) -> Self:
        """Internal: make the weights from document frequencies.

        Args:
            frequencies: document frequencies of the corpus.
            encoder: encoder of the corpus.
            origin: provenance of the frequencies, for the metadata of all weights.
            learnt_from: number of judged queries, for the metadata.
            form: form of the score that the weights are for, for the metadata.
        """
        vocabulary = encoder.vocabulary
        made_from = {**origin, "model": encoder.model_fingerprint, "learnt_from": learnt_from, "form": form}
        idf, without_special = (
            TokenWeights.idf(frequencies, vocabulary, special=special, made_from=made_from) for special in CHOICES
        )
        return cls(
            TokenWeights.uniform(vocabulary, made_from=made_from),
            idf,
            without_special,
            TokenWeights.soft_idf(frequencies, vocabulary, made_from=made_from),
            TokenWeights.zero_shot(frequencies, encoder, made_from=made_from),
        )

    @property
    def uniform_mix(self) -> TokenWeights:
        """Uniform weights with the evidence of the zero-shot mix."""
        return self.uniform.with_mix(self.mix.mix)

    def contenders(self) -> dict[ZeroShot, TokenWeights]:
        """Return the weights as contenders, in the order of reports."""
        return dict(zip((UNIFORM, IDF, IDF_WITHOUT_SPECIAL, SOFT, MIX), self, strict=True))

    def named(self, name: str) -> TokenWeights:
        """Return weights by their name in reports."""
        return next(weights for contender, weights in self.contenders().items() if contender.name == name)
