"""A short version of the campaign against the server; ``make torture`` runs all of it."""

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_hostile_clients_do_the_server_and_a_good_client_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    attack = import_module("torture.server")
    tally = attack.run(attack.ATTACK.quick, seed=0, folder=tmp_path, seconds=3)
    assert tally.failures == []
    assert tally.attempts > 0
    assert tally.facts["requests of the good client"] > 0
