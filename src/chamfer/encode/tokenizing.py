"""Tokenising texts, each of them once, into the inputs of a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from chamfer.encode.settings import Role
from chamfer.support.strings import list_of_strings
from chamfer.tokens.batch import TokenIds
from chamfer.tokens.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Tokenized:
    """Texts after tokenisation; :meth:`chamfer.Encoder.encode` turns them into vectors.

    Args:
        texts: the texts.
        role: whether they are queries or documents.
        token_ids: token ids of each text as the model reads it, before a skip list drops any or ``[MASK]`` fills it
            up. A text without a token of its own has none.
        read: for each text that is longer than the model reads, the number of characters up to the last one that it
            reads; None for others.
        inputs: inputs of the model, with a row for each distinct text.
        rows: the row of each text in ``inputs``.
    """

    texts: Sequence[str]
    role: Role
    token_ids: Sequence[TokenIds]
    read: Sequence[int | None]
    inputs: Mapping[str, Any]
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def was_truncated(self) -> list[bool]:
        """For each text, whether it is longer than the model reads."""
        return [read is not None for read in self.read]

    @property
    def truncated(self) -> int:
        """Number of texts that are longer than the model reads."""
        return sum(self.was_truncated)

    @property
    def distinct(self) -> list[TokenIds]:
        """Distinct token ids of each text, sorted; document frequencies count these."""
        return [np.unique(ids) for ids in self.token_ids]

    def take(self, places: Sequence[int]) -> "Tokenized":
        """Some of the texts, in the given order."""
        return replace(
            self,
            texts=[self.texts[place] for place in places],
            token_ids=[self.token_ids[place] for place in places],
            read=[self.read[place] for place in places],
            rows=[self.rows[place] for place in places],
        )


Span = tuple[int, tuple[int, int] | None]
"""A token id, and where the token is in its text; None for special tokens."""


class Encoding(Protocol):
    """What a tokenizer returns for a text."""

    @property
    def ids(self) -> list[int]:
        """Token ids."""
        ...

    @property
    def attention_mask(self) -> list[int]:
        """1 for tokens, 0 for padding."""
        ...

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Start and end of every token in the text."""
        ...

    @property
    def overflowing(self) -> "Sequence[Encoding]":
        """What was cut off."""
        ...


Read = Callable[[list[str]], tuple[Mapping[str, Any], Sequence[Encoding]]]
"""Tokenises texts: inputs of the model, and the tokenizer's own results."""


def tokenize_each(
    texts: Sequence[str],
    role: Role,
    *,
    prompt: str,
    limit: int,
    vocabulary: Vocabulary,
    shorten: Callable[[str], str],
    read: Read,
) -> Tokenized:
    """Tokenise texts, equal ones once, both for counting and for the model.

    Args:
        texts: the texts.
        role: whether they are queries or documents.
        prompt: the text that the model reads before each.
        limit: maximum number of tokens that the model reads of a text.
        vocabulary: the tokens behind the ids.
        shorten: cuts long texts before they are tokenised.
        read: tokenises distinct texts.
    """
    texts = list_of_strings(texts, "texts")
    row_of: dict[str, int] = {}
    for text in texts:
        row_of.setdefault(text, len(row_of))
    if not row_of:
        return Tokenized((), role, (), (), {}, ())
    distinct = [shorten(text) for text in row_of]
    inputs, encodings = read(distinct)
    ids = [np.asarray(one.ids, np.int32)[np.asarray(one.attention_mask, np.bool_)] for one in encodings]
    ids = [row[:0] if only_special(row, vocabulary) else row for row in ids]
    reads = [
        max(0, *(stop - len(prompt) for _, stop in one.offsets))
        if len(short) < len(text) or (len(one.ids) >= limit and len(one.overflowing) > 0)
        else None
        for text, short, one in zip(row_of, distinct, encodings, strict=True)
    ]
    rows = [row_of[text] for text in texts]
    return Tokenized(texts, role, [ids[row] for row in rows], [reads[row] for row in rows], inputs, rows)


def spans_in(document: str, prompt: str, encoding: Encoding) -> list[Span]:
    """The tokens of a document as the model reads it, behind a prompt, each with its span in the text."""
    spans = [(start - len(prompt), stop - len(prompt)) for start, stop in encoding.offsets]
    return [
        (token, without_space(document, start, stop) if 0 <= start < stop else None)
        for token, (start, stop) in zip(encoding.ids, spans, strict=True)
    ]


def only_special(token_ids: npt.NDArray[np.integer], vocabulary: Vocabulary) -> bool:
    """Whether all tokens are special, because the text is blank or the tokenizer ignores all its characters."""
    return bool(vocabulary.is_special[token_ids].all())


def without_space(text: str, start: int, stop: int) -> tuple[int, int]:
    """A span without the leading space that some tokenizers count as part of a word.

    >>> without_space("a cat", 1, 5)
    (2, 5)
    """
    return start + len(text[start:stop]) - len(text[start:stop].lstrip()), stop
