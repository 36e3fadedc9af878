"""``chamfer index``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal

from chamfer.cli.commands import Command, Group
from chamfer.cli.fields_table import as_json as fields_as_json
from chamfer.cli.fields_table import fields_of, print_fields
from chamfer.cli.options import (
    AllowEmpty,
    AsJson,
    CorpusPath,
    Delimiter,
    DocumentLength,
    EncoderName,
    FormatName,
    IdField,
    IndexFolder,
    QueryLength,
    RayAddress,
    TextField,
    TitleField,
    Where,
)
from chamfer.cli.terminal import AGAIN, print_json, results, resumable, say, say_truncated
from chamfer.data.passages import DEFAULT_OVERLAP
from chamfer.data.reading import Reading
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.index.settings import PRECISIONS, Precision
from chamfer.retrieve.stages import AUTO, check_stage, open_stage

if TYPE_CHECKING:
    from chamfer.index.index import Index
    from chamfer.index.report import BuildReport

# Unknown ids that a note lists.
MISSING_SHOWN = 10

app = typer.Typer(cls=Group, help="Build, update and inspect an index.", no_args_is_help=True)


@app.command("build", cls=Command)
def build(
    corpus: CorpusPath,
    out: Annotated[Path, typer.Option("--out", help="Folder for the index.")],
    id_field: IdField = None,
    text_field: TextField = None,
    title_field: TitleField = None,
    format: FormatName = None,  # noqa: A002 -- the option's name
    delimiter: Delimiter = None,
    encoder: EncoderName = MINILM,
    precision: Annotated[
        Precision,
        typer.Option(
            "--precision",
            help=f"Storage of vectors: {', '.join(PRECISIONS)}; float16 is exact, the others are smaller.",
            metavar="NAME",
        ),
    ] = "float16",
    pool: Annotated[int, typer.Option("--pool", min=1, help="Pool this many tokens into one vector.")] = 1,
    dimensions: Annotated[
        int | None, typer.Option("--dimensions", help="Project vectors to this many dimensions.", show_default="all")
    ] = None,
    first_stage: Annotated[
        str,
        typer.Option(
            "--first-stage",
            help="First stage to prepare beside the evidence of the default weights, so that the first search is fast.",
            metavar="NAME",
        ),
    ] = AUTO,
    passages: Annotated[
        bool, typer.Option("--passages", help="Split long documents into passages instead of truncating them.")
    ] = False,
    passage_length: Annotated[
        int | None,
        typer.Option(
            "--passage-length",
            help="Maximum length of a passage; implies --passages.",
            show_default="what the encoder reads",
            metavar="TOKENS",
        ),
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(
            "--overlap",
            help="Tokens that a passage repeats of the one before.",
            show_default=f"{DEFAULT_OVERLAP}, at most a quarter",
            metavar="TOKENS",
        ),
    ] = None,
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Build an index from a corpus; run the same command again to resume after an interruption.

    Columns with usual names are recognised; every other column is metadata, for filters.

    Example: chamfer index build faq.csv --title-field question --text-field answer --out index/
    """
    from chamfer.data.corpus import documents_from
    from chamfer.index.manifest import check_unfinished, read_manifest
    from chamfer.index.texts import check_storable

    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file, but an index is a folder; choose another --out")

    check_unfinished(read_manifest(out), out)
    check_stage(first_stage)
    reading = Reading(id_field, text_field, title_field, format, delimiter)
    with resumable(lambda: _built_so_far(out)):
        documents = documents_from(corpus, reading=reading, allow_empty=allow_empty, check=check_storable)
        if not len(documents):
            raise InputError(f"{corpus} holds no documents; an index needs at least one")

        from chamfer.index.building import build_index
        from chamfer.index.encoder import load_for_building
        from chamfer.index.index import Index
        from chamfer.retrieve.evidence import Evidence
        from chamfer.weights.names import DEFAULT_WEIGHTS, mix_of

        model = load_for_building(out, encoder, query_length=query_length, document_length=document_length)
        report = build_index(
            out,
            documents,
            model,
            precision=precision,
            pool=pool,
            dimensions=dimensions,
            passages=passages if passage_length is None else passage_length,
            overlap=overlap,
            ray=ray,
        )
        _say_truncated(report, model.document_length)
        index = Index.open(out)
        open_stage(first_stage, index.snapshot)
        index.snapshot.prepare()
        Evidence(index.snapshot).open(mix_of(DEFAULT_WEIGHTS, model))
    counted, them = ("1 document", "it") if report.documents == 1 else (f"{report.documents} documents", "them")
    parts = f" in {report.passages} passages" if report.passages else ""
    say(f"indexed {counted}{parts}; search {them} with: chamfer search {out} 'your query'")
    _print_info(index, as_json)


