"""What a recipe is, and a configuration: a recipe with one choice of hyper-parameters."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from chamfer.learn.judged import JudgedQuery
from chamfer.learn.presets import Preset
from chamfer.learn.start import Start, ZeroShot
from chamfer.weights.token_weights import TokenWeights


class Contender(Protocol):
    """Something that can be chosen: a configuration, weights without labels, or the blend."""

    @property
    def name(self) -> str:
        """Name in reports."""
        ...

    @property
    def recipe(self) -> str:
        """Name of the recipe."""
        ...

    @property
    def settings(self) -> tuple[str, ...]:
        """Its hyper-parameters as text, in the order of the recipe's legend."""
        ...


class Configuration(Contender, Protocol):
    """A recipe with its hyper-parameters; a frozen dataclass, so that it can be a key and be sent to workers."""

    @property
    def start(self) -> str:
        """Name of the weights that it starts from, as :class:`chamfer.learn.start.Start` calls them."""
        ...

    @property
    def sequence(self) -> Hashable:
        """Equal for configurations that are fitted in sequence, each from the solution of the one before."""
        ...


C = TypeVar("C", bound=Configuration)
C_co = TypeVar("C_co", bound=Configuration, covariant=True)


class Grid(Protocol[C_co]):
    """See :class:`Recipe`."""

    def __call__(self, *, alone: bool, preset: Preset | None) -> Sequence[C_co]:
        """Return the configurations to try."""
        ...


@dataclass(frozen=True)
class Recipe(Generic[C]):
    """A way to learn weights.

    Args:
        name: name of the recipe, which is also the name of its file.
        order: place among the recipes in reports.
        legend: what the settings of its configurations are, in their order, for readers of reports.
        grid: returns the configurations to try. ``alone`` is true if no other recipe is tried; ``preset`` holds
            hyper-parameters that a user has given for the recipe ``paper``.
        fit: fits configurations of one sequence to queries and yields the weights of each, in order.
        blends: whether ``auto`` blends it with others; its weights must be positive.
        needs_vectors: whether it needs the vectors of the candidates; ``auto`` does without it where there are none.
        rivals: weights without labels that are chosen if no configuration beats them.
        hyperparameters: names under which its hyper-parameters are recorded in the metadata of weights.
    """

    name: str
    order: int
    legend: str
    grid: Grid[C]
    fit: Callable[[Sequence[JudgedQuery], Start, Sequence[C]], Iterator[TokenWeights]]
    blends: bool = True
    needs_vectors: bool = False
    rivals: tuple[ZeroShot, ...] = ()
    hyperparameters: tuple[str, ...] = ()
