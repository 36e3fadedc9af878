"""What ``import chamfer`` offers."""

import inspect
import re
import subprocess
import sys

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


def test_there_are_twenty_four_names_in_the_order_in_which_data_flows() -> None:
    assert list(chamfer._HOME) == chamfer.__all__
    assert " ".join(chamfer.__all__) == (
        "InputError Document Collection load_collection TokenBatch Vocabulary Encoder DocumentFrequencies "
        "count_frequencies TokenWeights Ranking rerank Index build_index BuildReport Searcher Hit Hits Explanation "
        "explain Evaluation evaluate Learnt learn"
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


@pytest.mark.parametrize("name", chamfer.__all__)
def test_docstrings_name_every_parameter_that_they_should(name: str) -> None:
    thing = getattr(chamfer, name)
    assert inspect.getdoc(thing), f"{name} has no docstring"
    members = [member for key, member in vars(thing).items() if not key.startswith("_")]
    for one in members if inspect.isclass(thing) else [thing]:
        function = getattr(one, "__func__", one)
        if inspect.isfunction(function):
            text = inspect.getdoc(function)
            assert text, f"{function.__qualname__} has no docstring"
            _, args, described = text.partition("Args:")
            missing = (
                {*inspect.signature(function).parameters} - {"self", "cls"} - set(re.findall(r"(\w+):", described))
            )
            assert not args or not missing, f"{function.__qualname__} does not describe {sorted(missing)}"
