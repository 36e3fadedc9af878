"""Collections, runs, measures, comparisons and the experiment that joins them."""

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chamfer import Encoder, InputError, Ranking, TokenWeights
from chamfer.data import docstrings
from chamfer.data.collection import load_collection, load_documents
from chamfer.data.docstrings import docstring_collection
from chamfer.data.runs import read_run, write_run
from chamfer.evaluate import first_stage
from chamfer.evaluate.experiment import evaluate
from chamfer.evaluate.measures import MEASURES, measure
from chamfer.evaluate.rankings import find_candidates
from chamfer.evaluate.significance import compare
from chamfer.index import encoded
from chamfer.index.description import describe
from chamfer.index.writing import Writer
from tests.checkpoints import count_tokenized
from tests.conftest import DOCUMENTS, QUERIES, write_lines


class TestCollections:
    def test_a_folder_is_read_as_beir_means_it(self, collection_folder: Path) -> None:
        collection = load_collection(collection_folder)
        assert collection.name == "pets"
        assert collection.documents == DOCUMENTS
        assert list(collection.judged_queries("dev")) == ["q1", "q2"]
        assert collection.judgements["test"]["q1"] == {"d4": 2, "d1": 1}

    def test_title_and_text_are_joined(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "c.jsonl", [{"_id": "1", "title": "Cats", "text": "sleep"}, {"_id": "2", "text": "x"}])
        assert load_documents(tmp_path / "c.jsonl") == {"1": "Cats sleep", "2": "x"}

    def test_documents_without_text_are_kept_only_on_request(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "c.jsonl", [{"_id": "1", "text": "cat"}, {"_id": "2", "title": "", "text": " "}])
        with pytest.raises(InputError, match=r"line 2: document '2' has no text; .*--allow-empty"):
            load_documents(tmp_path / "c.jsonl")
        assert load_documents(tmp_path / "c.jsonl", allow_empty=True) == {"1": "cat", "2": ""}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"_id": "1", "text": "a"}\n{"_id"', "line 2: not a JSON object"),
            ("[1]\n", "line 1: not a JSON object but list"),
            (b"caf\xe9\n", "not UTF-8"),
            ('{"_id": 7.5, "text": "a"}\n', "'_id' must be a string, not float"),
            ('{"_id": "1", "text": ["a"]}\n', "'text' of '1' must be a string, not list"),
            ('{"_id": "1", "title": true}\n', "'title' of '1' must be a string, not bool"),
            ('{"_id": "1", "text": "\\ud800"}\n', "line 1: not a JSON object"),
            ("[" * 100_000, "line 1: not a JSON object"),
            ('{"_id": "1", "n": ' + "9" * 5000 + "}", "line 1: not a JSON object"),
            ('{"_id": "1", "text": "a"}\n\n{"_id": "1", "text": "b"}\n', "line 3: the id '1' was used before"),
            ("", "no documents with text"),
        ],
    )
    def test_lines_that_cannot_be_used_are_named(self, tmp_path: Path, content: str | bytes, message: str) -> None:
        (tmp_path / "c.jsonl").write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(InputError, match=message):
            load_documents(tmp_path / "c.jsonl")

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("q1\td1", "line 8: expected"),
            ("q1\td1\tmany", "line 8: expected"),
            ("q9\td1\t1", "query 'q9' is not among the queries"),
            ("q1\td4\t1", "document 'd4' already has another grade for query 'q1'"),
            ("\udcff", "line 8: expected"),
        ],
    )
    def test_judgements_that_cannot_be_used_are_named(self, collection_folder: Path, line: str, message: str) -> None:
        with (collection_folder / "qrels" / "test.tsv").open("a", errors="surrogateescape") as file:
            file.write(line + "\n")
        with pytest.raises(InputError, match=message):
            load_collection(collection_folder)

    def test_judged_documents_that_are_not_there_are_counted(self, collection_folder: Path) -> None:
        with (collection_folder / "qrels" / "test.tsv").open("a") as file:
            file.write("q1\tgone\t1\n")
        collection = load_collection(collection_folder)
        assert (collection.unknown_judged("test"), collection.unknown_judged("dev")) == (1, 0)

    def test_a_split_without_judgements_is_refused(self, collection_folder: Path) -> None:
        (collection_folder / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n")
        with pytest.raises(InputError, match="'train' of pets holds no judgements"):
            load_collection(collection_folder).judged_queries("train")

    def test_a_split_that_is_not_there_is_named_with_those_that_are(self, collection_folder: Path) -> None:
        with pytest.raises(InputError, match="no split 'train'; it has: dev, test"):
            load_collection(collection_folder).judged_queries("train")

    def test_every_judged_collection_loads(self, shared_data: Path) -> None:
        folders = sorted(path.parent for path in shared_data.glob("*/corpus.jsonl"))
        assert {"scifact", "nfcorpus", "arguana"} <= {folder.name for folder in folders}
        for folder in folders:
            if folder.name != "acl-titles":  # the large one
                assert load_collection(folder, allow_empty=True).judged_queries("test")


class TestRuns:
    def test_a_run_comes_back_as_it_was(self, tmp_path: Path) -> None:
        rankings = [
            Ranking("q1", ("b", "a"), (0.1 + 0.2, -1e-9)),
            Ranking("q 2", ("Global warming:170", "50%20", "c\u00a0d\t"), (3.0, 2.0, -np.inf)),
        ]
        write_run(tmp_path / "out" / "run.trec", rankings, tag="my run")
        assert read_run(tmp_path / "out" / "run.trec") == rankings
        assert all(len(line.split(" ")) == 6 for line in (tmp_path / "out" / "run.trec").read_text().splitlines())

    def test_documents_with_scores_that_were_cut_off_keep_their_order(self, tmp_path: Path) -> None:
        scores = (1.0, 1.0, 1.0, float(np.nextafter(np.float32(1), np.float32(0))), 0.5, 0.5, 0.0, 0.0, 0.0)
        ranking = Ranking("q", ("c", "a", "b", "h", "d", "e", "z", "y", "x"), scores)
        write_run(tmp_path / "run.trec", [ranking])
        [again] = read_run(tmp_path / "run.trec")
        assert again.document_ids == ranking.document_ids
        assert again.scores == pytest.approx(ranking.scores, abs=1e-6)
        assert [again.scores[place] for place in (0, 4, 5, 6)] == [1.0, 0.5, 0.5, 0.0], "ties in order of ids stay"
        narrow = np.array(again.scores, np.float32)
        assert (np.diff(narrow[:4]) < 0).any(), "also for tools that read 32 bits"
        unordered = Ranking("q", ("b", "a"), (1e300, 1e300))
        write_run(tmp_path / "large.trec", [unordered])
        assert read_run(tmp_path / "large.trec")[0].document_ids == ("b", "a")

    def test_the_score_decides_not_the_rank_column(self, tmp_path: Path) -> None:
        (tmp_path / "run.trec").write_text("q Q0 a 1 0.5 x\nq\tQ0\tb\t2\t0.9\tx\n")
        assert read_run(tmp_path / "run.trec") == [Ranking("q", ("b", "a"), (0.9, 0.5))]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("q Q0 a 1 0.5\n", "line 1: expected query"),
            ("q Q0 a 1 high x\n", "line 1: expected query"),
            ("q Q0 a 1 nan x\n", "line 1: expected query"),
            ("q Q0 a 1 2 x\nq Q0 a 2 1 x\n", "line 2: document 'a' is ranked twice"),
            ("", "contains no rankings"),
        ],
    )
    def test_lines_that_cannot_be_used_are_named(self, tmp_path: Path, content: str, message: str) -> None:
        (tmp_path / "run.trec").write_text(content)
        with pytest.raises(InputError, match=message):
            read_run(tmp_path / "run.trec")
        with pytest.raises(InputError, match="no run file"):
            read_run(tmp_path / "none.trec")


