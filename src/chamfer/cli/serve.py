"""``chamfer serve``."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chamfer.cli.options import WEIGHTS_HELP, FirstStage, FormOption, checked_address
from chamfer.cli.terminal import say
from chamfer.errors import InputError
from chamfer.kernels.form import DEFAULT_FORM
from chamfer.retrieve.stages import AUTO, check_stage
from chamfer.serve.limits import SHARD_SECONDS, Limits
from chamfer.support.api_key import VARIABLE
from chamfer.weights.names import DEFAULT_WEIGHTS, check_file
from chamfer.weights.zero_shot import NAMES

if TYPE_CHECKING:
    from chamfer.search.query_encoder import QueryEncoder


def serve(
    folder: Annotated[Path, typer.Argument(help="Index folder, or folder of shards (with --ray).")],
    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            help=WEIGHTS_HELP,
            show_default=DEFAULT_WEIGHTS,
            metavar="NAME",
        ),
    ] = None,
    versions: Annotated[
        Path | None,
        typer.Option("--versions", help="Folder for versions of the weights.", show_default="in memory"),
    ] = None,
    first_stage: FirstStage = AUTO,
    form: FormOption = DEFAULT_FORM,
    writable: Annotated[
        bool,
        typer.Option("--writable", help="Let clients with the API key add, replace and delete documents."),
    ] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8000,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            help="Host name to answer to, besides IP addresses, localhost and --host. Repeatable.",
            show_default="none; any name, with an API key on a network address",
            metavar="NAME",
        ),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="Request timeout in seconds.")] = Limits.seconds,
    waiting: Annotated[
        int, typer.Option("--waiting", min=1, help="Maximum number of queued requests; further ones get HTTP 429.")
    ] = Limits.waiting,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Verify all files before serving them, and refuse a damaged index; by default, in the background.",
        ),
    ] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            help="Serve shards on Ray: host:port of a cluster, auto (a cluster on this machine), or local.",
            metavar="ADDRESS",
            callback=checked_address,
        ),
    ] = None,
    replicas: Annotated[int, typer.Option("--replicas", min=1, help="Replicas per shard.")] = 1,
    cpus: Annotated[float, typer.Option("--cpus", min=0.01, help="CPU cores per replica.")] = 1.0,
    shard_seconds: Annotated[
        float, typer.Option("--shard-seconds", min=0.1, help="Per-shard timeout in seconds.")
    ] = SHARD_SECONDS,
) -> None:
    """Serve an index over HTTP, with a web page for searching it.

    Set the environment variable CHAMFER_API_KEY to require an API key.

    Example: chamfer serve index/ --port 8000
    """
    from chamfer.index.manifest import check_finished, needed_manifest
    from chamfer.index.shards import current_version, holds_shards

    # Everything that is quick to check comes before the model is loaded.
    if ray is None and holds_shards(folder):
        raise InputError(f"{folder} holds shards; serve them with --ray local, or with the address of a Ray cluster")
    if ray is not None and not holds_shards(folder):
        raise InputError(f"{folder} holds no shards; make some with: chamfer index shard")
    key = os.environ.get(VARIABLE) or None
    if writable and ray is not None:
        raise InputError("shards cannot be changed over HTTP; omit --writable, and change the index that was split")
    if writable and key is None:
        raise InputError(f"--writable needs an API key, so that not everybody can change documents; set {VARIABLE}")
    if ray is None:
        check_finished(needed_manifest(folder), folder)
        if writable and not os.access(folder, os.W_OK):
            raise InputError(f"--writable needs a folder that this user can write to, but {folder} is read-only")
    check_stage(first_stage)
    first = weights or DEFAULT_WEIGHTS
    check_file(first, form)
    try:
        from chamfer.serve.app import create_app
        from chamfer.serve.running import listen
        from chamfer.serve.running import serve as run
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is missing; install the server with: pip install 'chamfer[serve]'") from error
    from chamfer.serve.hosts import LOOPBACK, hosts_of
    from chamfer.serve.service import Service
    from chamfer.serve.versions import Versions

    if versions is not None and versions.exists() and not versions.is_dir():
        raise InputError(f"--versions needs a folder, but {versions} is a file")
    if weights is not None and Versions.exist_in(versions):
        raise InputError(f"{versions} already holds versions of weights; omit --weights, or choose another folder")
    hosts = hosts_of(host, allow_host or (), has_key=key is not None)
    at = listen(host, port)
    say(f"{'verifying' if verify else 'opening'} {folder}")
    from chamfer.index.encoder import check_encoder
    from chamfer.search.searcher import Searcher
    from chamfer.serve.backend import Backend
    from chamfer.serve.sharded.backend import ShardBackend
    from chamfer.serve.sharded.deployments import deployed
    from chamfer.serve.sharded.head import open_queries
    from chamfer.serve.sharded.scatter import Scatter
    from chamfer.serve.single import IndexBackend

    if host not in LOOPBACK and key is None:
        say(f"note: anyone who can reach {host} may search and change the weights; set {VARIABLE} to require a key")
    limits = Limits(seconds=seconds, waiting=waiting)

    def checked_versions(queries: "QueryEncoder") -> Versions:
        kept = Versions(first if first in NAMES else queries.resolve(first), Path(first).stem, versions)
        kept.check(queries)
        return kept

    with ExitStack() as running:
        running.enter_context(at)
        backend: Backend
        if ray is None:
            searcher = Searcher.open(folder, first_stage=first_stage, form=form, verify=verify)
            if writable:
                check_encoder(searcher.index.settings, searcher.encoder)
            kept = checked_versions(searcher.queries)
            backend = IndexBackend(searcher)
        else:
            version = current_version(folder)
            queries = open_queries(folder, version, form=form)
            kept = checked_versions(queries)
            say(f"starting shards on Ray; replicas per shard: {replicas}")
            shards = running.enter_context(
                deployed(folder, ray, replicas=replicas, cpus=cpus, form=form, first_stage=first_stage, verify=verify)
            )
            backend = sharded = ShardBackend(version, queries, Scatter(shards, seconds=shard_seconds))
            sharded.prepare(version)  # before the first request

        def started(address: str) -> None:
            say(f"{backend.reader.documents} documents at {address}  (stop with Ctrl-C)")

        app = create_app(Service(backend, kept), limits=limits, key=key, hosts=hosts, writable=writable)
        run(app, at=at, limits=limits, started=started)
