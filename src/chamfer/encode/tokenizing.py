"""Tokenising texts, each of them once, into the inputs of a model."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sentence_transformers import MultiVectorEncoder

from chamfer.encode.cutting import cut
from chamfer.encode.lengths import Lengths
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
        was_truncated: for each text, whether it is longer than the model reads.
        inputs: inputs of the model, with a row for each distinct text.
        rows: the row of each text in ``inputs``.
    """

    texts: Sequence[str]
    role: Role
    token_ids: Sequence[TokenIds]
    was_truncated: Sequence[bool]
    inputs: Mapping[str, Any]
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.texts)

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
            was_truncated=[self.was_truncated[place] for place in places],
            rows=[self.rows[place] for place in places],
        )


class ModelTokenizer:
    """The tokenizer of a model, with the model's prompts and lengths. Threads may share it."""

    def __init__(self, model: MultiVectorEncoder, lengths: Lengths) -> None:
        self._model, self._tokenizer, self._lengths = model, model.tokenizer, lengths
        transformer: Any = model[0]
        transformer.unpad_inputs = False  # FlashAttention's flat inputs have no rows to make batches from
        # Truncation and padding are state of the tokenizer, which a second thread would change.
        self._lock = threading.Lock()
        self.prompts: dict[Role, str] = {
            "query": _prompt(model, "query"),
            "document": _prompt(model, "document", "passage", "corpus"),
        }
        self.vocabulary = _vocabulary(self._tokenizer, self.prompts.values())

    def limit(self, role: Role) -> int:
        """Maximum number of tokens that the model reads of a text."""
        return self._lengths.query if role == "query" else self._lengths.document

    def tokenize(self, texts: Sequence[str], role: Role) -> Tokenized:
        """Tokenise texts, both for counting and for the model."""
        texts = list_of_strings(texts, "texts")
        row_of: dict[str, int] = {}
        for text in texts:
            row_of.setdefault(text, len(row_of))
        if not row_of:
            return Tokenized((), role, (), (), {}, ())
        with self._lock:
            distinct = [cut(text, self.limit(role), self._tokenizer) for text in row_of]
            inputs: Any = self._model.preprocess(distinct, prompt=self.prompts[role], task=role)
            # The library passes on the tokenizer's own result, which knows what was truncated and which tokens are
            # padding. It does not for multimodal processors, so there the texts are tokenised a second time.
            read = getattr(inputs, "encodings", None) if inputs.get("modality") == "text" else None
            if read is None:
                prompted = [self.prompts[role] + text for text in distinct]
                read = self._tokenizer(prompted, truncation=True, max_length=self.limit(role)).encodings
        ids = [np.asarray(one.ids, np.int32)[np.asarray(one.attention_mask, np.bool_)] for one in read]
        ids = [row[:0] if self.only_special(row) else row for row in ids]
        truncated = [
            len(short) < len(text) or (len(one.ids) >= self.limit(role) and len(one.overflowing) > 0)
            for text, short, one in zip(row_of, distinct, read, strict=True)
        ]
        rows = [row_of[text] for text in texts]
        return Tokenized(texts, role, [ids[row] for row in rows], [truncated[row] for row in rows], inputs, rows)

    def spans(self, document: str) -> list[tuple[int, tuple[int, int] | None]]:
        """The tokens of a document as the model reads it, each with its span in the text, or None for special ones."""
        prompt = self.prompts["document"]
        with self._lock:
            beginning = cut(document, self._lengths.document, self._tokenizer)
            read = self._tokenizer(
                prompt + beginning, truncation=True, max_length=self._lengths.document, return_offsets_mapping=True
            )
        spans = [(start - len(prompt), stop - len(prompt)) for start, stop in read["offset_mapping"]]
        return [
            (token, without_space(document, start, stop) if 0 <= start < stop else None)
            for token, (start, stop) in zip(read["input_ids"], spans, strict=True)
        ]

    def only_special(self, token_ids: npt.NDArray[np.integer]) -> bool:
        """Whether all tokens are special, because the text is blank or the tokenizer ignores all its characters."""
        return bool(self.vocabulary.is_special[token_ids].all())


def without_space(text: str, start: int, stop: int) -> tuple[int, int]:
    """A span without the leading space that some tokenizers count as part of a word.

    >>> without_space("a cat", 1, 5)
    (2, 5)
    """
    return start + len(text[start:stop]) - len(text[start:stop].lstrip()), stop


def _prompt(model: MultiVectorEncoder, *names: str) -> str:
    return next((model.prompts[name] or "" for name in names if name in model.prompts), "")


def _vocabulary(tokenizer: Any, prompts: Iterable[str]) -> Vocabulary:  # noqa: ANN401 -- of transformers
    by_id = {index: token for token, index in tokenizer.get_vocab().items()}
    tokens = tuple(by_id.get(index, "") for index in range(max(by_id) + 1))
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    for prompt in prompts:
        ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        if len(ids) == 1:  # a prompt of one token is a marker; a longer one is an instruction
            special.add(ids[0])
    return Vocabulary(tokens, frozenset(special))
