"""`dossier plan`: a plan for a server that is running."""

from __future__ import annotations

import os
from pathlib import Path

import click

from dossier.errors import UsageError
from dossier.files import write_text
from dossier.runner.look import look
from dossier.runner.profiles import PROFILES, plan_text


@click.command()
@click.option("--base-url", required=True, help="Such as http://127.0.0.1:8000/v1.")
@click.option("--model", help="The served name; needed only where several are served.")
@click.option("--profile", type=click.Choice(list(PROFILES)), default="smoke", show_default=True)
@click.option("--subject", help="The id of the model record [default: made from the served name].")
@click.option("--api-key-env", metavar="NAME", help="The environment variable that holds the API key.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write it [default: standard output].")
def plan(
    base_url: str, model: str | None, profile: str, subject: str | None, api_key_env: str | None, output: Path | None
) -> None:
    """Look at a server, without generating anything, and write a plan that fits it.

    Profiles: smoke, minutes, what every server should pass; scout, up to an hour, every probe once or a few times;
    deep, hours, to the configured context and under load; apc, a prefix cache; speculation, accepted drafts; soak,
    thousands of requests and whether speed or memory drift.

    The plan is yours to edit: it is what `dossier run` does, complete, and its digest heads the journal.
    """
    if output is not None and output.exists():
        raise UsageError(f"{output} is there already; choose another name")
    key = os.environ.get(api_key_env) if api_key_env else None
    text = plan_text(look(base_url, model, key), profile, api_key_env, subject)
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)
    click.echo(f"{output} written; `dossier run {output} --dry-run` says what it does", err=True)
