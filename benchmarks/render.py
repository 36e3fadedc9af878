"""Render the tables in README and docs from ``results/*.json``; with ``--check``, fail if they are out of date.

A table goes between ``<!-- NAME:begin -->`` and ``<!-- NAME:end -->``.
"""

import sys
from pathlib import Path

import capacity_tables
import engines_tables
import evidence_cost_tables
import gpu_tables
import index_tables
import kernel_tables
import late_interaction_tables
import learning_curve_tables
import learning_tables
import mix_choice_tables
import paper_study_tables
import passages_tables
import pylate_tables
import qdrant_tables
import ray_tables
import reproduce_tables
import serving_tables
import special_tokens_tables
import thresholds_tables
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
        **{
            f"{page}-{name}": table(folder)
            for page, folder in (
                ("learning", learning_tables.MINILM),
                ("late-interaction", learning_tables.LATE),
                ("fresh", learning_tables.FRESH_MINILM),
                ("fresh-late", learning_tables.FRESH_LATE),
            )
            for name, table in (
                ("provenance", learning_tables.provenance),
                ("without-labels", learning_tables.without_labels),
                ("with-labels", learning_tables.with_labels),
                ("over-mix", learning_tables.over_mix),
            )
        },
        **{
            f"{page}-{name}": table(folder)
            for page, folder in (("learning", learning_tables.MINILM), ("late-interaction", learning_tables.LATE))
            for name, table in (
                ("pieces", learning_tables.pieces),
                ("summary", learning_tables.summary),
                ("recipes", learning_tables.recipe_means),
                ("every-recipe", learning_tables.every_recipe),
            )
        },
        "learning-new-questions": learning_tables.new_questions(),
        "learning-short": learning_tables.short(),
        "similar-queries": learning_tables.similar_queries(),
        "learning-curve": learning_curve_tables.curves(),
        "evidence-cost": evidence_cost_tables.cost(),
        "mix-factors": mix_choice_tables.factors(mix_choice_tables.MINILM),
        "mix-left-out": mix_choice_tables.left_out(mix_choice_tables.MINILM),
        "late-interaction-mix-factors": mix_choice_tables.factors(mix_choice_tables.LATE),
        "late-interaction-mix-left-out": mix_choice_tables.left_out(mix_choice_tables.LATE),
        "special-tokens": special_tokens_tables.weights(),
        "thresholds-separation": thresholds_tables.separation(),
        "thresholds-flagged": thresholds_tables.flagged(),
        "thresholds-levels": thresholds_tables.levels(),
        "late-interaction-training": late_interaction_tables.training(),
        "paper-study": paper_study_tables.study(),
        "mask-weights-provenance": paper_study_tables.mask_weights_provenance(),
        "mask-weights-compared": paper_study_tables.mask_weights_compared(),
        "late-interaction-pairs": late_interaction_tables.pairs(),
        "mask-weights": paper_study_tables.mask_weights(),
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
        "engines": engines_tables.every_engine(),
        "engines-short": engines_tables.short(),
        "engines-summary": engines_tables.summary(),
        "encoding": index_tables.encoding(),
        "passages": passages_tables.on_test(),
        "passages-sizes": passages_tables.sizes(),
        "passages-more": passages_tables.more(),
        "reproduce-provenance": reproduce_tables.provenance(),
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
