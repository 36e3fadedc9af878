"""`Encoder`: a frozen model, its tokenizer, and batches of like length."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import MultiVectorEncoder

from chamfer.encode.batches import ACCELERATOR_BATCH, PROCESSOR_BATCH, batches
from chamfer.encode.bfloat16 import has_bfloat16, shorten
from chamfer.encode.checkpoint import load_model
from chamfer.encode.openvino import Compiled, has_openvino
from chamfer.errors import InputError
from chamfer.support.devices import AUTO, PROCESSOR, chosen_device, only_processor, scoring_device
from chamfer.support.progress import Advance, ignore
from chamfer.support.threads import in_threads
from chamfer.tokens.batch import TokenBatch, TokenIds
from chamfer.tokens.vocabulary import Vocabulary

Role = Literal["query", "document"]
Arithmetic = Literal["float32", "bfloat16"]
Engine = Literal["torch", "openvino"]


class Tokenized(NamedTuple):
    """Token ids of texts as the model will see them, and how many texts were cut to fit."""

    token_ids: list[TokenIds]
    truncated: int


class Encoder:
    """A frozen late-interaction model: one vector for every token that the model scores.

    >>> encoder = Encoder.load("minilm")
    >>> batch = encoder.encode_queries(["what is late interaction?"])
    >>> [encoder.vocabulary.tokens[i] for i in batch.token_ids]
    ['[CLS]', 'what', 'is', 'late', 'interaction', '?', '[SEP]']
    """

    def __init__(self, model: MultiVectorEncoder, name: str) -> None:
        self.name = name
        self.arithmetic: Arithmetic = "float32"
        self.engine: Engine = "torch"
        self.late_interaction = True
        """Whether the model was trained for token vectors; else its states are used as they are."""
        self.may_use_gpu = True
        """Whether another machine with a GPU would encode there: unless the processor was asked for."""
        self._is_loaded = False
        self._model = model
        self._tokenizer = model.tokenizer
        # A tokenizer keeps how it cuts and fills as its own state, which a second thread would change under the first.
        self._tokenizing = threading.Lock()

    @classmethod
    def load(
        cls,
        name_or_path: str,
        *,
        query_length: int | None = None,
        document_length: int | None = None,
        device: str | None = AUTO,
        arithmetic: Arithmetic | Literal["auto"] = "float32",
        engine: Engine | Literal["auto"] = "torch",
    ) -> Self:
        """Load any late-interaction checkpoint, or any plain encoder as one.

        Stanford and PyLate checkpoints work as they were trained: markers, ``[MASK]`` filling, skip list,
        projection. A plain encoder (MiniLM, bge, e5) gives its normalised token states. ``"minilm"`` is
        all-MiniLM-L6-v2 from the extra ``chamfer[minilm]``, which needs no network.

        Args:
            name_or_path: a model hub name, a folder, or ``"minilm"``.
            query_length: cut queries to so many tokens, markers included; models that fill queries with
                ``[MASK]`` fill them to this length. The model's own length if not given.
            document_length: cut documents likewise.
            device: where to encode, and where scores are computed with it: ``"cpu"``, ``"cuda"``, ``"cuda:1"``;
                ``"auto"`` is the GPU if there is one, see :func:`chamfer.support.devices.chosen_device`.
            arithmetic: ``"float32"`` is the model as it was trained; ``"bfloat16"`` keeps 8 significant bits in the
                transformer, which is one and a half times as fast where the hardware has instructions for it and
                moves vectors by less than a degree on average; ``"auto"`` is ``"bfloat16"`` on such hardware only.
                Projection and normalisation are done in 32 bits always.
            engine: who runs the transformer on a processor: ``"torch"``; ``"openvino"``, which is faster in both
                arithmetics, from the extra ``chamfer[openvino]``; ``"auto"`` is OpenVINO if it is installed and can
                run this model on this device.
        """
        _one_of("arithmetic", arithmetic, (*get_args(Arithmetic), "auto"))
        _one_of("engine", engine, (*get_args(Engine), "auto"))
        device = device or AUTO
        place = PROCESSOR if engine == "openvino" and device == AUTO else chosen_device(device)
        model, late_interaction = load_model(name_or_path, place)
        encoder = cls(model, name_or_path)
        encoder.late_interaction = late_interaction
        encoder.may_use_gpu = engine != "openvino" and not only_processor(device)
        encoder._is_loaded = True
        encoder._set_lengths(query_length, document_length)
        if arithmetic == "bfloat16" or (arithmetic == "auto" and has_bfloat16(model.device)):
            encoder.arithmetic = "bfloat16"
        if engine == "openvino" or (engine == "auto" and has_openvino() and model.device.type == "cpu"):
            encoder._compile(required=engine == "openvino")
        if encoder.engine == "torch" and encoder.arithmetic == "bfloat16":
            _ = encoder._parameters_digest  # of what was trained: this is still the same model
            shorten(encoder._transformer)
        return encoder

    def __reduce__(self) -> tuple[Callable[..., "Encoder"], tuple[Any, ...]]:
        """What another process needs to load the same encoder: the model itself does not travel."""
        from chamfer.encode.pickling import load_again, luggage

        if not self._is_loaded:
            raise InputError("an encoder made from a model in memory cannot be sent to workers; use Encoder.load")
        return load_again, luggage(self)

    @property
    def device(self) -> str:
        """Where the model is."""
        return str(self._model.device)

    @property
    def scoring_device(self) -> str:
        """Where scores are computed for queries of this encoder."""
        return scoring_device(self.device)

    @property
    def query_length(self) -> int:
        """The most tokens of a query that the model sees."""
        transformer = self._transformer
        if self.fills_queries:
            return int(transformer.query_expansion["length"])
        return int(min(transformer.query_length or transformer.max_seq_length, self.most_tokens))

    @property
    def document_length(self) -> int:
        """The most tokens of a document that the model sees."""
        transformer = self._transformer
        return int(min(transformer.document_length or transformer.max_seq_length, self.most_tokens))

    @property
    def dimensions(self) -> int:
        """The length of a token vector."""
        return int(self._model.get_embedding_dimension() or 0)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """What the token ids stand for."""
        by_id = {index: token for token, index in self._tokenizer.get_vocab().items()}
        tokens = tuple(by_id.get(index, "") for index in range(max(by_id) + 1))
        special = set(self._tokenizer.all_special_ids) - {self._tokenizer.unk_token_id}
        for role in ("query", "document"):
            prompt = self._tokenizer(self.prompt(role), add_special_tokens=False)["input_ids"]
            if len(prompt) == 1:  # a prompt of one token is a marker, one of several is an instruction
                special.add(prompt[0])
        return Vocabulary(tokens, frozenset(special))

    @property
    def model_fingerprint(self) -> str:
        """Equal for two encoders with the same parameters, whatever their lengths."""
        return self._parameters_digest[:16]

    def fingerprint(self, role: Role) -> str:
        """Equal for two encoders that give the same vectors to queries, or to documents.

        Made from the parameters, the tokenizer and every setting that plays a part for the role.
        """
        modules: list[Any] = list(self._model)[1:]
        settings: dict[str, Any] = {
            "parameters": self._parameters_digest,
            "tokenizer": self._tokenizer_settings,
            "length": self.query_length if role == "query" else self.document_length,
            "prompt": self.prompt(role),
            "expansion": self._transformer.query_expansion if role == "query" else None,
            "architecture": self._architecture,
            # The first module is the transformer, whose settings are the lines above.
            "modules": [(type(module).__name__, module.get_config_dict()) for module in modules],
        }
        if self.arithmetic != "float32":  # which had no name in fingerprints made before there was another
            settings["arithmetic"] = self.arithmetic
        if self.engine != "torch":  # likewise
            settings["engine"] = self.engine
        return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def _tokenizer_settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = json.loads(self._tokenizer.backend_tokenizer.to_str())
        return {key: value for key, value in settings.items() if key not in ("truncation", "padding")}

    @cached_property
    def _architecture(self) -> dict[str, Any]:
        """What is done with the parameters: heads, activations, ...; not where they were loaded from, and by what."""
        settings: dict[str, Any] = self._transformer.config.to_dict()
        return {key: value for key, value in settings.items() if not key.startswith("_") and "version" not in key}

    @cached_property
    def _parameters_digest(self) -> str:
        digest = hashlib.sha256()
        for name, tensor in sorted(self._model.state_dict().items()):
            if ".pooler." in name:  # makes no token vector, and is random where a checkpoint lacks it
                continue
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()

    def encode_queries(self, texts: Sequence[str], advance: Advance = ignore) -> TokenBatch:
        """Encode queries; one without a token of text is an error, because it has nothing to look for."""
        for text, ids in zip(texts, self.tokenize(texts, "query").token_ids, strict=True):
            if len(ids) == 0:
                raise InputError(f"the query {text!r} has no tokens; a query needs at least one word")
        return self._encode(texts, "query", advance)

    def encode_documents(self, texts: Sequence[str], advance: Advance = ignore) -> TokenBatch:
        """Encode documents; a document without text gets no vectors, so it can never win.

        Args:
            texts: what to encode.
            advance: told of the texts that are done.
        """
        return self._encode(texts, "document", advance)

    def tokenize(self, texts: Sequence[str], role: Role) -> Tokenized:
        """Token ids of each text as the model reads it, before a skip list drops any or ``[MASK]`` fills it up.

        A text without a token of its own has no ids. Document frequencies are counted from these: a document
        contains its punctuation even where the model keeps no vector for it. Costs no forward pass.
        """
        _refuse_single_text(texts)
        limit = self.query_length if role == "query" else self.document_length
        prompted = [self.prompt(role) + text for text in texts]
        if not prompted:
            return Tokenized([], 0)
        with self._tokenizing:
            whole: list[list[int]] = self._tokenizer(prompted, truncation=False, verbose=False)["input_ids"]
            long = [place for place, ids in enumerate(whole) if len(ids) > limit]
            if long:
                cut = self._tokenizer([prompted[place] for place in long], truncation=True, max_length=limit)
                for place, ids in zip(long, cut["input_ids"], strict=True):
                    whole[place] = ids
        token_ids = [np.asarray(ids, dtype=np.int32) for ids in whole]
        return Tokenized([ids[:0] if self._says_nothing(ids) else ids for ids in token_ids], len(long))

    def spans(self, document: str) -> list[tuple[int, tuple[int, int] | None]]:
        """The tokens of a document as the model reads it, and where in the text each is; None for what is no text."""
        prompt = self.prompt("document")
        with self._tokenizing:
            read = self._tokenizer(
                prompt + document, truncation=True, max_length=self.document_length, return_offsets_mapping=True
            )
        places = [(start - len(prompt), stop - len(prompt)) for start, stop in read["offset_mapping"]]
        return [
            (token, trimmed(document, start, stop) if 0 <= start < stop else None)
            for token, (start, stop) in zip(read["input_ids"], places, strict=True)
        ]

    def _encode(self, texts: Sequence[str], role: Role, advance: Advance) -> TokenBatch:
        _refuse_single_text(texts)
        vectors = [np.empty((0, self.dimensions), dtype=np.float32)] * len(texts)
        token_ids = [np.empty(0, dtype=np.int32)] * len(texts)
        told = threading.Lock()  # of a user's function, who need not expect several threads
        # Equal texts are encoded once: in different rows of a batch their vectors would differ in the last bits, and
        # so would their scores.
        places_of: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            places_of.setdefault(text, []).append(place)
        distinct = [text for text in places_of if text.strip()]
        advance(sum(len(places) for text, places in places_of.items() if not text.strip()))

        def encode(batch: tuple[list[int], dict[str, Any]]) -> None:
            rows, inputs = batch
            with torch.inference_mode():
                outputs = self._model(inputs, task=role)
            done = 0
            scored = outputs["attention_mask"].bool()
            lengths = scored.sum(dim=1).tolist()
            # From a GPU in one piece: a copy for each text would take longer than the texts.
            all_states = outputs["token_embeddings"][scored].float().cpu().numpy()
            all_ids = outputs["input_ids"][scored].int().cpu().numpy()
            ends = np.cumsum(lengths)[:-1]
            for row, states, ids in zip(rows, np.split(all_states, ends), np.split(all_ids, ends), strict=True):
                places = places_of[distinct[row]]
                done += len(places)
                if role == "document" and self._says_nothing(ids):
                    continue
                for place in places:
                    vectors[place], token_ids[place] = states, ids
            with told:
                advance(done)

        if self.engine == "openvino":
            in_threads(encode, self._batches(distinct, role))
        else:  # torch shares each batch among threads of its own
            for batch in self._batches(distinct, role):
                encode(batch)
        if not texts:
            return TokenBatch.empty(self.dimensions)
        return TokenBatch.pack(vectors, token_ids)

    def _batches(self, texts: Sequence[str], role: Role) -> Iterator[tuple[list[int], dict[str, Any]]]:
        """Rows of the texts, and what the model reads of them: the shortest first, and little padding among them."""
        if not texts:
            return
        with self._tokenizing:
            inputs: dict[str, Any] = self._model.preprocess(texts, prompt=self.prompt(role), task=role)
        read = inputs["attention_mask"].bool()
        if "query_expansion_positions" in inputs:  # nobody may attend to these, but they are scored
            read = read | inputs["query_expansion_positions"].bool()
        device = self._model.device
        lengths = read.sum(dim=1).tolist()
        for rows in batches(lengths, PROCESSOR_BATCH if device.type == "cpu" else ACCELERATOR_BATCH):
            columns = read[rows].any(dim=0)  # padding may be on either side
            yield (
                rows,
                {
                    name: value[rows][:, columns].to(device)
                    if isinstance(value, torch.Tensor) and value.shape == read.shape
                    else value
                    for name, value in inputs.items()
                },
            )

    @property
    def _transformer(self) -> Any:  # noqa: ANN401 -- the library does not type its modules
        return self._model[0]

    def prompt(self, role: Role) -> str:
        """What the model reads before a query or a document: a marker, an instruction, or nothing."""
        names = ("query",) if role == "query" else ("document", "passage", "corpus")
        return next((self._model.prompts[name] or "" for name in names if name in self._model.prompts), "")

    def _says_nothing(self, token_ids: npt.NDArray[np.integer]) -> bool:
        """Whether a text has special tokens only: a blank one, or one of characters that no token stands for."""
        return bool(self.vocabulary.is_special[token_ids].all())

    @property
    def fills_queries(self) -> bool:
        """Whether queries are filled with ``[MASK]`` to one length."""
        expansion = self._transformer.query_expansion
        return expansion is not None and expansion["strategy"] == "fixed"

    @cached_property
    def most_tokens(self) -> int:
        """How many tokens the model has positions for."""
        model = self._transformer.auto_model
        positions = getattr(model.config, "max_position_embeddings", None) or 2**31
        table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
        padding = getattr(table, "padding_idx", None)  # RoBERTa's first position comes after its padding
        return int(positions if padding is None else positions - padding - 1)

    def _compile(self, *, required: bool) -> None:
        """Let OpenVINO run the transformer; where it cannot, complain or stay with torch."""
        if self._model.device.type != "cpu":
            raise InputError(f"the engine 'openvino' runs on device='cpu', not on {self._model.device}; give that one")
        _ = self._parameters_digest, self.most_tokens  # which cannot be told from what was compiled
        longest = "word " * self.document_length
        example, check = (
            self._model.preprocess(texts, prompt=self.prompt("document"), task="document")
            for texts in (["a text", "another text"], ["one", "two, three", longest])
        )
        try:
            compiled = Compiled(self._transformer.auto_model, example, check, bfloat16=self.arithmetic == "bfloat16")
        except InputError:
            if required:
                raise
            return
        self._transformer.model = compiled
        self.engine = "openvino"
        self.may_use_gpu = False

    def _set_lengths(self, query_length: int | None, document_length: int | None) -> None:
        for what, length in (("query", query_length), ("document", document_length)):
            if length is not None and not 4 <= length <= self.most_tokens:
                raise InputError(
                    f"the {what} length must be between 4 and {self.most_tokens} for this model, not {length}"
                )
        transformer = self._transformer
        transformer.unpad_inputs = False  # FlashAttention's flat inputs have no rows to make batches of
        transformer.document_length = document_length or self.document_length
        query_length = query_length or self.query_length
        if self.fills_queries:
            transformer.query_expansion = {**transformer.query_expansion, "length": query_length}
        else:
            if transformer.query_expansion is not None:  # it fills short queries up to a length of its own
                shortest = min(transformer.query_expansion["length"], query_length)
                transformer.query_expansion = {**transformer.query_expansion, "length": shortest}
            transformer.query_length = query_length


def trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """A span without the space that some tokenizers count as the beginning of a word.

    >>> trimmed("a cat", 1, 5)
    (2, 5)
    """
    return start + len(text[start:stop]) - len(text[start:stop].lstrip()), stop


def _one_of(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        *others, last = map(repr, known)
        raise InputError(f"the {what} must be {', '.join(others)} or {last}, not {given!r}")


def _refuse_single_text(texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        raise InputError("give a list of texts, not one text, whose letters would be encoded one by one")
