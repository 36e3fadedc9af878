"""A separate environment for the other engines, which need another torch: created once, in ``build/engines``."""

import subprocess
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
HOME = HERE.parents[1] / "build" / "engines"
PEERS = HERE / "peers.txt"
TORCH = "2.11.0"


def peer_python() -> Path:
    """Create the environment if necessary, and return its interpreter."""
    python, marker = HOME / "bin" / "python", HOME / "torch"
    if marker.exists():
        return python
    venv.create(HOME, clear=True, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*install, "--requirement", str(PEERS)], check=True)
    install_without_cuda(python)
    marker.write_text("the build for CUDA, without its CUDA libraries")
    return python


def install_without_cuda(python: Path) -> None:
    """Unpack torch with stubs in place of its CUDA libraries.

    The package index has no CPU build of this version, and the CUDA build asks for gigabytes of libraries before it can
    be imported. What runs on a CPU is the same in both.
    """
    site = next((HOME / "lib").glob("python3*/site-packages"))
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        command = [str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run([*command, f"torch=={TORCH}"], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("torch-*.whl"))) as wheel:
            wanted = [name for name in wheel.namelist() if not name.startswith(tuple(f"torch/lib/{x}" for x in CUDA))]
            wheel.extractall(site, wanted)
    make_stand_ins(site / "torch" / "lib")


CUDA = ("libtorch_cuda", "libc10_cuda", "libtorch_nvshmem", "libcaffe2_nvrtc")
CPU = ("libc10.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so", "libshm.so")
STAND_INS = (
    "libtorch_cuda.so",
    "libc10_cuda.so",
    "libcudart.so.13",
    "libcupti.so.13",
    "libcudnn.so.9",
    "libcufile.so.0",
)


def make_stand_ins(folder: Path) -> None:
    """Compile stubs of the CUDA functions that torch links to; they return 0, so that no device is found."""
    standard = subprocess.run(["gcc", "-print-file-name=libstdc++.so.6"], capture_output=True, text=True, check=True)
    libraries = [folder / name for name in CPU]
    known = {
        name.partition("@")[0]
        for path in (*libraries, Path(standard.stdout.strip()))
        for name in _symbols(path, "--defined-only")
    }
    missing: dict[str, set[str]] = {name: set() for name in STAND_INS}
    for symbol in set().union(*(_symbols(path, "--undefined-only") for path in libraries)):
        name, _, version = symbol.partition("@")
        if version in missing:
            missing[version].add(name)
        elif not version and name not in known and name.startswith(("_Z", "cu")):
            missing["libtorch_cuda.so"].add(name)
    for library, names in missing.items():
        with tempfile.TemporaryDirectory() as temporary:
            source, versions = Path(temporary) / "stand_in.s", Path(temporary) / "versions"
            source.write_text(assembly(sorted(names)))
            versions.write_text(f"{library} {{ global: *; }};\n")
            command = ["g++", "-shared", "-nostartfiles", str(source), f"-Wl,-soname,{library}"]
            versioned = [] if library == "libtorch_cuda.so" else [f"-Wl,--version-script={versions}"]
            subprocess.run([*command, *versioned, "-o", str(folder / library)], check=True)


def assembly(names: Sequence[str]) -> str:
    """C definitions of symbols: opaque types, zeroed variables, functions that return 0."""
    types = [name for name in names if name.startswith("_ZTI")]
    zeros = [name for name in names if name.startswith("_ZTV") or name.endswith("9allocatorE")]
    written_to = [
        name for name in names if "get_gil_checker" in name
    ]  # returns a reference that torch writes to on import
    functions = [name for name in names if name not in {*types, *zeros, *written_to}]
    lines = [".text"]
    for some, body in ((functions, "xorl %eax, %eax\nret"), (written_to, "leaq somewhere(%rip), %rax\nret")):
        lines += [line for name in some for line in (f".globl {name}", f".type {name}, @function", f"{name}:")]
        lines.append(body)
    lines += [".data", ".balign 16", "somewhere: .zero 64"]
    for name in types:
        lines += [f".globl {name}", f".type {name}, @object", ".balign 16", f"{name}:"]
        lines += [".quad _ZTVN10__cxxabiv117__class_type_infoE+16, 1f", f'1: .asciz "{name[4:]}"']
    for name in zeros:
        lines += [f".globl {name}", f".type {name}, @object", ".balign 16", f"{name}: .zero 1024"]
    return "\n".join([*lines, '.section .note.GNU-stack, "", @progbits', ""])


def _symbols(library: Path, which: str) -> set[str]:
    done = subprocess.run(["nm", "-D", which, str(library)], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[-1] for line in lines if which == "--defined-only" or line[-2:-1] == ["U"]}
