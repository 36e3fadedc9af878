"""Which column holds the id, the texts and the title: what the user says, or else what it is usually called."""

from collections.abc import Collection, Sequence

from chamfer.data.documents import ID, METADATA, OTHER_ID, STANDARD, TEXT, TITLE, Columns
from chamfer.data.reading import ROW, Reading, in_words, note
from chamfer.errors import InputError

# What columns are called, in any case. A name other than the first is said, because it may mean something else.
IDS = (ID, OTHER_ID, "doc_id", "docid", "document_id")
TEXTS = (TEXT, "content", "contents", "body", "passage", "answer")
TITLES = (TITLE, "headline", "heading", "question")


def columns_of(names: Sequence[str], reading: Reading, source: str, *, complete: bool = True) -> Columns:
    """Find the columns of ids, texts and titles.

    Args:
        names: all columns of a table, or the fields of the first record.
        reading: what the user says.
        source: the source, for messages.
        complete: whether no record has other fields.
    """
    if not complete and not reading.fields and {*names} <= {ID, OTHER_ID, METADATA}:
        return STANDARD  # the first record has no text; others may have some
    _check(names, reading, source, complete=complete)
    texts, title = reading.texts, reading.title_field
    if not texts:
        found = _only(TEXTS, [name for name in names if name != title], source)
        if found is None and (complete or TITLE not in names):
            raise _no_text(names, source)
        texts = (found or TEXT,)
    if title is None:
        title = _only(TITLES, [name for name in names if name not in (*texts, reading.id_field)], source)
    _say(source, None if reading.texts else texts[0], None if reading.title_field else title)
    if title is None and TITLE not in texts:
        title = TITLE
    return _with_id(Columns(texts=texts, title=title), names, reading, source)


def _with_id(columns: Columns, names: Sequence[str], reading: Reading, source: str) -> Columns:
    if reading.id_field is not None:
        numbered = reading.id_field == ROW and ROW not in names
        return columns._replace(id=None if numbered else reading.id_field, numbered=numbered)
    if ID in names or OTHER_ID in names:
        return columns
    free = [name for name in names if name not in (*columns.texts, columns.title)]
    found = _only(IDS, free, source)
    if found is not None:
        note(f"{source}: ids are read from {found!r}; --id-field (id_field in Python) names another column")
        return columns._replace(id=found)
    note(
        f"{source} has no column of ids, so its rows are numbered: 1, 2, 3, ...; "
        "--id-field (id_field in Python) names a column"
    )
    return columns._replace(numbered=True)


def _check(names: Sequence[str], reading: Reading, source: str, *, complete: bool) -> None:
    """Refuse columns that are not there. Where records may have other fields, only texts are certain to be there."""
    if complete:
        missing = [name for name in reading.fields if name not in names and name != ROW]
        missing += [ROW] * (ROW in (*reading.texts, reading.title_field) and ROW not in names)
    else:
        missing = [*reading.texts] if reading.texts and not {*names} & {*reading.texts} else []
    if missing:
        raise InputError(f"{source} has no column {missing[0]!r}; its columns are {in_words(names)}")
    if reading.title_field in reading.texts:
        raise InputError(f"{reading.title_field!r} cannot be both a title and a text; titles are searched, too")


def check_seen(reading: Reading, seen: Collection[str], source: str) -> None:
    """Refuse a field that the user named and no record had."""
    missing = [name for name in reading.fields if name not in seen and name != ROW]
    if missing:
        raise InputError(f"{source}: no record has a field {missing[0]!r}; the fields are {in_words([*seen])}")


def _only(usual: Sequence[str], names: Collection[str], source: str) -> str | None:
    """The one column with a usual name, where the first name wins; several others are an error."""
    if usual[0] in names:
        return usual[0]
    found = [name for name in names if name.strip().casefold() in usual]
    first = [name for name in found if name.strip().casefold() == usual[0]]
    if len(first) == 1 or len(found) <= 1:
        return next(iter(first or found), None)
    option = {TEXTS: "text", TITLES: "title", IDS: "id"}[tuple(usual)]
    raise InputError(
        f"{source}: {in_words(found)} could each be the {option}; choose with --{option}-field "
        f"({option}_field in Python)"
    )


def _say(source: str, text: str | None, title: str | None) -> None:
    """Report names that are not the standard ones, because they may mean something else."""
    titles = "" if title in (None, TITLE) else f"titles from {title!r}"
    if text not in (None, TEXT):
        note(
            f"{source}: texts are read from {text!r}{titles and ', and '}{titles}; --text-field and --title-field "
            "(in Python text_field and title_field) name other columns"
        )
    elif titles:
        note(f"{source}: titles are read from {title!r}; --title-field (title_field in Python) names another column")


def _no_text(names: Sequence[str], source: str) -> InputError:
    if len(names) == 1 and any(mark in names[0] for mark in ",;|:\t"):
        return InputError(
            f"{source} has a single column, {in_words(names)}; name what separates its columns with --delimiter "
            "(delimiter in Python)"
        )
    return InputError(
        f"{source} has no column of texts that could be recognised; its columns are {in_words(names)}; name one with "
        "--text-field (text_field in Python), or several"
    )
