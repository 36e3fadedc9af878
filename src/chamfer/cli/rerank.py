"""``chamfer rerank``."""

import json
import math
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chamfer.cli.options import (
    AllowEmpty,
    CacheFolder,
    DocumentLength,
    EncoderName,
    FormName,
    FormOption,
    QueryLength,
    RayAddress,
)
from chamfer.cli.terminal import progress_bar, say, say_truncated
from chamfer.errors import InputError
from chamfer.workers.connect import workers_at
from chamfer.workers.jobs import Table, Workers, add_row

if TYPE_CHECKING:
    from chamfer.data.ranking import Ranking
    from chamfer.weights.frequencies import DocumentFrequencies


def rerank(
    dataset: Annotated[
        Path | None, typer.Argument(help="A BEIR folder; without one, JSON lines are read from stdin.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            help="uniform, idf, idf-soft or a weights file.",
            show_default="idf-soft; uniform for stdin without --corpus",
        ),
    ] = None,
    encoder: EncoderName = "minilm",
    corpus: Annotated[Path | None, typer.Option("--corpus", help="With stdin: count IDF over this corpus.")] = None,
    candidates: Annotated[
        Path | None, typer.Option("--candidates", help="Re-rank this TREC run instead of BM25's ranking.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Only the judged queries of a split.", show_default="all queries")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, help="How many candidates are re-ranked.", show_default="1000")
    ] = None,
    k: Annotated[int | None, typer.Option("-k", min=1, help="Keep only the best so many.")] = None,
    form: FormOption = FormName.l2,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the TREC run to this file.", show_default="stdout")
    ] = None,
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of a TREC run.")] = False,
) -> None:
    """Rank candidates again, with weights: a whole collection, or JSON lines from stdin.

    A line is {"query": "...", "documents": ["...", ...]}, or {"id": "...", "text": "..."} for a document; "id" of the
    line names the query. The answer is a line {"id": ..., "ranking": [{"id": ..., "score": ...}], "truncated": ...}.

    Example: chamfer rerank scifact/ --weights idf-soft --out soft.trec
    """
    from chamfer.cache.encoded import default_cache
    from chamfer.data.collection import load_collection, load_documents
    from chamfer.data.runs import format_run, read_run, write_run
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.rankings import find_candidates, rank_split
    from chamfer.search.reranking import RerankTexts
    from chamfer.weights.counting import count_tokens
    from chamfer.weights.names import weights_by_name

    for_folders = {"--candidates": candidates, "--split": split, "--depth": depth, "--out": out, "--cache": cache}
    _check_usage(dataset, for_folders, corpus)
    model = Encoder.load(encoder, query_length=query_length, document_length=document_length)
    collection = None if dataset is None else load_collection(dataset, allow_empty=allow_empty)
    chosen = weights or ("uniform" if collection is None and corpus is None else "idf-soft")

    documents = collection.documents if collection is not None else {}
    if corpus is not None:
        documents = load_documents(corpus, allow_empty=allow_empty)
    with workers_at(ray) as workers:
        counted = count_tokens(model, list(documents.values()), progress=progress_bar, workers=workers)
        say_truncated("documents", counted.truncated, len(documents), model.document_length)

        def frequencies() -> "DocumentFrequencies":
            if not documents:
                raise InputError(f"{chosen} counts tokens in a corpus; name it with --corpus, or give a weights file")
            return counted.frequencies

        weighting = weights_by_name(chosen, model, frequencies, form=form.value)
        if collection is None:
            job = RerankTexts(model, weighting, form.value, k)
            for answered in workers.map(job, _requests(workers, allow_empty=allow_empty), gpu=model.may_use_gpu):
                _print_answers(answered, k)
            return
        queries = collection.judged_queries(split) if split else dict(collection.queries)
        found = find_candidates(
            collection, queries, given=None if candidates is None else read_run(candidates), depth=depth or 1000
        )
        say_truncated(
            "queries", model.tokenize(list(queries.values()), "query").truncated, len(queries), model.query_length
        )
        ranked = rank_split(
            collection,
            model,
            {chosen: weighting},
            found,
            cache=cache or default_cache(),
            form=form.value,
            k=k,
            resume=True,
            progress=progress_bar,
            workers=workers,
        )[chosen]
    silent = len(queries) - sum(len(ranking) > 0 for ranking in ranked)
    if silent:
        say(f"note: there are no candidates for {silent} of {len(queries)} queries")
    tag = Path(chosen).stem
    if as_json:
        for ranking in ranked:
            _print_line(_as_answer(ranking, k))
    elif out is None:
        sys.stdout.writelines(format_run(ranked, k=k, tag=tag))
    else:
        write_run(out, ranked, k=k, tag=tag)
        say(f"ranked the candidates of {len(ranked)} queries; wrote {out}")


