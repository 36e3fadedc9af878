"""The tokens behind token ids."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

# WordPiece marks tokens that continue a word; byte-level BPE and SentencePiece mark those that begin one.
WORD_MARKS = WORDPIECE, BYTE_BPE, SENTENCEPIECE = ("##", "Ġ", "▁")


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The tokens of one tokenizer, by id.

    Args:
        tokens: the token of every id, as the tokenizer spells it (``##ing`` continues a word).
        special_ids: ids that carry structure instead of text: ``[CLS]``, ``[SEP]``, ``[MASK]``, ``[PAD]`` and the
            markers of queries and documents. ``[UNK]`` is not special: it stands for a word.

    >>> vocabulary = Vocabulary(("[CLS]", "bak", "##ing"), frozenset({0}))
    >>> len(vocabulary), vocabulary.ids["##ing"], vocabulary.is_special.tolist(), vocabulary.word_mark
    (3, 2, [True, False, False], '##')
    """

    tokens: tuple[str, ...]
    special_ids: frozenset[int]

    @classmethod
    def of(cls, ids: Mapping[str, int], special_ids: Iterable[int]) -> Self:
        """Internal: the vocabulary of a tokenizer, from the id of each token; ids without one have an empty one."""
        by_id = {index: token for token, index in ids.items()}
        return cls(tuple(by_id.get(index, "") for index in range(max(by_id) + 1)), frozenset(special_ids))

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"Vocabulary(tokens={len(self)})"

    @cached_property
    def fingerprint(self) -> str:
        """Equal for two tokenizers exactly if every id stands for the same token in both."""
        return hashlib.sha256(json.dumps(self.tokens).encode()).hexdigest()[:16]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of every token."""
        return {token: index for index, token in enumerate(self.tokens)}

    @cached_property
    def is_special(self) -> npt.NDArray[np.bool_]:
        """``(tokens,)`` whether each token is special."""
        mask = np.zeros(len(self.tokens), dtype=np.bool_)
        mask[sorted(self.special_ids)] = True
        return mask

    @cached_property
    def word_mark(self) -> str:
        """How tokens mark that they begin or continue a word: ``##``, ``Ġ`` or ``▁``."""
        marks = Counter(mark for token in self.tokens for mark in WORD_MARKS if token.startswith(mark))
        return marks.most_common(1)[0][0] if marks else WORDPIECE
