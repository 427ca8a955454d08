"""The style guide: every component in the words and figures of the two published pages."""

from __future__ import annotations

from pathlib import Path

from jinja2 import ChoiceLoader, FileSystemLoader
from markupsafe import Markup

from dossier.model import vocabulary
from dossier.pages.environment import environment
from dossier.pages.places import root_of
from dossier.pages.prose import prose

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
PATH = "findings/style-guide/"
HOSTILE = '</script><img src=x onerror=alert(1)> "onmouseover="alert(1)" {{7*7}} {% raw %}'

NARRATIVE = """The candidate gains [[decode-120k]] decode at long context. **Baseline** refused the synthetic
`128K launch-code` needle twice, and <b>raw HTML stays text</b>.

# A heading starts at the third level

| target | decode |
| --- | --- |
| 4K | 112.07 |
| 120K | 96.17 |

- one pre-recorded, unchanged repeat
- no further reruns; see [the rules](https://example.org/rules) and ![a picture](https://example.org/x.png)

> Reports of others are unverified and corroborate nothing.
"""


def _words(macro, words):
    return Markup(" ").join(macro(word) for word in words)


def _populations():
    c = vocabulary.MeasurementClass
    rows = [
        ("candidate-4k", "candidate", c.PERFORMANCE, 4096, 12, 12, None, None),
        ("baseline-4k", "baseline", c.PERFORMANCE, 4096, 12, 12, None, None),
        ("candidate-120k", "candidate", c.PERFORMANCE, 120000, 3, 3, None, None),
        ("candidate-turnover", "candidate", c.ENDURANCE, None, 60, 60, 58, "strict-output-miss: from performance"),
        ("repeat", "candidate", c.ENDURANCE, None, 60, 60, 57, "strict-output-miss: from performance"),
        ("baseline-turnover", "baseline", c.ENDURANCE, None, 60, 60, 53, "strict-output-miss: from performance"),
    ]
    keys = ("id", "arm", "cls", "target", "planned", "completed", "passed", "excluded")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _comparisons():
    p = vocabulary.Provenance
    rows = [
        ("decode-4k", "Decode rate, 4K", "112.07", "149.02", "tok/s", "36.95", "33.0", "better", None, p.TRANSCRIBED),
        ("decode-380k", "Decode rate, 380K", "99.79", "120.29", "tok/s", "20.50", "20.5", "better", "17.1", p.MEASURED),
        ("ttft-4k", "TTFT visible, 4K", "0.178", "0.123", "s", "-0.055", "-30.9", "better", None, p.RETAINED),
        ("agent", "Agent time, SWE smoke", "34.22", "115.69", "s", "81.47", "238.1", "worse", None, p.REPORTED),
    ]
    keys = ("id", "label", "base", "cand", "unit", "abs", "rel", "effect", "low", "prov")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _gates():
    v = vocabulary.Verdict
    return [
        ("strict-turnover", "all 60 controlled outputs obey their word count", "before the run", "58/60", v.FAIL),
        ("direct-preflight", "every direct control passes", "before the run", "10/10", v.PASS),
        ("reserve", "at least 3,072 MiB free a card after load", "standing policy", "2,101 MiB", v.WAIVED),
        ("routed", "every routed control passes", "before the run", "", v.NOT_RUN),
        ("video", "video input is answered", "before the run", "", v.NOT_APPLICABLE),
        ("tail", "p99 TTFT at most 1 s", "before the run", "n = 12", v.UNDETERMINED),
    ]


def _misses():
    return [
        ("unknown", "word-count", 33, 32, "stop"),
        ("unknown", "word-count", 31, 32, "stop"),
        (20, "word-count", 33, 32, "stop"),
        (32, "truncated", 499, 512, "length"),
    ]


def style_guide_body() -> str:
    env = environment(PROJECT)
    env.loader = ChoiceLoader([env.loader, FileSystemLoader(HERE)])
    figure = env.get_template("components.html.j2").module.delta
    return env.get_template("style_guide.html.j2").render(
        root=root_of(PATH),
        w=vocabulary,
        words=_words,
        populations=_populations(),
        comparisons=_comparisons(),
        gates=_gates(),
        misses=_misses(),
        narrative=prose(NARRATIVE, lambda _name: figure("17.21", href="#c-decode-380k")),
        output="absolute\n\n\tTab and a blank line above; " + HOSTILE + "\n" + "x" * 300,
    )
