"""``chamfer mcp``."""

import sys

from chamfer.cli.options import FirstStage, FormOption, IndexFolder, WeightsName
from chamfer.cli.terminal import say
from chamfer.kernels.form import DEFAULT_FORM
from chamfer.retrieve.stages import AUTO, check_stage
from chamfer.weights.names import DEFAULT_WEIGHTS, check_file


def mcp(
    folder: IndexFolder,
    weights: WeightsName = DEFAULT_WEIGHTS,
    first_stage: FirstStage = AUTO,
    form: FormOption = DEFAULT_FORM,
) -> None:
    """Let agents search an index: serve it over the Model Context Protocol, on stdin and stdout.

    Agents start this command themselves, once it is in their configuration.

    Example: chamfer mcp index/
    """
    from chamfer.integrations.mcp import mcp_server

    check_file(weights, form)
    check_stage(first_stage)
    server = mcp_server(folder, weights=weights, first_stage=first_stage, form=form)
    if sys.stdin.isatty():
        say("waiting for an agent on stdin; add this command to its configuration (stop with Ctrl-C)")
    server.run("stdio")
