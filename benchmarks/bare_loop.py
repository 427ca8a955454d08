"""The least that could write the same pages: load, one jinja2 template, markdown-it-py, write. A floor to measure against.

It validates, checks, links, resolves and indexes nothing; its articles have the markup and about the size of ours. The
differences are worked out with floats, and what stands for a reference is left as it was written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml
from jinja2 import Environment
from markdown_it import MarkdownIt

_ROW = '<th scope="row">{{ x.title or x.id }}<br><a class="dx-quiet dx-unit" href="#i-{{ x.id }}">{{ x.id }}</a></th>'
_DIGEST = (
    '<span class="dx-digest dx-digest-full"><span class="dx-unit">sha256</span> <code>{{ d[7:] }}</code><button '
    'class="dx-copy" type="button" data-copy="{{ d[7:] }}" aria-label="Copy sha256 {{ d[7:19] }}" hidden></button></span>'
)


def _section(name: str, body: str) -> str:
    title = name.replace("-", " ").capitalize()
    return (
        f'<section class="dx-section" aria-labelledby="{name}"><h2 id="{name}">{title}<a class="dx-anchor" href="#{name}" '
        f'aria-label="Link to {title}"></a></h2><p class="dx-note">What the rows of {title} mean, and what they do not.</p>'
        f"{body}</section>\n"
    )


def _table(name: str, columns: str, cells: str) -> str:
    heads = "".join(f'<th scope="col" class="dx-mid">{column}</th>' for column in columns.split(", "))
    return _section(
        name,
        f'<div class="dx-table" role="region" tabindex="0" aria-label="{name}"><table class="dx-t"><caption><span>{name} '
        f'<span class="dx-count">{{{{ f.{name} | length }}}} rows</span></span></caption><thead><tr>{heads}</tr></thead>'
        f'<tbody>{{% for x in f.{name} %}}<tr id="i-{{{{ x.id }}}}">{_ROW}{cells}</tr>\n{{% endfor %}}</tbody></table></div>',
    )


def _cells(*values: str) -> str:
    return "".join(f'<td class="dx-num"><span class="dx-fig">{value}</span></td>' for value in values)


_ARM = '<td class="dx-mid"><a href="#arm-{{ x.arm }}">{{ x.arm }}</a></td>'
_PAGE = "".join([
    "{{ shell }}<div class='dx'><nav class='dx-crumbs'><ol><li><a href='../../'>Home</a></li><li>{{ f.id }}</li></ol></nav>",
    '<header class="dx-head"><p class="dx-kicker">Finding · {{ f.kind }} · {{ f.date }}</p><h1>{{ f.title }}</h1>',
    '<div class="dx-head-meta"><span class="dx-badge dx-prov-{{ f.provenance }}">{{ f.provenance }}</span></div></header>',
    '<nav class="dx-toc"><ul>{% for name in f %}<li><a href="#{{ name }}">{{ name }}</a></li>{% endfor %}</ul></nav>',
    '<section class="dx-result"><header><h2 id="result">Result</h2></header>{{ summary }}<dl class="dx-kv">',
    '{% for d in f.decisions %}<div><dt>Decided</dt><dd><span class="dx-badge dx-status-{{ d.outcome }}">{{ d.outcome }}',
    '</span> <a href="../../recipes/{{ d.recipe }}/">{{ d.recipe }}</a></dd></div>{% endfor %}',
    '{% for n, a in f.arms.items() %}<div id="arm-{{ n }}"><dt>{{ n }}</dt><dd><a href="../../recipes/{{ a.recipe }}/">',
    "{{ a.recipe }}</a> {{ a.path }}</dd></div>{% endfor %}</dl></section>",
    '<div class="dx-callout dx-callout-why">{{ why }}</div><div class="dx-callout dx-callout-caveat">{{ caveat }}</div>',
    _section("limits", '<ul class="dx-not-claimed">{% for l in limits %}<li>{{ l }}</li>{% endfor %}</ul>'),
    _section("boundary", "<p>{{ f.boundary.fixed | join(', ') }}; {{ f.boundary.varied | join(', ') }}</p>"),
    _table("populations", "Population, Arm, Planned, Completed, Passed, Target tokens, Prompt tokens, Concurrency, Cache, Load",
           _ARM + _cells("{{ x.planned }}", "{{ x.completed }}", "{{ x.passed or '' }}", "{{ x.target_tokens or '' }}",
                         "{{ x.prompt_tokens or '' }}", "{{ x.concurrency or '' }}", "{{ x.cache or '' }}", "{{ x.load or '' }}")),
    _table("measurements", "Measurement, Arm, Metric, Value, Statistic, n, Population",
           _ARM + '<td><a href="../../methodology/#metric-{{ x.metric }}">{{ x.metric }}</a></td>'
           + _cells('<data value="{{ x.value }}">{{ x.value }}</data>', "{{ x.statistic }}", "{{ x.n }}")
           + '<td class="dx-mid"><a href="#i-{{ x.population }}">{{ x.population }}</a></td>'),
    _table("comparisons", "Comparison, Metric, Candidate, Baseline, Difference, Matched",
           '<td><a href="../../methodology/#metric-{{ by[x.candidate].metric }}">{{ by[x.candidate].metric }}</a></td>'
           '<td class="dx-mid"><a class="dx-fig" href="#i-{{ x.candidate }}">{{ by[x.candidate].value }}</a><br>'
           '<span class="dx-quiet">candidate</span></td><td class="dx-mid"><a class="dx-fig" href="#i-{{ x.baseline }}">'
           '{{ by[x.baseline].value }}</a><br><span class="dx-quiet">baseline</span></td><td><span class="dx-fig dx-delta">'
           "{{ '%+.1f' | format(100 * (by[x.candidate].value.split()[0] | float) / (by[x.baseline].value.split()[0] | float)"
           " - 100) }} %</span></td><td>{{ x.matched | join(' · ') }}</td>"),
    _table("gates", "Gate, Requirement, Subject, Predeclared",
           _cells("{{ x.require }}", '<a href="#i-{{ x.subject }}">{{ x.subject }}</a>', "{{ x.predeclared }}")),
    _table("decisions", "Decision, Outcome, Recipe, Approval, Reason",
           _cells("{{ x.outcome }}", '<a href="../../recipes/{{ x.recipe }}/">{{ x.recipe }}</a>', "{{ x.human_approval }}")
           + "<td>{{ x.reason }}</td>"),
    _section("not-attempted", "<ul>{% for n in f.not_attempted %}<li>{{ n.what }}: {{ n.because }}</li>{% endfor %}</ul>"),
    _section("links", "<ul>{% for n in (f.links or {}).get('follows', []) %}<li><a href='../{{ n }}/'>{{ n }}</a></li>"
                      "{% endfor %}</ul>"),
    _section("sources", "<ul>{% for s in f.sources %}<li>{{ s.title }}, {{ s.published }}</li>{% endfor %}</ul>"),
    _section("record", "<ul>{% for key, d in (f.pins or {}).items() %}<li><a href='../../{{ key }}/'>{{ key }}</a> "
                       + _DIGEST + "</li>{% endfor %}</ul>"),
    "</div></body></html>",
])  # fmt: skip


def main(evidence: Path, target: Path) -> None:
    """Write a page a finding."""
    template = Environment(autoescape=True).from_string(_PAGE)
    markdown = MarkdownIt("commonmark", {"html": False})
    # As long as the shell that mkdocs-material makes.
    shell = "<!doctype html><html lang=en><head><title>Finding</title></head><body>" + "<!-- -->" * 1550
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted((evidence / "findings").glob("*.yaml")):
        finding = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
        page = template.render(
            f=finding,
            shell=shell,
            by={row["id"]: row for row in finding["measurements"]},
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
