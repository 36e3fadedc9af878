"""Indexes of passages: long documents are searched whole, and found once, with the passage that won."""

import json
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chamfer import Document, Encoder, Index, InputError, Searcher, build_index, evaluate, learn
from chamfer.data.corpus import documents_from
from chamfer.index import building
from chamfer.index.adding import add_documents
from chamfer.index.building import build, passage_size, settings_for
from chamfer.index.manifest import read_manifest
from chamfer.index.snapshot import Snapshot
from chamfer.index.writing import writing
from chamfer.retrieve.evidence import Evidence
from chamfer.retrieve.exhaustive import Exhaustive
from chamfer.support.progress import Advance
from tests.checkpoints import WORDS

# The tiny checkpoint reads 64 tokens; a passage of 16 has about 14 words.
LENGTH, OVERLAP = 16, 4
SENTENCES = ("the cat sat on a mat.", "a dog barks at night.", "why is the sky blue?", "cats sleep all day.")


def long_text(seed: int, sentences: int = 20) -> str:
    """Sentences of random words, some under headings."""
    generator = np.random.default_rng(seed)
    parts = []
    for place in range(sentences):
        words = " ".join(generator.choice(WORDS, generator.integers(3, 9)))
        heading, space = "# cat and dog\n\n" if place % 6 == 5 else "", "\n\n" if place % 4 == 3 else " "
        parts.append(f"{heading}{words}.{space}")
    return "".join(parts).strip()


def corpus(count: int = 12) -> list[Document]:
    """Documents of different lengths; some have titles."""
    return [
        Document(
            f"d{place:02d}",
            long_text(place, 1 + 3 * (place % 5)),
            "the cat" if place % 3 == 0 else "",
            {"even": place % 2 == 0, "number": place},
        )
        for place in range(count)
    ]


@pytest.fixture
def folder(tmp_path: Path, encoder: Encoder) -> Path:
    build_index(tmp_path / "index", corpus(), encoder, passages=LENGTH, overlap=OVERLAP)
    return tmp_path / "index"


@pytest.fixture
def searcher(folder: Path, encoder: Encoder) -> Searcher:
    return Searcher.open(folder, encoder=encoder)


def expected(searcher: Searcher, query: str, weights: str = "mix") -> list[tuple[str, float, int]]:
    """All documents in the order of their best passages, from the scores of all passages."""
    index, encoded = searcher.index, searcher.queries.encode([query], weights)
    [found] = Exhaustive(index, Evidence(index)).find(encoded, len(index), index.live)
    [scale] = searcher.ranker.scales(encoded)
    best: dict[str, tuple[float, int]] = {}
    for passage, score in zip(index.documents(found.places), scale.scores(found.scores).tolist(), strict=True):
        assert passage.passage is not None
        best.setdefault(passage.id, (score, passage.passage.number))
    return sorted(((name, *one) for name, one in best.items()), key=lambda one: (-one[1], one[0]))


def shown(hits: Any) -> list[tuple[str, float, int]]:
    return [(hit.id, hit.score, hit.passage.number) for hit in hits]


