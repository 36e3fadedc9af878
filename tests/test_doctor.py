"""Findings in checkpoints that are broken on purpose."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.numpy import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from typer.testing import CliRunner

from chamfer.cli.app import app
from chamfer.encode.doctor import Diagnosis, diagnose
from tests import checkpoints


def levels(diagnosis: Diagnosis) -> dict[str, str]:
    return {finding.what: finding.level for finding in diagnosis.findings}


def remove_parameters(folder: Path, named: str) -> None:
    path = folder / "model.safetensors"
    before = load_file(path)
    kept = {name: value for name, value in before.items() if named not in name}
    assert len(kept) < len(before)
    save_file(kept, path, metadata={"format": "pt"})


def change_metadata(folder: Path, **settings: Any) -> None:
    path = folder / "artifact.metadata"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


def test_a_stanford_checkpoint_follows_its_own_recipe(tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path)
    diagnosis = diagnose(str(tmp_path))
    # The tiny checkpoint differs in its sizes.
    assert [what for what, level in levels(diagnosis).items() if level != "fine"] == ["projection", "lengths"]
    assert diagnosis.healthy
    facts = diagnosis.facts
    assert (facts["kind"], facts["dimensions"], facts["projection"]) == ("late interaction", 8, "16 to 8")
    assert (facts["query_marker"], facts["document_marker"]) == ("[unused0]", "[unused1]")
    assert facts["queries_are_filled"] == "to 12 tokens, not attended to"
    assert facts["skip_list"] == len(checkpoints.PUNCTUATION)


@pytest.mark.parametrize("make", [checkpoints.make_pylate, checkpoints.make_plain])
def test_other_checkpoints_are_healthy_and_differ_where_they_do(make: Callable[[Path], object], tmp_path: Path) -> None:
    make(tmp_path)
    diagnosis = diagnose(str(tmp_path))
    assert diagnosis.healthy
    differs = {"markers", "masks", "skip list"} if make is checkpoints.make_plain else set()
    found = {what for what, level in levels(diagnosis).items() if level == "differs"}
    assert found == {"projection", "lengths", *differs}


def test_a_missing_projection_is_found(tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path)
    remove_parameters(tmp_path, "linear.weight")
    diagnosis = diagnose(str(tmp_path))
    assert [finding.says for finding in diagnosis.findings] == ["the checkpoint has no linear.weight"]
    assert not diagnosis.healthy


def test_parameters_that_are_random_are_found(tmp_path: Path) -> None:
    checkpoints.make_plain(tmp_path)
    remove_parameters(tmp_path, "layer.1.output.dense.weight")
    diagnosis = diagnose(str(tmp_path))
    assert levels(diagnosis)["parameters"] == "wrong"
    assert any("differ from load to load" in finding.says for finding in diagnosis.findings)


def test_attended_masks_are_found(tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path)
    change_metadata(tmp_path, attend_to_mask_tokens=True)
    diagnosis = diagnose(str(tmp_path))
    assert levels(diagnosis)["masks"] == "wrong"
    assert any("words attend to [MASK]" in finding.says for finding in diagnosis.findings)


def test_a_marker_that_is_no_token_is_found(tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path)
    change_metadata(tmp_path, query_token_id="[Quest]")
    diagnosis = diagnose(str(tmp_path))
    assert levels(diagnosis)["markers"] == "wrong"
    assert any("the query marker '[Quest]' is" in finding.says for finding in diagnosis.findings)


def test_untrained_parameters_are_reported(tmp_path: Path) -> None:
    checkpoints.make_plain(tmp_path)
    remove_parameters(tmp_path, "layer.1.output.LayerNorm")
    diagnosis = diagnose(str(tmp_path))
    assert levels(diagnosis)["parameters"] == "differs"
    assert any("layer.1.output.LayerNorm" in finding.says for finding in diagnosis.findings)


def test_equal_or_missing_markers_are_found(tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path)
    change_metadata(tmp_path, doc_token_id="[unused0]")
    diagnosis = diagnose(str(tmp_path))
    assert any("have the same marker, '[unused0]'" in finding.says for finding in diagnosis.findings)
    assert not diagnosis.healthy


def test_vectors_that_are_not_normalised_are_found(tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path / "whole")
    MultiVectorEncoder(str(tmp_path / "whole"), device="cpu").save_pretrained(str(tmp_path / "saved"))
    path = tmp_path / "saved" / "modules.json"
    modules = json.loads(path.read_text())
    path.write_text(json.dumps([module for module in modules if "Normalize" not in module["type"]]))
    assert levels(diagnose(str(tmp_path / "saved")))["unit vectors"] == "wrong"


def test_padding_that_is_scored_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints.make_plain(tmp_path)
    preprocess = MultiVectorEncoder.preprocess

    def all_attended(self: MultiVectorEncoder, *arguments: Any, **named: Any) -> Any:
        features = preprocess(self, *arguments, **named)
        features["attention_mask"] = torch.ones_like(features["attention_mask"])
        return features

    monkeypatch.setattr(MultiVectorEncoder, "preprocess", all_attended)
    assert levels(diagnose(str(tmp_path)))["padding"] == "wrong"


def test_the_command_prints_text_or_json(tmp_path: Path) -> None:
    checkpoints.make_stanford(tmp_path)
    answer = CliRunner().invoke(app, ["doctor", str(tmp_path)])
    assert answer.exit_code == 0
    assert "ok    masks: queries are filled to 12 tokens" in answer.stdout
    change_metadata(tmp_path, attend_to_mask_tokens=True)
    answer = CliRunner().invoke(app, ["doctor", str(tmp_path), "--json"])
    assert answer.exit_code == 1
    assert json.loads(answer.stdout)["healthy"] is False


def test_a_tokenizer_without_its_words_is_a_mistake(tmp_path: Path) -> None:
    checkpoints.make_plain(tmp_path)
    assert levels(diagnose(str(tmp_path)))["tokenizer"] == "fine"
    for path in [*tmp_path.glob("tokenizer*"), *tmp_path.glob("vocab*")]:
        path.unlink()
    diagnosis = diagnose(str(tmp_path))
    assert levels(diagnosis)["tokenizer"] == "wrong"
    assert not diagnosis.healthy


def test_parameters_that_are_no_numbers_are_a_mistake(tmp_path: Path) -> None:
    checkpoints.make_plain(tmp_path)
    path = tmp_path / "model.safetensors"
    parameters = load_file(path)
    name = next(name for name in parameters if name.endswith("word_embeddings.weight"))
    parameters[name] = parameters[name] * float("nan")
    save_file(parameters, path, metadata={"format": "pt"})
    assert levels(diagnose(str(tmp_path)))["vectors"] == "wrong"
