"""Examples in README and docs run and print what the page says, links resolve, and generated pages are complete."""

import inspect
import json
import re
import shlex
import shutil
import sys
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from textwrap import dedent
from typing import Any

import griffe
import pytest
import typer.main

import chamfer
from chamfer.learn import adapter

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTEBOOK = ROOT / "docs" / "tutorial" / "notebook.md"
RECIPE = ROOT / "docs" / "guides" / "rag.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", re.DOTALL)
EXAMPLES = [
    pytest.param(code, printed, id=f"{page.relative_to(ROOT)}:{place}")
    for page in PAGES
    if page not in (NOTEBOOK, RECIPE)
    for place, (code, printed) in enumerate(EXAMPLE.findall(page.read_text()))
]

# Every example is run without loading the model again, which takes seconds.
LOAD_ONCE = cache(chamfer.Encoder.load)

sys.path.insert(0, str(ROOT / "docs"))
import docstrings  # noqa: E402 -- the extensions of the docs site are no package
import generated  # noqa: E402


@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_an_example_prints_what_it_says(
    code: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(chamfer.Encoder, "load", LOAD_ONCE)
    shown = StringIO()
    with redirect_stdout(shown):
        exec(compile(code, "example", "exec"), {})
    assert shown.getvalue() == printed


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "\n".join(code for code, _ in EXAMPLE.findall(NOTEBOOK.read_text()))
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 40
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    assert imports == ["import chamfer", "import matplotlib.pyplot as plt"]

    _write_collection(tmp_path / "scifact")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(chamfer.Encoder, "load", LOAD_ONCE)
    monkeypatch.setattr(adapter, "STEPS", 10)  # 150 take long, and no number is checked
    shown = StringIO()
    with redirect_stdout(shown):
        exec(compile(code, "notebook", "exec"), {})
    assert "24 documents, 24 queries" in shown.getvalue()
    assert (tmp_path / "quality.svg").exists()


def test_the_recipe_runs_on_the_handbook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of its blocks continues the one before."""
    shutil.copytree(ROOT / "tests" / "handbook", tmp_path / "handbook")
    (tmp_path / "handbook" / "judged.csv").rename(tmp_path / "judged.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(chamfer.Encoder, "load", LOAD_ONCE)
    names: dict[str, object] = {}
    for code, printed in EXAMPLE.findall(RECIPE.read_text()):
        exec(compile(code, "recipe", "exec"), names)
        assert capsys.readouterr().out == printed


def test_sections_of_the_recipe_lose_no_text(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    defined, _, _ = EXAMPLE.findall(RECIPE.read_text())[0][0].partition('build_index("')
    exec(compile(defined, "sections", "exec"), names)
    for name, content in {
        "a.md": "Before.\n\n# Cats\n\nIntroduction: cats, café.\n\n## Food ##\n\nFish.\n\n### Dry\n\nToo.\n\n"
        "## Food\n\nMice.\n",
        "b/a.md": "## Food\n```sh\n## not a heading\n```\nRice.\n## Empty\n",
        "c.md": "Only text, about C#.\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    found = {one.id: (one.title, one.text) for one in names["sections"](tmp_path)}
    assert found == {
        "a.md#": ("", "Before."),
        "a.md#Cats": ("Cats", "Introduction: cats, café."),
        "a.md#Food": ("Food", "Fish.\n\n### Dry\n\nToo."),
        "a.md#Food (2)": ("Food", "Mice."),
        "b/a.md#Food": ("Food", "```sh\n## not a heading\n```\nRice."),
        "c.md#": ("", "Only text, about C#."),
    }


def _write_collection(folder: Path) -> None:
    """A judged collection in the BEIR layout, small enough to encode in a moment."""
    animals = ["otter", "raven", "camel", "salmon", "badger", "falcon", "turtle", "wolf", "bee", "owl", "seal", "crab"]
    places = ["rivers", "cliffs", "deserts", "oceans", "woods", "towers", "beaches", "mountains"]
    topics = [(animal, places[at % len(places)], kind) for at, animal in enumerate(animals) for kind in ("live", "eat")]
    (folder / "qrels").mkdir(parents=True)
    with (folder / "corpus.jsonl").open("w") as corpus, (folder / "queries.jsonl").open("w") as queries:
        for at, (animal, place, kind) in enumerate(topics):
            corpus.write(
                json.dumps({"_id": f"d{at}", "text": f"The {animal} and how it can {kind} near {place}."}) + "\n"
            )
            queries.write(json.dumps({"_id": f"q{at}", "text": f"where does the {animal} {kind}"}) + "\n")
    for split, chosen in (("train", range(16)), ("test", range(16, 24))):
        rows = "".join(f"q{at}\td{at}\t1\n" for at in chosen)
        (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows)


# An indented block, and what it prints, if the page says so.
SESSION = re.compile(r"((?:^    [^\n]*\n)+)(?:\n```\n(.*?)```)?", re.MULTILINE | re.DOTALL)
HERE_DOCUMENT = re.compile(r"^cat > (\S+) <<'END'\n(.*?)^END\n", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page", ["README.md", "docs/tutorial/index.md", "docs/guides/evaluation.md", "docs/guides/documents.md"]
)
def test_what_a_terminal_is_told_works_as_it_stands(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All blocks that write their own corpus, and those after them that use it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(chamfer.Encoder, "load", LOAD_ONCE)
    ran = 0
    for block, printed in SESSION.findall((ROOT / page).read_text()):
        block = dedent(block)
        for name, content in HERE_DOCUMENT.findall(block):
            Path(name).write_text(content)
        needs_faq = "faq" in block and not Path("faq.csv").exists()  # README's are typed in test_own_files.py
        if not list(tmp_path.iterdir()) or "scifact" in block or needs_faq:
            continue
        for line in re.findall(r"^chamfer (?!serve)(.*)$", HERE_DOCUMENT.sub("", block), re.MULTILINE):
            words, _, read = line.partition(" < ")
            monkeypatch.setattr(sys, "argv", ["chamfer", *shlex.split(words, comments=True)])
            monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(Path(read).read_bytes() if read else b"")))
            with pytest.raises(SystemExit) as left:
                import_module("chamfer.cli.app").main()
            shown = capsys.readouterr()
            assert not left.value.code, shown.err
            assert _rounded(printed) in _rounded(shown.out)
            ran += 1
    assert ran


def _rounded(text: str) -> str:
    """Scores differ in their last digits between CPUs."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}", text)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize(
    "page", sorted({*PAGES, *ROOT.glob("[A-Z]*.md")}), ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_that_are_named_exist(page: str) -> None:
    for named in re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py|\.md)?)`", (ROOT / page).read_text()):
        if named.startswith("build/"):  # made by a command
            continue
        assert any((root / named).exists() for root in (ROOT, ROOT / "src", ROOT / "src" / "chamfer")), named


# Options of other programs.
FOREIGN = {"--address", "--data-binary", "--rm"}


def test_options_that_are_named_exist() -> None:
    known = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", "\n".join(generated.command_line()))) | FOREIGN
    for page in PAGES:
        prose = re.sub(r"```python.*?```", "", page.read_text(), flags=re.DOTALL)
        named = set(re.findall(r"(?<![\w!<-])--[a-z][a-z-]+", prose))
        assert named <= known, f"{page.relative_to(ROOT)}: {sorted(named - known)}"


COMMANDS = sorted(
    {
        line
        for page in PAGES
        for line in re.findall(r"^    (?:.*\| |[A-Z_]+=\S+ )?chamfer (.+)$", page.read_text(), re.MULTILINE)
        if not line.startswith(("[", "COMMAND"))
    }
)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_line_has_only_options_of_its_command(line: str) -> None:
    command, words = typer.main.get_command(import_module("chamfer.cli.app").app), shlex.split(line, comments=True)
    while True:
        context = command.make_context("chamfer", [], resilient_parsing=True)
        _, words, _ = command.make_parser(context).parse_args(words)
        if not hasattr(command, "commands"):
            break
        command = command.commands[words.pop(0)]


def test_the_reference_holds_every_public_name_command_and_endpoint() -> None:
    api = "\n".join(generated.python_api())
    got = ("System", "Comparison", "Match", "Word", "Difference", "LearningReport", "HeldOut", "LeftOut", "Tokenized")
    errors = ("DamagedError", "InputWarning", "ServerError", "UnknownNameError", "WorkerError")
    for name in (*chamfer.__all__, *got, *errors):
        assert re.search(rf"^::: chamfer\.\S+\.{name}$", api, re.MULTILINE), name
    commands = "\n".join(generated.command_line())
    assert all(f"## `chamfer {name}`" in commands for name in ("search", "index build", "weights convert", "serve"))
    endpoints = "\n".join(generated.http_api())
    assert all(f"## `{name}`" in endpoints for name in ("POST /search", "PUT /weights/file", "GET /health"))


def test_a_public_function_takes_types_that_a_user_can_have() -> None:
    known = [*(getattr(chamfer, name) for name in chamfer.__all__), *generated.types_you_get()]
    for name in chamfer.__all__:
        thing = getattr(chamfer, name)
        members = [getattr(one, "__func__", one) for one in vars(thing).values()] if inspect.isclass(thing) else [thing]
        for function in filter(inspect.isfunction, members):
            hidden = re.match("_[^_]", function.__name__) or generated.is_internal(function)
            taken = generated.classes_in([*function.__annotations__.values()])
            assert hidden or not set(taken) - set(known), function.__qualname__


def test_what_other_rooms_need_is_not_in_the_reference() -> None:
    package = griffe.load("chamfer", search_paths=[ROOT / "src"], extensions=griffe.Extensions(docstrings.Docstrings()))
    searcher = package["search.searcher.Searcher"]
    assert "search" in searcher.members
    assert not {"rank", "explain_places", "__init__"} & set(searcher.members)


def test_docstrings_become_markdown() -> None:
    assert docstrings.linked("a :class:`chamfer.Ranking`") == "a [`Ranking`][chamfer.data.ranking.Ranking]"
    assert docstrings.linked("a :class:`chamfer.index.rows.Rows`") == "a `chamfer.index.rows.Rows`"
    assert docstrings.fenced("Add.\n\n>>> 1 + 1\n2\n\nMore.") == "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
