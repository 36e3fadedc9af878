"""Encoding in a forked child, which has none of its parent's threads. Torch encodes with one; others cannot."""

import os
import sys

from chamfer.errors import InputError


class Process:
    """The process that something was made in, and that alone can use it: OpenVINO and GPUs do not survive a fork."""

    def __init__(self) -> None:
        self._number = os.getpid()

    @property
    def is_current(self) -> bool:
        """Whether this is the process."""
        return os.getpid() == self._number

    def check(self, what: str) -> None:
        """Refuse to go on in a forked child, where it would wait forever.

        Args:
            what: what was made, for the error.
        """
        if not self.is_current:
            raise InputError(
                f"{what} was loaded before this process was forked, and its threads do not survive that; start "
                "processes with multiprocessing's 'spawn' method, or load it after the fork only"
            )


def _limit_torch() -> None:
    """Limit torch to one thread, as in the workers of its data loader; it would wait for the others forever."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


os.register_at_fork(after_in_child=_limit_torch)
