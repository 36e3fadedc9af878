"""Progress: a bar for a person, a line now and then in a log, and nothing elsewhere unless it is asked for."""

import contextlib
import io
import itertools
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from chamfer.encode.batches import CPU_BATCH, batches, mixed
from chamfer.support.pace import Pace, duration
from chamfer.support.progress import Before, Progress, alongside, lines_in_logs, quiet, shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


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


class TestBars:
    @pytest.mark.parametrize("progress", [None, True])
    def test_a_terminal_sees_a_bar(self, progress: bool | None) -> None:
        assert "encoding documents" in drawn(shown(progress), Terminal())

    def test_false_shows_nothing_even_on_a_terminal(self) -> None:
        assert shown(False) is quiet
        assert drawn(shown(False), Terminal()) == ""

    def test_a_bar_is_drawn_on_the_given_console(self) -> None:
        terminal = Terminal()
        assert drawn(shown(None, Console(file=terminal)), Terminal()) == ""
        assert "encoding documents" in terminal.getvalue()

    @pytest.mark.parametrize("width", [80, 200])
    def test_it_shows_documents_per_second_and_the_time_left(self, clock: Clock, width: int) -> None:
        terminal = Terminal()
        progress = shown(None, Console(file=terminal, width=width), clock=clock)
        with progress("encoding documents", 52183) as advance:
            for _ in range(30):
                clock.now += 1
                advance(57)
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
        assert " 1710/52183 57 documents/s, 15 min left" in text

    def test_it_has_no_thread_and_is_drawn_ten_times_a_second_at_most(self, clock: Clock) -> None:
        before, terminal = threading.active_count(), Terminal()
        progress = shown(True, Console(file=terminal), clock=clock)
        with progress("encoding documents", 10_000) as advance:
            for _ in range(5000):
                clock.now += 0.001
                advance(1)
            assert threading.active_count() == before
        assert 45 <= terminal.getvalue().count("encoding documents") <= 55

    @pytest.mark.parametrize("watched", [True, False])
    def test_a_forked_child_shows_nothing(self, clock: Clock, tmp_path: Path, watched: bool) -> None:
        log = (tmp_path / "log").open("w+")
        console = Console(file=log, force_terminal=watched)
        with log, shown(True, console, clock=clock)("encoding documents", 3) as advance:
            log.flush()
            before = log.tell()
            child = os.fork()
            if child == 0:
                clock.now += 60
                advance(1)
                log.flush()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert os.fstat(log.fileno()).st_size == before
            clock.now += 60
            advance(1)
            log.flush()
            assert os.fstat(log.fileno()).st_size > before


def logged(clock: Clock, *, progress: bool | None = None, total: int, speed: int, before: int = 0) -> list[str]:
    """What a log says of work that reports once a second."""
    log = io.StringIO()
    with (
        lines_in_logs(),
        shown(progress, Console(file=log, width=40), clock=clock)("encoding documents", total) as advance,
    ):
        advance(Before(before))
        for done in range(before, total, speed):
            clock.now += 1
            advance(min(speed, total - done))
    return log.getvalue().splitlines()


