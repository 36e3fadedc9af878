"""Progress bars: shown to a person, never to a pipe unless asked for."""

import contextlib
import io

import pytest
from rich.console import Console

from chamfer.support.progress import Progress, quiet, shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def drawn(progress: Progress, stderr: io.StringIO) -> str:
    with contextlib.redirect_stderr(stderr), progress("encoding documents", 3) as advance:
        advance(1)
        advance(2)
    return stderr.getvalue()


@pytest.mark.parametrize("progress", [None, True])
def test_a_terminal_sees_a_bar(progress: bool | None) -> None:
    assert "encoding documents" in drawn(shown(progress), Terminal())


def test_false_shows_nothing_even_on_a_terminal() -> None:
    assert shown(False) is quiet
    assert drawn(shown(False), Terminal()) == ""


def test_a_pipe_gets_nothing_unless_it_is_asked_for() -> None:
    assert drawn(shown(None), io.StringIO()) == ""
    [line] = drawn(shown(True), io.StringIO()).splitlines()
    assert line.startswith("encoding documents")
    assert "3/3" in line


def test_a_bar_is_drawn_on_the_given_console() -> None:
    terminal = Terminal()
    assert drawn(shown(None, Console(file=terminal)), Terminal()) == ""
    assert "encoding documents" in terminal.getvalue()
