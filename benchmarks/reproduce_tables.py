"""Tables of ``chamfer reproduce`` for the docs, from ``results/reproduce``, a run folder."""

from pathlib import Path

from chamfer.learn.presets import PAPER
from chamfer.reproduce.paper import ALL_MEASURES, SETTINGS
from chamfer.reproduce.report import notes, report
from chamfer.reproduce.run import read_results
from chamfer.reproduce.systems import FEW_SHOT_PAPER
from chamfer.reproduce.tables import as_markdown
from table_means import FEWEST, mean_percent

RESULTS = Path(__file__).parent / "results" / "reproduce"
MEASURES = ("R@10", "nDCG@10")


def reproduced() -> str:
    """Every measure in both settings."""
    found = read_results(RESULTS)
    return as_markdown([report(found, setting, name) for setting in SETTINGS for name in ALL_MEASURES], notes(found))


def summary() -> str:
    """How often each kind of weights beats plain Chamfer, and how often beyond noise, where queries are enough."""
    found = [one for one in read_results(RESULTS) if one["queries"]["test"] >= FEWEST]
    rows = [
        "| setting | weights | measure | datasets | better beyond noise | better | worse "
        "| worse beyond noise | mean gain |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for setting in SETTINGS:
        for name in ("idf", "idf-soft", "few-shot-paper", "few-shot"):
            for measure in MEASURES:
                cells = [line.cells[name] for line in report(found, setting, measure).lines]
                counts = [
                    sum(cell.gain > 0 and cell.beyond_noise for cell in cells),
                    sum(cell.gain > 0 for cell in cells),
                    sum(cell.gain < 0 for cell in cells),
                    sum(cell.gain < 0 and cell.beyond_noise for cell in cells),
                ]
                row = [setting, name, measure, len(cells), *counts, mean_percent([cell.gain for cell in cells])]
                rows.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(rows)


def kept() -> str:
    """On how many collections the paper's recipe is plain IDF, and what its learnt weights gain on the others."""
    sentences = []
    for setting in SETTINGS:
        found = [one for one in read_results(RESULTS) if one["setting"] == setting]
        learnt = [one for one in found if one["chosen"][FEW_SHOT_PAPER].startswith(PAPER)]
        large = [one for one in learnt if one["queries"]["test"] >= FEWEST]
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
    return f"{where}, its recipe keeps plain IDF on {plain} of {len(found)} collections."
