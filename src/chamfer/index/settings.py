"""What an index is made of, decided when it is created."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self, get_args

from chamfer.errors import InputError
from chamfer.index.columns import (
    BOUNDS,
    CENTROIDS,
    CODES,
    DISTINCT,
    DISTINCT_LENGTHS,
    LENGTHS,
    RESIDUALS,
    SCALES,
    TOKEN_IDS,
    VECTORS,
    Column,
)
from chamfer.kernels.codes import padded

Precision = Literal["float16", "int8", "4bit", "2bit"]
PRECISIONS: tuple[str, ...] = get_args(Precision)


@dataclass(frozen=True)
class Settings:
    """How documents become rows of an index.

    Args:
        dimensions: of the vectors that are added.
        vocabulary_size: how many tokens there are, for document frequencies.
        precision: ``float16`` keeps vectors in 16 bits beside their 8-bit codes, so that scores are exact; ``int8``
            keeps the codes alone; ``4bit`` and ``2bit`` what is left of a vector when its centroid is subtracted.
        pool: keep one vector for so many tokens of a document.
        projected: keep so many dimensions, the ones along which the corpus varies most.
        encoder: what made the vectors, as JSON; a query must be encoded by the same.
    """

    dimensions: int
    vocabulary_size: int
    precision: Precision = "float16"
    pool: int = 1
    projected: int | None = None
    encoder: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise InputError(f"the precision of an index is one of {', '.join(PRECISIONS)}, not {self.precision!r}")
        for name, value in (("dimensions", self.dimensions), ("tokens in the vocabulary", self.vocabulary_size)):
            if value < 1:
                raise InputError(f"an index needs at least 1 of {name}, not {value}")
        if not 1 <= self.pool <= 64:
            raise InputError(f"one vector can stand for 1 to 64 tokens, not {self.pool}")
        if self.projected is not None and not 1 <= self.projected < self.dimensions:
            raise InputError(
                f"vectors of {self.dimensions} dimensions can be projected to fewer, at least 1, not {self.projected}"
            )
        if self.bits and self.kept % 8:
            raise InputError(f"{self.precision} needs a number of dimensions that 8 divides, not {self.kept}")

    @property
    def kept(self) -> int:
        """The dimensions of the vectors that are kept."""
        return self.projected or self.dimensions

    @property
    def bits(self) -> int:
        """Bits for each dimension of what a centroid leaves of a vector; 0 if the vector itself is kept."""
        return {"4bit": 4, "2bit": 2}.get(self.precision, 0)

    @property
    def columns(self) -> dict[str, Column]:
        """The arrays that every segment has."""
        columns = {
            LENGTHS: Column("document"),
            DISTINCT_LENGTHS: Column("document"),
            TOKEN_IDS: Column("token"),
            CENTROIDS: Column("token"),
            DISTINCT: Column("distinct"),
        }
        if self.bits:
            return {**columns, RESIDUALS: Column("token", self.kept * self.bits // 8)}
        columns |= {CODES: Column("token", padded(self.kept)), SCALES: Column("token"), BOUNDS: Column("document", 4)}
        if self.precision == "float16":
            columns[VECTORS] = Column("token", self.kept)
        return columns

    def as_json(self) -> dict[str, Any]:
        """Ready for ``json.dumps``."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read what :meth:`as_json` gave."""
        return cls(**value)
