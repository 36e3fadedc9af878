"""Training pairs from what is installed: docstrings, and what packages say of themselves.

No judged collection is used. A pair that is a query or a document of any collection, or whose opening words stand in
one, as docstrings do in functions, is dropped all the same.

PYTHONPATH=benchmarks python -m late_interaction.pairs --data ../shared/data --data ../shared/fresh
"""

import argparse
import ast
import hashlib
import json
import re
import sysconfig
import warnings
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

from chamfer.support.files import atomic_write, write_json

HOME = Path(__file__).parents[2]
PAIRS = HOME / "build" / "late-interaction" / "pairs.jsonl"
RECORD = HOME / "benchmarks" / "results" / "late-interaction" / "pairs.json"

# In words. A shorter query says too little to find its document by, a longer one does not fit into 32 tokens.
SHORTEST_QUERY, LONGEST_QUERY, SHORTEST_DOCUMENT = 4, 24, 12

# Documents are cut here: training reads fewer tokens than these words have. Equal beginnings are one document.
LONGEST_DOCUMENT, BEGINNING = 160, 24

# Words of a pair by which it is looked for inside of the documents of collections.
OPENING = 12

LARGEST = 20  # packages to name in the record

STANDARD_LIBRARY = "standard library"
SENTENCE = re.compile(r"(.+?[^.\s]{2}[.!?])\s+(.+)", re.DOTALL)  # two characters before the stop: not "e.g. this"
DOCTEST = re.compile(r"^\s*(>>>|\.\.\.).*$", re.MULTILINE)
# HTML, images, targets of links, directives, rules under headings, brackets.
MARKUP = re.compile(r"<[^>]+>|!\[[^\]]*\]\([^)]*\)|\]\([^)]*\)|https?://\S+|\.\. \w+::|[-=~#*_^]{3,}|[\[\]]")


class Pair(NamedTuple):
    """A text to search with, the text it should find, and the package they come from."""

    query: str
    document: str
    package: str
    kind: str


def main() -> None:
    """Make all pairs, in an order that depends on their texts only, and write what they are to a record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, action="append", required=True, help="folder of judged collections")
    parser.add_argument("--out", type=Path, default=PAIRS)
    parser.add_argument("--record", type=Path, default=RECORD)
    arguments = parser.parse_args()
    judged = {text for folder in arguments.data for text in judged_texts(folder)}
    if not judged:
        raise SystemExit(f"there is no collection in {' '.join(map(str, arguments.data))}")
    dropped = {"in a collection": 0, "repeated": 0}
    made = (*docstring_pairs(), *description_pairs())
    unlike = [*distinct(made, judged, dropped)]
    inside = {
        path.parent.name: openings_in(path, {opening(pair) for pair in unlike}) for path in corpora(arguments.data)
    }
    contained = frozenset().union(*inside.values())
    pairs = sorted((pair for pair in unlike if opening(pair) not in contained), key=digest)
    dropped["inside of a document"] = len(unlike) - len(pairs)
    lines = "".join(json.dumps(pair._asdict(), ensure_ascii=False) + "\n" for pair in pairs).encode()
    with atomic_write(arguments.out) as file:
        file.write(lines)
    packages = Counter(pair.package for pair in pairs)
    record = {
        "pairs": len(pairs),
        "sha256": hashlib.sha256(lines).hexdigest(),
        "kinds": dict(Counter(pair.kind for pair in pairs).most_common()),
        "dropped": dict(dropped),
        "dropped_inside": {name: len(found) for name, found in sorted(inside.items()) if found},
        "collections": sorted(inside),
        "packages": len(packages),
        "largest_packages": dict(packages.most_common(LARGEST)),
        "words": {
            "query": round(sum(len(pair.query.split()) for pair in pairs) / len(pairs), 1),
            "document": round(sum(len(pair.document.split()) for pair in pairs) / len(pairs), 1),
        },
    }
    write_json(arguments.record, record)
    print(f"{len(pairs):,} pairs of {len(packages)} packages in {arguments.out}; dropped: {dropped}")


def docstring_pairs() -> Iterator[Pair]:
    """The first sentence and the rest of every docstring of the standard library and of installed packages."""
    paths = sysconfig.get_paths()
    library, installed = Path(paths["stdlib"]), {Path(paths["purelib"]), Path(paths["platlib"])}
    for root in sorted({library, *installed}):
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root)
            if root == library and inside.parts[0] in ("site-packages", "dist-packages"):
                continue
            package = STANDARD_LIBRARY if root == library else inside.parts[0].removesuffix(".py")
            for docstring in docstrings(path):
                if pair := split(docstring):
                    yield Pair(*pair, package, "docstring")


def docstrings(path: Path) -> Iterator[str]:
    """The docstrings of a file, which is parsed and not imported; none, if it is of another version of Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of other people's escape sequences
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def split(docstring: str) -> tuple[str, str] | None:
    """The first sentence of a docstring and the rest of it, without doctests and rules, if both say enough.

    >>> split("Sort the given words. " + "Short words come first. " * 3)
    ('Sort the given words.', 'Short words come first. Short words come first. Short words come first.')
    """
    first, _, rest = DOCTEST.sub("", docstring).strip().partition("\n\n")
    if sentence := SENTENCE.fullmatch(first):
        first, rest = sentence[1], f"{sentence[2]} {rest}"
    return checked(first, rest)


