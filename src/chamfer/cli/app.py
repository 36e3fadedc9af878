"""The command ``chamfer``."""

import os
import sys
from typing import Annotated, NoReturn

import typer

from chamfer import __version__
from chamfer.cli import (
    demo,
    doctor,
    encode,
    evaluate,
    explain,
    index,
    learn,
    mcp,
    reproduce,
    rerank,
    search,
    serve,
    weights,
)
from chamfer.cli.commands import Command, Group
from chamfer.cli.terminal import loading, notes, say
from chamfer.errors import InputError, ServerError, WorkerError
from chamfer.support.devices import AUTO, CPU, VARIABLE
from chamfer.support.progress import lines_in_logs

app = typer.Typer(
    name="chamfer",
    cls=Group,
    help="Late-interaction retrieval in which every query token has a weight.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", cls=Command)(demo.demo)
app.command("encode", cls=Command)(encode.encode)
app.add_typer(weights.app, name="weights")
app.add_typer(index.app, name="index")
app.command("search", cls=Command)(search.search)
app.command("explain", cls=Command)(explain.explain)
app.command("serve", cls=Command)(serve.serve)
app.command("mcp", cls=Command)(mcp.mcp)
app.command("rerank", cls=Command)(rerank.rerank)
app.command("evaluate", cls=Command)(evaluate.evaluate)
app.command("learn", cls=Command)(learn.learn)
app.command("reproduce", cls=Command)(reproduce.reproduce)
app.command("doctor", cls=Command)(doctor.doctor)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", help=f"Where to compute: {AUTO}, {CPU}, cuda, cuda:1.", show_default=AUTO, metavar="NAME"
        ),
    ] = None,
) -> None:
    """Late-interaction retrieval in which every query token has a weight."""
    if version:
        typer.echo(f"chamfer {__version__}")
        raise typer.Exit
    if device is not None:
        os.environ[VARIABLE] = device


def main() -> None:
    """Run the command: bad input prints a sentence and exits with code 2, a failed worker or server with code 1."""
    try:
        with notes(), loading(), lines_in_logs():
            app()
    except InputError as error:
        fail("\n".join([str(error), *getattr(error, "__notes__", ())]))  # a note shows the place in a filter
    except (ServerError, WorkerError) as error:
        fail(str(error), code=1)
    except OSError as error:
        fail(f"{error.strerror or error}" + (f", at {error.filename}" if error.filename else ""))


def fail(sentence: str, *, code: int = 2) -> NoReturn:
    """Print what is wrong and exit."""
    say(f"error: {sentence}")
    sys.exit(code)


if __name__ == "__main__":
    main()
