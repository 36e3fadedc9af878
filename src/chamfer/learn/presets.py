"""The paper's hyper-parameters, as published for each dataset."""

from operator import index
from typing import NamedTuple

from chamfer.errors import InputError
from chamfer.learn.recipe_names import AUTO

PAPER = "paper"
"""Name of the recipe that presets are for."""


class Preset(NamedTuple):
    """The hyper-parameters of the paper: the share of the first loss, and the number of negatives of each loss."""

    alpha: float = 0.1
    closest: int = 10
    closer: int = 100


PresetSource = str | tuple[float, int, int]
"""Name of a published preset, or ``(alpha, closest, closer)``."""


PRESETS: dict[str, Preset] = {
    "arguana": Preset(0, 0, 500),
    "climate-fever": Preset(0, 0, 1000),
    "dbpedia-entity": Preset(0.25, 5, 100),
    "fever": Preset(0.1, 10, 100),
    "fiqa": Preset(0.1, 10, 100),
    "hotpotqa": Preset(0.1, 100, 1000),
    "msmarcodocs": Preset(0.1, 100, 1000),
    "nq": Preset(0.75, 5, 100),
    "quora": Preset(0.1, 10, 100),
    "scidocs": Preset(0.5, 100, 250),
    "scifact": Preset(0.1, 50, 250),
    "trec-covid": Preset(0, 0, 100),
    "webis-touche2020": Preset(0, 0, 100),
}


def preset_from(given: PresetSource | None, recipe: str) -> Preset | None:
    """Find a preset by name or make it from three numbers; cheap enough to call before a model is loaded.

    Args:
        given: name of a dataset in :data:`PRESETS`, or ``(alpha, closest, closer)``; None leaves the choice open.
        recipe: the recipe to learn with; only ``paper`` has a preset, and ``auto`` tries it among others.

    >>> preset_from("scifact", "paper") == preset_from((0.1, 50, 250), "paper")
    True
    """
    if given is None:
        return None
    if recipe not in (AUTO, PAPER):
        raise InputError(f"a preset needs the recipe {PAPER} or {AUTO}, not {recipe}")
    if isinstance(given, str):
        if given not in PRESETS:
            raise InputError(f"a preset is one of {', '.join(PRESETS)}, or (alpha, closest, closer), not {given!r}")
        return PRESETS[given]
    try:
        alpha, closest, closer = given
        preset = Preset(float(alpha), index(closest), index(closer))
    except (TypeError, ValueError):
        preset = None
    if preset is None or not 0 <= preset.alpha <= 1 or preset.closer < 1 or preset.closest < (preset.alpha > 0):
        raise InputError(
            "a preset is the name of a dataset, or (alpha, closest, closer): a number from 0 to 1 and two numbers of "
            f"negatives, such as (0.1, 10, 100), not {given!r}"
        )
    return preset
