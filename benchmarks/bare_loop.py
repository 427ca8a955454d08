"""The least that could make pages of findings: load, fill one template, write. A floor to measure against."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml
from jinja2 import Environment
from markdown_it import MarkdownIt

_TABLE = """
<section><h2>{{ title }}</h2><table><thead><tr>{% for c in columns %}<th>{{ c }}</th>{% endfor %}</tr></thead><tbody>
{% for row in rows %}<tr id="{{ row.id }}">{% for c in columns %}<td>{{ row.get(c, "") }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></section>
"""
_PAGE = (
    """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ f.title }}</title></head><body>
<h1>{{ f.title }}</h1><p>{{ f.date }} {{ f.kind }} {{ f.provenance }}</p>
{{ summary }}{{ caveat }}{{ why }}
<ul>{% for limit in limits %}<li>{{ limit }}</li>{% endfor %}</ul>
<dl>{% for name, arm in f.arms.items() %}<dt>{{ name }}</dt><dd>{{ arm.recipe }} {{ arm.path }}</dd>{% endfor %}</dl>
<p>{{ f.boundary.fixed | join(", ") }}; {{ f.boundary.varied | join(", ") }}; {{ f.boundary.attribution }}</p>
{% for title, rows, columns in tables %}"""
    + _TABLE
    + """{% endfor %}
<ul>{% for key, pin in (f.pins or {}).items() %}<li>{{ key }} <code>{{ pin }}</code></li>{% endfor %}</ul>
</body></html>"""
)


def main(evidence: Path, target: Path) -> None:
    """Write a page a finding."""
    template = Environment(autoescape=True).from_string(_PAGE)
    markdown = MarkdownIt("commonmark", {"html": False})
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted((evidence / "findings").glob("*.yaml")):
        finding = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
        tables = [
            (name, finding[name], sorted({key for row in finding[name] for key in row}))
            for name in ("populations", "measurements", "comparisons", "gates", "decisions", "not_attempted", "sources")
            if finding.get(name)
        ]
        page = template.render(
            f=finding,
            tables=tables,
            summary=markdown.render(finding["summary"]),
            caveat=markdown.render(finding["caveat"]),
            why=markdown.render(finding["why_it_matters"]),
            limits=[markdown.renderInline(limit) for limit in finding["limits"]],
        )
        folder = target / file.stem
        folder.mkdir(exist_ok=True)
        (folder / "index.html").write_text(page, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
