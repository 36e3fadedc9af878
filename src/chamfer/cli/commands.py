"""Commands whose help reads as that of other programs does: ``FOLDER [QUERY]``, and flags without a type."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from chamfer.support.mistakes import rule_broken


class _Plain:
    """What commands and groups of commands share; typer's names for types and arguments differ between its versions."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 -- of typer's private copy of click
        """The arguments and options, with the names that help shows for their values."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if parameter.param_type_name == "argument":
                parameter.metavar = parameter.metavar or parameter.name.upper()
            elif parameter.is_flag:
                parameter.metavar = ""
        return found

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401
        """The usage line, with required arguments as they are."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [piece.replace("{", "").replace("}", "") for piece in pieces]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Parse the command line; an invalid value is reported in our words, not in pydantic's."""
        try:
            rest: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]
        except typer.BadParameter as error:
            if (errors := getattr(error.__cause__, "errors", None)) is not None:
                error.message = rule_broken(errors()[0])
            raise
        return rest


class Command(_Plain, TyperCommand):
    """A command."""


class Group(_Plain, TyperGroup):
    """A command that has commands."""
