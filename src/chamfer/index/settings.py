"""Settings of an index, fixed when it is created."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from chamfer.data.passages import PassageSize
from chamfer.errors import InputError
from chamfer.index.columns import (
    BOUNDS_FILE,
    CENTROIDS_FILE,
    CODES_FILE,
    DISTINCT_FILE,
    DISTINCT_LENGTHS_FILE,
    LENGTHS_FILE,
    RESIDUALS_FILE,
    SCALES_FILE,
    TOKEN_IDS_FILE,
    VECTORS_FILE,
    Column,
)
from chamfer.kernels.codes import padded
from chamfer.support.records import from_json

Precision = Literal["float16", "int8", "4bit", "2bit"]
PRECISIONS: tuple[str, ...] = get_args(Precision)

# Far more than any model has. Token ids have 32 bits.
MOST_DIMENSIONS, MOST_TOKENS = 2**16, 2**31

# What early indexes do not record about their encoder.
NOT_RECORDED = {"engine": "torch", "model": "", "tokenizer": ""}


PASSAGES = "passages"
"""The setting that an index without passages does not record."""


def without(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """JSON without one of its fields."""
    return {key: value for key, value in content.items() if key != name}


@dataclass(frozen=True)
class _Encoder:
    """What :func:`chamfer.index.encoder.described` records."""

    name: str
    query_length: int
    document_length: int
    arithmetic: str
    documents: str
    engine: str
    model: str
    tokenizer: str


@dataclass(frozen=True)
class Settings:
    """How documents are stored.

    Args:
        dimensions: dimensions of the encoder's vectors.
        vocabulary_size: number of tokens in the vocabulary, for document frequencies.
        precision: ``float16`` stores vectors in 16 bits and their 8-bit codes, so that scores are exact; ``int8``
            stores only the codes; ``4bit`` and ``2bit`` store quantized residuals of centroids.
        pool: tokens of a document per stored vector.
        projected: dimensions to project vectors to, by principal components; None to keep all.
        encoder: description of the encoder, as JSON; queries need the same one.
        passages: size of the passages that documents are split into; None to cut documents that are too long.
    """

    dimensions: int
    vocabulary_size: int
    precision: Precision = "float16"
    pool: int = 1
    projected: int | None = None
    encoder: Mapping[str, Any] = field(default_factory=dict)
    passages: PassageSize | None = None

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise InputError(f"precision must be one of {', '.join(PRECISIONS)}, not {self.precision!r}")
        for name, value, most in (
            ("dimensions", self.dimensions, MOST_DIMENSIONS),
            ("vocabulary_size", self.vocabulary_size, MOST_TOKENS),
        ):
            if not 1 <= value <= most:
                raise InputError(f"{name} must be from 1 to {most:,}, not {value}")
        if not 1 <= self.pool <= 64:
            raise InputError(f"pool must be from 1 to 64 tokens per vector, not {self.pool}")
        if self.projected is not None and not 1 <= self.projected < self.dimensions:
            most = self.dimensions - 1
            raise InputError(
                f"vectors of {self.dimensions} dimensions can be projected to 1 to {most}, not {self.projected}"
            )
        if self.bits and self.kept % 8:
            raise InputError(f"{self.precision} needs a multiple of 8 dimensions, not {self.kept}")
        if self.encoder:
            try:
                from_json(_Encoder, {**NOT_RECORDED, **self.encoder})
            except ValueError as error:
                raise InputError(f"the description of the encoder is wrong: {error}") from error

    def as_json(self) -> dict[str, Any]:
        """As JSON; an index without passages is written as by versions that knew none."""
        content = asdict(self)
        return content if self.passages is not None else without(content, PASSAGES)

    @property
    def kept(self) -> int:
        """Dimensions of a stored vector."""
        return self.projected or self.dimensions

    @property
    def bits(self) -> int:
        """Bits per dimension of a residual; 0 if residuals are not stored."""
        return {"4bit": 4, "2bit": 2}.get(self.precision, 0)

    @property
    def columns(self) -> dict[str, Column]:
        """The arrays of every segment."""
        columns = {
            LENGTHS_FILE: Column("document"),
            DISTINCT_LENGTHS_FILE: Column("document"),
            TOKEN_IDS_FILE: Column("token"),
            CENTROIDS_FILE: Column("token"),
            DISTINCT_FILE: Column("distinct"),
        }
        if self.bits:
            return {**columns, RESIDUALS_FILE: Column("token", self.kept * self.bits // 8)}
        columns |= {
            CODES_FILE: Column("token", padded(self.kept)),
            SCALES_FILE: Column("token"),
            BOUNDS_FILE: Column("document", 4),
        }
        if self.precision == "float16":
            columns[VECTORS_FILE] = Column("token", self.kept)
        return columns
