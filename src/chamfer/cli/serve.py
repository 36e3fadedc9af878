"""``chamfer serve``."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from chamfer.cli.options import FirstStage, FormName, FormOption, checked_address
from chamfer.cli.terminal import say
from chamfer.errors import InputError

KEY = "CHAMFER_API_KEY"
LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(
    folder: Annotated[Path, typer.Argument(help="The folder of an index, or of shards.")],
    weights: Annotated[
        str | None,
        typer.Option("--weights", help="uniform, idf, idf-soft or a weights file.", show_default="idf-soft"),
    ] = None,
    versions: Annotated[
        Path | None,
        typer.Option("--versions", help="A folder that keeps the versions of the weights.", show_default="in memory"),
    ] = None,
    first_stage: FirstStage = "auto",
    form: FormOption = FormName.l2,
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 for any that is free.")] = 8000,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="The most that an answer may take.")] = 30.0,
    waiting: Annotated[int, typer.Option("--waiting", min=1, help="Requests that may wait; more get 429.")] = 64,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            help="Serve shards on Ray: local, or the address of a cluster.",
            metavar="ADDRESS|local",
            callback=checked_address,
        ),
    ] = None,
    replicas: Annotated[int, typer.Option("--replicas", min=1, help="Of each shard.")] = 1,
    cpus: Annotated[float, typer.Option("--cpus", min=0.01, help="Processors that each replica is given.")] = 1.0,
    shard_seconds: Annotated[
        float, typer.Option("--shard-seconds", min=0.1, help="What a shard may take, or its documents are missing.")
    ] = 10.0,
) -> None:
    """Serve an index by HTTP, with a page to look at.

    An API key is taken from the environment, CHAMFER_API_KEY.

    Example: chamfer serve index/ --port 8000
    """
    from chamfer.index.manifest import needed_manifest
    from chamfer.index.shards import current_version, holds_shards
    from chamfer.retrieve.stages import check_stage
    from chamfer.weights.names import NAMES

    if ray is None and holds_shards(folder):
        raise InputError(f"{folder} holds shards; serve them with --ray local, or with the address of a Ray cluster")
    if ray is not None and not holds_shards(folder):
        raise InputError(f"{folder} holds no shards; make some with: chamfer index shard")
    if ray is None:
        needed_manifest(folder)
    check_stage(first_stage)
    first = weights or "idf-soft"
    if first not in NAMES and not Path(first).is_file():
        raise InputError(f"weights are {', '.join(NAMES)} or a file, and there is no file {first}")
    try:
        from chamfer.serve.app import create_app
        from chamfer.serve.running import listen
        from chamfer.serve.running import serve as run
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is missing; install the server with: pip install 'chamfer[serve]'") from error
    from chamfer.serve.guard import Limits
    from chamfer.serve.service import Service
    from chamfer.serve.versions import Versions

    if versions is not None and versions.exists() and not versions.is_dir():
        raise InputError(f"versions are kept in a folder, and {versions} is a file")
    if weights is not None and Versions.kept_in(versions):
        raise InputError(f"{versions} holds versions of weights already; leave --weights out, or give another folder")
    at = listen(host, port)
    say(f"opening {folder}")
    from chamfer.search.searcher import Searcher
    from chamfer.serve.sharded.deployments import deployed
    from chamfer.serve.sharded.head import SetSearcher
    from chamfer.serve.sharded.scatter import Scatter
    from chamfer.serve.sharded.service import ShardedService

    searcher: Searcher
    if ray is None:
        searcher = Searcher.open(folder, first_stage=first_stage, form=form.value)
    else:
        searcher = SetSearcher(folder, current_version(folder), form=form.value)
    kept = Versions(first if first in NAMES else searcher.queries.resolve(first), Path(first).stem, versions)
    Service(searcher, kept).check()
    key = os.environ.get(KEY) or None
    local = host in LOCAL
    if not local and key is None:
        say(f"note: whoever reaches {host} may search and change the weights; set {KEY} to ask for a key")
    limits = Limits(seconds=seconds, waiting=waiting)

    with ExitStack() as running:
        service = Service(searcher, kept)
        if ray is not None and isinstance(searcher, SetSearcher):
            say(f"starting shards on Ray, replicas of each: {replicas}")
            shards = running.enter_context(
                deployed(folder, ray, replicas=replicas, cpus=cpus, form=form.value, first_stage=first_stage)
            )
            service = sharded = ShardedService(searcher, kept, Scatter(shards, seconds=shard_seconds))
            sharded.prepared(searcher.version)  # before anybody asks

        def started(address: str) -> None:
            say(f"{service.documents} documents at {address}  (stop with Ctrl-C)")

        run(create_app(service, limits=limits, key=key, local=local), at=at, limits=limits, started=started)
