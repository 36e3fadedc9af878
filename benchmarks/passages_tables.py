"""Long documents, cut and in passages, from ``results/passages.json``."""

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "passages.json"
CUT, CHOSEN, MAIN, RECALL = "cut", "256 tokens, overlap 32", "nDCG@10", "R@10"
WEIGHTS = ("uniform", "mix")


def on_test() -> str:
    """What passages find of long documents, on the test queries."""
    found = _found()
    cut, split = found["sizes"][CUT], found["sizes"][CHOSEN]
    rows = [
        "| weights | measure | cut at 256 tokens | in passages | difference | p | better | worse |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for weights in WEIGHTS:
        for measure, spoken in ((MAIN, MAIN), (RECALL, "Recall@10")):
            compared = found["against_cut"][weights][measure]
            cells = [weights, spoken, *(f"{one[f'test_{weights}'][measure]:.3f}" for one in (cut, split))]
            cells += [f"{compared['difference']:+.3f}", f"{compared['p_value']:.4f}"]
            cells += [str(compared["wins"]), str(compared["losses"])]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*rows, "", _provenance(found)])


def sizes() -> str:
    """What other sizes of passages find and take, on training queries."""
    rows = [
        "| documents are | rows | token vectors | GB on disk | nDCG@10, uniform | nDCG@10, mix | Recall@10, mix |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, row in _found()["sizes"].items():
        cells = [
            "cut at 256 tokens" if name == CUT else f"passages of {name}",
            f"{row.get('passages', row['documents']):,}",
            f"{row['tokens']:,}",
            f"{row['bytes'] / 1e9:.2f}",
            *(f"{row[f'train_{weights}'][MAIN]:.3f}" for weights in WEIGHTS),
            f"{row['train_mix'][RECALL]:.3f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def more() -> str:
    """What it brings to count more than the best passage, on training queries."""
    found = _found()["combined"]
    rows = ["| a document scores | nDCG@10, uniform | p | nDCG@10, mix | p |", "| --- | ---: | ---: | ---: | ---: |"]
    for way in found["mix"]:
        cells = [way]
        for weights in WEIGHTS:
            one = found[weights][way]
            cells += [f"{one[MAIN]:.3f}", "" if way == "best" else f"{one['p_value']:.4f}"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _provenance(found: dict[str, Any]) -> str:
    queries, measured_on = found["queries"], found["environment"]
    return (
        f"{found['documents']:,} documents of {found['characters']['mean']:,} characters on average, made from "
        f"{found['collection']} with {found['abstracts_per_document']} abstracts in each; {queries['test']} test "
        f"queries, and {queries['train']} training queries for every choice; commit `{measured_on['commit']}`."
    )


def _found() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text())
    return found
