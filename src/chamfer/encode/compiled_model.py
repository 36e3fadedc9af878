"""A plain encoder that runs without torch: the tokenizers library, OpenVINO and NumPy."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer

from chamfer.encode.cutting import cut
from chamfer.encode.fingerprints import tokenizer_settings
from chamfer.encode.lengths import Lengths
from chamfer.encode.model import Prompts, States
from chamfer.encode.openvino import Runner
from chamfer.encode.settings import Arithmetic, Engine, Role
from chamfer.encode.tokenizing import Span, Tokenized, spans_in, tokenize_each
from chamfer.tokens.vocabulary import Vocabulary

# Inputs that a transformer may take, and where the tokenizer has them.
INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}

# The smallest length that a vector is divided by, as in torch.
LEAST = 1e-12


@dataclass(frozen=True)
class Description:
    """What a compiled model must know of the checkpoint that it was made from.

    Args:
        parameters: digest of its parameters.
        dimensions: number of dimensions of a token vector.
        lengths: its own token limits.
        checked: number of tokens of the longest text on which it was compared with the checkpoint.
        query_prompt: text that it reads before a query.
        document_prompt: text that it reads before a document.
        special_ids: ids of its special tokens.
        padding_id: id that fills short texts.
        inputs: names of the inputs of its transformer, in order.
        settings: what else determines its vectors, but for the tokenizer.
    """

    parameters: str
    dimensions: int
    lengths: Lengths
    checked: int
    query_prompt: str
    document_prompt: str
    special_ids: tuple[int, ...]
    padding_id: int
    inputs: tuple[str, ...]
    settings: Mapping[str, Any]


class CompiledModel:
    """See :class:`chamfer.encode.model.Model`.

    Args:
        tokenizer: its tokenizer.
        runner: its transformer.
        description: facts about the checkpoint.
        lengths: token limits.
        arithmetic: number format that the transformer was compiled for.
    """

    late_interaction = False
    fills_queries = False
    engine: Engine = "openvino"
    device = "cpu"

    def __init__(
        self, tokenizer: Tokenizer, runner: Runner, description: Description, lengths: Lengths, arithmetic: Arithmetic
    ) -> None:
        self.description, self.lengths, self.arithmetic = description, lengths, arithmetic
        self.parameters, self.dimensions = description.parameters, description.dimensions
        self.prompts: Prompts = {"query": description.query_prompt, "document": description.document_prompt}
        self._tokenizer, self._runner = tokenizer, runner
        tokenizer.no_padding()
        # Truncation is state of the tokenizer, which a second thread would change.
        self._lock = threading.Lock()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The token behind each token id."""
        return Vocabulary.of(self._tokenizer.get_vocab(), self.description.special_ids)

    def settings(self, role: Role) -> Mapping[str, Any]:
        """What else determines the vectors of a role."""
        return {**self.description.settings, "tokenizer": tokenizer_settings(self._tokenizer)}

    def tokenize(self, texts: Sequence[str], role: Role) -> Tokenized:
        """Tokenise texts into inputs for :meth:`run`."""
        limit, prompt = self.lengths.limit(role), self.prompts[role]

        def read(distinct: list[str]) -> tuple[Mapping[str, Any], Sequence[Encoding]]:
            encodings = self._read([prompt + text for text in distinct], limit)
            return {name: [getattr(one, INPUTS[name]) for one in encodings] for name in self._inputs}, encodings

        with self._lock:
            return tokenize_each(
                texts,
                role,
                prompt=prompt,
                limit=limit,
                vocabulary=self.vocabulary,
                shorten=lambda text: cut(text, limit, self._pieces),
                read=read,
            )

    def spans(self, document: str) -> list[Span]:
        """Tokens of a document as the model reads it, with their spans in the text."""
        prompt, limit = self.prompts["document"], self.lengths.document
        with self._lock:
            [read] = self._read([prompt + cut(document, limit, self._pieces)], limit)
        return spans_in(document, prompt, read)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end of every token of a text, special ones left out; nothing is cut off."""
        with self._lock:
            return self._pieces(text).offsets

    def token_counts(self, inputs: Mapping[str, Any], rows: Sequence[int]) -> list[int]:
        """Number of tokens of each row."""
        return [len(inputs["input_ids"][row]) for row in rows]

    def run(self, inputs: Mapping[str, Any], rows: Sequence[int], role: Role) -> States:
        """Token vectors of some rows, with no more padding than they need."""
        lengths = self.token_counts(inputs, rows)
        padded = {name: np.zeros((len(rows), max(lengths)), np.int64) for name in self._inputs}
        padded["input_ids"][:] = self.description.padding_id
        for name, array in padded.items():
            for place, row in enumerate(rows):
                array[place, : lengths[place]] = inputs[name][row]
        states = self._runner([padded[name] for name in self.description.inputs])
        scored = padded["attention_mask"].astype(np.bool_)
        vectors = states[scored]  # a copy
        vectors /= np.maximum(np.sqrt(np.einsum("td,td->t", vectors, vectors)), LEAST)[:, None]
        return States(vectors, padded["input_ids"][scored], lengths)

    @property
    def _inputs(self) -> list[str]:
        return list(dict.fromkeys(("input_ids", "attention_mask", *self.description.inputs)))

    def _read(self, texts: list[str], limit: int) -> list[Encoding]:
        self._tokenizer.enable_truncation(limit)
        return self._tokenizer.encode_batch(texts)

    def _pieces(self, text: str) -> Encoding:
        self._tokenizer.no_truncation()
        return self._tokenizer.encode(text, add_special_tokens=False)
