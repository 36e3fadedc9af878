"""Cutting long texts before they are tokenised: of a book, a model reads the first pages."""

import re
from typing import Any

# Characters per token to try first; more than any language needs with a tokenizer made for it. The next try has more.
CHARACTERS, GROWTH = 32, 4

# Pieces at the end of a cut text that may differ from those of the whole one. One would do; the others are for
# characters that are normalised together.
UNSURE = 8

# Some tokenizers group the digits of a number from its end, so that is never cut.
DIGITS = re.compile(r"\d*")


def cut(text: str, limit: int, tokenizer: Any) -> str:  # noqa: ANN401 -- of transformers
    """The beginning of a text, with the same first tokens as the whole of it, and more than ``limit`` tokens.

    A tokenizer splits a text into pieces, words or shorter, and each piece into tokens by itself. Where a piece ends
    depends on the next few characters at most. So the tokens of all pieces but the last few of a beginning are those
    of the whole text. A text is returned whole if it is short, or if its beginnings hold too few pieces.

    Args:
        text: the text.
        limit: number of tokens that matter.
        tokenizer: a tokenizer of transformers; its truncation is switched off.
    """
    size = CHARACTERS * limit
    while 2 * size < len(text):
        beginning = text[: DIGITS.match(text, size).end()]  # type: ignore[union-attr]  # matches anything
        [read] = tokenizer(beginning, add_special_tokens=False, truncation=False, verbose=False).encodings
        pieces = read.word_ids
        if len(pieces) > limit and pieces[limit - 1] + UNSURE <= pieces[-1]:
            return beginning
        size *= GROWTH
    return text