class TestBuilding:
    def test_documents_come_back_whole_and_in_passages(self, folder: Path, encoder: Encoder) -> None:
        index = Index.open(folder)
        assert len(index) == 12
        assert list(index) == [document.id for document in corpus()]
        assert [index[document.id] for document in corpus()] == corpus()
        assert "d03" in index
        assert "d99" not in index
        facts = index.info()
        assert (facts["documents"], facts["passage_length"], facts["overlap"]) == (12, LENGTH, OVERLAP)
        assert facts["passages"] == len(index.snapshot) > 30
        assert index.verify() == []
        assert index.frequencies.documents == facts["passages"]

    def test_no_passage_is_longer_than_asked_for(self, folder: Path) -> None:
        index = Snapshot.open(folder)
        lengths = [index.tokens(place).lengths[0] for place in range(len(index))]
        assert max(lengths) <= LENGTH
        assert np.mean(lengths) > LENGTH / 2

    def test_the_report_counts_passages_and_nothing_is_truncated(self, tmp_path: Path, encoder: Encoder) -> None:
        documents = {"a": long_text(1, 60), "b": "the cat"}
        cut = build_index(tmp_path / "cut", documents, encoder)
        split = build_index(tmp_path / "split", documents, encoder, passages=True)
        assert (cut.documents, cut.truncated, cut.passages) == (2, 1, 0)
        assert (split.documents, split.truncated) == (2, 0)
        assert split.passages == Index.open(tmp_path / "split").info()["passages"]
        assert split.tokens > 2 * cut.tokens

    def test_an_index_without_passages_does_not_mention_them(self, tmp_path: Path, encoder: Encoder) -> None:
        build_index(tmp_path, corpus(), encoder)
        written = (tmp_path / "index.json").read_text()
        assert "passages" not in written
        assert "whole" not in written
        assert "passages" not in Index.open(tmp_path).info()
        assert [hit.passage for hit in Searcher.open(tmp_path, encoder=encoder).search("cats")] == [None] * 10

    @pytest.mark.parametrize(("passages", "overlap"), [(100, 0), (7, 0), (16, 5), (16, -1)])
    def test_impossible_sizes_are_refused(self, tmp_path: Path, encoder: Encoder, passages: int, overlap: int) -> None:
        with pytest.raises(InputError, match="passages"):
            build_index(tmp_path, corpus(), encoder, passages=passages, overlap=overlap)
        assert not list(tmp_path.iterdir())

    def test_an_unfinished_build_is_not_continued_with_other_passages(self, folder: Path, encoder: Encoder) -> None:
        settings = settings_for(encoder, passages=passage_size(encoder, LENGTH, 0))
        with pytest.raises(InputError, match="other settings"), writing(folder, settings):
            pass

    def test_a_build_that_is_interrupted_anywhere_gives_the_same_index(
        self, tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(building, "CHUNK", 6)  # so that some documents have more than one chunk
        settings = settings_for(encoder, passages=passage_size(encoder, LENGTH, OVERLAP))
        source = documents_from(corpus())
        build(tmp_path / "whole", source, encoder, settings)
        whole = Snapshot.open(tmp_path / "whole")
        for stop in (3, 10, 25, len(whole) - 1):
            where = tmp_path / f"stopped-{stop}"
            with pytest.raises(KeyboardInterrupt):
                build(where, source, encoder, settings, progress=interrupting(stop))
            with pytest.raises(InputError, match="of 12 documents are indexed"):
                len(Index.open(where))
            report = build(where, source, encoder, settings)
            again = Snapshot.open(where)
            assert Index.open(where).verify() == []
            assert (report.documents, report.passages) == (12, len(whole))
            assert rows(again) == rows(whole)
            assert again.frequencies.counts.tolist() == whole.frequencies.counts.tolist()


KILLED = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from chamfer import Encoder
from chamfer.data.corpus import documents_from
from chamfer.index import building
from tests.test_passages import LENGTH, OVERLAP, corpus

building.CHUNK, encoder = 6, Encoder.load(sys.argv[2])

@contextmanager
def progress(what, _total):
    done = 0
    def advance(count):
        nonlocal done
        done += count
        if what == "encoding passages" and done > 20:
            os.kill(os.getpid(), signal.SIGKILL)
    yield advance

settings = building.settings_for(encoder, passages=building.passage_size(encoder, LENGTH, OVERLAP))
building.build(Path(sys.argv[1]), documents_from(corpus()), encoder, settings, progress=progress)
"""


def test_a_build_that_is_killed_is_finished_by_the_next(
    folder: Path, tmp_path: Path, plain_checkpoint: Path, encoder: Encoder
) -> None:
    where, root = tmp_path / "killed", Path(__file__).parents[1]
    killed = subprocess.run([sys.executable, "-c", KILLED, where, plain_checkpoint], cwd=root, check=False)
    assert killed.returncode == -signal.SIGKILL
    done = (read_manifest(where) or pytest.fail("nothing was committed")).building
    assert done is not None
    assert 0 < done["done"] < done["documents"] == 12
    report = build_index(where, corpus(), encoder, passages=LENGTH, overlap=OVERLAP)
    assert (report.documents, report.resumed) == (12, done["done"])
    assert Index.open(where).verify() == []
    assert rows(Snapshot.open(where)) == rows(Snapshot.open(folder))


def rows(index: Snapshot) -> dict[tuple[str, int], tuple[str, bytes]]:
    """All live passages with their vectors."""
    live = np.arange(len(index)) if index.live is None else np.flatnonzero(index.live)
    found = {}
    for place, one in zip(live.tolist(), index.documents(live), strict=True):
        assert one.passage is not None
        found[one.id, one.passage.number] = (one.text, index.tokens(place).token_ids.tobytes())
    return found


def interrupting(passages: int) -> Callable[[str, int], Any]:
    """Progress that interrupts once so many passages are encoded."""

    @contextmanager
    def progress(what: str, _total: int) -> Iterator[Advance]:
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            if what == "encoding passages" and done > passages:
                raise KeyboardInterrupt

        yield advance

    return progress


class TestSearching:
    @pytest.mark.parametrize("weights", ["uniform", "mix"])
    def test_a_document_is_found_once_by_its_best_passage(self, searcher: Searcher, weights: str) -> None:
        for query in ("why do cats sleep", "blue sky", "the dog barks at night"):
            wanted = expected(searcher, query, weights)
            assert shown(searcher.search(query, 12, weights=weights)) == wanted
            assert shown(searcher.search(query, 3, weights=weights)) == wanted[:3]
            pages = [searcher.search(query, 4, offset=offset, weights=weights) for offset in (0, 4, 8)]
            assert [one for page in pages for one in shown(page)] == wanted

    @pytest.mark.parametrize("stage", ["centroids", "bm25", "dense", "bm25+centroids"])
    def test_a_first_stage_finds_passages_of_enough_documents(self, searcher: Searcher, stage: str) -> None:
        wanted = {name: (score, number) for name, score, number in expected(searcher, "the cat", "mix")}
        hits = searcher.search("the cat", 8, first_stage=stage, depth=8)
        assert len({hit.id for hit in hits}) == len(hits) == 8
        for hit in hits:
            assert hit.score <= wanted[hit.id][0] + 1e-6

    def test_a_batch_is_answered_like_its_queries(self, searcher: Searcher) -> None:
        queries = ["why do cats sleep", "blue sky", "a dog"]
        for stage in ("exhaustive", "centroids"):
            together = searcher.search(queries, 5, first_stage=stage, depth=6)
            alone = [searcher.search(query, 5, first_stage=stage, depth=6) for query in queries]
            assert [[hit.id for hit in hits] for hits in together] == [[hit.id for hit in hits] for hits in alone]

    def test_a_hit_shows_its_passage(self, searcher: Searcher) -> None:
        for hit in searcher.search("the cat", 12):
            whole = next(one for one in corpus() if one.id == hit.id)
            assert hit.passage is not None
            assert hit.text == whole.text[hit.passage.start : hit.passage.stop]
            assert (hit.title, hit.metadata) == (whole.title, whole.metadata)
            assert hit.passage.of == sum(name == hit.id for name, _ in rows(searcher.index))

    def test_filters_and_ids_hold_for_all_passages(self, searcher: Searcher) -> None:
        assert {hit.id for hit in searcher.search("the cat", 12, where="even = true")} == {
            f"d{place:02d}" for place in range(0, 12, 2)
        }
        assert {hit.id for hit in searcher.search("the cat", 12, among=["d04", "d09"])} == {"d04", "d09"}
        assert searcher.index.count(searcher.index.allowed(None, ["d04", "d09"])) == 2

    def test_the_passage_that_won_is_explained(self, searcher: Searcher) -> None:
        for hit in searcher.search("why do cats sleep", 12):
            why = searcher.explain("why do cats sleep", hit.id)
            assert why.passage == hit.passage
            assert why.document is not None
            assert why.document.endswith(hit.text)
            assert why.score == pytest.approx(hit.score, abs=1e-5)
            assert json.dumps(why.as_json())
        [first, second] = searcher.explain("why do cats sleep")
        assert [first.document_id, second.document_id] == [hit.id for hit in searcher.search("why do cats sleep", 2)]

    def test_without_ids_the_passage_that_was_found_is_explained(self, tmp_path: Path, encoder: Encoder) -> None:
        build_index(tmp_path, [corpus()[4], corpus()[7]], encoder, passages=LENGTH, overlap=OVERLAP)
        searcher = Searcher.open(tmp_path, encoder=encoder, first_stage="bm25")
        hits = searcher.search("the dog", 2)
        found, best = searcher.explain("the dog"), searcher.explain("the dog", [hit.id for hit in hits])
        assert [why.passage for why in found] == [hit.passage for hit in hits] != [why.passage for why in best]
        assert [why.score for why in found] == pytest.approx([hit.score for hit in hits], abs=1e-5)

    def test_a_document_without_text_ranks_last_and_has_nothing_to_explain(
        self, tmp_path: Path, encoder: Encoder
    ) -> None:
        space = " " * 3000
        documents = {"blank": "", "spaces": space, "cat": "the cat", "long": f"{space}{long_text(1)}{space}"}
        build_index(tmp_path, documents, encoder, passages=LENGTH, allow_empty=True)
        searcher = Searcher.open(tmp_path, encoder=encoder)
        hits = searcher.search("cats", 4)
        assert {hit.id for hit in hits[:2]} == {"cat", "long"}
        assert [(hit.id, hit.score) for hit in hits[2:]] == [("blank", 0.0), ("spaces", 0.0)]
        assert searcher.explain("cats", "long").passage == next(hit.passage for hit in hits if hit.id == "long")
        with pytest.raises(InputError, match="no tokens"):
            searcher.explain("cats", "spaces")
        assert Index.open(tmp_path)["long"].text == documents["long"]


class TestChanging:
    def test_documents_are_added_replaced_and_deleted_whole(self, folder: Path, encoder: Encoder) -> None:
        index = Index.open(folder, encoder=encoder)
        before = index.info()["passages"]
        added = index.add([Document("new", long_text(77))])
        assert (added.documents, added.skipped, added.truncated) == (1, 0, 0)
        assert index.info()["passages"] == before + added.passages
        with pytest.raises(InputError, match="'new' is in the index already"):
            index.add([Document("new", long_text(78))])
        replaced = index.add([Document("new", "the cat")], replace=True)
        assert (replaced.replaced, replaced.passages) == (1, 1)
        assert (len(index), index["new"].text) == (13, "the cat")
        assert index.delete(["new", "d04", "nothing"]) == 2
        assert index.delete(where="number >= 10") == 2
        assert (len(index), index.info()["deleted"], index.verify()) == (9, 3, [])
        assert "d04" not in index
        index.compact()
        assert (len(index), index.info()["deleted"], index.verify()) == (9, 0, [])
        assert index["d07"] == corpus()[7]

    def test_unchanged_documents_are_skipped_without_being_read(self, folder: Path, encoder: Encoder) -> None:
        index = Index.open(folder, encoder=encoder)
        report = index.add(corpus(), replace=True)
        assert (report.documents, report.skipped, report.passages) == (0, 12, 0)
        moved = Document("d04", corpus()[4].text, "", {"even": True, "number": 44})
        assert index.add([moved], replace=True).replaced == 1
        assert index["d04"].metadata["number"] == 44

    def test_a_document_longer_than_a_chunk_is_one_commit(self, folder: Path, encoder: Encoder) -> None:
        documents = [Document("a", "the cat"), Document("b", long_text(5, 120)), Document("c", long_text(6, 3))]
        before = read_manifest(folder)
        with writing(folder) as writer:
            report = add_documents(writer, documents, encoder, chunk=8)
        after = read_manifest(folder)
        assert before is not None
        assert after is not None
        assert (report.documents, after.version - before.version) == (3, 3)
        index = Index.open(folder)
        assert [index[one.id] for one in documents] == documents
        assert index.verify() == []

        with writing(folder) as writer:
            again = add_documents(writer, [Document("b", long_text(7, 120))], encoder, chunk=8, replacing=True)
        assert (again.replaced, Index.open(folder)["b"].text) == (1, long_text(7, 120))
        with pytest.raises(InputError, match="'b' is in the index already"), writing(folder) as writer:
            add_documents(writer, [Document("b", long_text(5, 120))], encoder, chunk=8)
        assert Index.open(folder).verify() == []

    def test_changes_in_any_order_leave_the_same_passages(self, tmp_path: Path, encoder: Encoder) -> None:
        build_index(tmp_path / "index", corpus()[:2], encoder, passages=LENGTH, overlap=OVERLAP)
        index = Index.open(tmp_path / "index", encoder=encoder)
        for document in corpus()[2:]:  # segments are merged on the way
            index.add([document])
        build_index(tmp_path / "once", corpus(), encoder, passages=LENGTH, overlap=OVERLAP)
        assert rows(index.snapshot) == rows(Snapshot.open(tmp_path / "once"))
        assert index.verify() == []
        assert index.snapshot.frequencies.counts.tolist() == Index.open(tmp_path / "once").frequencies.counts.tolist()


def test_weights_are_learnt_and_measured_on_documents(folder: Path, encoder: Encoder) -> None:
    queries = {f"q{place}": corpus()[place].text.split(".")[0] for place in range(12)}
    judgements = {f"q{place}": {f"d{place:02d}": 1} for place in range(12)}
    searcher = Searcher.open(folder, encoder=encoder)
    found = evaluate(searcher, ["uniform", "idf-soft"], queries=queries, judgements=judgements)
    assert found.documents == 12
    for system in found.systems:
        assert all(len(set(ranking.document_ids)) == len(ranking) == 12 for ranking in system.rankings)
    learnt = learn(searcher, queries=queries, judgements=judgements, recipe="prior")
    made = learnt.weights.metadata
    assert made["passages"] == searcher.index.frequencies.documents > len(searcher)
    assert all(len(query.grades) <= 12 and query.grades.sum() <= 1 for query in learnt.queries)


def test_a_document_of_a_million_characters_takes_bounded_memory(
    tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "CHUNK", 64)
    generator = np.random.default_rng(0)
    names = ["".join(letters) for letters in generator.choice(list("aeioubdfgklmnrst"), (300, 40))]  # tokens: [UNK]
    text = " ".join(f"{name} {generator.choice(SENTENCES)}" for name in generator.choice(names, 17_000))
    assert len(text) > 1_000_000
    seen: list[tuple[str, int]] = []

    @contextmanager
    def progress(what: str, total: int) -> Iterator[Advance]:
        seen.append((what, total))
        yield lambda _count: None

    settings = settings_for(encoder, passages=passage_size(encoder, True))
    source = documents_from([Document("book", text), Document("note", "a dog barks at night")])
    tracemalloc.start()
    report = build(tmp_path, source, encoder, settings, progress=progress)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.passages > 1500
    assert report.truncated == 0
    assert ("splitting documents into passages", 2) in seen
    assert ("encoding passages", report.passages) in seen
    assert most < 50e6, most
    index = Index.open(tmp_path)
    assert index["book"].text == text
    assert Searcher.open(tmp_path, encoder=encoder).search("why is the sky blue", 1)[0].id == "book"
