"""What the reference server can do with a prompt, and how it misbehaves on purpose: planted, so that probes can fail.

It reads facts of one form only, `The <attribute> of <name> is <value>.`, obeys a marker and a count of words, and
answers what it was told beforehand. It is no language model: it is the known truth behind a probe's verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from dossier.runner.schedule import NS_PER_MS, Call, Schedule

_FACT = re.compile(r"The ([a-z ]+?) of ([A-Z][\w ]*?) is ([^.\n]+)\.")
_ASKED = re.compile(r"What (?:is|are) the ([a-z ]+?)s? of (the ([a-z ]+?) of )?([A-Z][\w ]*?)\?")
_MARKER = re.compile(r"marker ([A-Z0-9]+(?:-[A-Z0-9]+)+)")
_WORDS = re.compile(r"the word (\w+) exactly (\d+) times")
_EXACT = re.compile(r"Reply with exactly: (.+)")
_CALL = "call "
_BLOCK = 16

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Traits(BaseModel):
    """How the server behaves beyond its schedule. All off: it answers filler, whatever it is asked.

    `reads`: it answers from the prompt, of whose words it knows the last `sees`. `answers`: the first key that the
    last message holds decides; a value `call NAME JSON` is a tool call. Every `leaks`-th reply bears the marker of the
    request before it, every `cuts`-th ends in the middle with `length`. Each request is slower than the first by
    `drift` for every one before it. `caches`: prompt words that came before are counted as cached, and take no
    `prefill_us` each. At most `slots` run at once, others wait. `accepts` of four drafted tokens a step are counted.
    After `dies_after` generations nothing is answered. More than `images` in a request are refused. `drops_tools`:
    the definitions of tools do not reach the prompt.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: bool = False
    sees: Annotated[int, Field(ge=1)] | None = None
    answers: Mapping[str, str] = Field(default_factory=dict)
    leaks: Annotated[int, Field(ge=0)] = 0
    cuts: Annotated[int, Field(ge=0)] = 0
    drift: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    caches: bool = False
    prefill_us: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    slots: Annotated[int, Field(ge=0)] = 0
    accepts: Share | None = None
    dies_after: Annotated[int, Field(ge=0)] | None = None
    images: Annotated[int, Field(ge=0)] | None = None
    drops_tools: bool = False


