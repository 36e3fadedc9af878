"""What unrelated texts score, estimated beside the searches that want to know it."""

import logging
from concurrent.futures import ThreadPoolExecutor

from chamfer.errors import DamagedError
from chamfer.serve.backend import LostError, Reader
from chamfer.weights.token_weights import TokenWeights


class Estimates:
    """Estimates in a thread of their own, one after another, so that no search waits a second or two for one."""

    def __init__(self) -> None:
        self._begun: set[tuple[int, str | int]] = set()
        self._thread: ThreadPoolExecutor | None = None

    def level(self, reader: Reader, weights: str | TokenWeights) -> float | None:
        """What unrelated texts score, if that is known; otherwise None, and later searches may know it.

        Args:
            reader: the commit.
            weights: the weights of the queries.
        """
        if reader.knows_unrelated_score(weights):
            return reader.unrelated_score(weights)
        asked = id(reader), weights if isinstance(weights, str) else id(weights)  # neither is freed before it is done
        if asked not in self._begun:
            self._begun.add(asked)
            self._thread = self._thread or ThreadPoolExecutor(1, "serve-estimate")
            self._thread.submit(self._estimate, asked, reader, weights)
        return None

    def _estimate(self, asked: tuple[int, str | int], reader: Reader, weights: str | TokenWeights) -> None:
        try:
            reader.unrelated_score(weights)
        except (LostError, DamagedError):  # searches say so
            pass
        except Exception:
            logging.getLogger("chamfer").warning("cannot estimate what unrelated texts score", exc_info=True)
        finally:
            self._begun.discard(asked)

    def close(self) -> None:
        """Finish the running estimate, and drop the others."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=True, cancel_futures=True)
        self._begun.clear()
