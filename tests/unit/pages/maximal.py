"""Records that set every field of their type to a value of its own, made from the model itself.

`Maker.made` collects what a reader must find on the page: the words, numbers, dates and digests as they are shown.
"""

from __future__ import annotations

import datetime as dt
import enum
import types
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from dossier.model import base
from dossier.model.base import Mark, Part, Quantity, Range, Unknown
from dossier.model.finding import KeptFile
from dossier.model.gate import Requirement
from dossier.model.identity import Digest, Revision, Sha256
from dossier.model.measurement import Delta

# Targets that exist in the synthetic evidence, by what a field's mark says it names.
TARGETS = {
    "models": "model-a",
    "identities": "identity-a",
    "hardware": "hardware-a",
    "recipes": "recipe-b",
    "findings": "2026-01-01-before",
    "arm": "candidate",
    "metric": "decode_rate",
    "formula": "[[2026-01-01-before#m-before]] / 2",
}
ITEMS = {"artifact": "a-before", "population": "p-before", None: "2026-01-01-before#m-before"}


def _is_unknown(annotation: Any) -> bool:
    """The other arm of a value that may be unknown, or absent."""
    return annotation is type(None) or annotation is Unknown or (get_args(annotation) or (None,))[0] is Unknown


class Maker:
    """Makes plain data for a record type, each value unlike any other; or unknown wherever a field allows that."""

    def __init__(self, *, unknown: bool = False) -> None:
        self.unknown = unknown
        self.count = 0
        self.made: list[str] = []

    def next(self) -> int:
        self.count += 1
        return self.count

    def say(self, shown: str) -> str:
        self.made.append(shown)
        return shown

    def part(self, kind: type[Part], **given: Any) -> dict[str, Any]:
        """Data for every field of a part; what is given is used as it is, None leaves a field out."""
        data = {}
        for name, info in kind.model_fields.items():
            key = info.alias or name
            if key in given or name in given:
                value = given.get(key, given.get(name))
            else:
                annotation = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
                value = self.value(annotation, name)
            if value is not None:
                data[key] = value
        return data

    def value(self, annotation: Any, name: str) -> Any:
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return self._annotated(args[0], args[1:], name)
        if origin in {Union, types.UnionType}:
            return self._either(args, name)
        if origin is tuple:
            return [self.value(args[0], name)]
        if origin is dict:
            return {f"key-{self.next()}": self.value(args[1], name)}
        if origin is Literal:
            return args[0]
        return self._plain(annotation, name)

    def _either(self, args: tuple[Any, ...], name: str) -> Any:
        if self.unknown and any(_is_unknown(a) and a is not type(None) for a in args):
            return {"unknown": self.say(f"Reason {self.next()} for {name.strip('_')}.")}
        return self.value(next(a for a in args if not _is_unknown(a)), name)

    def _annotated(self, inner: Any, extras: tuple[Any, ...], name: str) -> Any:
        mark = next((extra for extra in extras if isinstance(extra, Mark)), None)
        is_slug = get_args(base.Slug)[1] in extras
        if mark is not None:
            return ITEMS["population"] if mark == Mark("item") and is_slug else self._marked(mark, name)
        for kind, digits, prefix in ((Digest, 64, "sha256:"), (Sha256, 64, ""), (Revision, 40, "")):
            if get_args(kind)[1] in extras:
                return self._digest(digits, prefix)
        return f"slug-{self.next()}" if is_slug else self.value(inner, name)

    def _digest(self, digits: int, prefix: str = "") -> str:
        return prefix + self.say(f"{self.next() + 0xABCDEF0000:0{digits}x}")

    def _marked(self, mark: Mark, name: str) -> Any:
        if mark.target == "prose":
            return self.say(f"Prose {self.next()} of {name.strip('_')}.")
        if mark.target in {"item", "evidence"}:
            return ITEMS[mark.kinds[0] if mark.kinds else None]
        return TARGETS[mark.target]

    def _plain(self, annotation: Any, name: str) -> Any:
        number = self.next()
        if annotation in {Quantity, Decimal, Range, int, Delta, Requirement}:
            return self._number(annotation, number)
        if annotation in {dt.date, dt.datetime}:
            return self._time(annotation, number)
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return next(iter(annotation)).value
        if isinstance(annotation, type) and issubclass(annotation, Part):
            return self.part(annotation)
        return "true" if annotation is bool else self.say(f"{name.strip('_')}-{number}")

    def _time(self, annotation: Any, number: int) -> str:
        if annotation is dt.date:
            return self.say((dt.date(2001, 1, 1) + dt.timedelta(number)).isoformat())
        return f"{self.say(f'2011-01-01 {number // 60:02}:{number % 60:02}').replace(' ', 'T')}:00Z"

    def _number(self, annotation: Any, number: int) -> str:
        whole = 3_000_000 + number
        if annotation is Quantity:
            self.say(f"{whole:,}.50\N{NO-BREAK SPACE}tok/s")
            return f"{whole}.50 tok/s"
        if annotation is Decimal:
            self.say(f"{whole:,}.25")
            return f"{whole}.25"
        if annotation is Range:
            self.say(f"{whole:,}–{whole + 1_000_000:,}")
            return f"{whole}..{whole + 1_000_000}"
        if annotation is Delta:
            self.say(f"{number}.75")
            return f"+{number}.75 %"
        if annotation is Requirement:
            self.say(f">= {number}.125 tok/s")
            return f">= {number}.125 tok/s"
        self.say(f"{whole:,}")
        return str(whole)

    def files(self) -> list[dict[str, Any]]:
        """Three artifacts, one of each place that an artifact may have."""
        places = {
            "path": "sub dir/run#1.jsonl",
            "url": "https://example.org/a%20b",
            "private": self.say("Private because."),
        }
        return [
            self.part(KeptFile, **{other: None for other in places if other != place}, **{place: value})
            for place, value in places.items()
        ]
