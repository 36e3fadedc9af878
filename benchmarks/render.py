"""Render the tables in README and docs from ``results/*.json``; with ``--check``, fail if they are out of date.

A table goes between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``.
"""

import sys
from pathlib import Path

import capacity_tables
import few_shot_tables
import gpu_tables
import index_tables
import kernel_tables
import late_interaction_tables
import mix_choice_tables
import mixed_tables
import paper_study_tables
import passages_tables
import pylate_tables
import qdrant_tables
import ray_tables
import reproduce_tables
import serving_tables
import torture_tables
import zero_shot_tables
import zero_shot_variant_tables

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Rewrite every page, or report which ones are stale."""
    tables = {
        "zero-shot-summary": zero_shot_tables.summary(),
        "zero-shot-all": zero_shot_tables.every_collection(),
        "zero-shot-differences": zero_shot_variant_tables.differences(),
        "zero-shot-powers": zero_shot_variant_tables.powers(),
        "zero-shot-others": zero_shot_variant_tables.others(),
        "zero-shot-counted": zero_shot_variant_tables.counted(),
        "zero-shot-paper": zero_shot_tables.paper(),
        "few-shot": few_shot_tables.every_collection(few_shot_tables.MINILM),
        "few-shot-apart": few_shot_tables.apart_and_sharing(),
        "few-shot-provenance": few_shot_tables.provenance(few_shot_tables.MINILM),
        "late-interaction-provenance": few_shot_tables.provenance(few_shot_tables.LATE),
        "fresh-provenance": few_shot_tables.provenance(few_shot_tables.FRESH_MINILM),
        "fresh-late-provenance": few_shot_tables.provenance(few_shot_tables.FRESH_LATE),
        "few-shot-all": few_shot_tables.every_recipe(few_shot_tables.MINILM),
        "few-shot-recipes": few_shot_tables.recipe_means(few_shot_tables.MINILM),
        "few-shot-context": few_shot_tables.where_it_comes_from(),
        "few-shot-summary": few_shot_tables.summary(few_shot_tables.MINILM),
        "mixed-provenance": few_shot_tables.provenance(mixed_tables.MINILM),
        "mixed-without-labels": mixed_tables.without_labels(mixed_tables.MINILM),
        "mixed-pieces": mixed_tables.pieces(mixed_tables.MINILM),
        "mixed-with-labels": mixed_tables.with_labels(mixed_tables.MINILM),
        "mixed-summary": mixed_tables.summary(mixed_tables.MINILM),
        "mixed-over-mix": mixed_tables.over_mix(mixed_tables.MINILM),
        "mixed-late-without-labels": mixed_tables.without_labels(mixed_tables.LATE),
        "mixed-late-pieces": mixed_tables.pieces(mixed_tables.LATE),
        "mixed-late-with-labels": mixed_tables.with_labels(mixed_tables.LATE),
        "mixed-late-summary": mixed_tables.summary(mixed_tables.LATE),
        "fresh-mixed": mixed_tables.without_labels(mixed_tables.FRESH_MINILM),
        "fresh-mixed-learnt": mixed_tables.with_labels(mixed_tables.FRESH_MINILM),
        "fresh-late-mixed": mixed_tables.without_labels(mixed_tables.FRESH_LATE),
        "fresh-late-mixed-learnt": mixed_tables.with_labels(mixed_tables.FRESH_LATE),
        "mixed-cost": mixed_tables.cost(),
        "mix-factors": mix_choice_tables.factors(),
        "mix-left-out": mix_choice_tables.left_out(),
        "mixed-short": mixed_tables.short(),
        "late-interaction-zero-shot": few_shot_tables.without_labels(few_shot_tables.LATE),
        "late-interaction-summary": few_shot_tables.summary(few_shot_tables.LATE),
        "late-interaction-recipes": few_shot_tables.recipe_means(few_shot_tables.LATE),
        "late-interaction-few-shot": few_shot_tables.every_collection(few_shot_tables.LATE),
        "late-interaction-training": late_interaction_tables.training(),
        "fresh-zero-shot": few_shot_tables.without_labels(few_shot_tables.FRESH_MINILM),
        "fresh-few-shot": few_shot_tables.every_collection(few_shot_tables.FRESH_MINILM),
        "fresh-late-zero-shot": few_shot_tables.without_labels(few_shot_tables.FRESH_LATE),
        "fresh-late-few-shot": few_shot_tables.every_collection(few_shot_tables.FRESH_LATE),
        "paper-study": paper_study_tables.study(),
        "mask-weights-compared": paper_study_tables.mask_weights_compared(),
        "similar-queries": few_shot_tables.similar_queries(),
        "late-interaction-pairs": late_interaction_tables.pairs(),
        "mask-weights": paper_study_tables.mask_weights(),
        "learning-curve": few_shot_tables.learning_curve(),
        "kernel": kernel_tables.headline(),
        "kernel-short": kernel_tables.short(),
        "kernel-all": kernel_tables.every_shape(),
        "kernel-facts": kernel_tables.facts(),
        "gpu": gpu_tables.speed(),
        "gpu-facts": gpu_tables.facts(),
        "gpu-end-to-end": gpu_tables.end_to_end(),
        "first-stages": index_tables.first_stages(),
        "small-indexes": index_tables.small_indexes(),
        "compression": index_tables.compression(),
        "growth": index_tables.growth(),
        "plaid": index_tables.plaid(),
        "plaid-summary": index_tables.plaid_summary(),
        "encoding": index_tables.encoding(),
        "passages": passages_tables.on_test(),
        "passages-sizes": passages_tables.sizes(),
        "passages-more": passages_tables.more(),
        "reproduce-summary": reproduce_tables.summary(),
        "reproduce-kept": reproduce_tables.kept(),
        "reproduce-kept-short": reproduce_tables.kept_short(),
        "reproduce": reproduce_tables.reproduced(),
        "capacity-model": capacity_tables.model(),
        "capacity-plans": capacity_tables.plans(),
        "capacity-tail": capacity_tables.tail(),
        "pylate": pylate_tables.check(),
        "qdrant": qdrant_tables.parity(),
        "ray-batch": ray_tables.batch(),
        "sharded": ray_tables.shards(),
        "serving": serving_tables.serving(),
        "cold": serving_tables.cold(),
        "torture": torture_tables.campaign(),
        "safety-costs": torture_tables.safety_costs(),
    }
    stale, unused = [], set(tables)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        before = page.read_text()
        after = before
        for name, table in tables.items():
            begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
            if begin in after:
                unused.discard(name)
                head, rest = after.split(begin, 1)
                after = f"{head}{begin}\n{table}\n{end}{rest.split(end, 1)[1]}"
        if after != before:
            stale.append(str(page.relative_to(ROOT)))
            if "--check" not in sys.argv:
                page.write_text(after)
    if unused:
        sys.exit(f"no page has the tables {', '.join(sorted(unused))}; add their markers, or render them no longer")
    if stale and "--check" in sys.argv:
        sys.exit(f"out of date: {', '.join(stale)}; run: make readme")


if __name__ == "__main__":
    main()
