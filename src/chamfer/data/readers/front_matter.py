"""The front matter of a Markdown file: YAML between ``---``, or TOML between ``+++``."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from chamfer.data.cell_types import typed_alone
from chamfer.data.plain import Cells
from chamfer.errors import InputError, first_line

YAML = re.compile(r"\s*^---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
TOML = re.compile(r"\s*^\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
NULLS = ("", "~", "null", "Null", "NULL")


class FrontMatter(NamedTuple):
    """What is before the text of a file."""

    end: int = 0
    """Where it ends."""
    read: bool = False
    """Whether it could be read; lines between rules that are not front matter are text."""
    title: str = ""
    metadata: Mapping[str, Any] = {}


class _Unquoted(str):
    """A value without quotes, which may be a number or a boolean."""

    __slots__ = ()


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML without its own types: those of YAML 1.1 make False of NO, 750 of 12:30 and 1.1 of 1.10."""

    yaml_implicit_resolvers: Mapping[str, Any] = {}

    def construct_text(self, node: yaml.ScalarNode) -> str:
        """A value, which is remembered to have no quotes."""
        text = str(self.construct_scalar(node))
        return text if node.style else _Unquoted(text)


_Loader.add_constructor("tag:yaml.org,2002:str", _Loader.construct_text)


def front_matter(text: str, where: str) -> FrontMatter:
    r"""The title and the metadata before a text.

    >>> front_matter("---\nTitle: No\nyear: 2021\nversion: 1.10\ncountry: NO\nzip: '10115'\n---\nCats", "cats.md")[2:]
    ('No', {'year': 2021, 'version': '1.10', 'country': 'NO', 'zip': '10115'})
    """
    found = TOML.match(text)
    if found is not None:
        return _named(_toml(found[1], where), found.end(), where)
    found = YAML.match(text)
    if found is None:
        return FrontMatter()
    value = _yaml(found[1], where)
    return _named(value, found.end(), where) if isinstance(value, dict) else FrontMatter(found.end())


def _toml(content: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(content.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{where}: front matter that is not TOML ({first_line(error)}); correct it") from error


def _yaml(content: str, where: str) -> Any:  # noqa: ANN401 -- YAML
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(content, yaml.SafeLoader)):
            return None  # a few lines of aliases can stand for gigabytes
        return yaml.load(content, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if re.search(r"^\w+:", content, re.MULTILINE) is None:
            return None
        raise InputError(f"{where}: front matter that is not YAML ({first_line(error)}); correct it") from error


def _named(values: Mapping[Any, Any], end: int, where: str) -> FrontMatter:
    title, fields = "", {}
    for name, value in values.items():
        if str(name).casefold() == "title" and not title and isinstance(value, str | int | float):
            title = str(value).strip()
        else:
            fields[str(name)] = _typed(value)
    return FrontMatter(end, read=True, title="" if title in NULLS else title, metadata=Cells(where).of(fields, where))


def _typed(value: Any) -> Any:  # noqa: ANN401 -- YAML
    if isinstance(value, _Unquoted):
        return None if value in NULLS else typed_alone(str(value))
    if isinstance(value, dict):
        return {str(name): _typed(part) for name, part in value.items()}
    return [*map(_typed, value)] if isinstance(value, list) else value
