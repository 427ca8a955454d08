"""The schema that editors use and the parser agree on the shape of every record."""

from __future__ import annotations

import copy
import datetime as dt
import json
from functools import cache
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from dossier.cli.schema import schema
from dossier.model.json_schema import KINDS, schema_of
from dossier.model.parse import parse_record
from dossier.source import Document, read_document

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "evidence").rglob("*.yaml"), *(ROOT / "tests/evidence/base").rglob("*.yaml"),
                *(ROOT / "tests/evidence/valid").rglob("*.yaml")])  # fmt: skip
RECORDS = [file for file in FILES if "artifacts" not in file.parts]


@cache
def validator(kind):
    return jsonschema_rs.Draft202012Validator(schema_of(KINDS[kind]))


@cache
def data_of(file):
    document, problems = read_document(file.read_bytes(), file.name)
    assert problems == []
    return document.data


def kind_of(data):
    return data["schema"].split("/")[1]


def parser_accepts(data):
    """Does the parser take the shape? That a range runs forwards is a rule over its two ends, not a shape."""
    _, problems = parse_record(Document(data, ""), "x.yaml")
    return not [p for p in problems if p.rule != "arithmetic/range"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_valid_schema_with_a_description_of_every_field(kind):
    found = schema_of(KINDS[kind])
    jsonschema_rs.validator_for(found)
    parts = [found, *found.get("$defs", {}).values()]
    fields = [(name, member) for part in parts for name, member in part.get("properties", {}).items()]
    assert fields
    assert [name for name, member in fields if not member.get("description")] == []


@pytest.mark.parametrize("file", RECORDS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_record_of_the_corpus_passes_both(file):
    data = data_of(file)
    assert parser_accepts(data)
    assert list(validator(kind_of(data)).iter_errors(data)) == []


REFUSED = sorted((ROOT / "tests/evidence/invalid").rglob("*.yaml"))


@pytest.mark.parametrize("file", REFUSED, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_file_that_the_checks_refuse_has_the_right_shape_to_both_or_to_neither(file):
    document, problems = read_document(file.read_bytes(), file.name)
    if problems or kind_of(document.data) not in KINDS:
        return  # the reader refuses it before either is asked
    assert validator(kind_of(document.data)).is_valid(document.data) == parser_accepts(document.data)


def typed(file):
    """The file as an editor sees it: scalars typed by YAML 1.2."""
    loaded = YAML(typ="safe", pure=True).load(file.read_text("utf-8"))
    return json.loads(json.dumps(loaded, default=lambda d: d.isoformat() if isinstance(d, dt.date) else str(d)))


@pytest.mark.parametrize("file", RECORDS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_an_editor_that_types_scalars_sees_no_error_in_a_valid_record(file):
    data = typed(file)
    assert [(e.instance_path, e.message) for e in validator(kind_of(data)).iter_errors(data)] == []


# What people write, and what is nearly right: each stands once in every leaf that it fits or does not fit.
ODD = [
    "", " ", "0", "1", "-1", "00", "007", "1.0", "97.60", "+5", "−5.19", "1e5", "1,000", "12 tok/s", "12tok/s", "5 ",
    " 5", "3 4", "5\n%", "1..2", "1..", "..2", "1..2..3", "true", "false", "True", "yes", "2026-02-28", "2026-02-29",
    "2024-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "2026-13-01", "2026-9-09", "2026-09-09T10:00Z",
    "2026-09-09T10:00:00Z", "2026-09-09T10:00:00+00:00", "2026-09-09T24:00:00Z", "2026-09-09T10:60Z",
    "2026-09-09T10:00:00.123456Z", "con", "con.x", "lpt9", "console", "A", "a--b", "a-b", "a.b_c", "-a", "é", "x" * 120,
    "x" * 121, "x" * 1000, "x" * 1001, "a\nb", "a\n", "\n", "all passed", "All passed", "at least 58 passed",
    "at least 058 passed", "at least 5.5 % passed", "<= 5 %", ">3", "< x", "within ±3 %", "within 3 %", "within ±",
    "+39.5 %", "-5.19%", "±2.3 %", "3.17x", "3.17×", "5", "+ 5 %", "word-count", "0" * 40, "a" * 40, "a" * 39, "g" * 40,
    "a" * 64, "a" * 62, "A" * 64, "sha256:" + "a" * 64, "sha256:" + "a" * 62, "waive", "promote", "designate-rollback",
    "measured", "pass", "off", "performance", "\u00a0", "5 %", "1" * 15, "1" * 16, "1" * 18, "1" * 19, "0." + "1" * 17,
    "0." + "1" * 18, "\u2009",
]  # fmt: skip
LEAF = st.sampled_from(ODD) | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8
)
VALUE = st.one_of(
    LEAF,
    LEAF,
    st.builds(list),
    st.builds(dict),
    st.lists(LEAF, min_size=1, max_size=2),
    st.fixed_dictionaries({"unknown": LEAF}),
    st.fixed_dictionaries({"value": LEAF, "unit": LEAF}),
    st.dictionaries(st.sampled_from(["unknown", "id", "note", "x", "A b", "con"]), LEAF, max_size=2),
)


def containers(data):
    yield data
    for value in data.values() if isinstance(data, dict) else data:
        if isinstance(value, dict | list):
            yield from containers(value)


@st.composite
def mutated(draw):
    """A record of the corpus with one to three places changed, removed or added."""
    data = copy.deepcopy(data_of(draw(st.sampled_from(RECORDS))))
    fields = [name for part in _parts(kind_of(data)) for name in part]
    for _ in range(draw(st.integers(1, 3))):
        where = draw(st.sampled_from(list(containers(data))))
        what = draw(st.sampled_from(["set", "set", "set", "drop", "add"]))
        if isinstance(where, list):
            if where and what != "add":
                where[draw(st.integers(0, len(where) - 1))] = draw(VALUE)
            else:
                where.append(draw(VALUE))
        elif what == "add" or not where:
            where[draw(st.sampled_from(sorted({*fields} - {"schema"})))] = draw(VALUE)
        else:
            key = draw(st.sampled_from(sorted({*where} - {"schema"})))
            if what == "drop":
                del where[key]
            else:
                where[key] = draw(VALUE)
    return data


@cache
def _parts(kind):
    found = schema_of(KINDS[kind])
    return [sorted(part.get("properties", {})) for part in [found, *found.get("$defs", {}).values()]]


@settings(max_examples=400, deadline=None)
@given(mutated())
def test_what_the_schema_refuses_the_parser_refuses_and_the_other_way_round(data):
    refused = [(e.instance_path, e.message) for e in validator(kind_of(data)).iter_errors(data)]
    accepted = parser_accepts(data)
    assert accepted == (not refused), (refused, parse_record(Document(data, ""), "x.yaml")[1])


@pytest.mark.parametrize("value", ODD)
def test_both_agree_on_every_odd_text_in_every_form_of_scalar(value):
    places = {
        "finding": ["id", "title", "date", "observed", "kind", "summary", "campaign", "limits.0", "authors.0",
                    "populations.0.planned", "populations.0.prompt_tokens", "populations.0.rate",
                    "populations.0.complete_parts", "populations.0.cache", "misses", "measurements.0.value",
                    "comparisons.0.stated", "gates.0.require", "artifacts.0.sha256", "pins.recipes/x",
                    "decisions.0.at", "decisions.0.outcome"],
        "identity": ["artifacts.0.revision", "template_sha256"],
    }  # fmt: skip
    for kind, paths in places.items():
        for path in paths:
            data = _bare(kind)
            _put(data, path, value)
            assert validator(kind).is_valid(data) == parser_accepts(data), path


def _bare(kind):
    if kind == "identity":
        return {"schema": "dossier/identity/v1", "id": "x", "title": "X", "artifacts": [{"role": "target"}]}
    return {
        "schema": "dossier/finding/v1", "id": "x", "title": "X", "date": "2026-01-01", "kind": "intake",
        "provenance": "reported", "models": ["m"], "summary": "S.", "limits": ["L"], "authors": ["A"],
        "populations": [{"id": "p", "misses": [{"kind": "empty"}]}],
        "measurements": [{"id": "m", "metric": "e2e", "value": "1 s"}],
        "comparisons": [{"id": "c", "candidate": "m", "baseline": "m"}],
        "gates": [{"id": "g", "stated": "pass", "subject": "m"}],
        "artifacts": [{"id": "a", "path": "a.json", "sha256": "a" * 64}],
        "decisions": [{"id": "d", "outcome": "promote", "lanes": ["l"], "recipe": "r"}], "pins": {},
    }  # fmt: skip


def _put(data, path, value):
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        data = data[step]
    if path == "misses":
        data["populations"][0]["misses"][0]["count"] = value
    else:
        data[last] = value


def test_the_command_prints_a_schema_and_writes_all_of_them(tmp_path):
    printed = CliRunner().invoke(schema, ["finding"])
    assert json.loads(printed.output) == schema_of(KINDS["finding"])
    assert CliRunner().invoke(schema, []).output.split() == sorted(KINDS)
    CliRunner().invoke(schema, ["--write", str(tmp_path / "schemas")])
    assert sorted(file.name for file in (tmp_path / "schemas").iterdir()) == [f"{kind}.json" for kind in sorted(KINDS)]
