"""The names of weights that need no judgements."""

from typing import Final, Literal

ZeroShotName = Literal["uniform", "idf", "idf-soft"]

UNIFORM: Final = "uniform"
IDF: Final = "idf"
SOFT_IDF: Final = "idf-soft"

NAMES: tuple[ZeroShotName, ...] = (UNIFORM, IDF, SOFT_IDF)
