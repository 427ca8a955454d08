"""JSON: asked for in words, and demanded by a schema; what came is validated, whatever the server accepted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

import jsonschema_rs
from pydantic import Field

from dossier.model.base import Count, Flag
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.probes.base import Probe, Reply, Sample, Spec, budgeted, failed, missed, passed
from dossier.runner.session import Session

_PROMPT_TOKENS = 300


class Form(StrEnum):
    """What the schema demands."""

    CHOICE = "choice"
    OBJECT = "object"
    NESTED = "nested"


SCHEMAS: Mapping[Form, Mapping[str, Any]] = {
    # A closed choice leaves a model without any training no way to miss, and needs more than ASCII.
    Form.CHOICE: {"enum": ["naïve café", "日本語", "🙂🙃"]},
    Form.OBJECT: {
        "type": "object",
        "properties": {"city": {"enum": ["Oslo", "Lima", "Cairo"]}, "ok": {"type": "boolean"}},
        "required": ["city", "ok"],
        "additionalProperties": False,
    },
    Form.NESTED: {
        "type": "object",
        "properties": {
            "kind": {"enum": ["report"]},
            "items": {
                "type": "array",
                "minItems": 1,
                "maxItems": 2,
                "items": {
                    "type": "object",
                    "properties": {"name": {"enum": ["alpha", "beta"]}, "level": {"enum": [1, 2, 3]}},
                    "required": ["name", "level"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["kind", "items"],
        "additionalProperties": False,
    },
}


class StrictJson(Spec):
    """JSON asked for in words."""

    probe: Literal["json"]
    json_mode: Flag = Field(default=False, description="Also send response_format: json_object.")
    max_tokens: Annotated[Count, Field(ge=1, le=65_536)] = 64


class Structured(Spec):
    """JSON demanded by a schema."""

    probe: Literal["structured"]
    form: Form = Form.CHOICE
    stream: Flag = False
    max_tokens: Annotated[Count, Field(ge=1, le=65_536)] = 64


async def ask_json(session: Session, spec: StrictJson, _: int) -> Sample:
    """The whole answer must be one JSON object of the asked form: no fence, no word around it."""
    prompt = (
        "Answer with one JSON object and nothing else, no code fence: "
        '{"city": one of "Oslo", "Lima", "Cairo", "ok": true or false}'
    )
    mode = {"response_format": {"type": "json_object"}} if spec.json_mode else {}
    reply = await session.whole(session.body(prompt, spec.max_tokens, **mode))
    return verify(reply, SCHEMAS[Form.OBJECT])


async def ask_structured(session: Session, spec: Structured, _: int) -> Sample:
    """The answer must be valid under the schema that the server was given."""
    schema = {"name": "answer", "strict": True, "schema": SCHEMAS[spec.form]}
    form = {"response_format": {"type": "json_schema", "json_schema": schema}}
    body = session.body("Answer with JSON that fits the schema.", spec.max_tokens, **form)
    reply: Reply = await (session.stream(body) if spec.stream else session.whole(body))
    return verify(reply, SCHEMAS[spec.form])


def verify(reply: Reply, schema: Mapping[str, Any]) -> Sample:
    """Is the visible text, all of it, JSON that is valid under the schema, and did the reply end by itself?"""
    if reply.failure is not None:
        return failed(reply, reply.failure)
    if reply.finish == "length":
        return missed(reply, "truncated", reply.content, "JSON that ends within the budget")
    try:
        value = json.loads(reply.content)
    except (ValueError, RecursionError):
        return missed(reply, "not-json", reply.content, "JSON and nothing else")
    error = next(iter(jsonschema_rs.validator_for(dict(schema)).iter_errors(value)), None)
    if error is not None:
        return missed(reply, "schema-violated", f"{reply.content}: {error.message}", "JSON valid under the schema")
    return passed(reply)


PROBES = (
    Probe(
        "json", StrictJson, MeasurementClass.FUNCTIONAL,
        "JSON asked for in words: the whole answer is parsed and validated.",
        "That JSON of another form, or a long one, comes out right.",
        budgeted(_PROMPT_TOKENS), ask_json,
    ),
    Probe(
        "structured", Structured, MeasurementClass.FUNCTIONAL,
        "JSON demanded by response_format json_schema: the whole answer is parsed and validated against the schema.",
        "That other schemas, or keywords that this one does not use, are obeyed; nor that the content is sensible.",
        budgeted(_PROMPT_TOKENS), ask_structured,
    ),
)  # fmt: skip