@app.command("add", cls=Command)
def add(
    folder: IndexFolder,
    corpus: CorpusPath,
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents with the same ids.")] = False,
    id_field: IdField = None,
    text_field: TextField = None,
    title_field: TitleField = None,
    format: FormatName = None,  # noqa: A002 -- the option's name
    delimiter: Delimiter = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: AsJson = False,
) -> None:
    """Add documents in atomic batches; documents that are already there, unchanged, are skipped.

    Example: chamfer index add index/ new.jsonl --replace
    """
    from chamfer.index.index import Index

    index = Index.open(folder)
    before = len(index)

    def so_far() -> str:
        now = index.info()["documents"]
        kept = ", and those that were replaced stay so" if replace else ""
        return f"{folder} holds {now:,} documents, {now - before:,} more than before{kept}; {AGAIN}"

    with resumable(so_far):
        report = index.add(
            corpus,
            replace=replace,
            id_field=id_field,
            text_field=text_field,
            title_field=title_field,
            format=format,
            delimiter=delimiter,
            allow_empty=allow_empty,
            ray=ray,
        )
    given = report.documents + report.skipped
    if not given:
        raise InputError(f"{corpus} holds no documents; give at least one to add")
    _say_truncated(report, index.info()["document_length"])
    counts = {"replaced": report.replaced, "already there": report.skipped}
    details = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    details = f" ({details})" if details else ""
    say(f"added {report.documents} of {given} documents{details}; {folder} now holds {len(index)}")
    _print_info(index, as_json)


@app.command("delete", cls=Command)
def delete(
    folder: IndexFolder,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of the documents to delete.")] = None,
    where: Where = None,
    as_json: AsJson = False,
) -> None:
    """Delete documents by id or by metadata filter.

    Example: chamfer index delete index/ doc17 doc23
    """
    from chamfer.index.index import Index

    if not ids and where is None:
        raise InputError("give ids of documents to delete, or --where FILTER")
    if ids and where is not None:
        raise InputError("give ids or --where, not both")
    with Index.open(folder) as index:
        known = index.snapshot.find(ids or ())
        found = index.delete(ids or None, where=where)
    say(f"deleted {found} document{'' if found == 1 else 's'}")
    missing = [identifier for identifier in dict.fromkeys(ids or ()) if identifier not in known]
    if missing:
        more = f" and {len(missing) - MISSING_SHOWN} more" if len(missing) > MISSING_SHOWN else ""
        say(f"note: not in the index: {', '.join(missing[:MISSING_SHOWN])}{more}")
    _print_info(index, as_json)


@app.command("compact", cls=Command)
def compact(folder: IndexFolder, as_json: AsJson = False) -> None:
    """Merge all segments into one and drop deleted documents.

    Example: chamfer index compact index/
    """
    from chamfer.index.index import Index

    index = Index.open(folder)
    index.compact()
    say("{documents} documents in {segments} segment".format_map(index.info()))
    _print_info(index, as_json)


@app.command("shard", cls=Command)
def shard(
    folder: IndexFolder,
    out: Annotated[Path, typer.Option("--out", help="Folder for the shards.")],
    shards: Annotated[int, typer.Option("--shards", min=1, help="Number of shards.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Split an index into shards for chamfer serve --ray; run it again after changes to make a new version.

    Example: chamfer index shard index/ --out shards/ --shards 2
    """
    from chamfer.index.index import Index

    made = Index.open(folder).split(out, shards=shards)
    each = ", ".join(map(str, made["shards"].values()))
    say(f"version {made['version']} in {out}: {made['documents']} documents in {shards} shards ({each})")
    if as_json:
        print_json(made)


@app.command("info", cls=Command)
def info(folder: IndexFolder, as_json: AsJson = False) -> None:
    """Show the contents and settings of an index, and the metadata fields that filters can compare.

    Example: chamfer index info index/
    """
    from chamfer.index.index import Index

    index = Index.open(folder)
    fields = fields_of(index, index.info()["documents"])
    facts = index.info()  # after counting, which keeps files beside the index
    if as_json:
        print_json(facts | {"fields": None if fields is None else fields_as_json(fields)})
        return
    shown = {name.replace("bytes", "size").replace("_", " "): value for name, value in facts.items()}
    width = max(len(name) for name in shown)
    for name, value in shown.items():
        text = decimal(value) if name.startswith("size") else value
        results.print(f"{name:<{width}}  {text}", markup=False, soft_wrap=True)
    if fields:
        print_fields(fields)


@app.command("verify", cls=Command)
def verify(folder: IndexFolder, as_json: AsJson = False) -> None:
    """Verify checksums and counts of every file.

    Exits with code 1 if something is wrong.

    Example: chamfer index verify index/
    """
    from chamfer.index.index import Index

    problems = Index.open(folder).verify()
    if as_json:
        print_json(problems)
    else:
        results.print("\n".join(problems) or f"{folder} is intact", markup=False, soft_wrap=True)
    if problems:
        raise typer.Exit(1)


def _built_so_far(out: Path) -> str:
    from chamfer.index.manifest import read_manifest, so_far

    manifest = read_manifest(out)
    finished = manifest is not None and manifest.building is None and manifest.documents
    return f"{so_far(manifest, out)}; " + (
        f"search them with: chamfer search {out} 'your query'" if finished else AGAIN
    )


def _say_truncated(report: "BuildReport", length: int) -> None:
    """Report what was truncated; of documents, --passages would have indexed everything."""
    if report.passages:
        say_truncated("passages", report.truncated, report.passages, length)
        return
    say_truncated("documents", report.truncated, report.documents, length)
    if report.truncated:
        say("to search their whole text, build the index with --passages")


def _print_info(index: "Index", as_json: bool) -> None:
    """With ``--json``, print what the index holds now."""
    if as_json:
        print_json(index.info())
