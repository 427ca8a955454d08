"""One call among many definitions, against a server that calls what it was told to."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from runner_support import outcome, sampled

from dossier.runner.probes.longtools import LongTools, definitions, judge, task_of
from dossier.runner.traits import Traits
from dossier.wire.events import Usage

SPEC = LongTools.model_validate({"id": "x", "probe": "long-tools", "definitions": "100"})
TASK = task_of(SPEC, "seed/x", 0)


def told(name, arguments):
    return Traits(answers={"Use the one tool": f"call {name} {arguments}"})


def test_the_right_call_passes_whole_and_streamed():
    traits = told(TASK.name, json.dumps(TASK.arguments))
    for stream in ("true", "false"):
        (sample,) = sampled(traits=traits, probe="long-tools", definitions="100", stream=stream)
        assert (sample.outcome.value, sample.kind) == ("passed", None)


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [("open_window", json.dumps(TASK.arguments), "wrong-tool"), (TASK.name, "{", "arguments-not-json"),
     (TASK.name, '{"id": "0000-0000", "units": "metric"}', "arguments-wrong")],
)  # fmt: skip
def test_a_call_is_right_in_name_and_arguments_or_a_miss(name, arguments, kind):
    (sample,) = sampled(traits=told(name, arguments), probe="long-tools", definitions="100")
    assert sample.kind == kind


def test_a_call_after_a_long_text_counts_only_if_the_text_was_long():
    traits = told("open_lamp", "{}")
    (sample,) = sampled(traits=traits, probe="long-tools", definitions="1", prompt_tokens="2000")
    assert sample.kind == "arguments-wrong"
    assert sample.usage.prompt >= 1900
    (sample,) = sampled(traits=traits, probe="long-tools", definitions="1", prompt_tokens="2000", sizes={"x": 500})
    assert sample.kind == "prompt-size"


def test_definitions_that_never_reach_the_prompt_are_told_by_its_size():
    """As a template without tools does: accepted with 200, and left out."""
    traits = Traits(drops_tools=True, answers={"Use the one tool": "I cannot."})
    (sample,) = sampled(traits=traits, probe="long-tools", definitions="100")
    assert sample.kind == "definitions-dropped"


def test_no_call_and_two_calls_are_misses():
    assert judge(outcome("Done.", usage=Usage(9000, 2)), SPEC, TASK).kind == "no-call"
    twice = [(TASK.name, json.dumps(TASK.arguments))] * 2
    assert judge(outcome(tools=twice, finish="tool_calls", usage=Usage(9000, 9)), SPEC, TASK).kind == "too-many-calls"


def test_every_definition_is_its_own_and_a_valid_schema():
    tools = [tool["function"] for tool in definitions(288)]
    assert len({tool["name"] for tool in tools}) == 288
    assert all(jsonschema_rs.meta.is_valid(tool["parameters"]) for tool in tools[:3])


def test_tasks_ask_for_tools_from_all_over_the_list():
    asked = {task_of(SPEC, "s", index).name for index in range(60)}
    assert len(asked) > 30
