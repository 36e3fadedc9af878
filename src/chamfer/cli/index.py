"""``chamfer index``."""

from pathlib import Path
from typing import Annotated

import typer

from chamfer.cli.options import AllowEmpty, AsJson, DocumentLength, EncoderName, PrecisionName, QueryLength, RayAddress
from chamfer.cli.terminal import print_json, progress_bar, results, say, say_truncated
from chamfer.errors import InputError
from chamfer.workers.connect import workers_at

app = typer.Typer(help="Build an index and change it while it serves.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="The folder of the index.")]
CorpusFile = Annotated[Path, typer.Argument(help="JSON lines with _id, title, text, metadata; or a BEIR folder.")]


@app.command("build")
def build(
    corpus: CorpusFile,
    out: Annotated[Path, typer.Option("--out", help="The folder that the index goes to.")],
    encoder: EncoderName = "minilm",
    precision: Annotated[
        PrecisionName, typer.Option("--precision", help="What is kept of a vector: exact, or smaller.")
    ] = PrecisionName.float16,
    pool: Annotated[int, typer.Option("--pool", min=1, help="Keep one vector for so many tokens.")] = 1,
    dimensions: Annotated[
        int | None, typer.Option("--dimensions", help="Project vectors to so many dimensions.", show_default="all")
    ] = None,
    first_stage: Annotated[
        str, typer.Option("--first-stage", help="Prepare this stage, so that the first search is fast.")
    ] = "auto",
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Encode a corpus into an index; the same command goes on after an interruption.

    Example: chamfer index build corpus.jsonl --out index/
    """
    from chamfer.data.documents import corpus_file, read_documents
    from chamfer.index.texts import check_documents

    if not corpus_file(corpus).is_file():
        if corpus.exists() and not corpus.is_dir():
            raise InputError(f"{corpus} is no regular file; a corpus is read more than once, so save it first")
        raise InputError(f"there is no file {corpus_file(corpus)}; give a BEIR folder, or a file of JSON lines")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; an index is a folder, so choose another --out")
    check_documents(read_documents(corpus, allow_empty=allow_empty))

    # Only now what takes seconds to import: a wrong path is told at once.
    from chamfer.encode.encoder import Encoder
    from chamfer.index.building import build_index, check_unfinished
    from chamfer.index.manifest import read_manifest
    from chamfer.index.reading import Index
    from chamfer.retrieve.stages import check_stage, open_stage

    check_stage(first_stage)
    check_unfinished(out)
    before = read_manifest(out)
    begun = before.settings.encoder if before is not None else {}  # which goes on as it began, whatever is there now
    model = Encoder.load(
        encoder,
        query_length=query_length,
        document_length=document_length,
        arithmetic=begun.get("arithmetic", "auto"),
        engine=begun.get("engine", "auto"),
    )
    with workers_at(ray) as workers:
        truncated = build_index(
            out,
            corpus,
            model,
            precision=precision.value,
            pool=pool,
            projected=dimensions,
            allow_empty=allow_empty,
            progress=progress_bar,
            workers=workers,
        )
    index = Index.open(out)
    say_truncated("documents", truncated, index.manifest.documents, model.document_length)
    open_stage(first_stage, index)
    say(f"{index.manifest.documents} documents in {out}; search them with: chamfer search {out} 'a question'")
    _tell(out, as_json)


@app.command("add")
def add(
    folder: Folder,
    corpus: CorpusFile,
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents that have the same ids.")] = False,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Add documents, some at a time, each time all of them or none; those that are there word for word are passed over.

    Example: chamfer index add index/ new.jsonl --replace
    """
    from chamfer.data.documents import read_documents
    from chamfer.index.manifest import needed_manifest
    from chamfer.index.texts import check_documents

    manifest = needed_manifest(folder)
    total = check_documents(read_documents(corpus, allow_empty=allow_empty))

    from chamfer.index.building import add_corpus, load_encoder
    from chamfer.index.writing import writing

    model = load_encoder(manifest.settings, "document")
    documents = read_documents(corpus, allow_empty=allow_empty)
    with workers_at(ray) as workers, writing(folder) as writer, progress_bar("adding documents", total) as advance:
        added, truncated = add_corpus(writer, documents, model, replacing=replace, advance=advance, workers=workers)
    say_truncated("documents", truncated, added, model.document_length)
    were_there = f", {total - added} were there already" if added < total else ""
    say(f"{added} of {total} documents added{were_there}; {folder} now holds {writer.manifest.documents}")
    _tell(folder, as_json)


@app.command("delete")
def delete(
    folder: Folder,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of documents.")] = None,
    where: Annotated[
        str | None, typer.Option("--where", help='All that a filter holds for, as in "year < 2000".')
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Delete documents by id or by a filter.

    Example: chamfer index delete index/ doc17 doc23
    """
    from chamfer.index.writing import writing

    if not ids and where is None:
        raise InputError("name documents to delete: by their ids, or by --where")
    if ids and where is not None:
        raise InputError("name documents by their ids or by --where, not both")
    with writing(folder) as writer:
        wanted = list(dict.fromkeys(ids or [])) if where is None else writer.matching(where)
        found = writer.delete(wanted)
    missing = len(wanted) - found
    say(
        f"{found} documents deleted"
        + (f", {missing} of the ids {'was' if missing == 1 else 'were'} not there" if missing else "")
    )
    _tell(folder, as_json)


@app.command("compact")
def compact(folder: Folder, as_json: AsJson = False) -> None:
    """Merge all segments into one, without what was deleted.

    Example: chamfer index compact index/
    """
    from chamfer.index.writing import writing

    with writing(folder) as writer:
        writer.compact()
    say(f"{writer.manifest.documents} documents in {len(writer.manifest.segments)} segment")
    _tell(folder, as_json)


@app.command("shard")
def shard(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", help="The folder that the shards go to.")],
    shards: Annotated[int, typer.Option("--shards", min=1, help="How many.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Split an index into shards, for chamfer serve --ray; again, after changes, as a new version of them.

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
def info(folder: Folder, as_json: AsJson = False) -> None:
    """Say what an index holds.

    Example: chamfer index info index/
    """
    from chamfer.index.description import describe

    told = describe(folder)
    if as_json:
        print_json(told)
        return
    width = max(len(name) for name in told)
    for name, value in told.items():
        results.print(f"{name.replace('_', ' '):<{width}}  {value}", markup=False, soft_wrap=True)


@app.command("verify")
def verify(folder: Folder, as_json: AsJson = False) -> None:
    """Read every byte of an index and compare checksums and counts; exit code 1 if something is wrong.

    Example: chamfer index verify index/
    """
    from chamfer.index.verify import verify as find_problems

    problems = find_problems(folder, progress_bar)
    if as_json:
        print_json(problems)
    else:
        results.print("\n".join(problems) or f"{folder} is whole", markup=False, soft_wrap=True)
    if problems:
        raise typer.Exit(1)


def _tell(folder: Path, as_json: bool) -> None:
    """With ``--json``, what the index holds now."""
    if as_json:
        from chamfer.index.description import describe

        print_json(describe(folder))
