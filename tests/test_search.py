"""Searching an index: every first stage, filters, changes, weights and scores."""

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from chamfer import Encoder, InputError, Searcher, TokenBatch, TokenWeights, build_index
from chamfer.data.documents import Document
from chamfer.encode.tokenizing import Tokenized
from chamfer.errors import InputWarning
from chamfer.index import building
from chamfer.index.adding import add_documents
from chamfer.index.segment import Segment
from chamfer.index.settings import Precision
from chamfer.index.snapshot import LITTLE
from chamfer.index.writing import writing
from chamfer.kernels import dispatch, native
from chamfer.kernels.form import Form
from chamfer.retrieve import stages
from chamfer.search.hits import DEFAULT_K, Hit
from chamfer.support.progress import Advance, ignore
from chamfer.weights.counting import count_tokens
from chamfer.weights.scale import Scale
from tests import checkpoints
from tests.checkpoints import WORDS

STAGES = ("exhaustive", "centroids", "bm25", "dense", "muvera", "bm25+centroids")
QUERY = "why do cats sleep"
PLANTED = "p"

every_stage = pytest.mark.parametrize("stage", STAGES)


def sentences(seed: int, count: int) -> list[str]:
    """Texts of four to nine words that the tiny encoder knows."""
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, generator.integers(4, 10))) for _ in range(count)]


def corpus(count: int = 60) -> list[Document]:
    texts = sentences(0, count)
    documents = [
        Document(f"d{place:02d}", text, metadata={"year": 2000 + place % 10, "even": place % 2 == 0})
        for place, text in enumerate(texts)
    ]
    return [*documents, Document(PLANTED, QUERY, metadata={"year": 2020, "tags": ["cats", "naïve"], "even": False})]


def build(folder: Path, encoder: Encoder, documents: Iterable[Document], *, chunk: int = 16) -> Path:
    """An index of several segments."""
    with patch.object(building, "CHUNK", chunk):
        build_index(folder, list(documents), encoder, allow_empty=True)
    return folder


