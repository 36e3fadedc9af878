import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from chamfer import DocumentFrequencies, InputError, TokenBatch, TokenWeights
from chamfer.tokens.vocabulary import Vocabulary
from chamfer.weights.names import cache_key
from chamfer.weights.special import DEFAULT

WORDS = Vocabulary(("[CLS]", "the", "cat", "##s", "dog", "never"), special_ids=frozenset({0}))
COUNTED = DocumentFrequencies.count([[0, 1, 2, 3], [0, 1, 4], [0, 1, 2]], vocabulary_size=6)


def test_uniform_weights_are_1() -> None:
    assert TokenWeights.uniform(WORDS).table.tolist() == [1] * 6


@pytest.mark.parametrize("special", [0.0, 1.0])
def test_idf_gives_special_tokens_the_given_weight_and_unseen_ones_0(special: float) -> None:
    table = TokenWeights.idf(COUNTED, WORDS, special=special).table
    np.testing.assert_allclose(table[1:5], COUNTED.idf()[1:5], rtol=1e-6)
    assert table[0] == special
    assert table[5] == 0


@pytest.mark.parametrize("better", [0.0, 1.0])
def test_auto_takes_the_special_weight_that_validates_better(better: float) -> None:
    def validate(several: Sequence[TokenWeights]) -> list[float]:
        return [-abs(float(weights.table[0]) - better) for weights in several]

    chosen = TokenWeights.idf(COUNTED, WORDS, special="auto", validate=validate)
    assert chosen.table[0] == better
    assert chosen.metadata["special"] == better
    assert chosen.metadata["special_chosen_by"] == "validation"


def test_auto_needs_something_to_validate_on() -> None:
    with pytest.raises(InputError, match="validation queries"):
        TokenWeights.idf(COUNTED, WORDS, special="auto")


def test_soft_idf_is_a_power_of_idf_over_its_mean() -> None:
    idf, n = COUNTED.idf(), COUNTED.counts
    mean = sum(n[t] * idf[t] for t in range(1, 5)) / n[1:5].sum()
    table = TokenWeights.soft_idf(COUNTED, WORDS).table
    np.testing.assert_allclose(table[1:5], np.sqrt(idf[1:5] / mean), rtol=1e-6)
    assert table[0] == table[5] == 1
    np.testing.assert_allclose(
        TokenWeights.soft_idf(COUNTED, WORDS, mean=2.0, power=1).table[1:5], idf[1:5] / 2, rtol=1e-6
    )
    np.testing.assert_array_equal(TokenWeights.soft_idf(COUNTED, WORDS, power=0).table, np.ones(6))


def test_soft_idf_needs_a_token_with_text() -> None:
    only_special = DocumentFrequencies.count([[0]], vocabulary_size=6)
    with pytest.raises(InputError, match="no average IDF"):
        TokenWeights.soft_idf(only_special, WORDS)
    with pytest.raises(InputError, match="between 0 and 2"):
        TokenWeights.soft_idf(COUNTED, WORDS, power=-1)
    foreign = DocumentFrequencies.count([[0]], vocabulary_size=7)
    for make in (TokenWeights.idf, TokenWeights.soft_idf):
        with pytest.raises(InputError, match="do not match a vocabulary of 6"):
            make(foreign, WORDS)


def test_weights_are_looked_up_by_token_id() -> None:
    weights = TokenWeights(np.arange(6, dtype=np.float32), WORDS)
    batch = TokenBatch.pack([np.ones((3, 2), np.float32)], [[4, 0, 4]])
    assert weights.of(batch).tolist() == [4, 0, 4]
    with pytest.raises(InputError, match="token id 9 lies outside the 6 tokens"):
        weights.of(TokenBatch.pack([np.ones((1, 2), np.float32)], [[9]]))


