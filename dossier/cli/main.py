"""The `dossier` command. Each command's module is imported only when it runs."""

from __future__ import annotations

import gc
import importlib
import os
import sys

import click

from dossier import __version__
from dossier.errors import DossierError, RenderError

_COMMANDS = {
    "build": "Check, then build the whole site.",
    "calibrate": "Measure this client against a server with a known schedule.",
    "check": "Check evidence and say all problems at once.",
    "decide": "Write a decision on a finding, and check it.",
    "diff": "Show how two records differ in meaning.",
    "explain": "Say why a rule exists, with examples.",
    "impact": "Say what a change does to the published pages.",
    "init": "Begin a new evidence repository.",
    "new": "Write a new record, valid at once.",
    "pin": "Write the digests of what a finding rests on.",
    "plan": "Write a plan for a server that is running.",
    "probes": "Say what can be asked of a server, and what it does not show.",
    "record": "Make the finding of a run from its journal.",
    "render": "Write the pages as Markdown files for plain mkdocs.",
    "run": "Run a plan against a live server: journal, record, check.",
    "schema": "Print the JSON Schema of a kind of record.",
    "serve": "Build, serve and rebuild on every change.",
    "show": "Show a record in the terminal.",
    "verify": "Recompute every digest, pointer and derived value.",
}
_RARELY = 100_000
"""New objects, less those that are gone, after which the garbage collector looks at them."""


class _Lazy(click.Group):
    """A group that imports a command when it is asked for: `dossier check` need not load the site builder."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"dossier.cli.{cmd_name}")
        command = getattr(module, cmd_name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(sorted(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dossier")
def cli() -> None:
    """Keep qualification evidence as data, and derive every page from it."""


def main() -> None:
    """Run the command line; exit 0 when clean, 1 with problems, 2 for usage or I/O, 130 when interrupted."""
    # No plugin of pydantic has a say in what a record is, and looking for one costs a twentieth of a start.
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"
    # Records are thousands of objects and hold no circles: looking for some among them is time for nothing.
    gc.set_threshold(_RARELY)
    try:
        code = cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except DossierError as error:
        click.echo(f"dossier: {error}", err=True)
        code = 1 if isinstance(error, RenderError) else 2
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "dossier":
            raise
        click.echo(
            f"dossier: {error.name} is not installed; pip install 'dossier-evidence[runner]' brings it", err=True
        )
        code = 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("dossier: interrupted", err=True)
        code = 130
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
