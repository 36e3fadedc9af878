"""Help screens, and what a mistyped option is told."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from chamfer.cli.app import app


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands(child, (*path, name))


@pytest.mark.parametrize("path", list(_commands(typer.main.get_command(app))), ids=" ".join)
def test_help_is_what_a_person_expects(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(app, [*path, "-h"]).output
    assert "bool" not in shown, "a flag takes no value"
    assert not re.search(r"<(?!=)[^>]*$", shown, re.MULTILINE), "types fit into their column"
    usage = re.search(r"Usage: chamfer(.*?)\n *\n", shown, re.DOTALL)
    assert usage is not None
    arguments = usage[1].replace("[OPTIONS]", "").replace("COMMAND [ARGS]...", "").split()[len(path) :]
    assert all(re.fullmatch(r"[A-Z_]+|\[[A-Z_]+\](\.\.\.)?", argument) for argument in arguments), arguments


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "index build x --out y --precision int4",
            "'--precision': 'int4' is not one of 'float16', 'int8', '4bit', '2bit'",
        ),
        ("search x cat -k 0", "must be at least 1, not 0"),
        ("search x cat --top-k ten", 'must be a whole number, not "ten"'),
    ],
)
def test_an_invalid_option_is_told_in_plain_words(line: str, told: str) -> None:
    done = CliRunner().invoke(app, line.split())
    assert (done.exit_code, told in " ".join(done.output.replace("│", "").split())) == (2, True), done.output


def test_completion_and_docs_announce_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    command: Any = typer.main.get_command(app)
    command.commands["reproduce"].make_context("reproduce", [], resilient_parsing=True)
    assert capsys.readouterr().err == ""
