"""First stages are found by their files."""

import subprocess
import sys
from pathlib import Path

import pytest

from chamfer import InputError, retrieve
from chamfer.index.snapshot import Snapshot
from chamfer.retrieve.stages import AUTO, EXACT, LARGE, check_stage, choices, depth_of, open_stage, stage_names

NEW = '''
"""A stage that finds nothing."""

from chamfer.retrieve.stage import Stage

class Nothing:
    def find(self, queries, depth, allowed):
        return []

STAGE = Stage(lambda index: Nothing(), depth=7)
'''


def test_a_file_that_is_dropped_into_the_room_is_a_first_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="not 'nothing'"):
        check_stage("nothing")
    (tmp_path / "nothing.py").write_text(NEW)
    (tmp_path / "other.py").write_text('"""Not a stage."""\n')
    monkeypatch.setattr(retrieve, "__path__", [*retrieve.__path__, str(tmp_path)])
    assert "nothing" in stage_names()
    assert "other" not in stage_names()
    assert "muvera, nothing, or several" in choices()
    check_stage("nothing")
    check_stage("bm25+nothing")
    assert depth_of("nothing") == 7
    index: Snapshot = None  # type: ignore[assignment]
    assert open_stage("nothing", index).find(None, 1, None) == []  # type: ignore[arg-type]
    del sys.modules["chamfer.retrieve.nothing"]
    with pytest.raises(InputError, match="not 'other'"):
        check_stage("other")


def test_the_stages_that_auto_chooses_from_are_there() -> None:
    assert {EXACT, LARGE} < set(stage_names())
    assert AUTO not in stage_names()


@pytest.mark.parametrize("name", ["bm25+bm25", "auto+bm25", "bm25+", "", "fusion", "stages"])
def test_what_is_no_first_stage_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"first stages are auto, bm25, .*, or several joined by \+"):
        check_stage(name)


def test_help_lists_the_stages_and_loads_none_of_them() -> None:
    code = (
        "import sys; from chamfer.cli.options import FirstStage; "
        "print(FirstStage.__metadata__[0].help); assert not {'faiss', 'bm25s', 'torch'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in done.stdout for name in (AUTO, *stage_names()))


def test_centroids_need_fewer_candidates() -> None:
    assert depth_of("centroids") < depth_of("dense") == depth_of("bm25+centroids")
