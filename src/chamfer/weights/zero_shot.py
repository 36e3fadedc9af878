"""The names of weights that need no judgements."""

from typing import Final, Literal

ZeroShotName = Literal["uniform", "idf", "idf-soft", "mix"]

UNIFORM: Final = "uniform"
IDF: Final = "idf"
SOFT_IDF: Final = "idf-soft"
MIX: Final = "mix"

NAMES: tuple[ZeroShotName, ...] = (UNIFORM, IDF, SOFT_IDF, MIX)
