"""Long texts are cut before they are tokenised, and nobody can tell."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from chamfer import Encoder
from chamfer.encode import cutting
from chamfer.encode.cutting import CHARACTERS, cut

SPECIAL = ["[UNK]", "[PAD]", "[SEP]", "<mask>"]
CORPUS = ["the cat sat on a mat, and 1234567 dogs slept", "It's 42 ½ ação naïve 東京都 조사", "aaaa bbb   cc\n\ndd"] * 3
LIMIT = 8


def word_piece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=120, special_tokens=SPECIAL))
    return made


def byte_level() -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet)
    )
    return made


def digits_from_the_end() -> Tokenizer:
    made = byte_level()
    grouped = pre_tokenizers.Split(Regex(r"\d{1,3}(?=(?:\d{3})*(?:\D|$))"), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([grouped, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return made


def unigram() -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.normalizer, made.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=SPECIAL, unk_token="[UNK]")
    made.train_from_iterator(CORPUS, trainer)
    return made


def without_pieces() -> Tokenizer:
    made = Tokenizer(models.BPE(unk_token="[UNK]", fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=200, special_tokens=SPECIAL))
    return made


WORDS = [
    *(
        "the cat",
        "a",
        " ",
        "   ",
        "\n",
        "1234567",
        "9",
        "½",
        "é",
        "e\u0301",
        "\u0301",
        "\u0327\u0301",
        "東京",
        "조",
        "ᄌ",
    ),
    *(
        "ᄌ",
        "ㅗ",
        "👩‍👩‍👧",
        "[SEP]",
        "<mask>",
        "[SE",
        "'s",
        "...",
        "x" * 120,
        "\u00a0",
        "\ufdfa",
        "\x00",
        "\u200b",
        "Σς",
    ),
]


def texts() -> list[str]:
    generator = np.random.default_rng(0)
    monotonous = [word * (10 * CHARACTERS * LIMIT // len(word)) for word in WORDS]
    late = ["a" * 3_000 + " cat" * 999, " " * 3_000 + "cat" * 999, "\u0301" * 3_000 + "the cat " * 999]
    few = [generator.choice(WORDS, 3) for _ in range(30)]
    mixed = [
        "".join(generator.choice(words, int(generator.integers(200, 800)))) for words in [*few, *[np.array(WORDS)] * 10]
    ]
    return [*monotonous, *late, *mixed]


ENDLESS = ["7", "1234567890", "e\u0301", "a", "ab", "q", " ", " \n", "\u0301"]


def tokenizer_of(made: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]", sep_token="[SEP]", mask_token="<mask>"
    )


MAKERS = [word_piece, byte_level, digits_from_the_end, unigram, without_pieces]


@pytest.mark.parametrize("make", MAKERS)
def test_a_cut_text_has_the_first_tokens_of_the_whole_one(make: Callable[[], Tokenizer]) -> None:
    made = make()
    tokenizer = tokenizer_of(made)
    cuts = 0
    for text in texts():
        shorter = cut(text, LIMIT, lambda part: made.encode(part, add_special_tokens=False))
        assert text.startswith(shorter)
        whole, read = (tokenizer(one, verbose=False)["input_ids"] for one in (text, shorter))
        assert read[:LIMIT] == whole[:LIMIT], repr(text[:50])
        assert (len(read) > LIMIT) == (len(whole) > LIMIT)
        cuts += len(shorter) < len(text)
    assert (cuts < 20) if make is without_pieces else cuts > 30  # where all is one piece, only special tokens end it


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("piece", ENDLESS)
def test_an_endless_piece_is_cut_and_keeps_its_first_tokens(
    make: Callable[[], Tokenizer], piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cutting, "LONGEST", 1)
    made = make()
    tokenizer = tokenizer_of(made)
    for length in range(6_000, 6_007):  # the groups of a number depend on it
        text = (piece * length)[:length]
        shorter = cut(text, LIMIT, lambda part: made.encode(part, add_special_tokens=False))
        assert text.startswith(shorter)
        assert len(shorter) < 1_500
        whole, read = (tokenizer(one, verbose=False)["input_ids"] for one in (text, shorter))
        assert read[:LIMIT] == whole[:LIMIT]


@pytest.mark.parametrize("piece", ["7", "e\u0301", "a", " "])
def test_three_megabytes_without_a_word_boundary_take_a_fraction_of_a_second(
    plain_checkpoint: Path, piece: str
) -> None:
    encoder = Encoder.load(str(plain_checkpoint), document_length=64)
    text = piece * 3_000_000
    started = time.process_time()
    tokenized = encoder.tokenize([text], "document")
    assert time.process_time() - started < 0.7
    assert tokenized.was_truncated == [True]  # what follows would not be read
    assert tokenized.token_ids[0].tolist() == encoder.tokenize([piece * 3_000], "document").token_ids[0].tolist()


def test_thirty_megabytes_take_as_long_as_one_page(plain_checkpoint: Path) -> None:
    encoder = Encoder.load(str(plain_checkpoint), document_length=64)
    page = "the cat sat on a mat " * 100
    texts = [page * (30_000_000 // len(page)), page]
    started = time.process_time()
    tokenized = encoder.tokenize(texts, "document")
    spans = encoder.spans(texts[0])
    assert time.process_time() - started < 1
    assert tokenized.texts == texts
    assert tokenized.was_truncated == [True, True]
    assert tokenized.token_ids[0].tolist() == tokenized.token_ids[1].tolist()
    assert spans == encoder.spans(page)
