"""Clients and other harnesses, run as commands: honest ones, ones with another source, and what they write down."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from runner_support import finding_of, plan_text

from dossier.digest import sha256_hex
from dossier.runner.command import filled
from dossier.runner.evaluators import NotResultsError, Tool, scores_of
from dossier.runner.plan import read_plan
from dossier.runner.traits import Traits

ASK = """
import json, sys, urllib.request
def ask(base, model, text):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
    request = urllib.request.Request(base + "/chat/completions", body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
"""
# A client whose "tool" is reading the file that it is told of; the model then repeats what it was shown.
HONEST = (
    ASK
    + """
base, model, file = sys.argv[1:]
ask(base, model, "start")
print(ask(base, model, "Reply with exactly: " + open(file).read().strip()))
"""
)
CLIENTS = {
    "honest": (HONEST, 0, None),
    "reads-the-file-itself": ("import sys; print(open(sys.argv[3]).read())", 1, "control-answered"),
    "falls-back": (
        ASK + """
base, model, file = sys.argv[1:]
try:
    ask(base, model, "start")
except OSError:
    print("offline"); sys.exit(0)
print(open(file).read())
""", 1, "file-not-sent",
    ),
    "asks-another-model": (
        ASK + """
base, model, file = sys.argv[1:]
ask(base, model, "start")
try:
    ask(base, "gpt-other", open(file).read())
except OSError as error:
    pass
print(open(file).read())
""", 1, "other-model",
    ),
    "crashes": ("import sys; sys.exit(3)", 1, "client-failed"),
    "says-something-else": (
        ASK + """
base, model, file = sys.argv[1:]
ask(base, model, open(file).read())
print("done")
""", 1, "marker-missing",
    ),
    "never-asks": ("print('done')", 1, "server-not-used"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _python(tmp_path, monkeypatch):
    """Commands name `python`, as a published plan would."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", list(CLIENTS))
def test_a_client_is_accepted_only_by_way_of_the_server(name, tmp_path):
    code, exit_code, kind = CLIENTS[name]
    (tmp_path / "client.py").write_text(code)
    command = f"[python, {json.dumps(str(tmp_path / 'client.py'))}, '{{base_url}}', '{{model}}', '{{nonce_file}}']"
    population = f"{{id: c, probe: client, client: a script, command: {command}, seconds: 20}}"
    finding, status = finding_of(tmp_path, (population,), traits=Traits(reads=True))
    assert [miss.kind for miss in finding.populations[0].misses] == ([kind] if kind else [])
    assert status == exit_code
    assert finding.populations[0].client == "a script"
    assert "NONCE-" not in (tmp_path / "run.jsonl").read_text()


def test_a_client_that_never_ends_is_stopped(tmp_path):
    (tmp_path / "client.py").write_text("import time; time.sleep(60)")
    command = f"[python, {json.dumps(str(tmp_path / 'client.py'))}, '{{prompt}}']"
    population = f"{{id: c, probe: client, client: a script, command: {command}, seconds: 1}}"
    finding, _ = finding_of(tmp_path, (population,))
    assert finding.populations[0].misses[0].kind == "client-timeout"


# Evaluators

LM_EVAL = {
    "results": {
        "gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.25, "exact_match_stderr,strict-match": 0.1,
                  "exact_match,flexible-extract": 0.5},
        "arc_easy": {"alias": "arc_easy", "acc,none": 0.75, "acc_stderr,none": "N/A"},
    },
    "n-samples": {"gsm8k": {"original": 1319, "effective": 20}, "arc_easy": {"original": 2376, "effective": 8}},
    "config": {"model": "local-chat-completions"},
}  # fmt: skip
INSPECT = {
    "version": 2, "status": "success", "eval": {"task": "security", "model": "openai/reference"},
    "results": {"total_samples": 16, "completed_samples": 16, "scores": [
        {"name": "model_graded_fact", "scorer": "model_graded_fact",
         "metrics": {"accuracy": {"name": "accuracy", "value": 0.625}, "stderr": {"name": "stderr", "value": 0.12}}}]},
}  # fmt: skip
SWE = {
    "total_instances": 500, "submitted_instances": 2, "resolved_instances": 1,
    "submitted_ids": ["django-1", "sympy-2"], "completed_ids": ["django-1", "sympy-2"],
    "resolved_ids": ["django-1"], "unresolved_ids": ["sympy-2"], "error_ids": [],
}  # fmt: skip


def read(tool, data, instances=()):
    return {score.name: (score.value, score.n) for score in scores_of(tool, json.dumps(data).encode(), instances)}


def test_every_score_of_lm_eval_with_its_filter_and_count():
    assert read(Tool.LM_EVAL, LM_EVAL) == {
        "gsm8k, exact_match, strict-match": (0.25, 20), "gsm8k, exact_match, flexible-extract": (0.5, 20),
        "arc_easy, acc": (0.75, 8),
    }  # fmt: skip


