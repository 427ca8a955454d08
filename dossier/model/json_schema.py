"""JSON Schema (2020-12) of every record, for editors: it follows from the models and their own validators.

The loader takes every scalar as text, while an editor types it: `12` is a number to it and `true` a boolean. So each
scalar is described twice over: as text by the very pattern that its validator uses, and as what an editor makes of
that text. For text the schema refuses what the parser refuses for its shape; typed, it never refuses what would pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, get_args

from pydantic import AfterValidator, BeforeValidator
from pydantic.json_schema import DEFAULT_REF_TEMPLATE, GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from dossier.model import base, gate, measurement, workload
from dossier.model.base import Count, Day, DayOrMoment, Figure, Flag, Line, Moment, Part, Prose, Quantity, Range, Slug
from dossier.model.decision import Decision
from dossier.model.descriptions import description_of
from dossier.model.finding import KeptFile
from dossier.model.finding import Limit as Unclaimed
from dossier.model.gate import Gate, Requirement
from dossier.model.identity import Digest, Revision, Sha256
from dossier.model.measurement import Delta
from dossier.model.parse import RECORD_TYPES
from dossier.model.vocabulary import Word

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
KINDS: Final = {schema.split("/")[1]: kind for schema, kind in RECORD_TYPES.items()}
"""`finding`, `model` and so on, to the record type."""

_COUNT: Final = "0|[1-9][0-9]{0,14}"
_YEAR: Final = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP_YEAR: Final = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DAY: Final = (
    f"{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    f"|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29"
)
_TIME: Final = r"T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?Z"
_MOMENT: Final = f"(?:{_DAY}){_TIME}"
_RESERVED: Final = "|".join(sorted(base._RESERVED))  # noqa: SLF001  (the very list that the validator has)
_LIMIT: Final = base._QUANTITY.pattern.replace(r"\s", r"[^\S\n]", 1)  # noqa: SLF001  (`.+` takes no line end)


def _text(pattern: str, told: str, *typed: str) -> dict[str, Any]:
    """A text form, and the JSON types that an editor may make of such a text."""
    types: Any = ["string", *typed] if typed else "string"
    return {"type": types, "pattern": f"^(?:{pattern})$", "patternErrorMessage": told}


def _function(annotated: Any) -> Any:
    """The validator by which an annotated type of `dossier.model` takes text."""
    return next(m.func for m in reversed(annotated.__metadata__) if isinstance(m, AfterValidator | BeforeValidator))


def _source(form: re.Pattern[str]) -> str:
    return form.pattern


_ANY: Final = ("number", "boolean")
_SLUG: Final[dict[str, Any]] = {
    **_text(_source(base._SLUG), "lower-case letters and digits, with single - or . inside", "number"),  # noqa: SLF001
    "maxLength": 120,
    "not": {"type": "string", "pattern": rf"^(?:{_RESERVED})(?:\.|$)"},
}
_TEXTS: Final[dict[Any, dict[str, Any]]] = {
    _function(Line): _text(r"[^\n]*\S[^\n]*", "one line of text, not blank", *_ANY),
    _function(Prose): _text(r"[\s\S]*\S[\s\S]*", "text, not blank; leave the key out where there is none", *_ANY),
    _function(Slug): _SLUG,
    _function(Count): {**_text(_COUNT, "a whole number in digits only", "integer"), "minimum": 0},
    _function(Figure): _text(_source(base._FIGURE), "plain digits, such as 97.60", "number"),  # noqa: SLF001
    _function(Flag): _text("true|false", "true or false", "boolean"),
    _function(Day): _text(_DAY, "a day of the calendar, YYYY-MM-DD"),
    _function(Moment): _text(_MOMENT, "a UTC time, YYYY-MM-DDTHH:MM:SSZ"),
    _function(DayOrMoment): _text(f"{_MOMENT}|{_DAY}", "YYYY-MM-DD, or a UTC time YYYY-MM-DDTHH:MM:SSZ"),
    _function(Sha256): _text("[0-9a-f]{64}", "64 lower-case hex digits, or {unknown: why}", "number"),
    _function(Digest): _text("sha256:[0-9a-f]{64}", "sha256: and 64 lower-case hex digits"),
    _function(Revision): _text("[0-9a-f]{40}", "40 lower-case hex digits; a tag goes under labels", "number"),
    workload._label: _text(_source(workload._ITEM), "a short label, such as word-count", *_ANY),  # noqa: SLF001
}

# Parts that are written as one text; the mapping form is read as well.
_WRITTEN: Final[dict[type, dict[str, Any]]] = {
    Quantity: _text(_source(base._QUANTITY), "a figure with its unit, such as 83.08 tok/s", "number"),  # noqa: SLF001
    Range: _text(rf"(?:{_COUNT})(?:\.\.(?:{_COUNT}))?", "a whole number, or low..high", "integer"),
    Delta: _text(rf"\s*(?:{_source(measurement._DELTA)})\s*", "such as +39.5 %, ±2.3 % or 3.17x"),  # noqa: SLF001
    Requirement: _text(
        rf"all passed|at least (?:{base._FIGURE.pattern.removeprefix('[+' + chr(92) + '-−]?')})(?: %)? passed"  # noqa: SLF001
        rf"|(?:shown )?(?:<=|>=|<|>)\s*(?:{_LIMIT})|(?:shown )?within ±?\s*(?:{_LIMIT})",
        str(gate.Requirement.__doc__),
    ),
    Unclaimed: _text(r"[\s\S]*\S[\s\S]*", "text, not blank", *_ANY),
}

_GIVEN: Final = {"type": "array", "minItems": 1}
# What the models ask of several fields together, as their own validators do.
_TOGETHER: Final[dict[type, dict[str, Any]]] = {
    Decision: {
        "if": {"properties": {"outcome": {"const": "waive"}}},
        "then": {"required": ["gate", "reason"]},
        "else": {
            "required": ["lanes"],
            "properties": {"lanes": _GIVEN},
            "anyOf": [{"required": ["recipe"]}, {"required": ["subject"]}],
            "allOf": [
                {
                    "if": {"required": ["rollback"]},
                    "then": {"properties": {"outcome": {"const": "promote"}}},
                },
                {
                    "if": {"properties": {"outcome": {"enum": ["promote", "designate-rollback"]}}},
                    "then": {"required": ["recipe"]},
                },
            ],
        },
    },
    Gate: {
        "dependentRequired": {"require": ["subject"]},
        "anyOf": [{"required": [name]} for name in ("require", "stated", "not_run", "not_applicable")],
    },
    KeptFile: {
        "required": ["id", "sha256"],
        "oneOf": [{"required": [name]} for name in ("path", "url", "private")],
    },
}


class _Generator(GenerateJsonSchema):
    """pydantic's generator, with each scalar as this package reads it."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        return {**super().str_schema(schema), "type": ["string", *_ANY]}

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])  # the loader refuses an empty value

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        value = schema.get("default")
        if isinstance(value, Enum | bool | int) and "$ref" not in inner:
            return {**inner, "default": value.value if isinstance(value, Enum) else value}
        return inner

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        return {"anyOf": [self.generate_inner(choice) for choice in schema["choices"].values()]}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        keys = self.generate_inner(schema["keys_schema"])
        found: JsonSchemaValue = {
            "type": "object",
            "additionalProperties": self.generate_inner(schema["values_schema"]),
        }
        return {**found, "propertyNames": {**keys, "type": "string"}} if "pattern" in keys else found

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        members = schema["members"]
        found: JsonSchemaValue = {"type": "string", "enum": [member.value for member in members]}
        if any(value in _YAML_1_1 for value in found["enum"]):  # an editor may read `off` as a boolean
            found = {"type": ["string", "boolean"], "enum": found["enum"] + [_YAML_1_1[v] for v in found["enum"]
                                                                            if v in _YAML_1_1]}  # fmt: skip
        meanings = [member.meaning for member in members if isinstance(member, Word)]
        return {**found, "markdownEnumDescriptions": meanings} if meanings else found

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        function = schema["function"]["function"]
        if function in _TEXTS:
            above_zero = schema["schema"].get("ge") == 1
            return {**_TEXTS[function], **(_ABOVE_ZERO if above_zero else {})}
        inner = self.generate_inner(schema["schema"])
        written = _WRITTEN.get(getattr(function, "__self__", None))  # type: ignore[arg-type]
        return {"anyOf": [dict(written), inner]} if written is not None else inner

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> JsonSchemaValue:
        function = schema["function"]["function"]
        return dict(_TEXTS[function]) if function in _TEXTS else super().function_after_schema(schema)

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        kind = schema["cls"]
        found = super().model_schema(schema)
        found.pop("title", None)
        mapping = next((form for form in found.get("anyOf", ()) if "properties" in form), found)
        mapping["additionalProperties"] = found.pop("additionalProperties")
        for name, info in kind.model_fields.items():
            member = mapping["properties"][info.alias or name]
            told = info.description or description_of(kind.__name__, name)
            if told:
                member["description"] = told
            _without_odd_bounds(member)
        return {**found, **_TOGETHER.get(kind, {})}


_YAML_1_1: Final[Mapping[str, bool]] = {"on": True, "off": False, "yes": True, "no": False}
_ABOVE_ZERO: Final = {"pattern": "^[1-9][0-9]{0,14}$", "minimum": 1}
_PROSE: Final = _TEXTS[_function(Prose)]["pattern"]


def _without_odd_bounds(member: JsonSchemaValue) -> None:
    """Leave out what pydantic adds for types of its own, and the length that counts only what trimming leaves."""
    for form in (member, *member.get("anyOf", ())):
        form.pop("ge", None)
        if form.get("pattern") == _PROSE:
            form.pop("maxLength", None)


def schema_of(kind: type[Part]) -> dict[str, Any]:
    """The schema of a record type."""
    generator = _Generator(by_alias=True, ref_template=DEFAULT_REF_TEMPLATE)
    found = generator.generate(kind.__pydantic_core_schema__, mode="validation")
    words = str(get_args(kind.model_fields["schema_"].annotation)[0])
    return {"$schema": DIALECT, "title": words, **found}