class TestMeasures:
    def test_values_are_the_textbook_ones(self) -> None:
        judgements = {"q": {"a": 2, "b": 1, "c": 0}}
        found = measure([Ranking.of("q", ["c", "b", "a"], [3, 2, 1])], judgements)
        ideal, got = 2 + 1 / np.log2(3), 1 / np.log2(3) + 2 / np.log2(4)
        assert found["nDCG@10"] == pytest.approx([got / ideal])
        assert found["RR@10"].tolist() == [0.5]
        assert found["R@10"].tolist() == [1.0]

    def test_our_order_of_equal_scores_is_what_is_measured(self) -> None:
        ranking = Ranking.of("q", ["b", "a"], [1.0, 1.0])
        assert measure([ranking], {"q": {"a": 1}})["RR@10"].tolist() == [1.0]
        assert measure([ranking], {"q": {"b": 1}})["RR@10"].tolist() == [0.5]

    def test_a_query_without_a_ranking_scores_0(self) -> None:
        found = measure(
            [Ranking("q1", ("a",), (1.0,)), Ranking("unjudged", ("a",), (1.0,))], {"q1": {"a": 1}, "q2": {"a": 1}}
        )
        assert all(found[name].tolist() == [1.0, 0.0] for name in MEASURES)
        with pytest.raises(InputError, match="no judged queries"):
            measure([], {})

    def test_grades_below_0_are_not_relevant(self) -> None:
        ranking = Ranking("q", ("a", "b"), (2.0, 1.0))
        assert measure([ranking], {"q": {"a": -2}})["nDCG@10"].tolist() == [0.0]
        assert measure([ranking], {"q": {"a": -2, "b": 1}})["RR@10"].tolist() == [0.5]

    def test_a_grade_that_would_crash_the_measures_is_refused(self) -> None:
        with pytest.raises(InputError, match="a grade must be at most 1,000,000, not 2147483648"):
            measure([Ranking("q", ("a",), (1.0,))], {"q": {"a": 2**31}})


