"""Work in a forked child, whose threads, memory and crashes stay its own."""

import json
import os
import select
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


class ChildError(Exception):
    """The child raised an exception, died or hung; ``kind`` says what that counts as."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(what)
        self.kind = kind


def in_child(work: Callable[[], Any], *, seconds: float = 60) -> Any:  # noqa: ANN401 -- JSON
    """Call ``work`` in a child and return its result, which must be JSON."""
    reading, telling = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            try:
                answer = {"result": work()}
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                answer = {"error": f"{type(error).__name__}: {error} ({Path(last.filename).name})"}
            with os.fdopen(telling, "w") as pipe:
                json.dump(answer, pipe)
        finally:
            os._exit(0)
    os.close(telling)
    told = b""
    while select.select([reading], [], [], seconds)[0]:
        more = os.read(reading, 1 << 16)
        if not more:
            break
        told += more
    else:
        os.kill(child, signal.SIGKILL)
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if not told:
        raise ChildError("crashes", f"a process ended with status {os.waitstatus_to_exitcode(status)}, or hung")
    answer = json.loads(told)
    if "error" in answer:
        raise ChildError("raw", answer["error"])
    return answer["result"]
