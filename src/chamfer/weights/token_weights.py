"""The weight of every query token."""

import math
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels.checks import check_weight_values
from chamfer.kernels.fold import fold
from chamfer.kernels.form import Form
from chamfer.kernels.limits import LARGEST
from chamfer.support.strings import encodable
from chamfer.tokens.batch import TokenBatch, TokenIds, Vectors
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights import exchange
from chamfer.weights.adapter import Adapter
from chamfer.weights.changes import Changes
from chamfer.weights.files import Content, check_exists, other_tokenizer, read_weights, write_weights
from chamfer.weights.frequencies import DocumentFrequencies
from chamfer.weights.idf import POWER, POWER_BESIDE_EVIDENCE, idf_table, soft_idf_table
from chamfer.weights.metadata import metadata_json
from chamfer.weights.mix import NOTHING, Mix, default_mix
from chamfer.weights.special import AUTO, CHOICES, DEFAULT, Special, choose_special, with_filling, with_special
from chamfer.weights.zero_shot import IDF, MIX, SOFT_IDF, UNIFORM

if TYPE_CHECKING:  # the encoder imports torch, which takes seconds
    from chamfer.encode.encoder import Encoder

SUFFIXES = (".safetensors", *exchange.SUFFIXES)
"""Suffixes of the files that weights are saved to and loaded from."""

LARGEST_LOG_CHANGE = 4.0
"""Learning multiplies a token's weight by at most ``exp(4)``, about 55; the context can do so once more."""

LARGEST_CHANGE = math.ceil(math.exp(LARGEST_LOG_CHANGE))

Validate = Callable[[Sequence["TokenWeights"]], Sequence[float]]
"""Measures several weightings on validation queries; higher is better."""


