"""Results of several seeds, pooled query by query."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chamfer.evaluate.measures import MAIN_MEASURES
from chamfer.evaluate.significance import bootstrap_interval, compare
from chamfer.learn.quality import Quality

BASELINES = {"against_uniform": "uniform", "against_zero_shot": "idf-soft"}


class SeedResult(NamedTuple):
    """What one seed gives on its test queries."""

    query_ids: list[str]
    apart: npt.NDArray[np.bool_]
    """Whether each query shares nothing with those that were learnt from."""
    values: dict[str, Quality]
    """Quality of each system, query by query."""


def pooled(seeds: Sequence[SeedResult]) -> dict[str, Any]:
    """Every system on all test queries, and on those apart; with the number of queries of each.

    A query that is tested with several seeds counts once, with the mean of its values: tests and intervals are over
    queries, so that repeating an experiment does not make it look more certain. The spread over seeds is given beside.
    """
    found: dict[str, Any] = {}
    for name, chosen in (("all", [np.ones_like(one.apart) for one in seeds]), ("apart", [one.apart for one in seeds])):
        numbers = [int(own.sum()) for own in chosen]
        ids = sorted({query for one, own in zip(seeds, chosen, strict=True) for query in _ids(one, own)})
        found[name] = {
            "queries": len(ids),
            "queries_per_seed": numbers,
            "systems": _systems(seeds, chosen, ids) if ids else {},
        }
    return found


def _systems(
    seeds: Sequence[SeedResult], chosen: Sequence[npt.NDArray[np.bool_]], ids: Sequence[str]
) -> dict[str, Any]:
    place = {query: at for at, query in enumerate(ids)}
    means: dict[str, Quality] = {}
    by_seed: dict[str, list[list[float]]] = {}
    for name in seeds[0].values:
        total, count = np.zeros((len(ids), len(MAIN_MEASURES))), np.zeros((len(ids), 1))
        by_seed[name] = []
        for one, own in zip(seeds, chosen, strict=True):
            places = [place[query] for query in _ids(one, own)]
            np.add.at(total, places, one.values[name][own])
            np.add.at(count, places, 1)
            if own.any():
                by_seed[name].append(one.values[name][own].mean(axis=0).tolist())
        means[name] = total / count
    return {
        name: {
            "measures": dict(zip(MAIN_MEASURES, values.mean(axis=0).tolist(), strict=True)),
            "by_seed": {
                measure: [round(one[at], 6) for one in by_seed[name]] for at, measure in enumerate(MAIN_MEASURES)
            },
            **{key: _against(values, means[baseline]) for key, baseline in BASELINES.items()},
        }
        for name, values in means.items()
    }


def _against(values: Quality, baseline: Quality) -> dict[str, Any]:
    found = {}
    for at, measure in enumerate(MAIN_MEASURES):
        interval = bootstrap_interval(values[:, at] - baseline[:, at])
        found[measure] = {**compare(values[:, at], baseline[:, at])._asdict(), "interval": interval}
    return found


def _ids(one: SeedResult, own: npt.NDArray[np.bool_]) -> list[str]:
    return [query for query, is_own in zip(one.query_ids, own, strict=True) if is_own]
