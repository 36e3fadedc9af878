"""Calling a function in a forked child."""

import multiprocessing
from collections.abc import Callable
from typing import Any

SECONDS = 20
"""A child that takes longer waits for ever."""


def in_child(function: Callable[[], Any]) -> Any:
    """The result of a function in a forked child, or its exception as a sentence; a child that hangs is an error."""
    context = multiprocessing.get_context("fork")
    ours, its = context.Pipe()

    def run() -> None:
        try:
            its.send(function())
        except BaseException as error:
            its.send(f"{type(error).__name__}: {error}")

    child = context.Process(target=run)
    child.start()
    try:
        assert ours.poll(SECONDS), "the child hangs"
        return ours.recv()
    finally:
        child.kill()
        child.join()
