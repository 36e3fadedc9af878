"""What the token ids of a model stand for."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

# WordPiece marks what goes on; byte-level BPE and SentencePiece mark what begins.
WORD_MARKS = GOES_ON, BYTES_BEGIN, BEGINS = ("##", "Ġ", "▁")


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of one tokenizer, by id.

    Args:
        tokens: the token of every id, as the tokenizer spells it (``##ing`` goes on a word).
        special_ids: ids that carry structure instead of text: ``[CLS]``, ``[SEP]``, ``[MASK]``, ``[PAD]``
            and the markers for query and document. ``[UNK]`` is not one: it stands for a word.
    """

    tokens: tuple[str, ...]
    special_ids: frozenset[int]

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for two tokenizers exactly when each id means the same token in both."""
        return hashlib.sha256(json.dumps(self.tokens).encode()).hexdigest()[:16]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of every token."""
        return {token: index for index, token in enumerate(self.tokens)}

    @cached_property
    def is_special(self) -> npt.NDArray[np.bool_]:
        """``(tokens,)`` true for special tokens."""
        mask = np.zeros(len(self.tokens), dtype=np.bool_)
        mask[sorted(self.special_ids)] = True
        return mask

    @cached_property
    def word_mark(self) -> str:
        """How tokens say where words begin or go on; one of :data:`WORD_MARKS`."""
        marks = Counter(mark for token in self.tokens for mark in WORD_MARKS if token.startswith(mark))
        return marks.most_common(1)[0][0] if marks else GOES_ON
