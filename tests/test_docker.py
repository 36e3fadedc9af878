"""The image: what hadolint does not look at. Nothing is pulled or built here."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main
import yaml

pytest.importorskip("fastapi", reason="the extra chamfer[serve] is not installed")

from chamfer import Encoder, Searcher, build_index
from chamfer.cli.app import app
from chamfer.serve.app import create_app
from chamfer.serve.limits import Limits
from tests.conftest import DOCUMENTS
from tests.threaded_server import serving

ROOT = Path(__file__).parents[1]
INSTRUCTIONS = [
    line.split(maxsplit=1)
    for line in re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text()).splitlines()
    if line and not line.startswith("#")
]
LAST_STAGE = INSTRUCTIONS[max(at for at, (name, _) in enumerate(INSTRUCTIONS) if name == "FROM") :]


def last(name: str) -> str:
    return [value for instruction, value in LAST_STAGE if instruction == name][-1]


def test_the_server_is_no_root_and_its_base_has_a_version() -> None:
    assert int(last("USER")) >= 10_000
    bases = [value.split()[0] for name, value in INSTRUCTIONS if name == "FROM"]
    assert all(re.fullmatch(r"python:3\.\d+-slim-\w+", base) for base in bases)


def test_everything_is_installed_with_the_versions_that_were_tested() -> None:
    installs = [value for name, value in INSTRUCTIONS if name == "RUN" and "pip install" in value]
    assert all("--constraint constraints.txt" in one and "--no-cache-dir" in one for one in installs)
    assert "https://download.pytorch.org/whl/cpu torch" in installs[0], "before anything brings the build for CUDA"


def test_what_is_copied_gets_into_the_context() -> None:
    copied = [value.split()[:-1] for name, value in INSTRUCTIONS if name == "COPY" and not value.startswith("--from")]
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
    assert {path for paths in copied for path in paths} == sent
    assert all((ROOT / path).exists() for path in sent)


def test_the_command_is_one_of_chamfer() -> None:
    words = [*json.loads(last("ENTRYPOINT")), *json.loads(last("CMD"))]
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    assert words[:2] == ["chamfer", "serve"]
    parsed = command.make_context("serve", words[2:], resilient_parsing=True).params
    assert (parsed["host"], parsed["port"], str(parsed["folder"])) == ("0.0.0.0", int(last("EXPOSE")), "/index")


def test_the_compiled_model_is_in_the_image_and_outlives_a_container() -> None:
    environment = dict(word.split("=", 1) for word in last("ENV").split())
    cache = environment["XDG_CACHE_HOME"]
    [service] = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].values()
    assert cache in {volume.split(":")[1] for volume in service["volumes"]}
    assert not any(cache.startswith(temporary) for temporary in service["tmpfs"])
    names = [name for name, _ in LAST_STAGE]
    made = [place for place, (name, value) in enumerate(LAST_STAGE) if name == "RUN" and "Encoder.load" in value]
    assert made
    assert made[0] > names.index("USER"), "the user must be able to replace it"
    assert f"{cache}/chamfer/models" in LAST_STAGE[made[0]][1]
    owned = next(value for name, value in LAST_STAGE if name == "RUN" and "--owner=chamfer" in value)
    assert cache in owned.split()


def test_the_command_that_compiles_the_model_does_so(tmp_path: Path) -> None:
    pytest.importorskip("openvino", reason="the extra chamfer[openvino] is not installed")
    [code] = [found[1] for _, value in LAST_STAGE if (found := re.search(r'python -c "(.*?)"', value))]
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)})
    assert len(list((tmp_path / "chamfer" / "models").iterdir())) == 1


def test_every_format_of_documents_can_be_read() -> None:
    [extras] = [found[1].split(",") for _, value in INSTRUCTIONS if (found := re.search(r"'\.\[(.*)\]'", value))]
    assert {"html", "parquet", "pdf"} <= set(extras)


def test_the_healthcheck_asks_the_server(encoder: Encoder, tmp_path: Path) -> None:
    build_index(tmp_path / "index", DOCUMENTS, encoder)
    _, code = json.loads(last("HEALTHCHECK").partition(" CMD ")[2])[1:]
    assert f":{last('EXPOSE')}/" in code
    with serving(create_app(Searcher.open(tmp_path / "index", encoder=encoder)), Limits()) as server:
        here = code.replace(f":{last('EXPOSE')}/", f":{server.port}/")
        assert subprocess.run([sys.executable, "-c", here], check=False).returncode == 0
    assert subprocess.run([sys.executable, "-c", here], check=False, stderr=subprocess.DEVNULL).returncode == 1
