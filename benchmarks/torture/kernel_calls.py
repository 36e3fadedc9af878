"""Fuzzed calls of the kernels, in a process that may die of them: ``python -m torture.kernel_calls SEED FIRST LAST``.

Every call is chosen by the seed and its number. A line says that it starts, and another one how it ended.
"""

import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from chamfer.errors import InputError
from chamfer.kernels import native
from torture.kernel_problems import PROBLEMS, Array, Problem

# Nobody interferes and the answer must be that of the reference; an argument is forged; other threads change arrays.
MODES = ("quiet", "forged", "changed")

# A call while threads change arrays is made this many times, because they must change one at the right moment.
AGAIN = 8

WHOLE_NUMBERS = (-1, 0, 1, 2, 7, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**70)
NUMBERS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e-45, 6e4, 1e9, 1.1e9, 3e38)
TYPES = (np.uint8, np.uint16, np.uint32, np.int32, np.int64, np.float16, np.float32, np.float64, np.bool_)


def main(seed: int, first: int, last: int) -> None:
    """Make the calls, and report each."""
    sys.setswitchinterval(1e-5)
    vandals = Vandals(seed)
    for number in range(first, last):
        mode = MODES[number % len(MODES)]
        generator = np.random.default_rng([seed, number])
        kernels = [*native.paths(), native.NUMPY]
        os.environ[native.VARIABLE] = kernel = kernels[number // len(MODES) % len(kernels)]
        name = list(PROBLEMS)[generator.integers(len(PROBLEMS))]
        sys.stdout.write(f"start {number} {name}, {kernel}, {mode}\n")
        sys.stdout.flush()
        try:
            outcome = attempt(PROBLEMS[name](generator, kernel), mode, generator, vandals)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            message = f"{type(error).__name__} in {where.name}: {error}".replace("\n", " ")[:200]
            outcome = f"raw {message}"
        sys.stdout.write(f"end {number} {outcome}\n")
        sys.stdout.flush()
    vandals.stop()


def attempt(problem: Problem, mode: str, generator: np.random.Generator, vandals: "Vandals") -> str:
    """Make one call: ``right``, ``refused`` or ``wrong``."""
    arguments = dict(problem.arguments)
    if mode == "forged" and problem.may_be_forged:
        for name in generator.choice(problem.may_be_forged, size=generator.choice([1, 1, 2])):
            arguments[name] = forged(generator, arguments[name])
    if mode == "changed":
        vandals.attack([arguments[name] for name in problem.may_change])
    try:
        for _ in range(AGAIN if mode == "changed" else 1):
            found = problem.call(**arguments)
    except InputError as error:
        return "refused" if mode != "quiet" else f"wrong a call that nobody disturbed was refused: {error}"
    finally:
        vandals.attack([])
    is_right = problem.fits(found, **arguments) if mode != "quiet" else problem.is_right(found)
    return "right" if is_right else f"wrong {'not the answer of the reference' if mode == 'quiet' else 'not finite'}"


def forged(generator: np.random.Generator, value: Any) -> Any:  # noqa: ANN401 -- an array or a number
    """Something in place of an argument: of another type, shape, layout or content."""
    if not isinstance(value, np.ndarray):
        return WHOLE_NUMBERS[generator.integers(len(WHOLE_NUMBERS))]
    ways: list[Callable[[], Array]] = [
        lambda: value.astype(TYPES[generator.integers(len(TYPES))]),
        lambda: value[: generator.integers(len(value) + 1)],
        lambda: np.concatenate([value, value]),
        lambda: value[..., None],
        lambda: value.reshape(-1),
        lambda: np.asfortranarray(value),
        lambda: np.repeat(value, 2, axis=0)[::2],
        lambda: value[::-1],
        lambda: value[..., :-1] if value.shape[-1:] > (0,) else value,
        lambda: value[:0],
        lambda: _read_only(value),
        *([lambda: _spoilt(generator, value)] * 8),
    ]
    with np.errstate(all="ignore"):
        return ways[generator.integers(len(ways))]()


def _read_only(value: Array) -> Array:
    value = value.copy()
    value.flags.writeable = False
    return value


def _spoilt(generator: np.random.Generator, value: Array) -> Array:
    """A copy with a few values that do not belong there."""
    value = value.copy()
    if value.size:
        places = generator.integers(value.size, size=generator.integers(1, 4))
        np.put(value, places, [_odd(generator, value.dtype) for _ in places])
    return value


def _odd(generator: np.random.Generator, kind: np.dtype[Any]) -> float:
    if kind.kind == "f":
        return NUMBERS[generator.integers(len(NUMBERS))]
    limits = np.iinfo(kind) if kind.kind in "iu" else None
    if limits is None:
        return bool(generator.integers(2))
    odd = (-1, 0, 1, 200, 70_000, 2**31, 2**40, limits.max, limits.min)[generator.integers(9)]
    return max(limits.min, min(limits.max, odd))


class Vandals:
    """Two threads that overwrite parts of some arrays as fast as they can."""

    def __init__(self, seed: int) -> None:
        self._targets: list[Array] = []
        self._over, self._go = False, threading.Event()
        self._threads = [threading.Thread(target=self._change, args=(seed, n), daemon=True) for n in range(2)]
        for thread in self._threads:
            thread.start()

    def attack(self, arrays: list[Array]) -> None:
        """Go for these arrays from now on; for none, leave them alone."""
        self._targets = [array for array in arrays if array.size and array.flags.writeable]
        if self._targets:
            self._go.set()
        else:
            self._go.clear()

    def stop(self) -> None:
        """End the threads."""
        self._over = True
        self._go.set()
        for thread in self._threads:
            thread.join()

    def _change(self, seed: int, number: int) -> None:
        generator = np.random.default_rng([seed, 1_000_000_007, number])
        while self._go.wait() and not self._over:
            targets = self._targets
            if not targets:
                continue
            target = targets[generator.integers(len(targets))].reshape(-1)
            some: npt.NDArray[Any] = target[generator.integers(2) :: generator.integers(1, 4)]
            before = some.copy()
            with np.errstate(all="ignore"):
                some[...] = _odd(generator, target.dtype)
            some[...] = before


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
