"""`dossier explain`."""

from __future__ import annotations

import click

from dossier.checks.rules import RuleDoc, rule_docs
from dossier.errors import UsageError, nearest


@click.command()
@click.argument("rule", required=False)
def explain(rule: str | None) -> None:
    """Say why a RULE exists, with a bad and a good example; without RULE, list all of them.

    RULE is what stands after the place in a line of `dossier check`, such as arithmetic/population, or the part
    before the slash for all rules of that family.
    """
    docs = rule_docs()
    chosen = [doc for doc in docs.values() if rule in {None, doc.family}]
    if chosen:
        click.echo("\n".join(f"{doc.id:28} {doc.why}" for doc in chosen))
        return
    if rule not in docs:
        hint = nearest(str(rule), docs) or "; `dossier explain` lists the rules"
        raise UsageError(f"there is no rule {rule!r}{hint}")
    click.echo(explained(docs[str(rule)]))


def explained(doc: RuleDoc) -> str:
    """The rule for a terminal."""
    return f"{doc.id}\n\n{doc.why}\n\nRefused:\n\n{_indent(doc.bad.shown)}\nAccepted:\n\n{_indent(doc.good.shown)}"


def _indent(text: str) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())
