"""``chamfer rerank``."""

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from chamfer.cli.checks import check_output
from chamfer.cli.options import (
    WEIGHTS_HELP,
    AllowEmpty,
    CacheFolder,
    DocumentLength,
    EncoderName,
    FormOption,
    MinScore,
    QueryLength,
    RayAddress,
)
from chamfer.cli.terminal import progress_bar, resumable, say, say_truncated
from chamfer.encode.settings import MINILM
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM, Form
from chamfer.retrieve.stage import DEFAULT_DEPTH
from chamfer.weights.names import COUNTED, DEFAULT_WEIGHTS, check_file
from chamfer.weights.zero_shot import UNIFORM


def rerank(
    dataset: Annotated[
        Path | None, typer.Argument(help="BEIR folder; without one, requests are read from stdin.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            help=WEIGHTS_HELP,
            show_default=f"{DEFAULT_WEIGHTS}; {UNIFORM} for stdin without --corpus or --index",
            metavar="NAME",
        ),
    ] = None,
    encoder: EncoderName = MINILM,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", help="With stdin: corpus to count tokens and words in.")
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option("--index", help="With stdin: score texts as if they were in this index, with its encoder."),
    ] = None,
    candidates: Annotated[
        Path | None, typer.Option("--candidates", help="TREC run to re-rank.", show_default="BM25's top candidates")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Re-rank the judged queries of a split.", show_default="all queries")
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=1, help="Candidates per query.", show_default=str(DEFAULT_DEPTH))
    ] = None,
    k: Annotated[int | None, typer.Option("-k", "--top-k", min=1, help="Keep the top k.", show_default="all")] = None,
    min_score: MinScore = 0.0,
    form: FormOption = DEFAULT_FORM,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the TREC run to this file.", show_default="stdout")
    ] = None,
    query_length: QueryLength = None,
    document_length: DocumentLength = None,
    cache: CacheFolder = None,
    allow_empty: AllowEmpty = False,
    ray: RayAddress = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON Lines instead of a TREC run.")] = False,
) -> None:
    """Re-rank candidates: of a whole collection, or of JSON Lines from stdin.

    A request is a line {"query": "...", "documents": ["...", ...]}; a document is a text or {"id": "...",
    "text": "..."}, and "id" names the query. The response is a line {"id": ..., "ranking": [{"id": ..., "score": ...}],
    "truncated": ...}.

    Example: chamfer rerank scifact/ --out mix.trec
    """
    for_folders = {"--candidates": candidates, "--split": split, "--depth": depth, "--out": out, "--cache": cache}
    _check_usage(dataset, for_folders, corpus)
    if index is not None:
        of_encoder = {"--query-length": query_length, "--document-length": document_length}
        others = {"a BEIR folder": dataset, "--corpus": corpus, "--ray": ray, **of_encoder}
        _check_alone(others | {"--encoder": None if encoder == MINILM else encoder})
        _rerank_like_documents(index, weights or DEFAULT_WEIGHTS, form, k, min_score, allow_empty=allow_empty)
        return
    chosen = weights or (UNIFORM if dataset is None and corpus is None else DEFAULT_WEIGHTS)
    if out is not None:
        check_output(out)

    from chamfer.data.collection import load_collection, load_documents
    from chamfer.data.runs import format_run, read_run, write_run

    given = None if candidates is None else read_run(candidates)
    check_file(chosen, form)
    if dataset is None and corpus is None and chosen in COUNTED:
        raise InputError(
            f"{chosen} counts tokens in a corpus; give one with --corpus or --index, or give a weights file"
        )
    collection = None if dataset is None else load_collection(dataset, allow_empty=allow_empty)
    documents = {} if corpus is None else load_documents(corpus, allow_empty=allow_empty)
    asked = 0
    if collection is not None:
        asked = len(collection.judged_queries(split) if split else collection.queries)

    from chamfer.cli.requests import as_response, print_line, read_requests
    from chamfer.encode.encoder import Encoder
    from chamfer.evaluate.rankings import rerank_collection
    from chamfer.retrieve.word_counts import WordCounts
    from chamfer.search.rerank_texts import rerank_requests
    from chamfer.weights.counting import count_tokens
    from chamfer.weights.names import weights_by_name
    from chamfer.workers.connect import workers_at

    load = partial(Encoder.load, encoder, query_length=query_length, document_length=document_length)
    if collection is None:
        model = load(arithmetic="auto", engine="auto")
        with workers_at(ray) as workers:
            counted = count_tokens(model, list(documents.values()), progress=progress_bar, workers=workers)
            say_truncated("documents", counted.truncated or 0, len(documents), model.document_length)
            weighting = weights_by_name(chosen, model, lambda: counted, form=form)
            words = WordCounts.of(list(documents.values())) if documents and weighting.mix.lexical else None
            requests = read_requests(allow_empty=allow_empty)
            for ranking, truncated in rerank_requests(
                requests, encoder=model, weights=weighting, form=form, k=k, counts=words, workers=workers
            ):
                print_line({**as_response(ranking.at_least(min_score), k), "truncated": truncated})
        return
    model = load()
    with resumable():
        ranked, cut = rerank_collection(
            collection,
            chosen,
            encoder=model,
            split=split,
            candidates=given,
            depth=depth,
            k=k,
            form=form,
            cache=cache,
            ray=ray,
        )
    found = [ranking.at_least(min_score) for ranking in ranked]
    say_truncated("documents", cut["documents"], len(collection.documents), model.document_length)
    say_truncated("queries", cut["queries"], asked, model.query_length)
    without = asked - sum(len(ranking) > 0 for ranking in ranked)
    if without:
        say(f"note: {without} of {asked} queries have no candidates")
    tag = Path(chosen).stem
    if as_json:
        for ranking in found:
            print_line(as_response(ranking, k))
    elif out is None:
        sys.stdout.writelines(format_run(found, k=k, tag=tag))
    else:
        write_run(out, found, k=k, tag=tag)
        say(f"re-ranked {len(ranked)} queries; wrote {out}")


def _rerank_like_documents(
    folder: Path, weights: str, form: Form, k: int | None, min_score: float, *, allow_empty: bool
) -> None:
    from chamfer.index.index import Index

    index = Index.open(folder)
    check_file(weights, form)

    from chamfer.cli.requests import as_response, print_line, read_requests
    from chamfer.search.rerank_texts import rerank_like_documents
    from chamfer.search.searcher import Searcher

    searcher = Searcher.open(index, weights=weights, form=form)
    for ranking, truncated in rerank_like_documents(searcher, read_requests(allow_empty=allow_empty), k):
        print_line({**as_response(ranking.at_least(min_score), k), "truncated": truncated})


def _check_alone(others: Mapping[str, object]) -> None:
    given = next((name for name, value in others.items() if value is not None), None)
    if given is not None:
        raise InputError(f"--index is for requests from stdin, and has its own encoder; leave out {given}")


def _check_usage(dataset: Path | None, for_folders: Mapping[str, object], corpus: Path | None) -> None:
    misplaced = next((name for name, value in for_folders.items() if value is not None), None)
    if dataset is None and misplaced is not None:
        raise InputError(f"{misplaced} needs a BEIR folder; requests from stdin are answered on stdout")
    if dataset is not None and corpus is not None:
        raise InputError("--corpus is for requests from stdin; a BEIR folder has its own corpus")
