"""Zero-shot weights on whole judged collections: BM25 top 1000, then each weighting.

Writes ``results/zero-shot/COLLECTION.json``, one file per collection, so that an interrupted run keeps what it
has; a collection whose file is there is passed over unless ``--again``.
"""

import argparse
from pathlib import Path

from chamfer import Encoder
from chamfer.cache import default_cache
from chamfer.cli.evaluate import print_table
from chamfer.cli.terminal import progress_bar
from chamfer.evaluation.beir import load_collection
from chamfer.evaluation.experiment import evaluate
from chamfer.files import write_json
from environment import environment

RESULTS = Path(__file__).parent / "results" / "zero-shot"
QUERY_LENGTH, DOCUMENT_LENGTH = 64, 256
LONG_QUERIES = {"arguana": 512}  # whole arguments are its queries
LARGE = "acl-titles"  # known items; measured with the index


def main() -> None:
    """Evaluate every collection that is asked for, smallest first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", help="names of folders; all if none is given")
    parser.add_argument("--data", type=Path, required=True, help="where the collections are")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--again", action="store_true", help="measure also what was measured before")
    arguments = parser.parse_args()
    folders = sorted(
        (path.parent for path in arguments.data.glob("*/corpus.jsonl") if path.parent.name != LARGE),
        key=lambda folder: (folder / "corpus.jsonl").stat().st_size,
    )
    for folder in folders:
        out = RESULTS / f"{folder.name}.json"
        if (arguments.collections and folder.name not in arguments.collections) or (
            out.exists() and not arguments.again
        ):
            continue
        encoder = Encoder.load(
            "minilm",
            query_length=LONG_QUERIES.get(folder.name, QUERY_LENGTH),
            document_length=DOCUMENT_LENGTH,
        )
        evaluation = evaluate(
            load_collection(folder, allow_empty=True),
            encoder,
            ["uniform", "idf", "idf-soft"],
            cache=arguments.cache,
            progress=progress_bar,
        )
        print_table(evaluation)
        write_json(out, {"environment": environment(), **evaluation.as_json()})


if __name__ == "__main__":
    main()