def test_an_inspect_log_counts_only_when_it_ended_well():
    assert read(Tool.INSPECT, INSPECT) == {"security, model_graded_fact, accuracy": (0.625, 16)}
    for change, said in (({"status": "error"}, "status is 'error'"), ({"results": {}}, "no score")):
        with pytest.raises(NotResultsError, match=said):
            read(Tool.INSPECT, INSPECT | change)
    short = INSPECT | {"results": INSPECT["results"] | {"completed_samples": 9}}
    with pytest.raises(NotResultsError, match="9 of 16 samples"):
        read(Tool.INSPECT, short)


def test_a_swe_report_names_every_instance_that_was_asked_for():
    assert read(Tool.SWE_BENCH, SWE, ("django-1", "sympy-2")) == {"resolved": (0.5, 2)}
    with pytest.raises(NotResultsError, match="does not name the instance flask-3"):
        read(Tool.SWE_BENCH, SWE, ("django-1", "flask-3"))
    with pytest.raises(NotResultsError, match="grader failed on 1"):
        read(Tool.SWE_BENCH, SWE | {"error_ids": ["sympy-2"]}, ("sympy-2",))


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"nonsense", b'{"results": {"a": {"acc,none": NaN}}}'])
def test_what_is_no_results_file_gives_no_score(data):
    with pytest.raises(NotResultsError):
        scores_of(Tool.LM_EVAL, data)


HARNESS = (
    ASK
    + """
import pathlib
base, model, folder, data, name = sys.argv[1:]
if name != "nobody":
    ask(base, name, "What is 2 + 2?")
out = pathlib.Path(folder) / "results" / model
out.mkdir(parents=True)
if text := pathlib.Path(data).read_text():
    (out / "results_2026-12-01.json").write_text(text)
"""
)


def external(folder, data, name="reference"):
    """The file that it writes is handed to it as one: braces in a command would be names to put in."""
    (folder / "harness.py").write_text(HARNESS)
    (folder / "data.json").write_text(json.dumps(data) if data is not None else "")
    population = {
        "id": "lm", "probe": "external", "tool": "lm-eval", "version": "a scripted lm-eval", "seconds": "30",
        "command": ["python", str(folder / "harness.py"), "{base_url}", "{model}", "{folder}",
                    str(folder / "data.json"), name],
        "results": "results/**/results_*.json",
    }  # fmt: skip
    return finding_of(folder, (json.dumps(population),))


def test_a_harness_leaves_its_scores_and_its_own_file(tmp_path):
    finding, status = external(tmp_path, LM_EVAL)
    assert status == 0
    scores = {m.title: (str(m.value), m.n) for m in finding.measurements}
    assert scores["gsm8k, exact_match, strict-match"] == ("0.2500", 20)
    population = finding.populations[0]
    assert population.artifact == "file-results-lm-0"
    artifact = next(item for item in finding.artifacts if item.id == "file-results-lm-0")
    published = tmp_path / "evidence" / "artifacts" / finding.id / artifact.path
    assert published.read_bytes() == json.dumps(LM_EVAL).encode()
    assert artifact.sha256 == sha256_hex(published.read_bytes())


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (LM_EVAL, "nobody", "server-not-used"),
        (LM_EVAL, "gpt-other", "harness-failed"),
        (None, "reference", "no-results"),
        ({"results": {}}, "reference", "bad-results"),
    ],
)
def test_a_harness_that_asked_nobody_or_wrote_nothing_has_failed(data, name, kind, tmp_path):
    finding, status = external(tmp_path, data, name)
    assert status == 1
    assert [miss.kind for miss in finding.populations[0].misses] == [kind]
    assert finding.measurements == ()


# Plans


def test_names_are_put_into_a_command_and_unknown_ones_are_told():
    assert filled(["--url={base_url}", "{model}"], {"base_url": "u", "model": "m"}) == ["--url=u", "m"]
    with pytest.raises(ValueError, match=r"\{baseurl\} is not known here; there are \{base_url\}"):
        filled(["{baseurl}"], {"base_url": "u"})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("probe: client, client: c, command: [x, '{model}']", "given {prompt}, or {nonce_file}"),
        ("probe: client, client: c, command: [x, '{promt}']", "{promt} is not known"),
        ("probe: client, client: c, command: [/home/anna/x, '{prompt}']", "a plan is published"),
        ("probe: external, tool: inspect, version: v, command: [x], results: /tmp/x.json", "pattern below {folder}"),
    ],
)
def test_a_command_that_cannot_be_run_or_published_is_refused(fields, said):
    found, problems = read_plan(plan_text(populations=(f"{{id: c, {fields}}}",)), "plan.yaml")
    assert found is None
    assert said in str(problems[0])
