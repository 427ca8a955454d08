"""Why a finding may be believed, and how far: what is kept, what recomputes, what was checked, what is missing."""

from __future__ import annotations

from functools import cache

from markupsafe import Markup

from dossier.checks.rules import rule_docs
from dossier.derive.format import file_size, number
from dossier.model.finding import Finding, KeptFile
from dossier.model.vocabulary import Provenance
from dossier.pages.fields import Pairs, Writer
from dossier.pages.markup import html, joined, quiet
from dossier.pages.places import anchor

_RECOMPUTES = {
    Provenance.MEASURED: "Every figure follows from the journal; `dossier verify` computes them anew.",
    Provenance.RETAINED: "Figures point into the artifacts; the checks compare them with what stands there.",
    Provenance.TRANSCRIBED: "Differences and verdicts are computed here; the figures themselves stand as published.",
    Provenance.REPORTED: "Nothing: it supports no decision.",
    Provenance.EXTERNAL_PRIOR: "Nothing here: it was measured elsewhere and supports no decision.",
}


@cache
def _rules() -> str:
    return number(len(rule_docs()))


def trust(writer: Writer, finding: Finding, differing: int) -> Pairs:
    """Label and words of each reason. `differing` counts what is stated otherwise than it follows."""
    root = writer.view.root
    pairs: Pairs = [("Raw evidence", _kept(writer, finding))]
    journal = next((file for file in finding.artifacts if _is_journal(file)), None)
    if journal is not None:
        told = html(
            '<a href="#%s">%s</a> %s', anchor(journal.id), journal.title or journal.id, writer.pin(journal.sha256 or "")
        )
        pairs.append(("Journal", told))
    pairs.append(("Recomputed", writer.view.inline(_RECOMPUTES[finding.provenance])))
    checked = html(
        '%s <a href="%smethodology/">rules</a> were applied when this site was built; a site with an error is not '
        "published.%s",
        _rules(), root,
        html(' <a href="#result">%s stated otherwise than follows.</a>', differing) if differing else "",
    )  # fmt: skip
    pairs.append(("Checked", checked))
    pinned = len(finding.pins)
    noun = "record" if pinned == 1 else "records"
    words = f"{pinned} {noun} it rests on, by digest: editing one breaks the build."
    pairs.append(("Pinned", html('<a href="#record">%s</a>', words) if pinned else quiet("no record is pinned")))
    limits = len(finding.limits)
    words = f"{limits} {'thing' if limits == 1 else 'things'} not claimed" if limits else "no limits are stated"
    pairs.append(("How far", html('<a href="#limits">%s</a>', words) if limits else quiet(words)))
    pairs.append(("Signed", quiet("No. A digest says that a record was not altered, not who made it.")))
    return pairs


def _is_journal(file: KeptFile) -> bool:
    return file.path is not None and file.path.rpartition("/")[2] == "journal.jsonl"


def _kept(writer: Writer, finding: Finding) -> Markup:
    """How many artifacts are kept where; or why none are."""
    kinds = (
        ("kept here", [f for f in finding.artifacts if f.path is not None]),
        ("at an address elsewhere", [f for f in finding.artifacts if f.url is not None]),
        ("private, known by digest", [f for f in finding.artifacts if f.private is not None]),
    )
    told = [html("%s", f"{len(files)} {words}{_size(files)}") for words, files in kinds if files]
    if told:
        return html('<a href="#artifacts">%s</a>, each bound by SHA-256', joined("; ", told))
    if finding.no_artifacts:
        return html("none: %s", writer.view.inline(finding.no_artifacts.split("\n\n", 1)[0], finding))
    return writer.view.unknown("nothing raw is kept, and no reason is given")


def _size(files: list[KeptFile]) -> str:
    sizes = [f.bytes for f in files if f.bytes is not None]
    return f" ({file_size(sum(sizes))})" if len(sizes) == len(files) else ""
