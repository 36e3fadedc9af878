"""``chamfer doctor``."""

from typing import Annotated

import typer

from chamfer.cli.options import AsJson
from chamfer.cli.terminal import print_json, results

MARKS = {"fine": "ok  ", "differs": "note", "wrong": "BAD "}


def doctor(
    checkpoint: Annotated[str, typer.Argument(help="Model hub name, folder, or minilm (offline).")],
    as_json: AsJson = False,
) -> None:
    """Diagnose a checkpoint: how it is loaded, how it differs from ColBERT's recipe, and common mistakes.

    Exits with code 1 if it finds a mistake.

    Example: chamfer doctor colbert-ir/colbertv2.0
    """
    from chamfer.encode.doctor import diagnose

    diagnosis = diagnose(checkpoint)
    if as_json:
        findings = [finding._asdict() for finding in diagnosis.findings]
        print_json({"facts": diagnosis.facts, "findings": findings, "healthy": diagnosis.healthy})
    else:
        for name, value in diagnosis.facts.items():
            results.print(f"{name.replace('_', ' '):<20} {value}", markup=False, soft_wrap=True)
        results.print()
        for finding in diagnosis.findings:
            results.print(f"{MARKS[finding.level]}  {finding.what}: {finding.says}", markup=False, soft_wrap=True)
    if not diagnosis.healthy:
        raise typer.Exit(1)
