"""Results of several seeds on the same test queries, pooled query by query."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.significance import bootstrap_interval, compare, relative_interval
from chamfer.learn.quality import Quality
from chamfer.learn.splits import Labels

BASELINES = {"against_uniform": "uniform", "against_zero_shot": "idf-soft", "against_mix": "mix"}


class SeedResult(NamedTuple):
    """What one seed gives on the test queries, which are those of every seed."""

    query_ids: list[str]
    groups: Labels
    """Queries of one group share something, such as a relevant document, so they are not independent."""
    apart: npt.NDArray[np.bool_]
    """Whether each query shares nothing with those that were learnt from."""
    values: dict[str, Quality]
    """Quality of each system, query by query."""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON, from which :meth:`from_json` makes the same again."""
        return {
            "query_ids": self.query_ids,
            "groups": self.groups.tolist(),
            "apart": self.apart.tolist(),
            "values": {name: values.tolist() for name, values in self.values.items()},
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """Make it from JSON."""
        values = {name: np.array(own, np.float64).reshape(-1, 2) for name, own in found["values"].items()}
        return cls(found["query_ids"], np.array(found["groups"]), np.array(found["apart"], np.bool_), values)


def pooled(seeds: Sequence[SeedResult]) -> dict[str, Any]:
    """Every system on all test queries, on those apart with every seed, and on the others.

    A query counts once, with the mean of its values: repeating an experiment does not make it look more certain. Tests
    and intervals are over groups of queries. The spread over seeds is given beside.
    """
    first = seeds[0]
    if any(one.query_ids != first.query_ids for one in seeds):
        raise ValueError("seeds are pooled over the same test queries")
    apart = np.all([one.apart for one in seeds], axis=0)
    return {
        name: {
            "queries": int(chosen.sum()),
            "groups": len(np.unique(first.groups[chosen])),
            "systems": _systems(seeds, chosen) if chosen.any() else {},
        }
        for name, chosen in (("all", np.ones_like(apart)), ("apart", apart), ("sharing", ~apart))
    }


def _systems(seeds: Sequence[SeedResult], chosen: npt.NDArray[np.bool_]) -> dict[str, Any]:
    by_seed = {name: np.array([one.values[name][chosen] for one in seeds]) for name in seeds[0].values}
    means = {name: values.mean(axis=0) for name, values in by_seed.items()}
    groups = seeds[0].groups[chosen]
    return {
        name: {
            "measures": dict(zip(MAIN_MEASURES, values.mean(axis=0).tolist(), strict=True)),
            "by_seed": {
                measure: by_seed[name][:, :, at].mean(axis=1).round(6).tolist()
                for at, measure in enumerate(MAIN_MEASURES)
            },
            **{key: _against(values, means[baseline], groups) for key, baseline in BASELINES.items()},
        }
        for name, values in means.items()
    }


def _against(values: Quality, baseline: Quality, groups: Labels) -> dict[str, Any]:
    """Compare two systems; what is resampled, and swapped, is whole groups."""
    found = {}
    for at, measure in enumerate(MAIN_MEASURES):
        own, other = values[:, at], baseline[:, at]
        found[measure] = {
            **compare(own, other, groups=groups)._asdict(),
            "interval": bootstrap_interval(own - other, groups=groups),
            "relative_interval": relative_interval(own, other, groups=groups) if other.any() else None,
        }
    return found
