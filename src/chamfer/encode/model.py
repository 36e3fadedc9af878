"""What :class:`chamfer.Encoder` needs of a model, whichever library runs it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from chamfer.encode.lengths import Lengths
from chamfer.encode.settings import Arithmetic, Engine, Role
from chamfer.encode.tokenizing import Span, Tokenized
from chamfer.tokens.vocabulary import Vocabulary

Prompts = Mapping[Role, str]


class States(NamedTuple):
    """The scored tokens of several texts, one text after the other."""

    vectors: npt.NDArray[np.float32]
    token_ids: npt.NDArray[np.integer[Any]]
    lengths: Sequence[int]
    """Number of scored tokens of each text."""


class Model(Protocol):
    """A frozen model with its tokenizer. Threads may share it."""

    @property
    def late_interaction(self) -> bool:
        """Whether it was trained for token vectors."""
        ...

    @property
    def arithmetic(self) -> Arithmetic:
        """Number format of the transformer."""
        ...

    @property
    def engine(self) -> Engine:
        """Library that runs the transformer."""
        ...

    @property
    def device(self) -> str:
        """Where it is."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token vector."""
        ...

    @property
    def lengths(self) -> Lengths:
        """Token limits."""
        ...

    @property
    def fills_queries(self) -> bool:
        """Whether it fills every query with ``[MASK]`` to the same length."""
        ...

    @property
    def prompts(self) -> Prompts:
        """The text that it reads before a query and before a document."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The token behind each token id."""
        ...

    @property
    def parameters(self) -> str:
        """Digest of the parameters as trained."""
        ...

    def settings(self, role: Role) -> Mapping[str, Any]:
        """What else determines the vectors of a role, as :func:`chamfer.encode.fingerprints.settings_of` gives it."""
        ...

    def tokenize(self, texts: Sequence[str], role: Role) -> Tokenized:
        """Tokenise texts into inputs for :meth:`run`."""
        ...

    def spans(self, document: str) -> list[Span]:
        """Tokens of a document as the model reads it, with their spans in the text."""
        ...

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Start and end of every token of a text, special ones left out; nothing is cut off."""
        ...

    def token_counts(self, inputs: Mapping[str, Any], rows: Sequence[int]) -> list[int]:
        """Number of tokens that each row of the inputs takes in a batch."""
        ...

    def run(self, inputs: Mapping[str, Any], rows: Sequence[int], role: Role) -> States:
        """Token vectors of some rows, as one batch."""
        ...
