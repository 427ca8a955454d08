"""How to cite a finding: as words, BibTeX and CITATION.cff, each with the digest of what is cited.

An address stands as the path of the page; the script of the site puts in front of it where the site lies.
"""

from __future__ import annotations

import json
import re

from dossier.model.finding import Finding
from dossier.pages.places import page_of

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
_TO_ESCAPE = re.compile(r"[\\{}&%$#_~^]")
_KEY = re.compile(r"[^a-z0-9]+")


def citations(finding: Finding, digest: str) -> tuple[tuple[str, str], ...]:
    """(form, text) of each citation."""
    return (("Words", _words(finding, digest)), ("BibTeX", _bibtex(finding, digest)), ("CFF", _cff(finding, digest)))


def _authors(finding: Finding) -> list[str]:
    return list(finding.authors)


def _words(finding: Finding, digest: str) -> str:
    by = f"{', '.join(_authors(finding))}. " if finding.authors else ""
    return (
        f"{by}{finding.title}. Finding {finding.id} ({finding.provenance}), {finding.date.isoformat()}. "
        f"{page_of('findings', finding.id)} (record {digest})"
    )


def _bibtex(finding: Finding, digest: str) -> str:
    fields = [
        ("title", f"{{{_tex(finding.title)}}}"),
        *(
            [("author", _tex(" and ".join(f"{{{_plain(a)}}}" for a in finding.authors), names=True))]
            * bool(finding.authors)
        ),
        ("year", f"{finding.date.year:04d}"),
        ("month", f"{finding.date.month:02d}"),
        ("note", _tex(f"Finding, {finding.provenance}; record {digest}")),
        ("url", page_of("findings", finding.id)),
    ]
    key = _KEY.sub("-", finding.id)
    return "\n".join([f"@misc{{{key},", *(f"  {name} = {{{value}}}," for name, value in fields), "}"])


def _plain(text: str) -> str:
    return text.replace("{", "(").replace("}", ")").replace("\\", "/")


def _tex(text: str, *, names: bool = False) -> str:
    """Text with what TeX would take for its own written out; braces around names stay."""
    special = {k: v for k, v in _SPECIAL.items() if not (names and k in "{}")}
    return _TO_ESCAPE.sub(lambda found: special.get(found[0], found[0]), text)


def _cff(finding: Finding, digest: str) -> str:
    """A JSON string is a YAML string too."""
    told = [
        ("cff-version", "1.2.0"), ("message", "Cite the finding by its id and the digest of its record."),
        ("type", "dataset"), ("title", finding.title), ("date-released", finding.date.isoformat()),
        ("url", page_of("findings", finding.id)),
    ]  # fmt: skip
    names = finding.authors or ("unknown",)
    lines = [f"{key}: {_quoted(value)}" for key, value in told]
    lines += ["authors:", *(f"  - name: {_quoted(name)}" for name in names)]
    lines += ["identifiers:", "  - type: other", f"    value: {_quoted(digest)}"]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
