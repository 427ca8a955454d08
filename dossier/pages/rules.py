"""A page for each rule: why it is there, an example that breaks it, and what to write instead."""

from __future__ import annotations

from dossier.checks.rules import RuleDoc, rule_docs
from dossier.errors import RenderError
from dossier.pages.context import Site
from dossier.pages.places import Page
from dossier.pages.shell import SearchEntry


def rule_path(rule_id: str) -> str:
    """`arithmetic/delta` has its page at `methodology/arithmetic-delta/`."""
    return f"methodology/{rule_id.replace('/', '-')}/"


def described_rules() -> list[RuleDoc]:
    """Every rule, by id."""
    return list(rule_docs().values())


def rule_page(site: Site, rule_id: str) -> Page:
    """The whole page. Raises RenderError for a rule that is not described."""
    doc = rule_docs().get(rule_id)
    if doc is None:
        raise RenderError(f"{rule_id}: no such rule is described")
    path = rule_path(rule_id)
    body = site.view(path).render("rule.html.j2", doc=doc)
    return Page(path, "Methodology", f"Rule {rule_id}", doc.why, body, (SearchEntry(path, f"Rule {rule_id}", doc.why),))
