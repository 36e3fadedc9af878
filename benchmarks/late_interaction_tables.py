"""How the late-interaction model was trained, from ``results/late-interaction/training.json``."""

import json

from table_means import RESULTS


def training() -> str:
    """What it was trained on, for how long, and what that changed, in one sentence each."""
    path = RESULTS / "late-interaction" / "training.json"
    if not path.exists():
        return "Not trained yet; run `make train-late-interaction`."
    found = json.loads(path.read_text())
    losses, accuracy = list(found["losses"].values()), found["held_out_accuracy"]
    return (
        f"{found['steps_done']:,} steps of {found['batch']} pairs, of {found['pairs']['train']:,} pairs in all, "
        f"{found['document_length']} tokens of each document, in {found['seconds'] / 60:.0f} minutes. The loss fell "
        f"from {losses[0]:.2f} to {losses[-1]:.2f}. Of {found['pairs']['held_out']} held-out queries from other "
        f"packages, {accuracy['before']:.1%} scored their own document highest among {accuracy['batch']} before "
        f"training, and {accuracy['after']:.1%} after it."
    )
