"""The commands of `slidewise`, and what becomes of their errors."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from slidewise import __version__
from slidewise.cli.backfill import backfill
from slidewise.cli.check import check
from slidewise.cli.data import data
from slidewise.cli.doctor import doctor
from slidewise.cli.exit_codes import DESCRIPTION, INTERRUPTED
from slidewise.cli.explain import explain
from slidewise.cli.new import new
from slidewise.cli.plan import plan
from slidewise.cli.run import run
from slidewise.cli.schema import schema
from slidewise.cli.screen import Screen, find_screen
from slidewise.cli.test import test
from slidewise.cli.trace import trace
from slidewise.cli.warm_up import warm_up
from slidewise.cli.watch import watch


class Commands(TyperGroup):
    """Turns the errors of commands into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            find_screen(ctx).warn("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "exit_code"):  # of typer itself
                raise
            raise find_screen(ctx).fail(error) from None


app = typer.Typer(
    name="slidewise",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=DESCRIPTION,
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"slidewise {__version__}")
        raise typer.Exit


@app.callback()
def slidewise(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version, and end.")
    ] = False,
) -> None:
    """Make, check, test and run pipelines: features over sliding windows, on Spark.

    A first one in four commands:

    [bold]slidewise new cards[/bold]  a project that runs at once, with data

    [bold]slidewise check cards/cards.yaml[/bold]  every mistake of the file, with its line

    [bold]slidewise test cards/cards.yaml[/bold]  its examples: in process, as a batch, and as a stream

    [bold]slidewise run cards/cards.yaml --once --live[/bold]  what is there, as a stream, with a page in the browser
    """
    context.obj = Screen(debug=debug)


for each in (new, check, explain, test, run, backfill, plan, watch, schema, data, trace, doctor):
    app.command()(each)
app.command("warm-up")(warm_up)
