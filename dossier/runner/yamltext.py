"""Records as YAML text: the same bytes for the same data, in a form that `dossier.source` reads back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

WIDTH = 110


class _Dumper(yaml.SafeDumper):
    """Lists stand under their key, indented; nothing is an alias."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def to_yaml(data: Mapping[str, Any], head: str = "") -> bytes:
    """YAML of plain data, keys in the order given, after a comment of `head`'s lines."""
    comment = "".join(f"# {line}\n" for line in head.splitlines())
    text = yaml.dump(
        without_none(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=False
    )
    return (comment + text).encode()


def without_none(value: Any) -> Any:
    """The data without what is None or an empty list or mapping: a record leaves such keys out."""
    if isinstance(value, Mapping):
        kept = {key: without_none(item) for key, item in value.items() if item is not None}
        return {key: item for key, item in kept.items() if item not in ([], {})}
    if isinstance(value, list | tuple):
        return [without_none(item) for item in value]
    return value
