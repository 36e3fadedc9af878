"""A model that sentence-transformers runs. With ``checkpoint.py`` and ``tracing.py``, all that knows this library."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import torch
from sentence_transformers import MultiVectorEncoder

from chamfer.encode.bfloat16 import to_bfloat16
from chamfer.encode.checkpoint import load_checkpoint
from chamfer.encode.cutting import cut
from chamfer.encode.fingerprints import parameters_digest, settings_of
from chamfer.encode.lengths import Lengths, fills_queries, lengths_of, set_lengths
from chamfer.encode.model import Model, States
from chamfer.encode.settings import Arithmetic, Engine, Role
from chamfer.encode.tokenizing import Encoding, Span, Tokenized, spans_in, tokenize_each
from chamfer.support.devices import CPU, one_torch_thread
from chamfer.tokens.vocabulary import Vocabulary

# Tokens of a batch that torch encodes with one thread: on two free cores, two take 8 % less time for one query, on a
# busy machine many times as long. The last bits of vectors may depend on the number of threads, so it must be the same
# wherever a query is encoded.
SMALL_BATCH = 256


class LibraryModel:
    """See :class:`chamfer.encode.model.Model`.

    Args:
        module: a multi-vector model of sentence-transformers.
        late_interaction: whether it was trained for token vectors.
    """

    def __init__(self, module: MultiVectorEncoder, *, late_interaction: bool = True) -> None:
        self.module, self.late_interaction = module, late_interaction
        self.lengths = self.own_lengths = lengths_of(self.transformer)
        self.arithmetic: Arithmetic = "float32"
        self.engine: Engine = "torch"
        self.transformer.unpad_inputs = False  # FlashAttention's flat inputs have no rows to make batches from
        # Truncation and padding are state of the tokenizer, which a second thread would change.
        self._lock = threading.Lock()
        self.prompts: dict[Role, str] = {
            "query": _prompt(module, "query"),
            "document": _prompt(module, "document", "passage", "corpus"),
        }
        self.vocabulary = _vocabulary(module.tokenizer, self.prompts.values())

    @property
    def transformer(self) -> Any:  # noqa: ANN401 -- the library does not type its modules
        """The first module."""
        return self.module[0]

    @property
    def device(self) -> str:
        """Where the model is."""
        return str(self.module.device)

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token vector."""
        return int(self.module.get_embedding_dimension() or 0)

    @property
    def fills_queries(self) -> bool:
        """Whether the model fills every query with ``[MASK]`` to the same length."""
        return fills_queries(self.transformer)

    @cached_property
    def parameters(self) -> str:
        """Digest of the parameters. Asked for before the transformer is converted or compiled, it stays the same."""
        return parameters_digest(self.module)

    def settings(self, role: Role) -> Mapping[str, Any]:
        """What else determines the vectors of a role."""
        return settings_of(self.module, role)

    def limit_to(self, lengths: Lengths) -> None:
        """Change the token limits."""
        set_lengths(self.transformer, lengths)
        self.lengths = lengths

    def convert_to_bfloat16(self) -> None:
        """Compute in 16 bits from now on; the model stays the same."""
        _ = self.parameters  # those it was trained with
        to_bfloat16(self.transformer)
        self.arithmetic = "bfloat16"

    def replace_transformer(self, compiled: torch.nn.Module, arithmetic: Arithmetic) -> None:
        """Run a compiled transformer from now on; the model stays the same."""
        _ = self.parameters
        self.transformer.model = compiled
        self.engine, self.arithmetic = "openvino", arithmetic

    def tokenize(self, texts: Sequence[str], role: Role) -> Tokenized:
        """Tokenise texts into inputs for :meth:`run`."""
        limit, prompt = self.lengths.limit(role), self.prompts[role]

        def read(distinct: list[str]) -> tuple[Mapping[str, Any], Sequence[Encoding]]:
            inputs: Any = self.module.preprocess(distinct, prompt=prompt, task=role)
            # The library passes on the tokenizer's own result, which knows what was truncated and which tokens are
            # padding. It does not for multimodal processors, so there the texts are tokenised a second time.
            encodings = getattr(inputs, "encodings", None) if inputs.get("modality") == "text" else None
            if encodings is None:
                prompted = [prompt + text for text in distinct]
                encodings = self.module.tokenizer(prompted, truncation=True, max_length=limit).encodings
            return inputs, encodings

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
            beginning = cut(document, limit, self._pieces)
            [read] = self.module.tokenizer([prompt + beginning], truncation=True, max_length=limit).encodings
        return spans_in(document, prompt, read)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end of every token of a text, special ones left out; nothing is cut off."""
        with self._lock:
            found: list[tuple[int, int]] = self._pieces(text).offsets
        return found

    def token_counts(self, inputs: Mapping[str, Any], rows: Sequence[int]) -> list[int]:
        """Number of tokens of each row, masks included."""
        counts: list[int] = _used(inputs)[list(rows)].sum(dim=1).tolist()
        return counts

    def run(self, inputs: Mapping[str, Any], rows: Sequence[int], role: Role) -> States:
        """Token vectors of some rows, with no more padding than they need."""
        shape = inputs["attention_mask"].shape
        chosen = {
            name: value[list(rows)] if isinstance(value, torch.Tensor) and value.shape == shape else value
            for name, value in inputs.items()
        }
        used = _used(chosen)
        columns = used.any(dim=0)  # padding may be on either side
        for name, value in chosen.items():
            if isinstance(value, torch.Tensor) and value.shape == used.shape:
                chosen[name] = value[:, columns].to(self.module.device)
        is_small = self.engine == "torch" and self.device == CPU and len(rows) * int(columns.sum()) <= SMALL_BATCH
        with one_torch_thread() if is_small else nullcontext(), torch.inference_mode():
            outputs = self.module(chosen, task=role)
        scored = outputs["attention_mask"].bool()
        # Copied from a GPU all at once: a copy for each text would take longer than encoding.
        vectors = outputs["token_embeddings"][scored].float().cpu().numpy()
        token_ids = outputs["input_ids"][scored].int().cpu().numpy()
        return States(vectors, token_ids, scored.sum(dim=1).tolist())

    def _pieces(self, text: str) -> Any:  # noqa: ANN401 -- of tokenizers
        [read] = self.module.tokenizer([text], add_special_tokens=False, truncation=False, verbose=False).encodings
        return read


def load_library_model(name_or_path: str, place: str) -> LibraryModel:
    """Load a checkpoint with sentence-transformers.

    Args:
        name_or_path: a model hub name, a folder, or ``"minilm"``.
        place: device to load it on.
    """
    module, late_interaction = load_checkpoint(name_or_path, place)
    return LibraryModel(module, late_interaction=late_interaction)


def module_of(model: Model) -> MultiVectorEncoder:
    """The library's own model behind one that it runs."""
    if not isinstance(model, LibraryModel):
        raise TypeError(f"{type(model).__name__} is not run by sentence-transformers; load it with engine='torch'")
    return model.module


def _used(inputs: Mapping[str, Any]) -> torch.Tensor:
    """``(rows, tokens)`` whether a token is not padding."""
    used: torch.Tensor = inputs["attention_mask"].bool()
    if "query_expansion_positions" in inputs:  # these are scored, although no token attends to them
        used = used | inputs["query_expansion_positions"].bool()
    return used


def _prompt(module: MultiVectorEncoder, *names: str) -> str:
    return next((module.prompts[name] or "" for name in names if name in module.prompts), "")


def _vocabulary(tokenizer: Any, prompts: Iterable[str]) -> Vocabulary:  # noqa: ANN401 -- of transformers
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    for prompt in prompts:
        ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        if len(ids) == 1:  # a prompt of one token is a marker; a longer one is an instruction
            special.add(ids[0])
    return Vocabulary.of(tokenizer.get_vocab(), special)
