"""Example queries: an index's own titles or first sentences, spread over it, and nothing that is no query."""

from pathlib import Path
from typing import Any

import pytest

from chamfer import Document, Encoder, Index, build_index
from chamfer.index import text_writer
from chamfer.index.example_queries import EXAMPLES, first_sentence, first_words, from_title
from tests.test_index_fields import built
from tests.test_passages import LENGTH, OVERLAP, corpus


def indexed(folder: Path, encoder: Encoder, documents: list[Document]) -> Index:
    build_index(folder, documents, encoder, allow_empty=True)
    return Index.open(folder)


def test_titles_are_spread_over_the_index(encoder: Encoder, tmp_path: Path) -> None:
    titles = [
        f"the {animal} at {place}" for animal in ("cat", "dog", "owl", "bee") for place in ("night", "noon", "six")
    ]
    documents = [Document(f"d{place:02d}", "a long story", title) for place, title in enumerate(titles)]
    index = indexed(tmp_path, encoder, documents)
    found = index.example_queries()
    assert found == [titles[place] for place in (0, 2, 3, 5, 6, 8, 9, 11)]
    assert Index.open(tmp_path).example_queries() == found
    assert index.example_queries(2) == [titles[3], titles[9]]
    index.delete([f"d{place:02d}" for place in range(6)])
    assert index.example_queries() == titles[6:]


def test_titles_that_say_nothing_are_replaced_by_sentences(encoder: Encoder, tmp_path: Path) -> None:
    documents = [
        Document("a", "the cat sat on a mat. it slept.", "Untitled"),
        Document("b", "a dog barks at night", "1984"),
        Document("c", "why is the sky blue? nobody knows.", "scan_0017.pdf"),
        Document("d", "cats sleep all day", "Cats"),
        Document("e", "", "x" * 300),
        Document("f", "THE CAT SAT ON A MAT. again.", ""),
    ]
    assert indexed(tmp_path, encoder, documents).example_queries() == [
        "Cats",
        "the cat sat on a mat",
        "a dog barks at night",
        "why is the sky blue?",
    ]


def test_an_index_without_anything_sensible_has_none(encoder: Encoder, tmp_path: Path) -> None:
    documents = [Document("a", "12 34 56", "7"), Document("b", "https://example.org/a?b=c", ""), Document("c", "")]
    index = indexed(tmp_path, encoder, documents)
    assert index.example_queries() == []
    index.delete(["a", "b", "c"])
    assert index.example_queries() == []


def test_each_document_in_passages_counts_once(encoder: Encoder, tmp_path: Path) -> None:
    documents = [Document(one.id, one.text, f"the cat {one.id}") for one in corpus()]
    build_index(tmp_path, documents, encoder, passages=LENGTH, overlap=OVERLAP)
    index = Index.open(tmp_path)
    assert index.example_queries(100) == [one.title for one in documents]
    index.delete(["d00"])
    assert index.example_queries(100) == [one.title for one in documents[1:]]


def test_an_index_that_knows_no_titles_has_sentences(
    encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        schema = text_writer.SCHEMA.replace("title INTEGER NOT NULL", "other INTEGER")
        patched.setattr(text_writer, "SCHEMA", schema)
        index = indexed(tmp_path, encoder, [Document("a", "sleep all day", "Cats")])
    assert index.example_queries() == ["Cats sleep all day"]


def test_few_documents_are_read_and_of_long_ones_only_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = built(tmp_path, [{}] * 300)
    assert index.example_queries() == [], "all texts are the same three letters"
    [segment] = index.snapshot.segments
    read: list[int] = []
    real = segment.database.beginnings

    def beginnings(places: Any, characters: int) -> list[Document]:
        read.append(len(places))
        return real(places, characters)

    monkeypatch.setattr(segment.database, "beginnings", beginnings)
    index.example_queries()
    assert read == [8 * EXAMPLES]


LONG = "A long line that was wrapped where it became too long for Osteoporosis"


@pytest.mark.parametrize(
    ("title", "query"),
    [
        ("Calcium and bones", "Calcium and bones"),
        ("  Calcium\n and\tbones. ", "Calcium and bones"),
        ("What helps against osteoporosis?", "What helps against osteoporosis?"),
        ("骨质疏松症", "骨质疏松症"),
        ("Größe – ein Überblick", "Größe – ein Überblick"),  # noqa: RUF001
        ("## Food", "Food"),
        ("Untitled", ""),
        ("untitled document (3)", ""),
        ("Ohne Titel", ""),
        ("2021", ""),
        ("10.1000/182", ""),
        ("A", ""),
        ("-----", ""),
        ("docs/index.md", ""),
        ("a@example.org", ""),
        ("C:\\notes\\plan", ""),
        ("word " * 40, ""),
        ("bell \x07 rings", ""),
        ("", ""),
    ],
)
def test_what_makes_a_query_of_a_title(title: str, query: str) -> None:
    assert from_title(title) == query


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Bread is baked. Milk is white.", "Bread is baked"),
        ("Is bread baked? Yes.", "Is bread baked?"),
        ("Dr. Smith bakes bread. He sleeps.", "Dr. Smith bakes bread"),
        ("1. Knead the dough. 2. Bake it.", "1. Knead the dough"),
        ("E.g. bread and milk, i.e. food. More.", "E.g. bread and milk, i.e. food"),
        ("A heading\nThe text", "A heading"),
        ("* a list\n* of things", "a list"),
        ("面包是用面粉烤的。牛奶是白色的。", "面包是用面粉烤的"),
        ("A long line that was wrapped where it became too long for\nOsteoporosis. More.", LONG),
        ("Create a connection to a given\nhost. More.", "Create a connection to a given host"),
        ("one two " * 20, ""),
        ("汉" * 300, ""),
        ("", ""),
        (" \n ", ""),
        ("12.5 17.8", ""),
    ],
)
def test_what_the_first_sentence_of_a_text_is(text: str, query: str) -> None:
    assert first_sentence(text) == query


def test_a_long_sentence_is_an_example_only_if_there_are_too_few_others(encoder: Encoder, tmp_path: Path) -> None:
    documents = [Document(f"a{place}", f"the cat {'slept on and on ' * 9} {place}") for place in range(9)]
    documents += [Document(f"b{place}", f"the dog barks {place} times. why?") for place in range(7)]
    found = indexed(tmp_path, encoder, documents).example_queries()
    assert found == [*(f"the dog barks {place} times" for place in range(7)), "the cat slept on and on slept"]


def test_what_the_first_words_of_a_text_are() -> None:
    assert (
        first_words("one two three four five six seven eight nine ten " * 9)
        == "one two three four five six seven eight"
    )
    assert first_words("汉" * 300) == "汉" * 24