def test_extremes_leave_out_special_and_weightless_tokens() -> None:
    weights = TokenWeights(np.array([9, 3, 0, 1, 3, 2], np.float32), WORDS)
    assert weights.extremes(2) == ([("dog", 3), ("the", 3)], [("##s", 1), ("never", 2)])


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_must_be_finite_and_not_negative(bad: float) -> None:
    with pytest.raises(InputError, match="finite and not negative"):
        TokenWeights(np.full(6, bad, np.float32), WORDS)


def test_a_saved_file_comes_back_as_it_was(tmp_path: Path) -> None:
    weights = TokenWeights.soft_idf(COUNTED, WORDS, power=0.3, made_from={"corpus": "pets"})
    weights.save(tmp_path / "w.safetensors")
    loaded = TokenWeights.load(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(loaded.table, weights.table)
    assert loaded.vocabulary == weights.vocabulary
    assert loaded.metadata == {"recipe": "idf-soft", "power": 0.3, "documents": 3, "corpus": "pets"}


def test_a_path_may_be_a_string_and_must_say_what_it_is(tmp_path: Path) -> None:
    TokenWeights.uniform(WORDS).save(str(tmp_path / "w.safetensors"))
    assert TokenWeights.load(str(tmp_path / "w.safetensors")).table.tolist() == [1] * 6
    with pytest.raises(InputError, match=r"weights files end in \.safetensors, \.json, \.txt; 'w\.npy' does not"):
        TokenWeights.uniform(WORDS).save(tmp_path / "w.npy")


def test_weights_of_another_tokenizer_are_refused() -> None:
    other = Vocabulary((*WORDS.tokens[:-1], "ever"), WORDS.special_ids)
    with pytest.raises(InputError, match="another tokenizer"):
        TokenWeights.uniform(WORDS).check_tokenizer(other)
    TokenWeights.uniform(WORDS).check_tokenizer(Vocabulary(WORDS.tokens, frozenset()))


def test_loading_for_another_tokenizer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    TokenWeights.uniform(WORDS).save(path)
    with pytest.raises(InputError, match="another tokenizer"):
        TokenWeights.load(path, Vocabulary(("a",), frozenset()))


def test_a_flipped_byte_in_the_vocabulary_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    TokenWeights.uniform(WORDS).save(path)
    content = path.read_bytes()
    for place, byte in ((content.index(b'"cat"') + 1, 0xFF), (content.index(b'"cat"') + 1, ord("h"))):
        path.write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
        with pytest.raises(InputError, match="damaged"):
            TokenWeights.load(path)


@pytest.mark.parametrize("content", [b"", b"no safetensors", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "])
def test_a_file_that_holds_no_weights_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"w\.safetensors is (damaged or )?not a chamfer weights file"):
        TokenWeights.load(path)
    with pytest.raises(InputError, match="no weights file"):
        TokenWeights.load(tmp_path / "none.safetensors")


@pytest.mark.parametrize("name", ["idf.json", "query_token_weights.txt"])
def test_published_formats_bring_every_weight_back(tmp_path: Path, name: str) -> None:
    weights = TokenWeights.idf(COUNTED, WORDS)
    weights.save(tmp_path / name)
    np.testing.assert_array_equal(TokenWeights.load(tmp_path / name, WORDS).table, weights.table)


def test_published_formats_are_what_others_write(tmp_path: Path) -> None:
    (tmp_path / "idf.json").write_text(json.dumps({"cat": 2, "dog": 0.5}))
    (tmp_path / "weights.txt").write_text("cat\t2\r\ndog\t0.5\n\n")
    for name in ("idf.json", "weights.txt"):
        assert TokenWeights.load(tmp_path / name, WORDS).table.tolist() == [0, 0, 2, 0, 0.5, 0]
    assert TokenWeights.load(tmp_path / "idf.json", WORDS, missing=1).table.tolist() == [1, 1, 2, 1, 0.5, 1]
    TokenWeights.uniform(WORDS).save(tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text().splitlines()[2] == "cat\t1.0"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("idf.json", '{"cow": 1}', "'cow', which is not in this tokenizer's vocabulary; give the model that"),
        ("idf.json", '{"cat": -1}', "numbers from 0 to 1e"),
        ("idf.json", '{"cat": "heavy"}', "is not a number"),
        ("idf.json", "[1]", "one JSON object"),
        ("idf.json", "{", "is not valid JSON"),
        ("idf.json", '{"cat": 1e39}', "numbers from 0 to 1e"),
        ("idf.json", '{"cat": 1' + "0" * 400 + "}", "numbers from 0 to 1e"),
        ("w.txt", "cat\t1\ncat\t2\n", "two weights for 'cat'"),
        ("w.txt", "cat 1\n", "line 1: expected a token, a tab and a number"),
        ("w.txt", "cat\t1\ndog\theavy\n", "line 2"),
        ("w.txt", "cat\tnan\n", "numbers from 0 to 1e"),
    ],
)
def test_imported_files_that_cannot_be_used_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        TokenWeights.load(tmp_path / name, WORDS)


def test_a_token_with_a_tab_cannot_go_into_a_tab_separated_file(tmp_path: Path) -> None:
    words = Vocabulary(("a\tb",), frozenset())
    with pytest.raises(InputError, match=r"save the weights as \.json"):
        TokenWeights.uniform(words).save(tmp_path / "w.txt")
    assert list(tmp_path.iterdir()) == []


def test_an_exchange_format_needs_a_vocabulary_to_be_read(tmp_path: Path) -> None:
    TokenWeights.uniform(WORDS).save(tmp_path / "w.json")
    with pytest.raises(InputError, match=r"'w\.json' contains no vocabulary"):
        TokenWeights.load(tmp_path / "w.json")


def test_folded_queries_carry_their_weights() -> None:
    weights = TokenWeights(np.arange(6, dtype=np.float32), WORDS)
    query = TokenBatch.pack([np.eye(3, dtype=np.float32)], [[2, 0, 4]])
    folded = weights.fold(query)
    assert folded.token_ids.tolist() == [2, 4]
    assert folded.vectors.tolist() == [[2, 0, 0], [0, 0, 4]]


def test_weights_learnt_for_l2_are_not_folded() -> None:
    query = TokenBatch.pack([np.eye(1, 3, dtype=np.float32)], [[2]])
    with pytest.raises(InputError, match=r"learnt for the form 'l2', not 'cosine'; learn them again .*--form cosine"):
        TokenWeights.uniform(WORDS, made_from={"form": "l2"}).fold(query)
    assert len(TokenWeights.uniform(WORDS, made_from={"form": "cosine"}).fold(query)) == 1


def test_weights_and_vocabularies_print_in_one_line() -> None:
    assert repr(WORDS) == "Vocabulary(tokens=6)"
    assert repr(TokenWeights.idf(COUNTED, WORDS)) == "TokenWeights(tokens=6, recipe='idf')"
    learnt = TokenWeights(np.ones(6, np.float32), WORDS, {"recipe": "blend", "form": "l2"}, np.zeros(3, np.float32))
    assert repr(learnt) == "TokenWeights(tokens=6, recipe='blend', form='l2', context=3)"


def test_a_file_that_is_written_again_has_another_key(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    assert cache_key("idf") == cache_key("idf") != cache_key("idf-soft")
    missing = cache_key(str(path))
    TokenWeights.uniform(WORDS).save(path)
    first = cache_key(str(path))
    assert first == cache_key(str(path)) != missing
    TokenWeights.uniform(WORDS).save(path)
    assert cache_key(str(path)) != first


def test_special_tokens_that_validate_alike_weigh_1() -> None:
    chosen = TokenWeights.idf(COUNTED, WORDS, special="auto", validate=lambda several: [0.0] * len(several))
    assert chosen.metadata["special"] == DEFAULT == 1