def _check_usage(dataset: Path | None, for_folders: Mapping[str, object], corpus: Path | None) -> None:
    misplaced = next((name for name, value in for_folders.items() if value is not None), None)
    if dataset is None and misplaced is not None:
        raise InputError(f"{misplaced} goes with a BEIR folder; JSON lines come from stdin and are answered on stdout")
    if dataset is not None and corpus is not None:
        raise InputError("--corpus goes with JSON lines from stdin; a BEIR folder has its own corpus")


def _requests(workers: "Workers", *, allow_empty: bool) -> Iterator[Table]:
    """The lines of stdin as tables: of one line in this process, so that it is answered at once; else of several."""
    from chamfer.data.jsonlines import parse_json_lines
    from chamfer.search.reranking import TOGETHER

    lines = parse_json_lines(sys.stdin.buffer, "stdin")
    while some := list(islice(lines, 1 if workers.at_once == 1 else TOGETHER)):
        table: Table = {"where": [], "id": [], "query": [], "ids": [], "texts": []}
        for number, request in some:
            where = f"stdin, line {number}"
            try:
                query_id, query, documents = _parse_request(request, str(number), allow_empty=allow_empty)
            except InputError as error:
                raise InputError(f"{where}: {error}") from error
            add_row(table, where, query_id, query, list(documents), list(documents.values()))
        yield table


def _print_answers(answered: Table, k: int | None) -> None:
    from chamfer.data.ranking import Ranking

    columns = (answered[name] for name in ("query", "documents", "scores", "truncated"))
    for query, documents, scores, truncated in zip(*columns, strict=True):
        _print_line({**_as_answer(Ranking(query, tuple(documents), tuple(scores)), k), "truncated": truncated})


def _as_answer(ranking: "Ranking", k: int | None) -> dict[str, Any]:
    pairs = zip(ranking.document_ids[:k], ranking.scores[:k], strict=True)
    # JSON has no infinity: a document without tokens has no score
    scored = [{"id": document, "score": score if math.isfinite(score) else None} for document, score in pairs]
    return {"id": ranking.query_id, "ranking": scored}


def _print_line(answer: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _parse_request(
    request: Mapping[str, Any], default_id: str, *, allow_empty: bool
) -> tuple[str, str, dict[str, str]]:
    query_id, query, given = request.get("id", default_id), request.get("query"), request.get("documents")
    if not isinstance(query_id, str | int):
        raise InputError(f"'id' must be a text or a whole number, not {query_id!r}")
    if not isinstance(query, str) or not query.strip():
        raise InputError("'query' must be a text that is not empty")
    if not isinstance(given, list) or not given:
        raise InputError("'documents' must be a list of at least one text")
    documents: dict[str, str] = {}
    for place, document in enumerate(given):
        record = {"id": str(place), "text": document} if isinstance(document, str) else document
        if not isinstance(record, dict) or not all(isinstance(record.get(key), str) for key in ("id", "text")):
            raise InputError(f"document {place + 1} must be a text, or an object with the texts 'id' and 'text'")
        if record["id"] in documents:
            raise InputError(f"the document id {record['id']!r} is used twice; ids must be unique in a line")
        if not record["text"].strip() and not allow_empty:
            raise InputError(f"document {record['id']!r} has no text; --allow-empty keeps such documents, ranked last")
        documents[record["id"]] = record["text"]
    return str(query_id), query, documents
