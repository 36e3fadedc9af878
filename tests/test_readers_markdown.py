"""Markdown: the first heading is the title, and front matter says what it says."""

from typing import Any

import pytest

from chamfer import InputError
from chamfer.data.readers.markdown import markdown_parts
from chamfer.errors import InputWarning


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("# Learning C#\n\nIt is.", "Learning C#", "It is."),
        ("# Learning C# #\n\nIt is.", "Learning C#", "It is."),
        ("## Cats ##  \nsleep", "Cats", "sleep"),
        ("Cats\n---\nsleep", "Cats", "sleep"),
        ("<!-- # Old -->\n# Cats\nsleep", "Cats", "<!-- # Old -->\n# Cats\nsleep"),
        ("<!--\n# Old\n\nOlder\n===\n-->\n# Cats\nsleep", "Cats", "<!--\n# Old\n\nOlder\n===\n-->\n# Cats\nsleep"),
        ("```\n<!--\n```\n# Cats", "Cats", "```\n<!--\n```\n# Cats"),
        ("---\njust a line\n---\n\nsleep", "", "---\njust a line\n---\n\nsleep"),
        ("---\njust a line\n---\n# Cats\n", "Cats", "---\njust a line\n---\n# Cats"),
        ("\n---\ntitle: Cats\n---\n# Cats\nsleep", "Cats", "sleep"),
        ("---\nTITLE: Cats\n---\n# All cats\nsleep", "Cats", "# All cats\nsleep"),
        ("---\na: &x [1]\nb: *x\n---\nsleep", "", "---\na: &x [1]\nb: *x\n---\nsleep"),
        ("a\n+++\nb\n+++\n", "", "a\n+++\nb\n+++"),
    ],
)
def test_the_title_is_the_first_heading(text: str, title: str, rest: str) -> None:
    found = markdown_parts(text, "cats.md")
    assert (found.title, found.text) == (title, rest)


@pytest.mark.parametrize(
    ("line", "title", "metadata"),
    [
        ("title: No", "No", {}),
        ("title: 2024", "2024", {}),
        ("title: 1.10", "1.10", {}),
        ("title: 'Cats: a life'", "Cats: a life", {}),
        ("title: null", "", {}),
        ("country: NO", "", {"country": "NO"}),
        ("version: 1.10", "", {"version": "1.10"}),
        ("time: 12:30", "", {"time": "12:30"}),
        ("zip: 01067", "", {"zip": "01067"}),
        ("date: 2024-01-02", "", {"date": "2024-01-02"}),
        ("year: 2021", "", {"year": 2021}),
        ("year: '2021'", "", {"year": "2021"}),
        ("share: 0.5", "", {"share": 0.5}),
        ("draft: true", "", {"draft": True}),
        ("draft:", "", {}),
        ("tags: [pets, 7, on]", "", {"tags": ["pets", 7, "on"]}),
        ("by: {name: Ann, born: 1990}", "", {"by": {"name": "Ann", "born": 1990}}),
        ("2024: yes", "", {"2024": "yes"}),
        ("on: |\n  a\n  b\n", "", {"on": "a\nb\n"}),
    ],
)
def test_values_of_yaml_are_what_they_look_like(line: str, title: str, metadata: dict[str, Any]) -> None:
    assert markdown_parts(f"---\n{line}\n---\nsleep", "cats.md") == (title, "sleep", metadata)


def test_toml_is_front_matter_too() -> None:
    text = '+++\ntitle = "Cats"\ndate = 2024-01-02\ntags = ["pets"]\n\n[by]\nname = "Ann"\n+++\n\n# Cats\n\nsleep'
    metadata = {"date": "2024-01-02", "tags": ["pets"], "by": {"name": "Ann"}}
    assert markdown_parts(text, "cats.md") == ("Cats", "sleep", metadata)
    with pytest.raises(
        InputError, match=r"cats\.md: column 'n' holds a value of type float \(inf\), which metadata cann"
    ):
        markdown_parts("+++\nn = inf\n+++\nsleep", "cats.md")
    with pytest.warns(InputWarning, match=r"cats\.md: column 'n' holds bytes"):
        assert markdown_parts("---\nn: !!binary aGk=\n---\nsleep", "cats.md").metadata == {}
    with pytest.raises(InputError, match=r"cats\.md: front matter that is not TOML \(.*\); correct it"):
        markdown_parts("+++\ntitle: Cats\n+++\nsleep", "cats.md")