def ids(hits: Iterable[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def add(folder: Path, encoder: Encoder, *documents: Document, replacing: bool = False) -> None:
    with writing(folder) as writer:
        add_documents(writer, documents, encoder, replacing=replacing)


def delete(folder: Path, *names: str) -> None:
    with writing(folder) as writer:
        assert writer.delete(names) == len(names)


@pytest.fixture(scope="module", autouse=True)
def each_text_is_encoded_once() -> Iterator[None]:
    """Tests encode the same texts many times, which would take most of their time."""
    known: dict[object, TokenBatch] = {}
    encode = Encoder.encode

    def encode_once(self: Encoder, tokenized: Tokenized, advance: Advance = ignore) -> TokenBatch:
        key = (self, tokenized.role, tuple(tokenized.texts))
        if key not in known:
            known[key] = encode(self, tokenized, advance)
        return known[key]

    with patch.object(Encoder, "encode", encode_once):
        yield


@pytest.fixture(scope="module")
def folder(encoder: Encoder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty-one documents in four segments, which no test changes."""
    return build(tmp_path_factory.mktemp("search"), encoder, corpus())


@pytest.fixture(scope="module")
def searcher(folder: Path, encoder: Encoder) -> Searcher:
    """Scores by tokens alone; tests/test_mixed_scores.py has evidence beside them."""
    return Searcher.open(folder, encoder=encoder, weights="idf-soft")


@pytest.fixture
def numpy_alone() -> Iterator[None]:
    with patch.dict("os.environ", {native.VARIABLE: native.NUMPY}):
        yield


class TestStages:
    @every_stage
    def test_each_finds_the_planted_document(self, searcher: Searcher, stage: str) -> None:
        assert len(searcher.index.segments) > 1
        [hit] = searcher.search(QUERY, k=1, first_stage=stage)
        assert (hit.id, hit.text, hit.metadata) == (PLANTED, QUERY, corpus()[-1].metadata)
        assert hit.score == pytest.approx(1, abs=5e-3)

    @every_stage
    @pytest.mark.parametrize("form", ["l2", "cosine"])
    def test_scores_are_exact_whoever_found_the_candidates(
        self, folder: Path, encoder: Encoder, stage: str, form: Form
    ) -> None:
        searcher = Searcher.open(folder, first_stage=stage, form=form, encoder=encoder)
        exact = {hit.id: hit.score for hit in searcher.search("the blue dog", k=61, first_stage="exhaustive")}
        found = searcher.search("the blue dog", k=10)
        assert [hit.score for hit in found] == [exact[hit.id] for hit in found]
        assert ids(found) == sorted(ids(found), key=lambda identifier: (-exact[identifier], identifier))

    def test_exhaustive_is_the_definition(self, searcher: Searcher, encoder: Encoder) -> None:
        documents = corpus()
        encoded = encoder.encode_documents([document.text for document in documents])
        query = encoder.encode_queries(["a dog at night"])
        weights = TokenWeights.soft_idf(searcher.index.frequencies, encoder.vocabulary).of(query)
        scores = Scale(weights).scores(dispatch.score(dispatch.minima(query, encoded), weights))
        order = sorted(range(len(documents)), key=lambda place: (-scores[place], documents[place].id))[:7]
        found = searcher.search("a dog at night", k=7, first_stage="exhaustive")
        assert ids(found) == [documents[place].id for place in order]
        np.testing.assert_allclose([hit.score for hit in found], scores[order], atol=2e-3)

    @every_stage
    def test_a_batch_is_answered_like_single_queries(self, searcher: Searcher, stage: str) -> None:
        queries = [QUERY, "blue", "a mat and a mat", "it is night"]
        together = searcher.search(queries, k=5, first_stage=stage)
        for query, hits in zip(queries, together, strict=True):
            alone = searcher.search(query, k=5, first_stage=stage)
            assert ids(hits) == ids(alone)
            # Queries of other lengths in the batch change the last bits of a query's vectors.
            np.testing.assert_allclose([hit.score for hit in hits], [hit.score for hit in alone], atol=1e-5)

    @every_stage
    def test_no_queries_give_no_results(self, searcher: Searcher, stage: str) -> None:
        assert searcher.search([], first_stage=stage) == []

    def test_auto_looks_at_everything_while_that_is_little(
        self, searcher: Searcher, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert stages.chosen_name("auto", searcher.index) == "exhaustive"
        monkeypatch.setattr(stages, "FEW", 10)
        assert stages.chosen_name("auto", searcher.index) == "centroids"
        assert stages.chosen_name("dense", searcher.index) == "dense"

    @every_stage
    def test_without_the_native_kernel_the_same_documents_are_found(
        self, folder: Path, searcher: Searcher, encoder: Encoder, stage: str, numpy_alone: None
    ) -> None:
        numpy = Searcher.open(folder, encoder=encoder, weights="idf-soft")
        slow = numpy.search(["the sky", QUERY], k=8, first_stage=stage)
        with patch.dict("os.environ", {native.VARIABLE: ""}):
            fast = searcher.search(["the sky", QUERY], k=8, first_stage=stage)
        assert [ids(hits) for hits in slow] == [ids(hits) for hits in fast]

    def test_depth_bounds_what_is_scored(self, searcher: Searcher) -> None:
        deep = searcher.search("blue sky", k=3, first_stage="dense", depth=61)
        assert ids(deep) == ids(searcher.search("blue sky", k=3, first_stage="exhaustive"))
        assert len(searcher.search("blue sky", k=3, first_stage="dense", depth=1)) == 3

    @pytest.mark.parametrize("name", ["plaid", "bm25+plaid", "bm25+bm25", "auto+bm25", "+"])
    def test_an_unknown_first_stage_is_refused(self, searcher: Searcher, name: str) -> None:
        with pytest.raises(InputError, match=r"first stages are auto, bm25, .*, not '"):
            searcher.search("cat", first_stage=name)


class TestWeights:
    @pytest.mark.parametrize("stage", [stage for stage in STAGES if "bm25" not in stage])  # which has its own weights
    def test_words_of_a_token_without_weight_do_not_matter(self, folder: Path, encoder: Encoder, stage: str) -> None:
        # A word also changes the vectors of its neighbours, so the query stays the same: the weight of a word is set to
        # 0, and its vectors are replaced by others.
        searcher = Searcher.open(folder, encoder=encoder, weights="idf-soft", first_stage=stage)
        queries = searcher.queries.weigh(encoder.encode_queries(["the dog barks"]), ["the dog barks"])
        weights = queries.weights.copy()
        weights[1:3] = 0
        other = queries.tokens.vectors.copy()
        other[1:3] = other[1:3, ::-1]
        changed = type(queries.tokens)(other, queries.tokens.token_ids, queries.tokens.offsets)
        [one] = searcher.rank(queries._replace(weights=weights), 12)
        [two] = searcher.rank(queries._replace(weights=weights, tokens=changed), 12)
        assert one.places.tolist() == two.places.tolist()
        np.testing.assert_allclose(one.scores, two.scores, atol=1e-6)

    @every_stage
    def test_a_query_without_any_weight_is_no_error(self, folder: Path, encoder: Encoder, stage: str) -> None:
        nothing = TokenWeights(np.zeros(len(encoder.vocabulary), np.float32), encoder.vocabulary, {"recipe": "nothing"})
        searcher = Searcher.open(folder, encoder=encoder, weights=nothing, first_stage=stage)
        with pytest.warns(InputWarning, match="no token of the query 'the cat' has a weight above 0"):
            found = searcher.search("the cat", k=3)
        assert all(hit.score == 0 for hit in found)

    def test_a_query_without_any_weight_is_no_error_in_numpy_either(
        self, folder: Path, encoder: Encoder, numpy_alone: None
    ) -> None:
        self.test_a_query_without_any_weight_is_no_error(folder, encoder, "centroids")

    def test_other_weights_can_be_asked_for(self, searcher: Searcher, encoder: Encoder, tmp_path: Path) -> None:
        path = tmp_path / "uniform.safetensors"
        TokenWeights.uniform(encoder.vocabulary).save(path)
        uniform = searcher.search("the cat", weights="uniform")
        assert searcher.search("the cat", weights=str(path)) == uniform
        assert searcher.search("the cat", weights=TokenWeights.load(path)) == uniform
        assert searcher.search("the cat", weights="idf") != uniform

    def test_a_weights_file_is_read_again_after_it_has_changed(
        self, searcher: Searcher, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "learnt.safetensors"
        TokenWeights.uniform(encoder.vocabulary).save(path)
        assert searcher.search("the cat", weights=str(path)) == searcher.search("the cat", weights="uniform")
        searcher.queries.resolve("idf").save(path)
        assert searcher.search("the cat", weights=str(path)) == searcher.search("the cat", weights="idf")
        monkeypatch.setattr(TokenWeights, "load", lambda _: pytest.fail("an unchanged file is read once"))
        searcher.search("the cat", weights=str(path))

    def test_every_way_to_search_finds_as_many_documents_by_default(self, searcher: Searcher) -> None:
        assert len(searcher.search("the cat")) == DEFAULT_K == len(searcher.search(["the cat"])[0])

    def test_weights_of_another_form_or_name_are_refused(self, searcher: Searcher, encoder: Encoder) -> None:
        learnt = TokenWeights(
            np.ones(len(encoder.vocabulary), np.float32), encoder.vocabulary, {"recipe": "learnt", "form": "cosine"}
        )
        with pytest.raises(InputError, match="learnt for the form 'cosine', not 'l2'"):
            searcher.search("cat", weights=learnt)
        with pytest.raises(InputError, match="not 'heavy'"):
            searcher.search("cat", weights="heavy")

    def test_idf_follows_additions_and_deletions(self, encoder: Encoder, tmp_path: Path) -> None:
        documents = corpus(20)
        build(tmp_path, encoder, documents)
        searcher = Searcher.open(tmp_path, encoder=encoder)
        extra = Document("x", "the blue blue sky , and it ! is blue")
        add(tmp_path, encoder, extra)
        delete(tmp_path, "d03", "d11", PLANTED)
        add(tmp_path, encoder, Document("d05", "night"), replacing=True)
        searcher = searcher.refreshed()
        now = {document.id: document.text for document in (*documents, extra, Document("d05", "night"))}
        texts = [text for identifier, text in now.items() if identifier not in ("d03", "d11", PLANTED)]
        fresh = count_tokens(encoder, texts)
        assert searcher.index.frequencies.documents == fresh.documents == len(searcher)
        assert searcher.index.frequencies.counts.tolist() == fresh.counts.tolist()
        expected = searcher.search("blue night", weights=TokenWeights.idf(fresh, encoder.vocabulary))
        assert searcher.search("blue night", weights="idf") == expected

    def test_a_filter_that_no_document_can_match_is_warned_of(self, searcher: Searcher) -> None:
        with pytest.warns(InputWarning, match="no document has the field 'yeer'; known fields: even, tags, year"):
            searcher.search("the cat", where="yeer > 2000 or yeer is null")
        with pytest.warns(InputWarning, match="the field 'year' holds numbers, never text"):
            searcher.search("the cat", where="year in (2001, '2002')")

    def test_a_filter_on_a_field_that_holds_two_kinds_says_which_one_it_omits(
        self, encoder: Encoder, tmp_path: Path
    ) -> None:
        build(tmp_path, encoder, [Document("a", "the cat", metadata={"zip": 10115})])
        searcher = Searcher.open(tmp_path, encoder=encoder)
        assert len(searcher.search("the cat", where="zip = 10115")) == 1, "nothing is said"
        add(tmp_path, encoder, Document("b", "the cat", metadata={"zip": "01067"}))
        searcher = searcher.refreshed()
        with pytest.warns(InputWarning, match="field 'zip' holds numbers and text, and the filter omits text; compare"):
            assert ids(searcher.search("the cat", where="zip > 10000")) == ["a"]
        assert len(searcher.search("the cat", where="zip = 10115 or zip = '01067'")) == 2, "nothing is said"


class TestFilters:
    @every_stage
    @pytest.mark.parametrize("where", ["year >= 2007", "even = true", "year = 2020"])
    def test_only_what_fulfils_a_filter_is_found_and_the_answer_is_not_short(
        self, searcher: Searcher, stage: str, where: str
    ) -> None:
        allowed = set(ids(searcher.search("the cat", k=100, where=where, first_stage="exhaustive")))
        found = searcher.search("the cat", k=12, where=where, first_stage=stage)
        assert set(ids(found)) <= allowed
        assert len(found) == min(12, len(allowed))

    @every_stage
    def test_only_documents_among_some_are_found(self, searcher: Searcher, stage: str) -> None:
        among = ["d07", "d31", "d59", "not there"]
        found = searcher.search(["the cat", "blue"], first_stage=stage, among=iter(among))
        assert [sorted(ids(hits)) for hits in found] == [among[:3], among[:3]]

    @every_stage
    def test_both_can_be_combined(self, searcher: Searcher, stage: str) -> None:
        found = searcher.search("the cat", first_stage=stage, where="year = 2001", among=["d01", "d02", "d11"])
        assert sorted(ids(found)) == ["d01", "d11"]

    @every_stage
    @pytest.mark.parametrize("restriction", [{"where": "year > 3000"}, {"among": []}, {"among": ["not there"]}])
    def test_where_nothing_is_allowed_nothing_is_found(
        self, searcher: Searcher, stage: str, restriction: dict[str, str]
    ) -> None:
        assert searcher.search("the cat", first_stage=stage, **restriction) == []  # type: ignore[call-overload]

    @pytest.mark.parametrize("stage", ["centroids", "dense", "muvera"])
    def test_a_narrow_filter_over_more_documents_than_are_scored_is_not_short_either(
        self, folder: Path, encoder: Encoder, stage: str
    ) -> None:
        searcher = Searcher.open(folder, encoder=encoder, first_stage=stage)
        found = searcher.search("sky", k=20, depth=20, where="even = false")
        assert len(found) == 20
        assert not any(hit.metadata["even"] for hit in found)

    def test_a_filter_that_cannot_be_read_is_refused(self, searcher: Searcher) -> None:
        with pytest.raises(InputError, match="a filter needs a value at position 7"):
            searcher.search("cat", where="year >")


class TestPages:
    @every_stage
    def test_pages_are_parts_of_one_list_whatever_ties(self, encoder: Encoder, tmp_path: Path, stage: str) -> None:
        texts = [QUERY, "blue sky", f"{QUERY} or a dog"]
        build(tmp_path, encoder, [Document(f"d{n:02}", texts[n * n % 3]) for n in range(30)], chunk=8)
        searcher = Searcher.open(tmp_path, encoder=encoder, first_stage=stage)
        whole = searcher.search(QUERY, k=30)
        assert len({hit.score for hit in whole}) < len(whole)
        for size in (1, 4, 30):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)  # bm25 finds some of the documents only
                pages = [searcher.search(QUERY, k=size, offset=offset) for offset in range(0, 60, size)]
            assert [hit for page in pages for hit in page] == whole
        [page] = searcher.search([QUERY], k=5, offset=3)
        assert page == whole[3:8]

    def test_a_list_that_ends_with_the_candidates_says_so(self, encoder: Encoder, tmp_path: Path) -> None:
        build(tmp_path, encoder, corpus(30), chunk=8)
        searcher = Searcher.open(tmp_path, encoder=encoder, first_stage="centroids")
        assert len(searcher.search(QUERY, k=4, offset=6, depth=10)) == 4
        with pytest.warns(InputWarning, match="the first stage found no more candidates"):
            assert len(searcher.search(QUERY, k=4, offset=8, depth=10)) == 2
        with pytest.raises(InputError, match="offset must be at least 0, not -1"):
            searcher.search(QUERY, offset=-1)


class TestChanges:
    @every_stage
    def test_deleted_documents_are_never_found(self, encoder: Encoder, tmp_path: Path, stage: str) -> None:
        build(tmp_path, encoder, corpus(20), chunk=8)
        searcher = Searcher.open(tmp_path, encoder=encoder, first_stage=stage)
        assert ids(searcher.search(QUERY, k=1)) == [PLANTED]
        delete(tmp_path, PLANTED, "d04")
        assert ids(searcher.search(QUERY, k=1)) == [PLANTED], "a searcher reads one commit until it is refreshed"
        searcher = searcher.refreshed()
        assert searcher.refreshed() is searcher
        assert len(searcher) == 19
        found = ids(searcher.search(QUERY, k=50))
        assert not {PLANTED, "d04"} & set(found)
        if stage != "bm25":
            assert len(found) == 19
        queries = searcher.queries.weigh(encoder.encode_queries([QUERY]), [QUERY])
        [ranked] = searcher.rank(queries, 50)
        assert not {PLANTED, "d04"} & set(searcher.index.ids(ranked.places))

    @every_stage
    def test_added_and_replaced_documents_are_found_after_a_refresh(
        self, encoder: Encoder, tmp_path: Path, stage: str
    ) -> None:
        build(tmp_path, encoder, corpus(20), chunk=8)
        searcher = Searcher.open(tmp_path, encoder=encoder, first_stage=stage)
        add(tmp_path, encoder, Document("new", "a dog barks at night", metadata={"year": 2024}))
        add(tmp_path, encoder, Document("d02", "blue blue sky sky"), replacing=True)
        searcher = searcher.refreshed()
        assert searcher.search("a dog barks at night", k=1)[0].metadata == {"year": 2024}
        assert ids(searcher.search("blue blue sky sky", k=1)) == ["d02"]
        assert len(searcher) == 22

    def test_deleting_and_adding_again_gives_the_rankings_of_a_fresh_build(
        self, encoder: Encoder, tmp_path: Path
    ) -> None:
        documents = corpus(30)
        build(tmp_path / "fresh", encoder, documents)
        build(tmp_path / "changed", encoder, documents, chunk=7)
        delete(tmp_path / "changed", "d00", "d17", "d29")
        add(tmp_path / "changed", encoder, *(documents[place] for place in (29, 0, 17)))
        queries = [QUERY, "the mat", "it is blue and it barks"]
        fresh, changed = (
            Searcher.open(tmp_path / name, encoder=encoder).search(queries, k=31) for name in ("fresh", "changed")
        )
        # Other texts in the batch change the last bits of a text's vectors, before they are rounded to 16 bits.
        for one, other in zip(fresh, changed, strict=True):
            np.testing.assert_allclose([hit.score for hit in one], [hit.score for hit in other], atol=2e-3)
            assert sorted(ids(one)) == sorted(ids(other))
            assert ids(one)[:3] == ids(other)[:3]

    def test_compacting_changes_no_answer(self, encoder: Encoder, tmp_path: Path) -> None:
        build(tmp_path, encoder, corpus(30), chunk=7)
        delete(tmp_path, "d09", "d10")
        searcher = Searcher.open(tmp_path, encoder=encoder)
        before = searcher.search([QUERY, "blue"], k=50)
        with writing(tmp_path) as writer:
            writer.compact()
        searcher = searcher.refreshed()
        assert len(searcher.index.segments) == 1
        assert searcher.search([QUERY, "blue"], k=50) == before

    @every_stage
    def test_an_index_without_a_document_left_has_no_answer(self, encoder: Encoder, tmp_path: Path, stage: str) -> None:
        build(tmp_path, encoder, [Document("a", "the cat"), Document("b", "a dog")])
        searcher = Searcher.open(tmp_path, encoder=encoder, first_stage=stage)
        delete(tmp_path, "a", "b")
        searcher = searcher.refreshed()
        assert (len(searcher), searcher.search("cat")) == (0, [])
        add(tmp_path, encoder, Document("c", "cats"))
        searcher = searcher.refreshed()
        assert ids(searcher.search("cats")) == ["c"]


class TestScores:
    @pytest.mark.parametrize("form", ["l2", "cosine"])
    @pytest.mark.parametrize("weights", ["uniform", "idf", "idf-soft", "mix"])
    def test_the_text_of_a_document_is_a_perfect_match(
        self, folder: Path, encoder: Encoder, form: Form, weights: str
    ) -> None:
        searcher = Searcher.open(folder, encoder=encoder, form=form, weights=weights)
        for document in corpus()[:3]:
            best, *others = searcher.search(document.text)
            assert best.text == document.text
            assert best.score == pytest.approx(1, abs=5e-3)
            assert all(0 <= hit.score < best.score for hit in others)

    @pytest.mark.parametrize("form", ["l2", "cosine"])
    def test_scores_do_not_depend_on_the_scale_of_weights(self, folder: Path, encoder: Encoder, form: Form) -> None:
        searcher = Searcher.open(folder, encoder=encoder, form=form)
        idf = TokenWeights.idf(searcher.index.frequencies, encoder.vocabulary)
        scaled = TokenWeights(idf.table * 64, encoder.vocabulary, {"recipe": "scaled"})
        once = searcher.search("the blue cat", weights=idf)
        assert searcher.search("the blue cat", weights=scaled) == once

    @pytest.mark.parametrize("form", ["l2", "cosine"])
    def test_scores_do_not_depend_on_the_length_of_the_query(self, folder: Path, encoder: Encoder, form: Form) -> None:
        searcher = Searcher.open(folder, encoder=encoder, form=form, weights="uniform")
        once = searcher.queries.weigh(encoder.encode_queries(["the dog barks"]), ["the dog barks"])
        tokens = once.tokens
        twice = type(tokens).pack(
            [np.concatenate([tokens.vectors, tokens.vectors])], [np.concatenate([tokens.token_ids, tokens.token_ids])]
        )
        doubled = once._replace(tokens=twice, weights=np.concatenate([once.weights, 0 * once.weights]))
        answers = []
        for queries in (once, doubled):
            [found] = searcher.rank(queries, 5)
            [scale] = searcher.ranker.scales(queries)
            answers.append(scale.scores(found.scores))
        np.testing.assert_allclose(answers[0], answers[1], atol=1e-6)

    @pytest.mark.parametrize("precision", ["float16", "int8", "4bit"])
    def test_equal_scores_are_ordered_by_id_across_segments(
        self, encoder: Encoder, tmp_path: Path, precision: Precision
    ) -> None:
        names = ["c", "z", "a", "m", "b", "y", "k", "x"]
        documents = [Document(name, "the cat sat" if name in "cabk" else "a dog") for name in names]
        with patch.object(building, "CHUNK", 2):
            build_index(tmp_path, documents, encoder, precision=precision)
        searcher = Searcher.open(tmp_path, encoder=encoder)
        assert len(searcher.index.segments) == 4
        for k in range(1, 9):
            assert ids(searcher.search("cat", k=k)) == ["a", "b", "c", "k", "m", "x", "y", "z"][:k]

    @pytest.mark.parametrize("precision", ["float16", "int8", "4bit"])
    def test_an_empty_document_never_outranks_another(
        self, encoder: Encoder, tmp_path: Path, precision: Precision
    ) -> None:
        documents = [
            Document("a", ""),
            Document("b", "cat"),
            Document("c", " "),
            Document("d", "blue"),
            Document("0", "\t"),
        ]
        with patch.object(building, "CHUNK", 2):
            build_index(tmp_path, documents, encoder, precision=precision, allow_empty=True)
        searcher = Searcher.open(tmp_path, encoder=encoder)
        for form in ("l2", "cosine"):
            searcher = Searcher.open(tmp_path, encoder=encoder, form=form)
            for stage in STAGES:
                assert ids(searcher.search("cat", k=2, first_stage=stage))[:1] == ["b"]
                found = searcher.search("cat", first_stage=stage)
                assert ids(found)[:2] in (["b", "d"], ["b"])
                assert all(hit.score == 0 for hit in found[2:])
            assert ids(searcher.search("cat", first_stage="exhaustive")) == ["b", "d", "0", "a", "c"]
            assert ids(searcher.search("cat", k=3, first_stage="exhaustive")) == ["b", "d", "0"]

    @every_stage
    def test_a_k_above_the_number_of_documents_returns_all(self, searcher: Searcher, stage: str) -> None:
        found = ids(searcher.search("the cat sat", k=1000, first_stage=stage))
        assert len(found) == len(set(found))
        if stage != "bm25":  # which finds what shares a word
            assert len(found) == 61

    def test_at_least_one_document_is_asked_for(self, searcher: Searcher) -> None:
        with pytest.raises(InputError, match="k must be at least 1, not 0"):
            searcher.search("cat", k=0)

    def test_a_query_without_a_word_is_refused(self, searcher: Searcher) -> None:
        with pytest.raises(InputError, match="has no tokens"):
            searcher.search(["cat", " "])


class TestSmallerIndexes:
    @pytest.mark.parametrize(("precision", "shared"), [("int8", 9), ("4bit", 7), ("2bit", 5)])
    @pytest.mark.parametrize("stage", ["auto", "exhaustive", "bm25+dense"])
    def test_fewer_bits_keep_most_of_a_ranking(
        self, searcher: Searcher, encoder: Encoder, tmp_path: Path, precision: Precision, shared: int, stage: str
    ) -> None:
        with patch.object(building, "CHUNK", 16):
            build_index(tmp_path, corpus(), encoder, precision=precision)
        smaller = Searcher.open(tmp_path, encoder=encoder, first_stage=stage)
        queries = [QUERY, "the dog barks at night", "blue sky and a mat", "it is day"]
        for exact, found in zip(searcher.search(queries), smaller.search(queries), strict=True):
            assert len(found) == 10
            assert len(set(ids(exact)) & set(ids(found))) >= shared - (stage == "bm25+dense")
        assert ids(smaller.search(QUERY, k=1)) == [PLANTED]

    @pytest.mark.parametrize("precision", ["int8", "4bit", "2bit"])
    def test_without_the_native_kernel_codes_find_the_same(
        self, encoder: Encoder, tmp_path: Path, precision: Precision, numpy_alone: None
    ) -> None:
        build_index(tmp_path, corpus(), encoder, precision=precision)
        queries = [QUERY, "the dog barks"]
        slow = Searcher.open(tmp_path, encoder=encoder).search(queries)
        with patch.dict("os.environ", {native.VARIABLE: ""}):
            fast = Searcher.open(tmp_path, encoder=encoder).search(queries)
        assert [ids(hits) for hits in slow] == [ids(hits) for hits in fast]

    @pytest.mark.parametrize("settings", [{"dimensions": 8}, {"pool": 2}, {"dimensions": 8, "pool": 3}])
    @pytest.mark.parametrize("precision", ["float16", "int8", "2bit"])
    def test_projected_and_pooled_vectors_are_searched_like_any(
        self, encoder: Encoder, tmp_path: Path, settings: dict[str, int], precision: Precision
    ) -> None:
        build_index(tmp_path, corpus(), encoder, precision=precision, **settings)  # type: ignore[arg-type]
        for stage in STAGES:
            searcher = Searcher.open(tmp_path, encoder=encoder, first_stage=stage)
            assert searcher.index.dimensions == settings.get("dimensions", encoder.dimensions)
            assert PLANTED in ids(searcher.search(QUERY, k=5))
            assert len(searcher.search([QUERY, "the sky"], where="even = true")[1]) == 10


class TestOpening:
    def test_the_encoder_is_the_one_that_the_index_was_built_with(self, folder: Path, encoder: Encoder) -> None:
        searcher = Searcher.open(folder)
        assert searcher.encoder.model_fingerprint == encoder.model_fingerprint
        assert ids(searcher.search(QUERY, k=1)) == [PLANTED]

    def test_another_model_is_refused(self, folder: Path, tmp_path: Path) -> None:
        checkpoints.make_plain(tmp_path, seed=99)
        with pytest.raises(InputError, match=r"was built with another model \(.*\); search it with that model"):
            Searcher.open(folder, encoder=Encoder.load(str(tmp_path)))

    def test_a_folder_without_an_index_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="holds no index; make one with: chamfer index build"):
            Searcher.open(tmp_path)

    def test_wrong_names_are_reported_on_opening(self, folder: Path, encoder: Encoder) -> None:
        with pytest.raises(InputError, match="first stages are"):
            Searcher.open(folder, encoder=encoder, first_stage="plaid")
        with pytest.raises(InputError, match="weights are uniform, idf"):
            Searcher.open(folder, encoder=encoder, weights="heavy")

    def test_a_snapshot_answers_while_its_files_are_merged_away(self, encoder: Encoder, tmp_path: Path) -> None:
        build(tmp_path, encoder, corpus(20), chunk=5)
        searcher = Searcher.open(tmp_path, encoder=encoder)
        before = searcher.search([QUERY, "blue"], k=50, where="year > 2003")
        delete(tmp_path, PLANTED)
        with writing(tmp_path) as writer:
            writer.compact()
        assert searcher.search([QUERY, "blue"], k=50, where="year > 2003") == before

    def test_memory_mapped_pages_are_released_when_there_are_many(self, folder: Path, encoder: Encoder) -> None:
        searcher = Searcher.open(folder, encoder=encoder, first_stage="centroids")
        before = searcher.search(QUERY, depth=5)
        held = "chamfer.index.memory.resident_file_bytes"
        with patch(held, return_value=10**9):  # what was mapped before does not count
            searcher.index.growth.start()
        for resident, releases in (
            (10**9 + LITTLE, False),
            (10**9 + LITTLE + 1, True),
            (10**9 + LITTLE + 1, False),  # what is still there cannot be released
            (10**8, False),
            (10**8 + LITTLE + 1, True),  # another index was closed in the meantime
        ):
            with (
                patch(held, return_value=resident),
                patch.object(Segment, "forget", autospec=True, side_effect=Segment.forget) as forget,
            ):
                assert searcher.search(QUERY, depth=5) == before
            assert forget.called is releases


def test_a_query_is_tokenised_once(searcher: Searcher, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = checkpoints.count_tokenized(monkeypatch)
    long = "why do cats sleep " * 40
    hits = searcher.search(long)
    assert seen == [long]
    assert hits.query_was_truncated
    assert not searcher.search("why").query_was_truncated
    both = searcher.search(["cat", "dog", "cat"])
    assert seen[1:] == ["why", "cat", "dog"]
    assert both[0] == both[2]


def test_a_searcher_prints_in_one_line(searcher: Searcher) -> None:
    assert repr(searcher) == f"Searcher({str(searcher.index.folder)!r}, documents={len(searcher)}, weights='idf-soft')"
