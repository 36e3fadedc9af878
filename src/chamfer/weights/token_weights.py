"""What multiplies each query token."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from chamfer.errors import InputError
from chamfer.support.files import written_whole
from chamfer.tokens.batch import TokenBatch, TokenIds, Vectors
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.frequencies import DocumentFrequencies

FORMAT = "chamfer-weights-1"

MOST = 4.0
"""Learning moves a weight at most ``exp(4)``, 55 times, by its token and as much by its context."""

Special = float | Literal["auto"]
Validate = Callable[[Sequence["TokenWeights"]], Sequence[float]]
"""How good each of several weights is on a validation slice."""


@dataclass(frozen=True, eq=False)
class TokenWeights:
    """A weight for every token of a vocabulary.

    Args:
        table: ``(vocabulary,)`` float32, finite and not negative.
        vocabulary: what the ids stand for.
        metadata: how the weights were made and from what, as JSON; kept with the file.
        context: ``(dimensions,)`` float32, a direction ``u`` in the encoder's space; a token with vector ``q`` then
            weighs ``table[id] * exp(<u, q>)``, so that its role in the sentence plays a part.

    >>> words = Vocabulary(("[CLS]", "a", "cat"), special_ids=frozenset({0}))
    >>> counted = DocumentFrequencies.count([[0, 1], [0, 1, 2]], vocabulary_size=3)
    >>> [f"{weight:.3f}" for weight in TokenWeights.idf(counted, words).table]
    ['1.000', '0.182', '0.693']
    """

    table: npt.NDArray[np.float32]
    vocabulary: Vocabulary
    metadata: Mapping[str, Any] = field(default_factory=dict)
    context: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        if self.table.shape != (len(self.vocabulary),) or self.table.dtype != np.float32:
            raise InputError(
                f"a vocabulary of {len(self.vocabulary)} tokens needs as many float32 weights, "
                f"not {self.table.dtype} of shape {self.table.shape}"
            )
        if not np.isfinite(self.table).all() or (self.table < 0).any():
            raise InputError("token weights must be finite and not negative")
        if self.context is not None and (self.context.dtype != np.float32 or not np.isfinite(self.context).all()):
            raise InputError("the context of token weights must be float32 and finite")

    @classmethod
    def uniform(cls, vocabulary: Vocabulary, *, made_from: Mapping[str, Any] | None = None) -> Self:
        """Weight 1 for every token: ColBERT's own score."""
        return cls(np.ones(len(vocabulary), np.float32), vocabulary, {"recipe": "uniform", **(made_from or {})})

    @classmethod
    def idf(
        cls,
        frequencies: DocumentFrequencies,
        vocabulary: Vocabulary,
        *,
        special: Special = 1.0,
        validate: Validate | None = None,
        made_from: Mapping[str, Any] | None = None,
    ) -> Self:
        """Weight every token by how few documents contain it, as the paper defines it.

        ``idf(t) = log((N - n(t) + 0.5) / (n(t) + 0.5) + 1)``; tokens in no document weigh 0.

        Args:
            frequencies: counted over the corpus.
            vocabulary: of the encoder that the corpus was counted with.
            special: the weight of ``[CLS]``, ``[MASK]`` and the like: 0, 1, or ``"auto"`` for whichever of
                the two ``validate`` finds better.
            validate: measures several weights on a validation slice; higher is better. Needed for ``"auto"``.
            made_from: kept in the metadata: corpus, encoder, sample, ...
        """
        if special == "auto":
            if validate is None:
                raise InputError("special='auto' needs a validation slice to choose on; give 0 or 1 instead")
            made_from = {**(made_from or {}), "special_chosen_by": "validation"}
            choices = [cls.idf(frequencies, vocabulary, special=value, made_from=made_from) for value in (1.0, 0.0)]
            measured = validate(choices)
            return choices[0] if measured[0] >= measured[1] else choices[1]
        table = np.where(vocabulary.is_special, special, _idf(frequencies, vocabulary))
        made = {"recipe": "idf", "special": special, "documents": frequencies.documents, **(made_from or {})}
        return cls(table.astype(np.float32), vocabulary, made)

    @classmethod
    def soft_idf(
        cls,
        frequencies: DocumentFrequencies,
        vocabulary: Vocabulary,
        *,
        power: float = 0.5,
        mean: float | None = None,
        made_from: Mapping[str, Any] | None = None,
    ) -> Self:
        """Weight tokens by softened IDF: rare words count more, common ones still count.

        ``(idf(t) / mean) ** power``; special tokens and tokens in no document weigh 1, like an average token.

        Args:
            frequencies: counted over the corpus.
            vocabulary: of the encoder that the corpus was counted with.
            power: 0 gives uniform weights, 1 the proportions of plain IDF.
            mean: the IDF of an average token; that of the distinct tokens of every document if not given.
            made_from: kept in the metadata: corpus, encoder, sample, ...
        """
        if not 0 <= power <= 2:
            raise InputError(f"the power of softened IDF lies between 0 and 2, not {power}")
        idf = _idf(frequencies, vocabulary)
        known = (frequencies.counts > 0) & ~vocabulary.is_special
        if mean is None:
            mean = float((frequencies.counts * idf)[known].sum()) / max(int(frequencies.counts[known].sum()), 1)
        if not mean > 0:
            raise InputError("no document contains a token with text, so there is no average IDF to divide by")
        table = np.where(known, (idf / mean) ** power, 1.0)
        made = {"recipe": "idf-soft", "power": power, "documents": frequencies.documents, **(made_from or {})}
        return cls(table.astype(np.float32), vocabulary, made)

    def of(self, batch: TokenBatch) -> npt.NDArray[np.float32]:
        """Look up the weight of every token of a batch.

        Returns:
            ``(tokens,)`` float32.
        """
        return self.of_tokens(batch.token_ids, batch.vectors)

    def of_tokens(self, ids: TokenIds, vectors: Vectors) -> npt.NDArray[np.float32]:
        """Like :meth:`of`, for token ids and vectors that are in no batch."""
        if len(ids) and (ids.min() < 0 or ids.max() >= len(self.table)):
            raise InputError(
                f"token id {ids.max()} lies outside the {len(self.table)} tokens that have weights; "
                "encode with the model that the weights were made for"
            )
        if self.context is None:
            return self.table[ids]
        if vectors.shape[1] != len(self.context):
            raise InputError(
                f"these weights were learnt for vectors of {len(self.context)} dimensions, not {vectors.shape[1]}; "
                "encode with the model that they were made for"
            )
        factor: npt.NDArray[np.float32] = np.exp(np.clip(vectors.astype(np.float32) @ self.context, -MOST, MOST))
        return self.table[ids] * factor

    def extremes(
        self, count: int, *, among: TokenIds | None = None
    ) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """The heaviest and the lightest tokens with their weights.

        Left out are special tokens and, unless some tokens are named by ``among``, those without weight, which are
        many and alike. Of equal weights, whole words come before word pieces and numbers.
        """

        def dull(token: str) -> tuple[bool, str]:
            return not token.isalpha(), token

        wanted = self.table > 0 if among is None else np.isin(np.arange(len(self.table)), among)
        choice = np.flatnonzero(wanted & ~self.vocabulary.is_special)
        tokens = [(self.vocabulary.tokens[place], float(self.table[place])) for place in choice]
        heaviest = sorted(tokens, key=lambda pair: (-pair[1], dull(pair[0])))[:count]
        lightest = sorted(tokens, key=lambda pair: (pair[1], dull(pair[0])))[:count]
        return heaviest, lightest

    def check_tokenizer(self, vocabulary: Vocabulary) -> None:
        """Refuse weights that were made for another tokenizer, whose ids mean other tokens."""
        if vocabulary.fingerprint != self.vocabulary.fingerprint:
            raise InputError(
                f"these weights belong to another tokenizer ({len(self.vocabulary)} tokens, fingerprint "
                f"{self.vocabulary.fingerprint}) than the encoder's ({len(vocabulary)} tokens, fingerprint "
                f"{vocabulary.fingerprint}); make weights with this encoder"
            )

    def save(self, path: str | Path) -> None:
        """Write one safetensors file that holds the weights, the vocabulary and how they were made."""
        path = Path(path)
        if path.suffix != ".safetensors":
            raise InputError(
                f"weights are saved to a .safetensors file, not {path.name!r}; see chamfer.weights.exchange for others"
            )
        tokens = np.frombuffer(json.dumps(self.vocabulary.tokens, ensure_ascii=False).encode(), np.uint8)
        metadata = {
            "format": FORMAT,
            "tokenizer": self.vocabulary.fingerprint,
            "special_ids": json.dumps(sorted(self.vocabulary.special_ids)),
            "made": json.dumps(dict(self.metadata)),
        }
        with written_whole(path) as file:
            tensors: dict[str, npt.NDArray[Any]] = {"table": self.table, "tokens": tokens}
            if self.context is not None:
                tensors["context"] = self.context
            file.write(save(tensors, metadata))

    @classmethod
    def load(cls, path: str | Path, vocabulary: Vocabulary | None = None) -> Self:
        """Read what :meth:`save` wrote; with a vocabulary, refuse weights of another tokenizer."""
        path = Path(path)
        if not path.is_file():
            raise InputError(f"there is no weights file {path}; make one with: chamfer weights idf, or chamfer learn")
        try:
            with safe_open(path, "numpy") as file:
                metadata = file.metadata() or {}
                if metadata.get("format") != FORMAT:
                    raise InputError(
                        f"{path} is not a chamfer weights file; import others with: chamfer weights convert"
                    )
                table = file.get_tensor("table")
                tokens = json.loads(file.get_tensor("tokens").tobytes())
                context = file.get_tensor("context") if "context" in file.keys() else None  # noqa: SIM118 -- no mapping
            own = Vocabulary(tuple(tokens), frozenset(json.loads(metadata["special_ids"])))
            made = dict(json.loads(metadata["made"]))
            named = metadata["tokenizer"]
        except InputError:
            raise
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{path} is not a chamfer weights file, or it is damaged; other formats need: chamfer weights convert"
            ) from error
        if own.fingerprint != named:
            raise InputError(f"{path} is damaged: its vocabulary does not have the fingerprint it names; make it again")
        weights = cls(table, own, made, context)
        if vocabulary is not None:
            weights.check_tokenizer(vocabulary)
        return weights


def _idf(frequencies: DocumentFrequencies, vocabulary: Vocabulary) -> npt.NDArray[np.float64]:
    if len(frequencies.counts) != len(vocabulary):
        raise InputError(
            f"frequencies over {len(frequencies.counts)} tokens do not belong to a vocabulary of {len(vocabulary)}"
        )
    return frequencies.idf()
