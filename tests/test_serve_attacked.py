"""Short versions of the campaign's attacks on servers; ``make torture`` runs all of them."""

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_hostile_clients_do_the_server_and_a_good_client_no_harm(tmp_path: Path) -> None:
    attack = import_module("torture.server")
    tally = attack.run(attack.ATTACK.quick, seed=0, folder=tmp_path, seconds=8)
    assert tally.failures == []
    assert tally.attempts > 0
    assert tally.facts["attacked requests of the good client"] > 0
    assert tally.facts["held until the server closed them"] > 10
    assert "too few to judge its p99" in tally.incomplete[0], "a short attack never counts as passed"


def test_two_servers_follow_an_index_that_changes_and_is_built_again(tmp_path: Path) -> None:
    attack = import_module("torture.servers")
    tally = attack.run(attack.ATTACK.quick, seed=0, folder=tmp_path, seconds=60)
    assert tally.failures == []
    assert tally.attempts == attack.ATTACK.quick
