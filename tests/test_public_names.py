"""What ``import chamfer`` offers."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import chamfer

# In a process of its own: imports every module of the package, then compares each public name with its definition.
IMPORT_EVERYTHING = """
import chamfer, importlib, pkgutil, sys
for module in pkgutil.walk_packages(chamfer.__path__, "chamfer."):
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        if "chamfer" in str(error.name):
            raise
for name, home in chamfer._HOME.items():
    assert getattr(chamfer, name) is getattr(sys.modules["chamfer." + home], name), name
assert "chamfer.explain.words" in sys.modules and callable(chamfer.explain)
"""


def test_the_names_stand_in_the_order_in_which_data_flows() -> None:
    assert list(chamfer._HOME) == chamfer.__all__
    assert " ".join(chamfer.__all__) == (
        "InputError Document Collection load_collection TokenBatch Vocabulary Encoder DocumentFrequencies "
        "count_frequencies TokenWeights Mix Adapter Ranking rerank Index build_index BuildReport Searcher Hit Hits "
        "Explanation explain Evaluation evaluate Learnt learn Client AsyncClient"
    )


def test_every_public_name_can_be_imported() -> None:
    assert all(getattr(chamfer, name).__name__ == name for name in chamfer.__all__)
    assert set(chamfer.__all__) < set(dir(chamfer))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        chamfer.nothing  # noqa: B018


@pytest.mark.long
def test_a_subpackage_never_replaces_a_public_name() -> None:
    subprocess.run([sys.executable, "-c", IMPORT_EVERYTHING], check=True)


def test_importing_chamfer_imports_no_torch() -> None:
    code = "import sys, chamfer; chamfer.TokenWeights; assert not {'torch', 'sentence_transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def is_internal(function: Callable[..., object]) -> bool:
    """Whether a function is for other rooms only, and therefore not in the reference."""
    return (function.__doc__ or "").startswith("Internal:")


def documented(thing: Any) -> list[Any]:
    """A function; or a class and its public methods, without those that are for other rooms."""
    if not inspect.isclass(thing):
        return [thing]
    members = (getattr(member, "__func__", member) for key, member in vars(thing).items() if not key.startswith("_"))
    return [thing, *(one for one in members if inspect.isfunction(one) and not is_internal(one))]


@pytest.mark.parametrize("name", chamfer.__all__)
def test_docstrings_describe_every_parameter(name: str) -> None:
    thing = getattr(chamfer, name)
    for one in documented(thing):
        text = inspect.getdoc(one)
        assert text, f"{one.__qualname__} has no docstring"
        of_class = inspect.isclass(one)
        if of_class and (issubclass(one, tuple | Exception) or is_internal(one.__init__)):
            continue  # fields of a named tuple have docstrings of their own
        if text.startswith("See :meth:`chamfer."):
            of, method = text.split("`")[1].split(".")[1:]
            same = getattr(getattr(chamfer, of), method)
            assert inspect.signature(one) == inspect.signature(same), f"{one.__qualname__} is not like {of}.{method}"
            continue
        parameters = {*inspect.signature(one).parameters} - {"self", "cls"}
        if len(parameters) == 1 and one is not thing:
            continue  # a method of one argument says in its first line what it is
        missing = parameters - set(re.findall(r"^ {4}(\w+):", text.partition("Args:")[2], re.MULTILINE))
        assert not missing, f"{one.__qualname__} does not describe {sorted(missing)}"


@pytest.mark.parametrize("name", chamfer.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    assert any(">>> " in (one.__doc__ or "") for one in documented(getattr(chamfer, name)))


ROLE = re.compile(r":\w+:`~?chamfer\.(\w+)[\w.]*`")


@pytest.mark.parametrize("name", chamfer.__all__)
def test_public_docstrings_refer_to_public_names_only(name: str) -> None:
    for one in documented(getattr(chamfer, name)):
        assert set(ROLE.findall(one.__doc__ or "")) <= set(chamfer.__all__), one.__qualname__
