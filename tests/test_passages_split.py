"""Long texts are split at good places, and nothing of them is lost."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from chamfer import Document, Encoder, InputError
from chamfer.data.passages import PassageSize, Spans, passages_of, put_together, split
from tests.test_cutting import byte_level, digits_from_the_end, unigram, without_pieces, word_piece

MADE = {one.__name__: one() for one in (word_piece, byte_level, digits_from_the_end, unigram, without_pieces)}
SPECIAL = 2

# What texts are made of: words, numbers, headings, blank lines, scripts without spaces, and what breaks a splitter.
WORDS = ["cat", "sat on a mat", "1234567", "dogs slept.", "Why?", "It's", ".", "…", "# A heading\n", "aaaa", "½", "🙂"]
SPACES = ["\n\n", "\n", " ", "   ", "\t", "\u00a0"]
PIECES = st.sampled_from([*WORDS, *SPACES, "東京都", "。", "조사", "e\u0301", "x" * 40, "9" * 30])
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(["", " "])), max_size=120).map(
    lambda parts: "".join(piece + space for piece, space in parts)
)


def tokens_of(tokenizer: Tokenizer) -> Callable[[str], Spans]:
    def tokens(text: str) -> Spans:
        found: Spans = tokenizer.encode(text, add_special_tokens=False).offsets
        return found

    return tokens


@pytest.mark.parametrize("name", MADE)
@settings(max_examples=60, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    text=TEXTS, length=st.integers(8, 40), overlap=st.integers(0, 20), title=st.sampled_from(["", "cat", "a mat, 42"])
)
def test_passages_cover_a_text_in_order_and_fit(name: str, text: str, length: int, overlap: int, title: str) -> None:
    tokens = tokens_of(MADE[name])
    size = PassageSize(length, min(overlap, length // 4))
    found = split(text, size, tokens=tokens, special=SPECIAL, title=title)
    assert found[0][0] == 0
    assert found[-1][1] == len(text)
    for (start, stop), (following, end) in pairwise(found):
        assert start < following <= stop < end
    passages = passages_of(Document("a", text, title), found)
    whole = put_together(passages)
    assert (whole.text, whole.title) == (text, title)
    assert found == split(text, size, tokens=tokens, special=SPECIAL, title=title)
    used = len(tokens(title)) if title else 0
    most = length - SPECIAL if length - SPECIAL - used >= length / 4 else used + length // 4
    for passage in passages:
        assert len(tokens(passage.content)) <= most or len(passage.text) <= 3, passage
    if len(tokens(Document("a", text, title).content)) <= length - SPECIAL:
        assert found == [(0, len(text))]


def test_passages_end_at_the_last_good_place_and_overlap(encoder: Encoder) -> None:
    def starts_and_ends(text: str, **size: int) -> list[str]:
        found = split(text, PassageSize(16, **size), tokens=encoder.offsets, special=2)
        return [text[start:stop] for start, stop in found]

    sentences = "the cat sat on a mat. a dog barks at night. why is the sky blue. cats sleep all day."
    assert starts_and_ends(sentences, overlap=0) == [
        "the cat sat on a mat. a dog barks at night. ",
        "why is the sky blue. cats sleep all day.",
    ]
    assert starts_and_ends(sentences, overlap=4)[1].startswith("at night. why is the sky blue.")
    headed = "the cat sat on a mat. a dog barks at\n# night\nwhy is the sky blue. cats sleep all day."
    assert starts_and_ends(headed, overlap=4) == [
        "the cat sat on a mat. a dog barks at\n",
        "# night\nwhy is the sky blue. cats sleep all day.",
    ]
    words = "cat " * 40
    assert all(passage == "cat " * (len(passage) // 4) for passage in starts_and_ends(words, overlap=4))


def test_time_and_reads_grow_with_the_text(encoder: Encoder) -> None:
    def read(text: str) -> tuple[int, int]:
        sizes: list[int] = []

        def tokens(part: str) -> Spans:
            sizes.append(len(part))
            return encoder.offsets(part)

        split(text, PassageSize.of(32), tokens=tokens, special=2)
        return sum(sizes), max(sizes)

    for sentence in ("the cat sat on a mat. ", "cat" * 20 + " ", "!", "x", " "):
        (less, most), (more, at_once) = (read(sentence * (count // len(sentence))) for count in (10_000, 80_000))
        assert more < 10 * less
        assert most == at_once <= 2048


@pytest.mark.parametrize(("length", "overlap"), [(7, 0), (16, 5), (16, -1)])
def test_impossible_sizes_are_refused(length: int, overlap: int) -> None:
    with pytest.raises(InputError, match="passages"):
        PassageSize(length, overlap)


def test_passages_that_are_not_all_of_a_document_are_refused() -> None:
    passages = passages_of(Document("a", "the cat sat"), [(0, 4), (2, 8), (8, 11)])
    assert put_together(passages).text == "the cat sat"
    for wrong in (passages[1:], passages[:2], passages[::-1], [passages[0], passages[2]]):
        with pytest.raises(ValueError, match="passages"):
            put_together(wrong)
