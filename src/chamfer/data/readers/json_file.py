"""A file of JSON: an array of objects, one object, or an object of texts or objects by id.

It is read into memory as a whole.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from chamfer.data.columns import IDS, TEXTS
from chamfer.data.documents import ID, OTHER_ID, TEXT
from chamfer.data.jsonlines import RepeatedError, reason, unique
from chamfer.data.readers.text import decoded
from chamfer.data.reading import note
from chamfer.data.records import Records
from chamfer.errors import InputError

RULE = "write an array of objects, an object from ids to texts or objects, or JSON lines"


def read_json(path: Path, name: str, fields: Collection[str] = ()) -> Records:
    """Read a file of JSON.

    Args:
        path: the file.
        name: its name, for messages.
        fields: fields of records that the user names.
    """
    return Records(_records(json_value(path, name), name, {*IDS, *TEXTS, *fields}))


def json_value(path: Path, name: str, rule: str = RULE) -> Any:  # noqa: ANN401 -- JSON
    """The value that a file of JSON holds; ``rule`` says in an error what to write instead."""
    try:
        value = json.loads(decoded(path.read_bytes(), name, name), object_pairs_hook=unique)
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate can be neither encoded nor written
    except UnicodeError as error:
        raise InputError(f"{name} holds half a surrogate pair; remove it") from error
    except json.JSONDecodeError as error:
        raise InputError(f"{name}, line {error.lineno}: it is not JSON ({error.msg}); {rule}") from error
    except RepeatedError as error:
        raise InputError(f"{name}: {error}") from error
    except (RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} cannot be read as JSON ({reason(error)}); {rule}") from error
    except MemoryError as error:
        raise InputError(f"{name} does not fit into memory, as JSON must; write JSON lines") from error
    return value


def records_of_array(value: list[Any], name: str, rule: str = RULE) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of an array, each with its origin for error messages."""
    for place, one in enumerate(value, 1):
        if not isinstance(one, dict):
            raise InputError(f"{name}, element {place}: it must be an object, not {_named(one)}; {rule}")
        yield f"{name}, element {place}", one


def _records(value: Any, name: str, fields: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 -- JSON
    if isinstance(value, list):
        yield from records_of_array(value, name)
        return
    if not isinstance(value, dict):
        raise InputError(f"{name} holds {_named(value)}; {RULE}")
    scalars = [key for key, one in value.items() if isinstance(one, str | int | float)]
    if any({key, key.strip().casefold()} & {*fields} for key in scalars):
        yield name, value
        return
    lists = [key for key, one in value.items() if isinstance(one, list)]
    if lists:
        raise InputError(f"{name} holds an object whose {lists[0]!r} is an array; save the array alone, or {RULE}")
    if any(isinstance(one, str) for one in value.values()):
        note(
            f"{name}: the object has neither an id nor a text under a usual name, so each of its fields is read as a "
            "document, whose id is the field's name; --text-field (text_field in Python) names the text of one document"
        )
    for key, one in value.items():
        where = f"{name}, {key!r}"
        if isinstance(one, str):
            yield where, {ID: key, TEXT: one}
        elif isinstance(one, Mapping):
            other = next((one[field] for field in (ID, OTHER_ID) if field in one), key)
            if str(other) != key:
                raise InputError(f"{where}: the object has another id, {other!r}; remove one of the two")
            yield where, {ID: key, **{field: part for field, part in one.items() if field not in (ID, OTHER_ID)}}
        else:
            raise InputError(f"{where}: it must be a text or an object, not {_named(one)}; {RULE}")


def _named(value: object) -> str:
    if value is None:
        return "null"
    kinds = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return kinds.get(type(value), type(value).__name__)