@dataclass(slots=True)
class Mind:
    """Traits with what they remember between requests."""

    traits: Traits
    count: int = 0
    cached: int = 0
    drafted: int = 0
    accepted: int = 0
    _seen: set[int] = field(default_factory=set)
    _free: list[int] = field(default_factory=list)
    _marker: str = ""

    @property
    def dead(self) -> bool:
        """Has it stopped answering for good?"""
        return self.traits.dies_after is not None and self.count >= self.traits.dies_after

    def shape(self, request: Mapping[str, Any], schedule: Schedule, limit: int | None, at_ns: int) -> Shaped:
        """What the traits make of one request; `limit` is its token budget, `at_ns` when it came."""
        self.count += 1
        texts = _texts(request)
        words = " ".join(texts).split()
        hit = self._hit(words) if self.traits.caches else None
        said = self._said(texts)
        schedule = _saying(schedule, said, limit) if said is not None else schedule
        if self.traits.cuts and self.count % self.traits.cuts == 0:
            schedule = schedule.model_copy(update=_cut(schedule))
        schedule = self._timed(schedule, len(words) - (hit or 0), at_ns)
        if self.traits.accepts is not None:
            drafts = 4 * -(-schedule.tokens // 4)
            self.drafted += drafts
            self.accepted += round(drafts * self.traits.accepts)
        return Shaped(schedule, hit)

    def tool_words(self, request: Mapping[str, Any]) -> int:
        """How many words the definitions of tools add to the prompt."""
        tools = request.get("tools")
        return 0 if self.traits.drops_tools or not tools else len(json.dumps(tools).split())

    def refusal(self, request: Mapping[str, Any]) -> str | None:
        """Why a request is refused, if it is."""
        parts = [
            part for item in _messages(request) if isinstance(item.get("content"), list) for part in item["content"]
        ]
        images = sum(part.get("type") == "image_url" for part in parts)
        if self.traits.images is None or images <= self.traits.images:
            return None
        return f"At most {self.traits.images} images may be given in one request, and {images} were."

    def forget(self) -> None:
        """Empty the prefix cache."""
        self._seen.clear()

    def _said(self, texts: list[str]) -> str | None:
        last = texts[-1] if texts else ""
        for key, answer in self.traits.answers.items():
            if key in last:
                return answer
        if not self.traits.reads:
            return None
        words = " ".join(texts).split()
        seen = " ".join(words[-self.traits.sees :]) if self.traits.sees is not None else " ".join(words)
        return self._leaked(last) or read(seen, last)

    def _leaked(self, last: str) -> str | None:
        before, marker = self._marker, _MARKER.search(last)
        self._marker = marker[1] if marker else before
        leaks = self.traits.leaks and self.count % self.traits.leaks == 0
        return f"{read(last, last)} {before}" if leaks and marker and before else None

    def _hit(self, words: list[str]) -> int:
        """Leading words that came before, in whole blocks; the last block is always computed anew."""
        blocks = [hash(tuple(words[: end + _BLOCK])) for end in range(0, len(words) - _BLOCK, _BLOCK)]
        known = next((number for number, block in enumerate(blocks) if block not in self._seen), len(blocks))
        self._seen.update(blocks)
        self.cached += known * _BLOCK
        return known * _BLOCK

    def _timed(self, schedule: Schedule, fresh: int, at_ns: int) -> Schedule:
        slower = 1 + self.traits.drift * (self.count - 1)
        first = schedule.ttft_ms * slower + fresh * self.traits.prefill_us / 1000
        gap = schedule.gap_ms * slower
        if self.traits.slots:
            self._free = (self._free or [0] * self.traits.slots)[: self.traits.slots]
            slot = min(range(len(self._free)), key=self._free.__getitem__)
            start = max(at_ns, self._free[slot])
            self._free[slot] = start + round((first + gap * max(0, schedule.chunks - 1)) * NS_PER_MS)
            first += (start - at_ns) / NS_PER_MS
        return schedule.model_copy(update={"ttft_ms": first, "gap_ms": gap})


@dataclass(frozen=True, slots=True)
class Shaped:
    """One reply's schedule, and how many prompt words a cache held; None without a cache."""

    schedule: Schedule
    cached: int | None


def read(seen: str, last: str) -> str:
    """The right answer to a question of a known form, from what is seen; `unknown` where nothing is found."""
    if exact := _EXACT.search(last):
        return exact[1]
    marker, counted = _MARKER.search(last), _WORDS.search(last)
    if marker or counted:
        words = [counted[1]] * int(counted[2]) if counted else []
        return " ".join([*([marker[1]] if marker else []), *words])
    asked = _ASKED.findall(last)
    if not asked:
        return "unknown"
    attribute, _, link, name = asked[-1]
    facts = [(what, who, value) for what, who, value in _FACT.findall(seen)]
    if link:
        name = next((value for what, who, value in facts if (what, who) == (link, name)), "")
    found = [value for what, who, value in facts if (what, who) == (attribute, name)]
    return ", ".join(found) or "unknown"


def _texts(request: Mapping[str, Any]) -> list[str]:
    messages = _messages(request)
    if not messages:
        return [str(request.get("prompt") or request.get("input") or "")]
    return [_flat(item.get("content")) for item in messages]


def _messages(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = request.get("messages")
    return [item for item in messages if isinstance(item, Mapping)] if isinstance(messages, list) else []


def _flat(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(json.dumps(part) for part in content)
    return str(content or "")


def _saying(schedule: Schedule, said: str, limit: int | None) -> Schedule:
    if said.startswith(_CALL):
        calls = [part.partition(" ")[::2] for part in said.removeprefix(_CALL).split(f"\n{_CALL}")]
        update: dict[str, Any] = {"tokens": 0, "tools": len(calls)}
        update["calls"] = tuple(Call(name=name, arguments=arguments) for name, arguments in calls)
        return schedule.model_copy(update=update)
    words = said.split(" ")
    if limit is not None and len(words) + schedule.reasoning > limit:
        kept = max(0, limit - schedule.reasoning)
        words, finish = words[:kept], "length"
    else:
        finish = "stop"
    tokens = len(words) + min(schedule.reasoning, limit if limit is not None else schedule.reasoning)
    return schedule.model_copy(update={"text": " ".join(words), "tokens": tokens, "finish": finish})


def _cut(schedule: Schedule) -> dict[str, Any]:
    half = max(1, schedule.tokens // 2)
    text = schedule.text
    kept = " ".join(text.split(" ")[:half]) if text is not None else None
    return {"tokens": half, "text": kept, "finish": "length"}