class TestLogs:
    def test_python_writes_nothing_unless_it_is_asked_to(self) -> None:
        assert drawn(shown(None), io.StringIO()) == ""
        assert drawn(shown(True), io.StringIO()) == "encoding documents: 3 of 3 (100%), took 1 s\n"

    def test_work_of_seconds_writes_nothing(self, clock: Clock) -> None:
        assert logged(clock, total=570, speed=57) == []

    def test_the_command_line_writes_a_line_after_ten_seconds_and_then_every_thirty(self, clock: Clock) -> None:
        assert logged(clock, total=5183, speed=57) == [
            "encoding documents: 570 of 5,183 (10%), 57 documents/s, 81 s left",
            "encoding documents: 2,280 of 5,183 (43%), 57 documents/s, 51 s left",
            "encoding documents: 3,990 of 5,183 (76%), 57 documents/s, 21 s left",
            "encoding documents: 5,183 of 5,183 (100%), took 1 min 40 s",
        ]

    def test_what_was_done_before_counts_but_says_nothing_about_speed(self, clock: Clock) -> None:
        first, *_ = logged(clock, total=5183, speed=10, before=4096)
        assert first == "encoding documents: 4,196 of 5,183 (80%), 10 documents/s, 1 min 40 s left"

    def test_an_interruption_ends_it_without_another_line(self, clock: Clock) -> None:
        log = io.StringIO()

        def work() -> None:
            with shown(True, Console(file=log), clock=clock)("encoding documents", 100) as advance:
                clock.now += 20
                advance(10)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            work()
        assert log.getvalue().count("\n") == 1

    def test_lines_end_with_their_context(self, clock: Clock) -> None:
        logged(clock, total=5, speed=1)
        assert drawn(shown(None), io.StringIO()) == ""

    def test_what_has_no_speed_that_people_know_shows_the_time(self, clock: Clock) -> None:
        log = io.StringIO()
        with shown(True, Console(file=log, width=200), clock=clock)("verifying", 1000) as advance:
            clock.now += 15
            advance(150)
        assert log.getvalue().splitlines()[0] == "verifying: 150 of 1,000 (15%), 85 s left"

    def test_nothing_to_do_is_no_division_by_zero(self, clock: Clock) -> None:
        assert logged(clock, progress=True, total=0, speed=1) == ["encoding documents: 0 of 0, took 0 s"]


class TestPace:
    def test_nothing_is_guessed_from_a_moment(self, clock: Clock) -> None:
        pace = Pace(100, clock)
        assert pace.in_words("documents") == ""
        clock.now += 1
        pace.advance(50)
        assert pace.in_words("documents") == ""

    def test_old_speed_is_forgotten(self, clock: Clock) -> None:
        pace = Pace(10**6, clock)
        for seconds, speed in ((60, 100), (200, 10)):
            for _ in range(seconds):
                clock.now += 1
                pace.advance(speed)
        assert pace.speed == pytest.approx(10, rel=0.02)

    def test_a_slow_machine_sees_a_wait_at_once(self, clock: Clock) -> None:
        pace = Pace(100, clock)
        clock.now += 10
        pace.advance(10)
        clock.now += 10
        assert pace.in_words("documents") == "0.50 documents/s, 3 min left"

    def test_it_is_steady_while_chunks_of_texts_of_all_lengths_are_encoded(self, clock: Clock) -> None:
        """In order of length, the estimate of a chunk's first batches would be several times the true speed."""
        generator = np.random.default_rng(0)
        pace = Pace(8 * 1024, clock)
        started, said = clock.now, []
        for chunk in range(8):
            lengths = generator.lognormal(4.5, 0.8, 1024).astype(int).clip(8, 256).tolist()
            known = 300  # of each chunk, some documents were encoded with the sample
            advance = alongside(pace.advance, known, of=1024 - known)
            for batch in mixed(batches(lengths[known:], CPU_BATCH)):
                clock.now += 0.1
                advance(len(batch))
                if clock.now > started + 10:
                    said.append((clock.now, clock.now + (pace.total - pace.done) / (pace.speed or 1)))
            assert pace.done == 1024 * (chunk + 1), "every document is counted once"
        took = clock.now - started
        assert all(abs(end - clock.now) < 0.1 * took for _, end in said)

    def test_durations_never_reach_zero_before_the_end(self) -> None:
        assert duration(0.01) == "1 s"
        longest = [duration(seconds) for seconds in (89.5, 91, 599, 601, 5400, 86400)]
        assert longest == ["1 min 30 s", "1 min 40 s", "10 min", "11 min", "1 h 30 min", "24 h"]


def test_mixed_batches_are_the_same_batches() -> None:
    for count in itertools.chain(range(5), [100]):
        given = [[place] for place in range(count)]
        assert sorted(mixed(given)) == given
