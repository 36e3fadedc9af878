"""`Encoder`: texts in, token vectors out."""

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from chamfer.encode import batches
from chamfer.encode.bfloat16 import has_bfloat16
from chamfer.encode.checkpoint_files import lasting_name
from chamfer.encode.fingerprints import vectors_fingerprint
from chamfer.encode.forks import Process
from chamfer.encode.loading import load_model
from chamfer.encode.model import Model
from chamfer.encode.pickling import LoadSpec, fingerprints_of, load_once
from chamfer.encode.settings import Arithmetic, Engine, Role
from chamfer.encode.tokenizing import Span, Tokenized, only_special
from chamfer.errors import InputError
from chamfer.support.devices import AUTO, CPU, chosen_device, only_cpu, scoring_device
from chamfer.support.progress import Advance, ignore
from chamfer.support.threads import map_in_threads
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder


class Encoder:
    """A frozen late-interaction model: one unit vector for every token that it scores.

    :meth:`load` makes one from a checkpoint; the constructor takes a model that is already in memory.

    Args:
        model: a multi-vector model of sentence-transformers.
        name: name of the model in reports.

    >>> encoder = Encoder.load("minilm")
    >>> batch = encoder.encode_queries(["what is late interaction?"])
    >>> [encoder.vocabulary.tokens[i] for i in batch.token_ids]
    ['[CLS]', 'what', 'is', 'late', 'interaction', '?', '[SEP]']
    >>> batch.vectors.shape, batch.vectors.dtype
    ((7, 384), dtype('float32'))
    """

    def __init__(self, model: "MultiVectorEncoder", name: str) -> None:
        from chamfer.encode.library_model import LibraryModel

        self._wrap(LibraryModel(model), name)

    def _wrap(self, model: Model, name: str, *, is_loaded: bool = False, may_use_gpu: bool = True) -> None:
        """Take a model.

        Args:
            model: the model.
            name: its name.
            is_loaded: whether it came from a checkpoint, so that another process can load it by name.
            may_use_gpu: whether a worker may encode on its GPU.
        """
        self.name = name
        self._model, self._is_loaded, self._may_use_gpu = model, is_loaded, may_use_gpu
        self._process = Process()

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
        """Load a late-interaction checkpoint, or a plain encoder to be used as one.

        Stanford and PyLate checkpoints work as they were trained, with their markers, ``[MASK]`` filling, skip list
        and projection. A plain encoder (MiniLM, bge, e5) gives its normalised token states. ``"minilm"`` is
        all-MiniLM-L6-v2 from the extra ``chamfer[minilm]``, which needs no network.

        Args:
            name_or_path: a model hub name, a folder, or ``"minilm"``.
            query_length: maximum number of tokens of a query, markers included, and the length to which models with
                ``[MASK]`` filling fill it; by default the model's own.
            document_length: maximum number of tokens of a document; by default the model's own.
            device: device on which to encode and to score: ``"cpu"``, ``"cuda"``, ``"cuda:1"``; ``"auto"`` is the one
                in the environment variable ``CHAMFER_DEVICE``, else a GPU if there is one, else the CPU.
            arithmetic: number format of the transformer. ``"float32"`` is the model as it was trained.
                ``"bfloat16"`` is 1.5x faster on hardware with instructions for it and rotates vectors by less than a
                degree on average. ``"auto"`` is ``"bfloat16"`` on such hardware only. Projection and normalisation
                always use 32 bits.
            engine: library that runs the transformer on a CPU: ``"torch"``; or ``"openvino"``, which is faster in
                both arithmetics and comes with the extra ``chamfer[openvino]``. ``"auto"`` is OpenVINO if it is
                installed and can run this model on this device.

        >>> encoder = Encoder.load("minilm", query_length=32, device="cpu")
        >>> encoder.query_length, encoder.dimensions, encoder.arithmetic
        (32, 384, 'float32')
        """
        _check_choice("arithmetic", arithmetic, (*get_args(Arithmetic), "auto"))
        _check_choice("engine", engine, (*get_args(Engine), "auto"))
        device = device or AUTO
        place = CPU if engine == "openvino" and device == AUTO else chosen_device(device)
        if engine == "openvino" and place != CPU:
            raise InputError(f"the engine 'openvino' needs device='cpu', not {place!r}")
        if arithmetic == "auto":
            arithmetic = "bfloat16" if has_bfloat16(place) else "float32"
        model = load_model(
            name_or_path,
            place,
            query_length=query_length,
            document_length=document_length,
            arithmetic=arithmetic,
            engine=engine,
        )
        encoder = cls.__new__(cls)
        may_use_gpu = model.engine == "torch" and not only_cpu(device)
        encoder._wrap(model, name_or_path, is_loaded=True, may_use_gpu=may_use_gpu)
        return encoder

    def __repr__(self) -> str:
        return f"Encoder({self.name!r}, dimensions={self.dimensions}, device={self.device!r})"

    def __reduce__(self) -> tuple[Callable[..., "Encoder"], tuple[Any, ...]]:
        """Pickle how the encoder was loaded, not the model itself."""
        if not self._is_loaded:
            raise InputError("an encoder made from a model in memory cannot be sent to workers; use Encoder.load")
        return load_once, (type(self).load, self.load_spec)

    @property
    def load_spec(self) -> LoadSpec:
        """Internal: how another process can load the same encoder."""
        return LoadSpec(
            name=lasting_name(self.name),
            query_length=self.query_length,
            document_length=self.document_length,
            device=AUTO if self.may_use_gpu else CPU,
            arithmetic=self.arithmetic,
            engine=self.engine,
            fingerprints=fingerprints_of(self),
        )

    @property
    def late_interaction(self) -> bool:
        """Whether the model was trained for token vectors; otherwise its token states are used as they are."""
        return self._model.late_interaction

    @property
    def arithmetic(self) -> Arithmetic:
        """Number format of the transformer."""
        return self._model.arithmetic

    @property
    def engine(self) -> Engine:
        """Library that runs the transformer."""
        return self._model.engine

    @property
    def may_use_gpu(self) -> bool:
        """Internal: whether a worker with a GPU should encode on it; yes, unless the caller asked for the CPU."""
        return self._may_use_gpu

    @property
    def device(self) -> str:
        """Device of the model."""
        return self._model.device

    @property
    def scoring_device(self) -> str:
        """Internal: device on which queries of this encoder are scored."""
        return scoring_device(self.device)

    @property
    def query_length(self) -> int:
        """Maximum number of tokens of a query that the model reads."""
        return self._model.lengths.query

    @property
    def document_length(self) -> int:
        """Maximum number of tokens of a document that the model reads."""
        return self._model.lengths.document

    @property
    def most_tokens(self) -> int:
        """Number of tokens for which the model has positions."""
        return self._model.lengths.most

    @property
    def fills_queries(self) -> bool:
        """Whether the model fills every query with ``[MASK]`` to the same length."""
        return self._model.fills_queries

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token vector."""
        return self._model.dimensions

    @property
    def vocabulary(self) -> Vocabulary:
        """The token behind each token id."""
        return self._model.vocabulary

    def prompt(self, role: Role) -> str:
        """The text that the model reads before a query or a document: a marker, an instruction, or nothing."""
        return self._model.prompts[role]

    @property
    def model_fingerprint(self) -> str:
        """Equal for two encoders with the same parameters, whatever their lengths."""
        return self._model.parameters[:16]

    def fingerprint(self, role: Role) -> str:
        """Equal for two encoders that give the same vectors to queries, or to documents.

        Computed from the parameters, the tokenizer and every setting that matters for the role.
        """
        return self._fingerprints[role]

    @cached_property
    def _fingerprints(self) -> dict[Role, str]:
        roles: tuple[Role, ...] = get_args(Role)
        return {
            role: vectors_fingerprint(
                self._model.settings(role),
                parameters=self._model.parameters,
                length=self._model.lengths.limit(role),
                prompt=self.prompt(role),
                arithmetic=self.arithmetic,
                engine=self.engine,
            )
            for role in roles
        }

    def encode_queries(self, texts: Sequence[str], advance: Advance = ignore) -> TokenBatch:
        """Encode queries. A query without any token of text is an error, because nothing could match it.

        Args:
            texts: queries to encode.
            advance: progress callback, with the number of queries finished since the last call.
        """
        return self.encode(self.tokenize(texts, "query"), advance)

    def encode_documents(self, texts: Sequence[str], advance: Advance = ignore) -> TokenBatch:
        """Encode documents. A document without text gets no vectors and therefore ranks last.

        Args:
            texts: documents to encode.
            advance: progress callback, with the number of documents finished since the last call.
        """
        return self.encode(self.tokenize(texts, "document"), advance)

    def tokenize(self, texts: Sequence[str], role: Role) -> Tokenized:
        """Tokenise texts, without a forward pass.

        The result has token ids, which texts were truncated, and the input of :meth:`encode`. Document frequencies are
        counted from these ids: a document contains its punctuation even if the model drops the vectors.

        Args:
            texts: texts to tokenise.
            role: ``"query"`` or ``"document"``.

        >>> encoder = Encoder.load("minilm", document_length=5)
        >>> tokenized = encoder.tokenize(["cats", "cats and dogs and birds"], "document")
        >>> tokenized.truncated, [len(ids) for ids in tokenized.token_ids]
        (1, [3, 5])
        >>> encoder.encode(tokenized).lengths.tolist()
        [3, 5]
        """
        return self._model.tokenize(texts, role)

    def spans(self, document: str) -> list[Span]:
        """Internal: tokens of a document as the model reads it, with their spans in the text; None for special ones."""
        return self._model.spans(document)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Internal: start and end of every token of a text, special ones left out; nothing is cut off."""
        return self._model.offsets(text)

    def encode(self, tokenized: Tokenized, advance: Advance = ignore) -> TokenBatch:
        """Encode texts that this encoder has tokenised.

        Args:
            tokenized: result of :meth:`tokenize`.
            advance: progress callback, with the number of texts finished since the last call.
        """
        if self.engine == "openvino" or self.device != CPU:
            self._process.check("this encoder")
        if tokenized.role == "query":
            _check_queries(tokenized)
        if not tokenized:
            return TokenBatch.empty(self.dimensions)
        vectors = [np.empty((0, self.dimensions), dtype=np.float32)] * len(tokenized)
        token_ids = [np.empty(0, dtype=np.int32)] * len(tokenized)
        # Equal texts are encoded once: in different rows of a batch their vectors would differ in the last bits, and
        # so would their scores.
        places_of: dict[int, list[int]] = {}
        for place, row in enumerate(tokenized.rows):
            places_of.setdefault(row, []).append(place)
        is_blank = [not text.strip() for text in tokenized.texts]
        advance(sum(is_blank))
        advance_lock = threading.Lock()  # a progress callback need not be thread-safe

        def encode(rows: list[int]) -> None:
            states = self._model.run(tokenized.inputs, rows, tokenized.role)
            ends = np.cumsum(states.lengths)[:-1]
            split = zip(rows, np.split(states.vectors, ends), np.split(states.token_ids, ends), strict=True)
            for row, of_row, ids in split:
                if tokenized.role == "document" and only_special(ids, self.vocabulary):
                    continue
                for place in places_of[row]:
                    vectors[place], token_ids[place] = of_row, ids
            with advance_lock:
                advance(sum(len(places_of[row]) for row in rows))

        rows = [row for row, places in places_of.items() if not is_blank[places[0]]]
        most = batches.CPU_BATCH if self.device == CPU else batches.GPU_BATCH
        chosen = batches.mixed(batches.batches(self._model.token_counts(tokenized.inputs, rows), most))
        made = ([rows[place] for place in batch] for batch in chosen)
        if self.engine == "openvino":
            map_in_threads(encode, made)
        else:  # torch uses several threads for each batch
            for batch in made:
                encode(batch)
        return TokenBatch.pack(vectors, token_ids)


def _check_queries(tokenized: Tokenized) -> None:
    for text, ids in zip(tokenized.texts, tokenized.token_ids, strict=True):
        if len(ids) == 0 or not text.strip():
            raise InputError(f"the query {text!r} has no tokens; give some text to search for")


def _check_choice(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        *first, last = map(repr, known)
        raise InputError(f"the {what} must be {', '.join(first)} or {last}, not {given!r}")
