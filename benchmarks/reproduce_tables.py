"""Tables of ``chamfer reproduce`` for the docs, from ``results/reproduce``, a run folder."""

from collections.abc import Sequence
from pathlib import Path

from chamfer.evaluate.collection_means import FEWEST, mean_percent
from chamfer.evaluate.significance import holm
from chamfer.learn.presets import PAPER
from chamfer.reproduce.paper import ALL_MEASURES, SETTINGS
from chamfer.reproduce.report import notes, report, results_apart
from chamfer.reproduce.run import read_results
from chamfer.reproduce.systems import CHAMFER, FEW_SHOT_PAPER, SYSTEMS
from chamfer.reproduce.tables import as_markdown
from chamfer.weights.zero_shot import MIX
from table_means import Change, Record, commits_in

RESULTS = Path(__file__).parent / "results" / "reproduce"
MEASURES = ("R@10", "nDCG@10")


def reproduced() -> str:
    """Every measure in both settings."""
    found = read_results(RESULTS)
    return as_markdown([report(found, setting, name) for setting in SETTINGS for name in ALL_MEASURES], notes(found))


def provenance() -> str:
    """Where these results are from, and what that version did not have yet."""
    found = read_results(RESULTS)
    said = f"Measured on {commits_in(found)} ({' and '.join(sorted({one['environment']['date'] for one in found}))})"
    if all(MIX in one["systems"] for one in found):
        return f"{said}."
    return (
        f"{said}, an earlier version: it had neither [evidence beside the tokens](../explanation/evidence.md) nor the "
        "adapter. So there is no `mix`, and `few-shot` learnt weights of tokens alone. They will be measured again."
    )


def summary() -> str:
    """How often each kind of weights beats plain Chamfer, and how often beyond noise, where queries are enough.

    Holm's correction is over all comparisons of the table. The last columns are for test queries that share nothing
    with those learnt from.
    """
    found = read_results(RESULTS)
    changes, apart = (_changes(results) for results in (_enough(found), results_apart(found)))
    rows = [
        "| setting | weights | measure | datasets | better beyond noise | better | worse "
        "| worse beyond noise | mean gain | datasets with queries apart | mean gain, queries apart |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for setting in SETTINGS:
        for name in _weighted(found):
            for measure in MEASURES:
                own, far = (some.get((setting, name, measure), []) for some in (changes, apart))
                counts = [
                    sum(change.percent > 0 and bool(change.mark) for change in own),
                    sum(change.percent > 0 for change in own),
                    sum(change.percent < 0 for change in own),
                    sum(change.percent < 0 and bool(change.mark) for change in own),
                ]
                means = [mean_percent([change.percent for change in some]) for some in (own, far)]
                row = [setting, name, measure, len(own), *counts, means[0], len(far), means[1]]
                rows.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(rows)


def _weighted(found: Sequence[Record]) -> list[str]:
    """The systems other than Chamfer that all results have; those of earlier versions lack some."""
    return [name for name in SYSTEMS if name != CHAMFER and all(name in one["systems"] for one in found)]


def _enough(found: Sequence[Record]) -> list[Record]:
    return [one for one in found if one["queries"]["test"] >= FEWEST]


def _changes(found: Sequence[Record]) -> dict[tuple[str, str, str], list[Change]]:
    """The changes on each collection by setting, system and measure, corrected over all of them."""
    keys = [(one, name, measure) for one in found for name in _weighted(found) for measure in MEASURES]
    p_values = holm([one["systems"][name]["against_chamfer"][measure]["p_value"] for one, name, measure in keys])
    changes: dict[tuple[str, str, str], list[Change]] = {}
    for (one, name, measure), p_value in zip(keys, p_values, strict=True):
        value, chamfer = (one["systems"][system]["measures"][measure] for system in (name, CHAMFER))
        change = Change(one["dataset"], one["queries"]["test"], value, chamfer, p_value)
        changes.setdefault((one["setting"], name, measure), []).append(change)
    return changes


def kept() -> str:
    """On how many collections the paper's recipe is plain IDF, and what its learnt weights gain on the others."""
    sentences = []
    for setting in SETTINGS:
        found = [one for one in read_results(RESULTS) if one["setting"] == setting]
        learnt = [one for one in found if one["chosen"][FEW_SHOT_PAPER].startswith(PAPER)]
        large = _enough(learnt)
        gains = [
            f"{mean_percent([line.cells[FEW_SHOT_PAPER].gain for line in report(large, setting, measure).lines])} "
            f"in {measure}"
            for measure in MEASURES
        ]
        sentences.append(
            f"- {setting}: `few-shot-paper` is plain IDF on {len(found) - len(learnt)} of {len(found)} collections. On "
            f"the {len(large)} with learnt weights and at least {FEWEST} test queries, these change Chamfer by "
            f"{' and '.join(gains)}."
        )
    return "\n".join(sentences)


def kept_short() -> str:
    """On how many collections the paper's recipe is plain IDF, in a sentence for README."""
    found = [one for one in read_results(RESULTS) if one["setting"] == SETTINGS[0]]
    plain = sum(not one["chosen"][FEW_SHOT_PAPER].startswith(PAPER) for one in found)
    where = "In [the paper's own protocol](docs/results/reproduced.md)"
    return f"{where}, when re-ranking, its recipe keeps plain IDF on {plain} of {len(found)} collections."
