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
    seconds = found["seconds"]
    lasted = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
    return (
        f"{found['steps_done']:,} steps of {found['batch']} pairs, of {found['pairs']['train']:,} pairs in all, "
        f"{found['document_length']} tokens of each document, in {lasted}. The loss fell "
        f"from {losses[0]:.2f} to {losses[-1]:.2f}. Of {found['pairs']['held_out']} held-out queries from other "
        f"packages, {accuracy['before']:.1%} scored their own document highest among {accuracy['batch']} before "
        f"training, and {accuracy['after']:.1%} after it."
    )


def pairs() -> str:
    """Which pairs stand in documents of judged collections, in a sentence."""
    path = RESULTS / "late-interaction" / "pairs.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    if "dropped_inside" not in found:
        return "Not counted yet; run `make train-late-interaction`."
    inside = ", ".join(f"{count} in {name}" for name, count in found["dropped_inside"].items()) or "none"
    training = RESULTS / "late-interaction" / "training.json"
    trained_on = json.loads(training.read_text())["pairs"]["sha256"] if training.exists() else found["sha256"]
    return (
        "No pair is a query or a document of a judged collection. But the opening words of some also stand in a "
        f"document, as docstrings do in functions: {inside}. They are left out of the pairs"
        f"{'' if trained_on == found['sha256'] else ' now; this model was trained with them'}."
    )
