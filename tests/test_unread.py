"""Texts in a script that the model does not know are reported, at build and at search."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from chamfer import Encoder, Index, Searcher, build_index
from chamfer.errors import InputWarning
from chamfer.tokens.batch import TokenBatch
from chamfer.tokens.unread import unread
from chamfer.tokens.vocabulary import Vocabulary

RUSSIAN, THAI, HINDI = "привет, как дела?", "สวัสดีครับ", "नमस्ते दुनिया"
CHINESE, JAPANESE, KOREAN = "中国的首都是北京", "東京は日本の首都です", "한국의 수도는 서울이다"
KNOWN = ["hello world", "naïve café, Việt Nam", "β-carotene", "β", "the 東京 tower", "😀", "…", "12345", ""]


@pytest.fixture(scope="module")
def minilm() -> Encoder:
    return Encoder.load("minilm", device="cpu", engine="auto")


def is_unread(text: str, encoder: Encoder) -> bool:
    return unread([text], tokens(encoder.tokenize([text], "document").token_ids[0]), encoder.vocabulary) == [0]


def tokens(ids: Iterable[int]) -> TokenBatch:
    """One text with these tokens."""
    token_ids = np.array(list(ids), np.int32)
    return TokenBatch.pack([np.zeros((len(token_ids), 1), np.float32)], [token_ids])


@pytest.mark.parametrize("text", [RUSSIAN, THAI, HINDI, CHINESE, JAPANESE, KOREAN, "שלום עולם"])
def test_an_english_model_cannot_read_other_scripts(minilm: Encoder, text: str) -> None:
    assert is_unread(text, minilm)


@pytest.mark.parametrize("text", KNOWN)
def test_what_it_can_read_is_not_reported(minilm: Encoder, text: str) -> None:
    assert not is_unread(text, minilm)


def test_a_vocabulary_made_for_a_script_reads_it() -> None:
    ideographs = tuple(chr(0x4E00 + place) for place in range(3000))
    chinese, russian = Vocabulary(ideographs, frozenset()), Vocabulary(("привет", "##ы"), frozenset())
    assert not unread(["中国一"], tokens(chinese.ids[letter] for letter in "中国一"), chinese)
    assert not unread(["приветы"], tokens([0, 1]), russian)


def test_a_build_an_addition_and_a_search_say_so_once(tmp_path: Path, minilm: Encoder) -> None:
    folder = tmp_path / "index"
    with pytest.warns(InputWarning, match=r"minilm does not know the script of 2 of 3 documents \(the first is 'ru'\)"):
        report = build_index(folder, {"en": "bread", "ru": RUSSIAN, "th": THAI}, minilm)
    assert report.unread == 2
    with pytest.warns(InputWarning, match=r"of 1 of 1 documents \(the first is 'hi'\): .* multilingual model"):
        assert Index.open(folder).add({"hi": HINDI}).unread == 1
    searcher = Searcher.open(folder, encoder=minilm)
    with pytest.warns(InputWarning, match="does not know the script of the query 'привет, как дела.'"):
        searcher.search(RUSSIAN)
    searcher.search("bread")
