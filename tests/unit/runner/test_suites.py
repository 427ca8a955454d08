"""Quality suites: what is right, what a sandbox stops, what is refused when a suite or a plan is read."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from runner_support import finding_of, outcome, plan_text, sampled

from dossier.digest import sha256_hex
from dossier.errors import UsageError
from dossier.runner.plan import plan_of, read_plan
from dossier.runner.probes.suites import Suites, judge, stability
from dossier.runner.sandbox import code_of, run_tests
from dossier.runner.suite import Check, load, shipped
from dossier.runner.traits import Traits


def decide(answer, finish="stop", **check):
    return asyncio.run(judge(outcome(answer, finish=finish), "item", Check.model_validate(check))).kind


@pytest.mark.parametrize(
    ("answer", "kind"),
    [("B", None), ("(B)", None), ("B.", None), ("**B**", None), ("b", "no-choice"), ("A", "incorrect"),
     ("B) blue", "no-choice"), ("The answer is B", "no-choice"), ("A B", "no-choice")],
)  # fmt: skip
def test_a_choice_is_one_letter_and_nothing_else(answer, kind):
    assert decide(answer, choice="B") == kind


@pytest.mark.parametrize(("answer", "kind"), [("New  York.", None), ("new york", None), ("New York City", "incorrect")])
def test_an_exact_answer_is_the_whole_answer(answer, kind):
    assert decide(answer, exact="New York") == kind


def test_a_pattern_matches_the_whole_answer():
    assert decide("555-1234", pattern="[0-9]{3}-[0-9]{4}") is None
    assert decide("Call 555-1234", pattern="[0-9]{3}-[0-9]{4}") == "incorrect"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ('{"a": 1}', None),
        ('{"a": "1"}', "schema-violated"),
        ('```\n{"a": 1}\n```', "not-json"),
        ("[" * 9999, "not-json"),
    ],
)
def test_a_structure_is_json_and_valid(answer, kind):
    assert decide(answer, structure={"properties": {"a": {"const": "1"}}, "required": ["a"]}) == kind


def test_a_right_answer_that_was_cut_is_a_truncation():
    assert decide("B", finish="length", choice="B") == "truncated"


# Suites and plans that are refused


@pytest.mark.parametrize("pattern", ["(a+)+", "a|b", "a.*b", "a*", "[a-z]?", "", "x{0,300}" * 3, "[a-z]+"])
def test_a_pattern_outside_the_safe_subset_is_refused(pattern):
    with pytest.raises(ValueError, match=r"safe subset|too many ways|empty|blank"):
        Check.model_validate({"pattern": pattern})


@pytest.mark.parametrize(
    ("check", "said"),
    [({}, "one check"), ({"choice": "A", "exact": "x"}, "one check"), ({"structure": {}}, "any JSON"),
     ({"code": "print(1)"}, "assert nothing"), ({"structure": {"type": "nonsense"}}, "no JSON schema")],
)  # fmt: skip
def test_a_check_that_asserts_nothing_is_refused(check, said):
    with pytest.raises(ValueError, match=said):
        Check.model_validate(check)


def test_the_shipped_suites_are_these():
    """Another digest is another suite: give it another id, and write its digest here."""
    assert {name: (len(load(name)[0].items), load(name)[1][:12]) for name in shipped()} == DIGESTS
    assert all(load(name)[0].id == name for name in shipped())


DIGESTS = {
    "choice-basics": (20, "b24d91979707"),
    "code-basics": (8, "24baebc2fc43"),
    "structure-basics": (10, "4567d45f6d0a"),
}


def test_a_plan_holds_the_digest_and_the_count_of_its_suite():
    found, problems = read_plan(
        plan_text(populations=("{id: q, probe: suite, suite: choice-basics, requests: 40}",)), "p"
    )
    assert problems == []
    (spec,) = found.populations
    assert (spec.sha256, spec.items) == (load("choice-basics")[1], 20)
    assert plan_of(found.public).digest == found.digest


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("suite: choice-basics, requests: 30", "multiple of the 20 items"),
        ("suite: choise-basics, requests: 20", "there are choice-basics"),
        ("suite: /etc/passwd.yaml, requests: 20", "below the working folder"),
        ("suite: ../x.yaml, requests: 20", "below the working folder"),
        (f"suite: choice-basics, requests: 20, sha256: {'0' * 64}", "another suite"),
    ],
)
def test_a_suite_that_is_not_there_or_is_another_is_refused_before_the_run(fields, said):
    found, problems = read_plan(plan_text(populations=(f"{{id: q, probe: suite, {fields}}}",)), "plan.yaml")
    assert found is None
    assert said in str(problems[0])


def test_a_suite_from_a_file_is_its_bytes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = ("schema: dossier/suite/v1\nid: mine\ntitle: T\nlicense: MIT\n"
            "items: [{id: a, prompt: 'Say yes.', check: {exact: 'yes'}}]\n")  # fmt: skip
    Path("mine.yaml").write_text(text)
    suite, digest = load("mine.yaml")
    assert digest == sha256_hex(text.encode())
    assert suite.items[0].check.exact == "yes"
    Path("bad.yaml").write_text(text.replace("exact: 'yes'", "pattern: 'a|b'"))
    with pytest.raises(UsageError, match="safe subset"):
        load("bad.yaml")


# The sandbox

TESTS = "assert double(2) == 4"


def ran(code, tests=TESTS, **limits):
    return asyncio.run(run_tests(code, tests, **limits))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def double(x): return 2 * x", None),
        ("def double(x): return x", "tests-failed"),
        ("def double(x) return", "code-invalid"),
        ("import nothing_of_this_name", "code-error"),
        ("import sys; sys.exit(0)", "code-error"),
        ("import os; os._exit(0)", "code-error"),
        ("print('x' * 10_000_000)\ndef double(x): return 2 * x", None),
    ],
)
def test_code_passes_only_by_its_tests(code, kind):
    assert ran(code).kind == kind


def test_an_endless_loop_ends():
    assert ran("while True: pass", seconds=1).kind == "code-timeout"
    assert ran("import time; time.sleep(60)", seconds=1).kind == "code-timeout"


def test_memory_is_bounded():
    assert ran("x = bytearray(4 << 30)", megabytes=256).kind == "code-memory"


def test_a_large_file_cannot_be_written():
    assert ran("open('x', 'wb').write(b'x' * (64 << 20))").kind != None  # noqa: E711


def test_no_secret_of_the_environment_is_seen(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "opaque")
    assert ran("import os\ndef double(x): return 4 if not os.environ.get('SOME_KEY') else 0").kind is None


def test_no_network_where_the_system_lets_it_be_cut():
    code = (
        "import socket\ndef double(x):\n  try:\n    socket.create_connection(('127.0.0.1', PORT), 1)\n"
        "  except OSError: return 4\n  return 0"
    )
    with __import__("socket").create_server(("127.0.0.1", 0)) as listener:
        found = ran(code.replace("PORT", str(listener.getsockname()[1])))
    assert (found.kind is None) == ("net" in found.held)


def test_what_it_leaves_running_ends_with_it_where_the_system_lets_that_be():
    """A child in a session of its own would hold the output open for a minute."""
    code = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  time.sleep(60)\ndef double(x): return 2 * x"
    found = ran(code, seconds=3)
    assert "processes" not in found.held or found.kind is None


def test_the_folder_is_deleted_and_children_are_ended():
    found = ran("import os, sys\nprint(os.getcwd(), file=sys.stderr)\ndef double(x): raise SystemExit(os.getcwd())")
    folder = found.told.split()[-1]
    assert folder.startswith("/")
    assert not os.path.exists(folder)  # noqa: PTH110


@pytest.mark.parametrize(
    ("answer", "code"),
    [("```python\nx = 1\n```", "x = 1\n"), ("Here:\n```\nx = 1\n```\nDone.", "x = 1\n"), ("x = 1", "x = 1"),
     ("```\na\n```\n```\nb\n```", "```\na\n```\n```\nb\n```")],
)  # fmt: skip
def test_the_code_of_an_answer_is_its_one_block(answer, code):
    assert code_of(answer) == code


# Whole runs


def test_items_are_right_always_sometimes_or_never():
    """Two items, three times: the first always, the second once."""
    spec = Suites.model_construct(items=2, requests=6)
    right = [1, 0, 1, 1, 1, 0]
    samples = [{"index": i, "outcome": "passed" if ok else "missed"} for i, ok in enumerate(right)]
    figures = {figure.metric: figure.value for figure in stability(spec, samples, [])}
    assert figures == {"stable_items": 1, "unstable_items": 1}


def test_a_suite_runs_to_a_finding_that_names_its_digest(tmp_path):
    """The server knows four of the answers by heart, and says A to everything else: four of those are right."""
    answers = {item.prompt: item.check.choice for item in load("choice-basics")[0].items[:4]}
    finding, code = finding_of(
        tmp_path, ("{id: q, probe: suite, suite: choice-basics, requests: 40, concurrency: 2}",),
        traits=Traits(answers=answers | {"Answer with the letter alone": "A"}),
    )  # fmt: skip
    assert code == 1
    (population,) = finding.populations
    others = [item.check.choice for item in load("choice-basics")[0].items[4:]]
    assert population.passed == 2 * (4 + others.count("A"))
    assert population.suite == f"choice-basics, sha256:{load('choice-basics')[1]}"
    assert population.repetitions == 2
    assert {m.metric: str(m.value) for m in finding.measurements} == {
        "stable_items": f"{4 + others.count('A')} items", "unstable_items": "0 items",
    }  # fmt: skip


def test_right_code_passes_and_says_what_the_sandbox_held():
    prompt = next(item for item in load("code-basics")[0].items if item.id == "digits").prompt
    code = "```python\ndef digit_root(number):\n    return 1 + (number - 1) % 9 if number else 0\n```"
    index = [item.id for item in load("code-basics")[0].items].index("digits")
    (sample,) = sampled(traits=Traits(answers={prompt: code}), probe="suite", suite="code-basics", requests="8",
                        indices=(index,))  # fmt: skip
    assert (sample.outcome.value, sample.kind) == ("passed", None)
    assert "limits" in sample.facts["sandbox"]
    assert json.dumps(sample.facts)
