"""``chamfer index``."""

from pathlib import Path
from typing import Annotated

import typer

from chamfer.cli.options import (
    AllowEmpty,
    AsJson,
    CorpusPath,
    DocumentLength,
    EncoderName,
    IndexFolder,
    QueryLength,
    RayAddress,
    Where,
)
from chamfer.cli.terminal import print_json, progress_bar, results, resumable, say, say_truncated
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.index.settings import Precision

app = typer.Typer(help="Build, update and inspect an index.", no_args_is_help=True)


@app.command("build")
def build(
    corpus: CorpusPath,
    out: Annotated[Path, typer.Option("--out", help="Folder for the index.")],
    encoder: EncoderName = MINILM,
    precision: Annotated[
        Precision, typer.Option("--precision", help="Storage of vectors: float16 is exact, the others are smaller.")
    ] = "float16",
    pool: Annotated[int, typer.Option("--pool", min=1, help="Pool this many tokens into one vector.")] = 1,
    dimensions: Annotated[
        int | None, typer.Option("--dimensions", help="Project vectors to this many dimensions.", show_default="all")
    ] = None,
    first_stage: Annotated[
        str,
        typer.Option("--first-stage", help="First stage to prepare, so that the first search is fast.", metavar="NAME"),
    ] = "auto",
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Build an index from a corpus; run the same command again to resume after an interruption.

    Example: chamfer index build corpus.jsonl --out index/
    """
    from chamfer.data.corpus import documents_from
    from chamfer.data.documents import corpus_file
    from chamfer.index.manifest import check_unfinished, read_manifest
    from chamfer.index.texts import check_storable

    if not corpus_file(corpus).is_file():
        if corpus.exists() and not corpus.is_dir():
            raise InputError(f"{corpus} is not a regular file; a corpus is read more than once, so save it to a file")
        raise InputError(f"there is no file {corpus_file(corpus)}; give a JSON Lines file or a BEIR folder")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, but an index is a folder; choose another --out")

    from chamfer.retrieve.stages import check_stage, open_stage

    check_unfinished(read_manifest(out), out)
    check_stage(first_stage)
    documents = documents_from(corpus, allow_empty=allow_empty, check=check_storable)
    if not len(documents):
        raise InputError(f"{corpus_file(corpus)} holds no documents; an index needs at least one")

    from chamfer.index.building import build_index
    from chamfer.index.encoder import load_for_building
    from chamfer.index.snapshot import Snapshot

    model = load_for_building(out, encoder, query_length=query_length, document_length=document_length)
    with resumable():
        report = build_index(out, documents, model, precision=precision, pool=pool, dimensions=dimensions, ray=ray)
    say_truncated("documents", report.truncated, report.documents, model.document_length)
    open_stage(first_stage, Snapshot.open(out))
    say(f"indexed {report.documents} documents; search them with: chamfer search {out} 'your query'")
    _print_info(out, as_json)


@app.command("add")
def add(
    folder: IndexFolder,
    corpus: CorpusPath,
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents with the same ids.")] = False,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Add documents in atomic batches; documents that are already there, unchanged, are skipped.

    Example: chamfer index add index/ new.jsonl --replace
    """
    from chamfer.data.corpus import documents_from
    from chamfer.index.manifest import needed_manifest
    from chamfer.index.texts import check_storable

    manifest = needed_manifest(folder)
    documents = documents_from(corpus, allow_empty=allow_empty, check=check_storable)
    if not len(documents):
        raise InputError(f"{corpus} holds no documents; give at least one to add")

    from chamfer.index.index import Index

    index = Index.open(folder)
    with resumable():
        report = index.add(documents, replace=replace, ray=ray)
    length = manifest.settings.encoder["document_length"]
    say_truncated("documents", report.truncated, report.documents, length)
    unchanged = f" ({report.skipped} were already there)" if report.skipped else ""
    say(f"added {report.documents} of {len(documents)} documents{unchanged}; {folder} now holds {len(index)}")
    _print_info(folder, as_json)


@app.command("delete")
def delete(
    folder: IndexFolder,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of the documents to delete.")] = None,
    where: Where = None,
    as_json: AsJson = False,
) -> None:
    """Delete documents by id or by metadata filter.

    Example: chamfer index delete index/ doc17 doc23
    """
    from chamfer.index.filters import parse_filter
    from chamfer.index.writing import writing

    if not ids and where is None:
        raise InputError("give ids of documents to delete, or --where FILTER")
    if ids and where is not None:
        raise InputError("give ids or --where, not both")
    with writing(folder) as writer:
        wanted = list(dict.fromkeys(ids or [])) if where is None else writer.matching(parse_filter(where))
        found = writer.delete(wanted)
    missing = len(wanted) - found
    say(f"deleted {found} documents" + (f" (ids not found: {missing})" if missing else ""))
    _print_info(folder, as_json)


@app.command("compact")
def compact(folder: IndexFolder, as_json: AsJson = False) -> None:
    """Merge all segments into one and drop deleted documents.

    Example: chamfer index compact index/
    """
    from chamfer.index.writing import writing

    with writing(folder) as writer:
        writer.compact()
    say(f"{writer.manifest.documents} documents in {len(writer.manifest.segments)} segment")
    _print_info(folder, as_json)


@app.command("shard")
def shard(
    folder: IndexFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder for the shards.")],
    shards: Annotated[int, typer.Option("--shards", min=1, help="Number of shards.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Split an index into shards for chamfer serve --ray; run it again after changes to make a new version.

    Example: chamfer index shard index/ --out shards/ --shards 2
    """
    from chamfer.index.manifest import needed_manifest

    needed_manifest(folder)

    from chamfer.index.splitting import split_index

    made = split_index(folder, out, shards=shards, progress=progress_bar)
    each = ", ".join(str(part.documents) for part in made.shards)
    say(f"version {made.version} in {out}: {made.documents} documents in {len(made.shards)} shards ({each})")
    if as_json:
        print_json(
            {
                "version": made.version,
                "documents": made.documents,
                "shards": {part.name: part.documents for part in made.shards},
            }
        )


@app.command("info")
def info(folder: IndexFolder, as_json: AsJson = False) -> None:
    """Show the contents and settings of an index.

    Example: chamfer index info index/
    """
    from chamfer.index.description import describe

    facts = describe(folder)
    if as_json:
        print_json(facts)
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        results.print(f"{name.replace('_', ' '):<{width}}  {value}", markup=False, soft_wrap=True)


@app.command("verify")
def verify(folder: IndexFolder, as_json: AsJson = False) -> None:
    """Verify checksums and counts of every file.

    Exits with code 1 if something is wrong.

    Example: chamfer index verify index/
    """
    from chamfer.index.verify import verify as find_problems

    problems = find_problems(folder, progress_bar)
    if as_json:
        print_json(problems)
    else:
        results.print("\n".join(problems) or f"{folder} is intact", markup=False, soft_wrap=True)
    if problems:
        raise typer.Exit(1)


def _print_info(folder: Path, as_json: bool) -> None:
    """With ``--json``, print what the index holds now."""
    if as_json:
        from chamfer.index.description import describe

        print_json(describe(folder))
