"""Which columns of a table of judgements hold queries, documents, grades or clicks: by what they are usually called."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chamfer.data.reading import in_words, note
from chamfer.errors import InputError

# What columns are called, in any case, with "_" for spaces and hyphens too. A column of an earlier line is preferred,
# and several of one line are an error.
QUERY_TEXTS = (("query", "query_text", "search_query"), ("question",))
QUERY_IDS = (("query_id", "qid", "queryid", "question_id"),)
DOCUMENTS = (
    ("document_id", "doc_id", "docid", "docno", "corpus_id", "answer_id", "passage_id", "pid"),
    ("document", "documents", "doc"),
)
MAYBE_DOCUMENTS = (("answer", "passage", "section", "file"), ("page", "landing_page", "url", "uri", "link"))
# Of a click, these are its own rather than the document's.
IDS = (("id", "row"),)
GRADES = (("relevance",), ("grade",), ("label", "rating", "judgement", "judgment", "relevant", "rel"), ("score",))
COUNTED_CLICKS, COUNTED_SHOWN = ("clicks",), ("impressions",)
CLICKED = (("clicked", "click"), COUNTED_CLICKS)
SHOWN = (("shown",), COUNTED_SHOWN)

STANDARD = frozenset(
    {
        *("query", "query_id", "document", "document_id", "doc_id", "corpus_id"),
        *("relevance", "grade", "score", "clicked", "shown"),
    }
)
"""Names whose meaning is certain; what is read from others is said."""

EXAMPLE = "query,document,relevance"

CLICK_ROWS = "write a row for each document with the columns query,document,clicked, where clicked is 0 or 1"


class JudgedColumns(NamedTuple):
    """The columns of judgements, or those of clicks."""

    query: str
    document: str | None = None
    """None if clicks name the documents."""
    grade: str | None = None
    """None if every row is a relevant document, or clicks say which is."""
    clicked: str | None = None
    """Documents that were clicked; beside a column of documents, whether the document was."""
    shown: str | None = None
    """All documents that a person saw; None beside a column of documents."""


def judged_columns(names: Sequence[str], source: str, *, by_id: bool) -> JudgedColumns:
    """Find the columns of a table of judgements or of clicks.

    Args:
        names: all columns of the table, or all fields of its records.
        source: the source, for messages.
        by_id: prefer ids of queries to their texts, where a table has both.
    """
    query = query_column(names, source, by_id=by_id)
    clicked, shown = _found(CLICKED, names, source, "clicks"), _found(SHOWN, names, source, "documents shown")
    grade = None if clicked else _found(GRADES, names, source, "grades")
    possible = (*DOCUMENTS, *MAYBE_DOCUMENTS) if clicked else (*DOCUMENTS, *MAYBE_DOCUMENTS, *IDS)
    document = _found(possible, names, source, "documents")
    if document is None:
        _refuse_counts([name for name in (clicked, shown) if name is not None], source)
    if query is None or (document is None and clicked is None):
        raise InputError(
            f"{source} has no column of {'queries' if query is None else 'documents'} that could be recognised; its "
            f"columns are {in_words(names)}; name them as in: {EXAMPLE}"
        )
    found = JudgedColumns(query, document, grade, clicked, None if document else shown)
    _say(found, names, source)
    return found


def query_column(names: Sequence[str], source: str, *, by_id: bool) -> str | None:
    """Find the column of queries; arguments are those of :func:`judged_columns`."""
    return _found((*QUERY_IDS, *QUERY_TEXTS) if by_id else (*QUERY_TEXTS, *QUERY_IDS), names, source, "queries")


def names_judgements(names: Sequence[str]) -> bool:
    """Whether these are names of columns of judgements or clicks."""
    known = {usual(name) for name in names}
    queries = {name for tier in (*QUERY_TEXTS, *QUERY_IDS) for name in tier}
    documents = {name for tier in (*DOCUMENTS, *MAYBE_DOCUMENTS, *IDS, *CLICKED) for name in tier}
    return bool(known & queries) and bool(known & documents)


def usual(name: str) -> str:
    """A name of a column in one spelling.

    >>> usual("Answer ID"), usual("corpus-id")
    ('answer_id', 'corpus_id')
    """
    return "_".join(name.strip().casefold().replace("-", " ").replace("_", " ").split())


def _found(tiers: Sequence[Sequence[str]], names: Sequence[str], source: str, what: str) -> str | None:
    for tier in tiers:
        found = [name for name in names if usual(name) in tier]
        if len(found) > 1:
            raise InputError(f"{source}: {in_words(found)} could each hold the {what}; rename or remove all but one")
        if found:
            return found[0]
    return None


def _refuse_counts(clicks: Sequence[str], source: str) -> None:
    """Refuse numbers of clicks where ids of documents are needed."""
    counts = [name for name in clicks if usual(name) in (*COUNTED_CLICKS, *COUNTED_SHOWN)]
    if counts:
        raise InputError(
            f"{source}: {in_words(counts)} {'is a count' if len(counts) == 1 else 'are counts'}, not ids of documents; "
            f"{CLICK_ROWS}"
        )


def _say(found: JudgedColumns, names: Sequence[str], source: str) -> None:
    """Say what was assumed, where names leave a doubt or a column is not read that could be meant."""
    roles: Mapping[str, str | None] = {
        "queries": found.query,
        "documents": found.document,
        "grades": found.grade,
        "clicks": found.clicked,
        "documents shown": found.shown,
    }
    read = {what: name for what, name in roles.items() if name is not None}
    usable = {name for tier in (*QUERY_TEXTS, *QUERY_IDS, *DOCUMENTS, *GRADES) for name in tier}
    others = [name for name in names if name not in read.values()]
    if found.grade is None and found.clicked is None and others:
        note(
            f"{source} has no column of grades, so each of its rows counts as relevant; {in_words(others)} "
            f"{'is' if len(others) == 1 else 'are'} not read"
        )
    passed = [name for name in others if usual(name) in usable]
    if passed or any(usual(name) not in STANDARD for name in read.values()):
        told = ", ".join(f"{what} from {name!r}" for what, name in read.items())
        told += f" ({in_words(passed)} {'is' if len(passed) == 1 else 'are'} not read)" if passed else ""
        note(f"columns of {source}: {told}; rename columns that hold something else")