class TestComparisons:
    def test_equal_systems_do_not_differ(self) -> None:
        values = np.array([0.1, 0.5, 0.9])
        assert compare(values, values)._asdict() == {"difference": 0, "p_value": 1, "wins": 0, "ties": 3, "losses": 0}

    def test_the_p_value_is_that_of_the_exact_test(self) -> None:
        # Six gains and no loss: of 64 equally likely swaps, two are as extreme.
        system, baseline = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8]), np.full(6, 0.2)
        assert compare(system, baseline).p_value == pytest.approx(2 / 64, abs=0.006)
        assert compare(system, baseline).wins == 6

    def test_the_test_is_fair_on_noise(self) -> None:
        generator = np.random.default_rng(7)
        small = sum(
            compare(generator.normal(size=30), generator.normal(size=30), permutations=500).p_value < 0.1
            for _ in range(200)
        )
        assert 8 <= small <= 34  # 20 expected

    def test_systems_on_different_queries_are_refused(self) -> None:
        with pytest.raises(InputError, match="same queries"):
            compare(np.ones(2), np.ones(3))


class TestExperiments:
    def test_systems_stand_side_by_side(self, collection_folder: Path, encoder: Encoder, tmp_path: Path) -> None:
        collection = load_collection(collection_folder)
        found = evaluate(collection, ["uniform", "idf", "idf-soft"], encoder=encoder, cache=tmp_path / "cache")
        report = json.loads(json.dumps(found.as_json()))
        assert (report["dataset"], report["split"], report["queries"]) == ("pets", "test", 4)
        assert [system["name"] for system in report["systems"]] == ["bm25", "uniform", "idf", "idf-soft"]
        assert set(report["systems"][1]["measures"]) == set(MEASURES)
        assert report["systems"][1]["against_baseline"]["nDCG@10"]["p_value"] == 1
        assert report["systems"][2]["made"]["recipe"] == "idf"

    def test_a_system_that_was_not_evaluated_is_named_with_those_that_were(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        found = evaluate(load_collection(collection_folder), ["uniform"], encoder=encoder, cache=tmp_path)
        assert found["uniform"].name == "uniform"
        with pytest.raises(InputError, match="no system is called 'idf'; there are: bm25, uniform"):
            found["idf"]

    def test_a_second_evaluation_encodes_nothing(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        collection = load_collection(collection_folder)
        first = evaluate(collection, ["uniform"], encoder=encoder, cache=tmp_path / "cache")
        monkeypatch.setattr(Encoder, "encode", None)
        again = evaluate(collection, ["uniform", "idf"], encoder=encoder, cache=tmp_path / "cache")
        assert again.systems[1].rankings == first.systems[1].rankings

    def test_a_text_is_tokenised_once_and_never_if_it_is_cached(
        self, collection_folder: Path, plain_checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        short = Encoder.load(str(plain_checkpoint), query_length=5, document_length=6)
        collection = load_collection(collection_folder)
        seen = count_tokenized(monkeypatch)
        once = Counter([*collection.documents.values(), *QUERIES.values()])
        for times in (once, Counter()):
            seen.clear()
            found = evaluate(collection, ["uniform", "idf"], encoder=short, cache=tmp_path / "cache")
            assert Counter(seen) == times
            assert found.truncated == {
                "queries": sum(len(text.split()) > 3 for text in QUERIES.values()),
                "documents": sum(len(text.split()) > 4 for text in collection.documents.values()),
            }

    def test_the_querys_own_document_is_no_candidate(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        found = evaluate(load_collection(collection_folder), ["uniform"], encoder=encoder, cache=tmp_path / "cache")
        assert "d2" in DOCUMENTS, "one query is also a document"
        for system in found.systems:
            assert "d2" in [ranking.query_id for ranking in system.rankings]
            assert all(ranking.query_id not in ranking.document_ids for ranking in system.rankings)

    def test_a_query_that_is_judged_relevant_to_itself_may_find_itself(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        """Known-item search: a document by its title, say."""
        collection = load_collection(collection_folder)
        judged = replace(collection, judgements={"test": {"d2": {"d2": 1}}})
        (system,) = evaluate(judged, ["uniform"], encoder=encoder, cache=tmp_path / "cache").systems[1:]
        assert system.measures["R@10"] == 1

    def test_another_document_with_the_querys_id_is_a_candidate(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        """Queries and documents that are both numbered from 1, say."""
        collection = load_collection(collection_folder)
        renamed = replace(
            collection, queries={"d4": "why do cats sleep"}, judgements={"test": {"d4": {"d4": 2, "d1": 1}}}
        )
        (system,) = evaluate(renamed, ["uniform"], encoder=encoder, cache=tmp_path / "cache").systems[1:]
        assert "d4" in system.rankings[0].document_ids
        assert system.measures["R@10"] == 1

    def test_a_run_is_measured_without_the_querys_own_document(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        runs = {"theirs": [Ranking("d2", ("d2", "d5"), (2.0, 1.0))]}
        collection = load_collection(collection_folder)
        judged = replace(collection, judgements={"test": {"d2": {"d5": 1}}})
        found = evaluate(judged, ["uniform"], runs=runs, encoder=encoder, cache=tmp_path / "cache")
        assert found.systems[-1].measures["RR@10"] == 1

    def test_candidates_and_runs_may_come_from_elsewhere(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        candidates = [Ranking("q1", ("d5", "d4", "d1"), (3.0, 2.0, 1.0)), Ranking("unjudged", ("d1",), (1.0,))]
        found = evaluate(
            load_collection(collection_folder),
            ["uniform"],
            encoder=encoder,
            cache=tmp_path / "cache",
            candidates=candidates,
            runs={"oracle": [Ranking("q1", ("d4", "d1"), (2.0, 1.0))]},
            depth=2,
        )
        names = {system.name: system for system in found.systems}
        assert set(names["uniform"].rankings[0].document_ids) == {"d5", "d4"}
        assert names["oracle"].values["nDCG@10"][0] == pytest.approx(1.0)

    def test_special_tokens_are_chosen_on_the_validation_split(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        collection = load_collection(collection_folder)
        found = evaluate(
            collection, ["idf"], encoder=encoder, cache=tmp_path / "cache", special="auto", validation="dev"
        )
        by_hand = {
            special: evaluate(
                collection, ["idf"], encoder=encoder, cache=tmp_path / "cache", special=special, split="dev"
            )
            .systems[1]
            .measures["nDCG@10"]
            for special in (1.0, 0.0)
        }
        assert found.systems[1].made["special"] == max(by_hand, key=lambda special: by_hand[special])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                {"weights": ["idf"], "special": "auto", "validation": "test"},
                "cannot be tuned on 'test', the evaluation split; use another split",
            ),
            ({"weights": ["uniform", "uniform"]}, "would be called 'uniform'"),
            ({"weights": []}, "at least one weighting"),
            ({"weights": ["uniform"], "baseline": "nothing"}, "baseline must be one of bm25, uniform"),
            ({"weights": ["heavy"]}, "not 'heavy'"),
            ({"weights": ["uniform"], "split": "train"}, "no split 'train'"),
            ({"weights": ["uniform"], "candidates": [Ranking("q1", ("d9",), (1.0,))]}, "'d9' of query 'q1'"),
            (
                {"weights": ["uniform"], "candidates": [Ranking("q9", ("d1",), (1.0,))]},
                "the candidates contain none of the 4 queries",
            ),
            (
                {"weights": ["uniform"], "runs": {"old": [Ranking("q9", ("d1",), (1.0,))]}},
                "run 'old' contains none of the 4 queries",
            ),
            ({"weights": ["uniform", "bm25.safetensors"]}, "would be called 'bm25'"),
            ({"weights": ["uniform"], "first_stage": "plaid"}, "first stages are auto, bm25"),
            ({"weights": ["uniform"], "depth": 0}, "at least 1 candidate, not 0"),
        ],
    )
    def test_what_cannot_be_evaluated_is_refused(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path, arguments: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(InputError, match=message):
            evaluate(load_collection(collection_folder), encoder=encoder, cache=tmp_path / "cache", **arguments)

    def test_a_weights_file_is_named_like_any_weighting(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        path = tmp_path / "mine.safetensors"
        TokenWeights.uniform(encoder.vocabulary).save(path)
        found = evaluate(
            load_collection(collection_folder), ["uniform", str(path)], encoder=encoder, cache=tmp_path / "cache"
        )
        assert found.systems[2].rankings == found.systems[1].rankings


class TestFirstStages:
    @pytest.mark.parametrize("stage", ["auto", "exhaustive", "centroids", "dense", "muvera", "bm25+centroids"])
    def test_candidates_of_any_stage_are_ranked_by_each_weighting(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path, stage: str
    ) -> None:
        collection = load_collection(collection_folder)
        found = evaluate(collection, ["uniform", "idf"], encoder=encoder, cache=tmp_path / "cache", first_stage=stage)
        assert [system.name for system in found.systems] == [stage, "uniform", "idf"]
        assert found.settings["first_stage"] == stage
        for system in found.systems:  # all documents but the query's own are candidates of these stages
            assert [len(ranking) for ranking in system.rankings] == [5, 5, 5, 4]
            assert all(ranking.query_id not in ranking.document_ids for ranking in system.rankings)

    def test_everything_re_ranked_is_exhaustive_search(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        collection = load_collection(collection_folder)
        everything = [Ranking(query, tuple(DOCUMENTS), (0.0,) * len(DOCUMENTS)) for query in collection.queries]
        cache = tmp_path / "cache"
        expected = (
            evaluate(collection, ["idf"], encoder=encoder, cache=cache, candidates=everything).systems[1].rankings
        )
        found = evaluate(collection, ["idf"], encoder=encoder, cache=cache, first_stage="centroids").systems[1].rankings
        assert [(ranking.query_id, ranking.document_ids) for ranking in found] == [
            (ranking.query_id, ranking.document_ids) for ranking in expected
        ]

    def test_the_index_is_made_once(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        collection = load_collection(collection_folder)
        first = evaluate(collection, ["uniform"], encoder=encoder, cache=tmp_path, first_stage="dense")
        monkeypatch.setattr(Encoder, "encode", None)
        monkeypatch.setattr(first_stage, "build_encoded", None)
        again = evaluate(collection, ["uniform"], encoder=encoder, cache=tmp_path, first_stage="dense")
        assert again.systems[0].rankings == first.systems[0].rankings

    def test_an_interrupted_index_is_finished(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(encoded, "CHUNK", 1)  # every document is a commit
        collection = load_collection(collection_folder)
        add, calls = Writer.add, []

        def add_once(self: Writer, *arguments: Any, **named: Any) -> None:
            calls.append(arguments)
            if len(calls) == 2:
                raise KeyboardInterrupt
            add(self, *arguments, **named)

        monkeypatch.setattr(Writer, "add", add_once)
        with pytest.raises(KeyboardInterrupt):
            evaluate(collection, ["uniform"], encoder=encoder, cache=tmp_path, first_stage="dense")
        [folder] = tmp_path.glob("index-*")
        assert describe(folder)["building"] == "1 of 5 documents"
        found = evaluate(collection, ["uniform"], encoder=encoder, cache=tmp_path, first_stage="dense")
        assert describe(folder)["documents"] == 5
        assert [len(ranking) for ranking in found.systems[0].rankings] == [5, 5, 5, 4]

    def test_the_first_stages_own_ranking_is_that_of_the_baseline(
        self, collection_folder: Path, encoder: Encoder, tmp_path: Path
    ) -> None:
        collection = load_collection(collection_folder)
        names = ["uniform", "idf"]
        for baseline in names:
            found = evaluate(
                collection, names, encoder=encoder, cache=tmp_path, first_stage="exhaustive", baseline=baseline
            )
            alone = evaluate(collection, [baseline], encoder=encoder, cache=tmp_path, first_stage="exhaustive")
            assert found.systems[0].rankings == alone.systems[0].rankings


def test_bm25_leaves_the_querys_own_document_out_and_still_fills_the_depth(collection_folder: Path) -> None:
    collection = load_collection(collection_folder)
    found = find_candidates(collection, {"d2": collection.queries["d2"]}, depth=1)
    assert found[0].document_ids == ("d5",)


def test_the_docstring_collection_has_thousands_of_public_names(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = docstrings._docstrings  # of all files, once
    monkeypatch.setattr(docstrings, "_docstrings", cache(lambda path, module: list(parse(path, module))))
    collection = docstring_collection()
    assert len(collection.documents) > 1500
    assert set(collection.judgements["test"]) == set(collection.queries)
    assert len(set(collection.queries.values())) == len(collection.queries)
    assert not any(part.startswith("_") for name in collection.documents for part in name.split("."))
    assert 25 < len(docstring_collection(most=50).documents) <= 50
    fewer = docstring_collection(without={"lib2to3", "tkinter"}).documents
    assert {*collection.documents} - {*fewer} == {
        name for name in collection.documents if name.startswith(("lib2to3", "tkinter"))
    }
