"""Judgements from what a user has: dicts, DataFrames, or files of tables, of JSON, of clicks, of BEIR and of TREC."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from chamfer.data.frames import is_frame, records_of
from chamfer.data.judged_source import JudgedSource
from chamfer.data.judgement_files import read_judgement_file
from chamfer.data.readers.datasets import is_dataset, read_dataset
from chamfer.data.records import Records
from chamfer.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Judgements = Mapping[str, Mapping[str, int]]
"""Query id -> document id -> grade. Grade 0 means judged and not relevant."""

TRAIN, DEV, TEST = "train", "dev", "test"
"""Names of splits, by the convention of BEIR."""

JudgementSource: TypeAlias = (
    "str | Path | Mapping[str, Mapping[str, int] | Iterable[str]] | Iterable[Mapping[str, Any]] | pd.DataFrame"
)
"""What :func:`judgements_from` takes."""


def is_relevant(judgements: Judgements, query: str, document: str) -> bool:
    """Whether a document is judged relevant to a query."""
    return judgements.get(query, {}).get(document, 0) > 0


def judgements_from(
    source: "JudgementSource | JudgedSource", queries: Mapping[str, str] | None = None
) -> dict[str, dict[str, int]]:
    """Read and check judgements from any supported source.

    Args:
        source: a mapping from queries to grades by document id, or to lists of relevant ids; a table with columns
            ``query``, ``document`` and ``relevance``, which is 1 if there is none, as a DataFrame, a list of dicts or
            the path of a CSV, TSV, JSON, JSON Lines or Parquet file; clicks, which have ``clicked`` and ``shown``
            instead of the document; or a qrels file, in BEIR's format with tabs or in TREC's with spaces. Other usual
            names of columns are recognised.
        queries: queries by id; a judgement of any other query is an error. Without it, a table that has both texts and
            ids of queries is read by its texts.

    >>> judgements_from({"q1": ["a", "b"], "q2": {"c": 2, "d": 0}})
    {'q1': {'a': 1, 'b': 1}, 'q2': {'c': 2, 'd': 0}}
    >>> judgements_from([{"query": "why do cats sleep", "shown": ["a", "b"], "clicked": "b"}])
    {'why do cats sleep': {'a': 0, 'b': 1}}
    """
    return grades_from(judged_source(source), queries)


def grades_from(source: JudgedSource, queries: Mapping[str, str] | None = None) -> dict[str, dict[str, int]]:
    """Check the judgements of a source; see :func:`judgements_from`."""
    rows, are_clicks = source.rows(by_id=queries is not None)
    found: dict[str, dict[str, int]] = {}
    for where, query, document, grade in rows:
        if queries is not None and query not in queries:
            raise InputError(f"{where}: query {query!r} is not among the queries")
        grades = found.setdefault(query, {})
        if grades.setdefault(document, grade) != grade:
            if not are_clicks:
                raise InputError(f"{where}: document {document!r} already has another grade for query {query!r}")
            grades[document] = max(grades[document], grade)
    return found


def name_of(source: "JudgementSource | JudgedSource") -> str:
    """What a source of judgements is called in messages."""
    if isinstance(source, JudgedSource):
        return source.name
    return str(source) if isinstance(source, str | Path) else "the table of judgements"


def judged_source(source: Any) -> JudgedSource:  # noqa: ANN401 -- anything a user may pass
    """Read any supported source, unless that was done."""
    if isinstance(source, JudgedSource):
        return source
    if isinstance(source, str | Path):
        return JudgedSource(str(Path(source)), read_judgement_file(Path(source)))
    if is_dataset(source):
        return JudgedSource("the dataset", read_dataset(source))
    if is_frame(source):
        return JudgedSource("the DataFrame", records_of(source))
    if isinstance(source, Mapping):
        return JudgedSource("judgements", source)
    if not isinstance(source, Iterable):
        raise InputError(
            "judgements must be a mapping from queries to relevant documents, a list of dicts, a DataFrame or a path, "
            f"not {type(source).__name__}"
        )
    records = [(f"judgements[{place}]", one) for place, one in enumerate(source)]
    wrong = next(
        (f"{where} must be a dict, not {type(one).__name__}" for where, one in records if not isinstance(one, Mapping)),
        None,
    )
    if wrong is not None:
        raise InputError(f"{wrong}; give a list of dicts with 'query' and 'document', or a mapping from queries to ids")
    return JudgedSource("the list", Records((where, dict(one)) for where, one in records))