def description_pairs() -> Iterator[Pair]:
    """The summary and the description of every installed package."""
    for distribution in sorted(distributions(), key=lambda one: one.metadata["Name"].casefold()):
        metadata = distribution.metadata
        description = metadata["Description"] or metadata.get_payload()  # type: ignore[attr-defined]
        if pair := checked(metadata["Summary"] or "", str(description)):
            yield Pair(*pair, metadata["Name"], "description")


def checked(query: str, document: str) -> tuple[str, str] | None:
    """Both texts on one line, without markup; None if one is too short or the query too long."""
    query, document = (" ".join(MARKUP.sub(" ", text).split()) for text in (query, document))
    words = document.split()
    if not SHORTEST_QUERY <= len(query.split()) <= LONGEST_QUERY or len(words) < SHORTEST_DOCUMENT:
        return None
    return query, " ".join(words[:LONGEST_DOCUMENT])


def distinct(pairs: Iterable[Pair], judged: Container[str], dropped: dict[str, int]) -> Iterator[Pair]:
    """Pairs of which no query and no beginning of a document comes twice, and that no collection contains."""
    seen: set[str] = set()
    for pair in pairs:
        query, document = plain(pair.query), plain(pair.document)
        beginning = " ".join(document.split()[:BEGINNING])
        if query in judged or document in judged:
            dropped["in a collection"] += 1
        elif query in seen or beginning in seen:
            dropped["repeated"] += 1
        else:
            seen |= {query, beginning}
            yield pair


def corpora(data: Iterable[Path]) -> Iterator[Path]:
    """The files of documents of every collection in some folders."""
    for folder in data:
        yield from folder.glob("*/corpus.jsonl")


def opening(pair: Pair) -> str:
    """The first words of a pair, as :func:`plain` text."""
    return " ".join(plain(f"{pair.query} {pair.document}").split()[:OPENING])


def openings_in(corpus: Path, openings: Container[str]) -> frozenset[str]:
    """The openings that stand in a document of a collection."""
    found = set()
    for text in plain_texts(corpus):
        words = text.split()
        runs = (" ".join(words[at : at + OPENING]) for at in range(len(words) - OPENING + 1))
        found |= {run for run in runs if run in openings}
    return frozenset(found)


def judged_texts(data: Path) -> Iterator[str]:
    """Every query and document of every collection in a folder, as :func:`plain` text."""
    for path in [*data.glob("*/queries.jsonl"), *corpora([data])]:
        yield from plain_texts(path)


def plain_texts(path: Path) -> Iterator[str]:
    """The titles and texts of a file, alone and together, as :func:`plain` text."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            title, text = record.get("title") or "", record.get("text") or ""
            yield from dict.fromkeys(filter(None, (plain(title), plain(text), plain(f"{title} {text}"))))


def plain(text: str) -> str:
    """The words of a text, in small letters.

    >>> plain("Sort, then *count*!")
    'sort then count'
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def digest(pair: Pair) -> bytes:
    """Decides about the order of pairs, in place of the order of files."""
    return hashlib.sha256(f"{pair.query}\n{pair.document}".encode()).digest()


if __name__ == "__main__":
    main()