@dataclass(frozen=True, eq=False, repr=False)
class TokenWeights:
    """A weight for every token of a vocabulary and, optionally, an adapter of query vectors and a mix of evidence.

    Args:
        table: ``(vocabulary,)`` float32, not negative and at most 1e9; with a context, a 55th of that.
        vocabulary: tokens that the weights belong to.
        metadata: how the weights were made and from what: JSON of at most 64 KB, saved with them.
        context: ``(dimensions,)`` float32, an optional direction ``u`` in the encoder's space. A token with vector
            ``q`` then weighs ``table[id] * exp(<u, q>)``, so that its role in the sentence counts too.
        adapter: an optional map of query vectors, applied after the weights have been looked up.
        mix: how much lexical and pooled evidence counts beside the tokens; nothing by default.
        changes: which weights were learnt or set by hand, and what they were before; None if none were, or if that was
            not recorded. It changes no score.

    >>> words = Vocabulary(("[CLS]", "a", "cat"), special_ids=frozenset({0}))
    >>> counted = DocumentFrequencies.count([[0, 1], [0, 1, 2]], vocabulary_size=3)
    >>> [f"{weight:.3f}" for weight in TokenWeights.idf(counted, words).table]
    ['1.000', '0.182', '0.693']
    """

    table: npt.NDArray[np.float32]
    vocabulary: Vocabulary
    metadata: Mapping[str, Any] = field(default_factory=dict)
    context: npt.NDArray[np.float32] | None = None
    adapter: Adapter | None = None
    mix: Mix = NOTHING
    changes: Changes | None = None

    def __post_init__(self) -> None:
        if self.table.shape != (len(self.vocabulary),) or self.table.dtype != np.float32:
            raise InputError(
                f"expected {len(self.vocabulary)} float32 weights, one per token of the vocabulary, "
                f"got {self.table.dtype} of shape {self.table.shape}"
            )
        check_weight_values(self.table)
        metadata_json(self.metadata)
        if self.changes is not None and len(self.changes.kinds) != len(self.table):
            raise InputError(f"expected changes of {len(self.table)} weights, got {len(self.changes.kinds)}")
        if self.context is None:
            return
        if self.context.dtype != np.float32 or self.context.ndim != 1 or not (np.abs(self.context) <= LARGEST).all():
            raise InputError(f"the context of token weights must be a float32 vector of numbers up to {LARGEST:g}")
        if (self.table > LARGEST / LARGEST_CHANGE).any():
            raise InputError(
                f"token weights with a context must not be above {LARGEST / LARGEST_CHANGE:.3g}, because it can "
                f"multiply them by {LARGEST_CHANGE}; divide all of them by the same number"
            )

    def __repr__(self) -> str:
        made = {key: self.metadata[key] for key in ("recipe", "form") if key in self.metadata}
        shown: dict[str, object] = {"tokens": len(self.table), **made}
        shown |= {} if self.context is None else {"context": len(self.context)}
        shown |= {} if self.adapter is None else {"adapter": self.adapter.rank}
        shown |= {"mix": self.mix} if self.mix else {}
        return f"TokenWeights({', '.join(f'{key}={reprlib.repr(value)}' for key, value in shown.items())})"

    @classmethod
    def uniform(cls, vocabulary: Vocabulary, *, made_from: Mapping[str, Any] | None = None) -> Self:
        """Weight 1 for every token: ColBERT's own score.

        Args:
            vocabulary: tokens to weight.
            made_from: provenance to record in the metadata.
        """
        return cls(np.ones(len(vocabulary), np.float32), vocabulary, {"recipe": UNIFORM, **(made_from or {})})

    @classmethod
    def idf(
        cls,
        frequencies: DocumentFrequencies,
        vocabulary: Vocabulary,
        *,
        special: Special = DEFAULT,
        validate: Validate | None = None,
        made_from: Mapping[str, Any] | None = None,
    ) -> Self:
        """Inverse document frequency, as the paper defines it.

        ``idf(t) = log((N - n(t) + 0.5) / (n(t) + 0.5) + 1)``; tokens that occur in no document weigh 0.

        Args:
            frequencies: document frequencies of the corpus.
            vocabulary: vocabulary of the encoder that the corpus was counted with.
            special: weight of ``[CLS]``, ``[MASK]`` and the like: 0, 1, or ``"auto"`` for the better of the two on
                validation queries.
            validate: function that takes a list of weightings and returns a number for each, higher is better, such as
                their nDCG@10 on validation queries; required for ``"auto"``.
            made_from: provenance to record in the metadata, such as corpus and encoder.
        """
        if special == AUTO:
            if validate is None:
                raise InputError("special='auto' needs validation queries to choose on; give 0 or 1 instead")
            made_from = {**(made_from or {}), "special_chosen_by": "validation"}
            options = [cls.idf(frequencies, vocabulary, special=value, made_from=made_from) for value in CHOICES]
            return choose_special(options, validate)[1]
        made = {"recipe": IDF, "special": special, "documents": frequencies.documents, **(made_from or {})}
        return cls(with_special(idf_table(frequencies, vocabulary), vocabulary, special), vocabulary, made)

    @classmethod
    def soft_idf(
        cls,
        frequencies: DocumentFrequencies,
        vocabulary: Vocabulary,
        *,
        power: float = POWER,
        mean: float | None = None,
        made_from: Mapping[str, Any] | None = None,
    ) -> Self:
        """Softened IDF: rare tokens count more, common ones still count.

        ``(idf(t) / mean) ** power``. Special tokens, and tokens that occur in no document, weigh 1, like an average
        token.

        Args:
            frequencies: document frequencies of the corpus.
            vocabulary: vocabulary of the encoder that the corpus was counted with.
            power: exponent; 0 gives uniform weights, 1 the proportions of plain IDF.
            mean: IDF of an average token; by default the mean over the distinct tokens of every document.
            made_from: provenance to record in the metadata, such as corpus and encoder.
        """
        table = soft_idf_table(frequencies, vocabulary, power=power, mean=mean)
        made = {"recipe": SOFT_IDF, "power": power, "documents": frequencies.documents, **(made_from or {})}
        return cls(with_special(table, vocabulary), vocabulary, made)

    @classmethod
    def zero_shot(
        cls, frequencies: DocumentFrequencies, encoder: "Encoder", *, made_from: Mapping[str, Any] | None = None
    ) -> Self:
        """The weights named ``mix``, which searches use by default: softened IDF, and evidence that suits the encoder.

        Beside lexical and pooled evidence, IDF is softened further: BM25 has counted the rare words already. Where a
        model fills queries with ``[MASK]``, each of these tokens weighs 0.5.

        Args:
            frequencies: document frequencies of the corpus.
            encoder: the encoder that the corpus was counted with.
            made_from: provenance to record in the metadata, such as corpus and encoder.
        """
        vocabulary, late_interaction = encoder.vocabulary, encoder.late_interaction
        power = POWER if late_interaction else POWER_BESIDE_EVIDENCE
        soft = cls.soft_idf(frequencies, vocabulary, power=power, made_from=made_from)
        table = with_filling(soft.table, vocabulary) if encoder.fills_queries else soft.table
        mix = default_mix(late_interaction=late_interaction)
        return replace(soft, table=table, metadata={**soft.metadata, "recipe": MIX}, mix=mix)

    @property
    def content(self) -> Content:
        """Internal: what a weights file holds."""
        return Content(self.table, self.vocabulary, self.metadata, self.context, self.adapter, self.mix, self.changes)

    def with_mix(self, mix: Mix) -> Self:
        """The same weights with another mix of evidence; ``with_mix(Mix())`` scores by tokens alone."""
        return replace(self, mix=mix)

    def adapt(self, batch: TokenBatch) -> TokenBatch:
        """Apply the adapter to query vectors; without one, the batch itself.

        Args:
            batch: encoded queries; look their weights up first, because a context is for vectors as the encoder made
                them.
        """
        if self.adapter is None:
            return batch
        return TokenBatch(self.adapter.adapted(batch.vectors), batch.token_ids, batch.offsets)

    def of(self, batch: TokenBatch) -> npt.NDArray[np.float32]:
        """Look up the weight of every token of a batch.

        Args:
            batch: encoded queries, not adapted.

        Returns:
            ``(tokens,)`` float32.
        """
        return self.of_tokens(batch.token_ids, batch.vectors)

    def of_tokens(self, ids: TokenIds, vectors: Vectors) -> npt.NDArray[np.float32]:
        """Internal: like :meth:`of`, for token ids and vectors that are not in a batch."""
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
        logs = np.clip(vectors.astype(np.float32) @ self.context, -LARGEST_LOG_CHANGE, LARGEST_LOG_CHANGE)
        factor: npt.NDArray[np.float32] = np.exp(logs)
        return self.table[ids] * factor

    def fold(self, queries: TokenBatch) -> TokenBatch:
        """Adapt query vectors and scale them by their weights, for engines that compute plain MaxSim by dot products.

        ``sum_i max_j <w_i q_i, d_j> = sum_i w_i max_j <q_i, d_j>``, so plain MaxSim of the result is the weighted score
        in the ``cosine`` form. Weights learnt for ``l2`` are refused. The engine must not normalise the vectors again,
        because the weight of a token is now their length. The mix is not part of the result: an engine takes lexical
        and pooled evidence as a hybrid query, see docs/guides/engines.md.

        Args:
            queries: encoded queries of unit vectors.

        Returns:
            The same number of queries, in float32, without the tokens of weight 0.

        >>> weights = TokenWeights(np.array([0.5, 2.0], np.float32), Vocabulary(("the", "cat"), frozenset()))
        >>> weights.fold(TokenBatch.pack([np.eye(2, dtype=np.float32)], [[0, 1]])).vectors.tolist()
        [[0.5, 0.0], [0.0, 2.0]]
        """
        self.check_form("cosine")
        return fold(self.adapt(queries), self.of(queries))

    def extremes(
        self, count: int, *, among: TokenIds | None = None
    ) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """The heaviest and the lightest tokens, with their weights.

        Special tokens are left out. Ties are broken in favour of whole words over word pieces and numbers.

        Args:
            count: number of tokens at each end.
            among: ids of the tokens to consider; by default all that weigh more than 0.
        """

        def order(token: str) -> tuple[bool, str]:
            return not token.isalpha(), token

        wanted = self.table > 0 if among is None else np.isin(np.arange(len(self.table)), among)
        choice = np.flatnonzero(wanted & ~self.vocabulary.is_special)
        tokens = [(self.vocabulary.tokens[place], float(self.table[place])) for place in choice]
        heaviest = sorted(tokens, key=lambda pair: (-pair[1], order(pair[0])))[:count]
        lightest = sorted(tokens, key=lambda pair: (pair[1], order(pair[0])))[:count]
        return heaviest, lightest

    def check_tokenizer(self, vocabulary: Vocabulary) -> None:
        """Internal: raise an error if the weights were made for another tokenizer, where ids stand for other tokens."""
        if vocabulary.fingerprint != self.vocabulary.fingerprint:
            raise other_tokenizer(len(self.vocabulary), self.vocabulary.fingerprint, vocabulary)

    def check_form(self, form: Form) -> None:
        """Internal: raise an error if the weights were learnt for another form of the score."""
        learnt_for = self.metadata.get("form", form)
        if learnt_for != form:
            raise InputError(
                f"these weights were learnt for the form {reprlib.repr(learnt_for)}, not {form!r}; learn them again "
                f"with form={form!r} (chamfer learn --form {form} on the command line)"
            )

    def save(self, path: str | Path) -> None:
        """Save the weights to a file; its suffix decides the format.

        Args:
            path: a ``.safetensors`` file, which holds everything; or one of the
                exchange formats, ``.json`` (token -> weight) and ``.txt`` (``token<TAB>weight``), which hold only
                the table: what reads such a file cannot know the form that the weights were learnt for.
        """
        path = Path(path)
        check_suffix(path)
        if path.suffix not in exchange.SUFFIXES:
            write_weights(path, self.content)
        elif self.context is None and self.adapter is None and not self.mix:
            exchange.write_table(path, self.vocabulary, self.table)
        else:
            raise InputError(
                f"weights with a context, an adapter or a mix do not fit into {path.name!r}, which holds one number "
                "per token; save them as .safetensors"
            )

    @classmethod
    def load(cls, path: str | Path, vocabulary: Vocabulary | None = None, *, missing: float = 0.0) -> Self:
        """Load weights that :meth:`save` wrote, or that others published in an exchange format.

        Args:
            path: a ``.safetensors``, ``.json`` or ``.txt`` file.
            vocabulary: vocabulary of the encoder to use the weights with; weights of another tokenizer are refused.
                Required for ``.json`` and ``.txt``, which contain none.
            missing: weight of tokens that a ``.json`` or ``.txt`` file leaves out.

        >>> words, folder = Vocabulary(("the", "cat"), frozenset()), getfixture("tmp_path")
        >>> TokenWeights(np.array([0.5, 2.0], np.float32), words).save(folder / "mine.json")
        >>> TokenWeights.load(folder / "mine.json", words).table.tolist()
        [0.5, 2.0]
        """
        path = Path(path)
        check_suffix(path)
        if path.suffix not in exchange.SUFFIXES:
            check_exists(path)
            with path.open("rb") as file:
                return cls(*read_weights(file, str(path), vocabulary))
        if vocabulary is None:
            raise InputError(f"{path.name!r} contains no vocabulary; give that of an encoder")
        table = exchange.read_table(path, vocabulary, missing=missing)
        return cls(table, vocabulary, {"recipe": "imported", "file": encodable(path.name), "missing": missing})


def check_suffix(path: Path) -> None:
    """Raise an error if the suffix of a path is not one of :data:`SUFFIXES`."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"weights files end in {', '.join(SUFFIXES)}; {path.name!r} does not")
