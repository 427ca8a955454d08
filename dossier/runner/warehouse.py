"""A small world in memory for an agent: a warehouse with tools that read it and one that writes, and tasks in it.

No tool touches the machine. What an agent did is judged by the calls that came and by what the world holds then.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import jsonschema_rs

from dossier.runner.haystack import code

_NAMES = "anvil beam cable drill easel funnel gasket hinge inlet jack kettle latch magnet nozzle oar pulley"


class Task(StrEnum):
    """What has to be done, and so what is tried."""

    CHAIN = "chain"
    """Find an item's id, then read its stock: two calls, the second from the first one's result."""
    PARALLEL = "parallel"
    """Read the stock of two items whose ids are given, and add."""
    RECOVER = "recover"
    """Read a stock whose first reading fails for a moment: the same call again."""
    CHOOSE = "choose"
    """Find an item, then read its price and not its stock."""
    WRITE = "write"
    """Find an item and reserve some of it, once; answer with the reservation's code."""
    NONE = "none"
    """A question that needs no tool: no call is right."""


def _tool(name: str, description: str, /, **properties: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties),
                  "additionalProperties": False}  # fmt: skip
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_TEXT, _COUNT = {"type": "string"}, {"type": "integer", "minimum": 1}
TOOLS = (
    _tool("find_item", "Give the id of an item by its name.", name=_TEXT),
    _tool("read_stock", "Give how many of an item are in stock, by its id.", id=_TEXT),
    _tool("read_price", "Give the price of an item in cents, by its id.", id=_TEXT),
    _tool("reserve", "Reserve so many of an item, by its id. Gives a reservation code.", id=_TEXT, count=_COUNT),
)
_SCHEMAS = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}


@dataclass(frozen=True, slots=True)
class Item:
    """One kind of thing on the shelves."""

    name: str
    stock: int
    cents: int


@dataclass(slots=True)
class Warehouse:
    """The world of one task. `needed` are calls that must come, `answer` is the number or code that must be said."""

    task: Task
    question: str
    answer: str
    needed: tuple[tuple[str, str], ...]
    items: Mapping[str, Item]
    reservation: tuple[str, int, str] | None = None
    fails_once: bool = False
    made: list[tuple[str, str]] = field(default_factory=list)
    reserved: list[tuple[str, int]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    failures: int = 0
    recovered: bool = False

    def call(self, name: str | None, arguments: str) -> str:
        """Do one call; what is wrong with it is told to the agent, and kept."""
        try:
            given = json.loads(arguments)
        except (ValueError, RecursionError):
            return self._refuse(f"the arguments of {name} are not JSON: {arguments[:80]}")
        if name is None or name not in _SCHEMAS:
            return self._refuse(f"there is no tool {name}")
        if not jsonschema_rs.is_valid(_SCHEMAS[name], given):
            return self._refuse(f"the arguments of {name} do not fit its schema: {arguments[:80]}")
        return json.dumps(self._do(name, given))

    def _refuse(self, why: str) -> str:
        self.wrong.append(why)
        return json.dumps({"error": why})

    def _do(self, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
        if name == "find_item":
            found = next((key for key, item in self.items.items() if item.name == given["name"].casefold()), None)
            self.made.append((name, given["name"].casefold()))
            return {"id": found} if found else {"error": "no item of that name"}
        item = self.items.get(given["id"])
        if item is None:
            return {"error": "no item of that id"}
        if name == "read_stock" and self.fails_once and not self.failures:
            self.failures += 1
            return {"error": "the shelf counter is busy for a moment; try again"}
        self.recovered = self.recovered or self.failures > 0
        self.made.append((name, given["id"]))
        if name == "reserve":
            self.reserved.append((given["id"], given["count"]))
            right = self.reservation is not None and self.reservation[:2] == (given["id"], given["count"])
            return {"reservation": self.reservation[2] if right and self.reservation else "0000-0000"}
        return {"stock": item.stock} if name == "read_stock" else {"cents": item.cents}


def warehouse(task: Task, seed: str) -> Warehouse:
    """The world of one task, from a seed."""
    draw = random.Random(seed)  # noqa: S311 - a game, not a secret
    names = draw.sample(_NAMES.split(), 8)
    items = {f"W-{code(draw)}": Item(name, draw.randint(11, 899), draw.randint(105, 9899))
             for name in names}  # fmt: skip
    (one, first), (two, second) = draw.sample(sorted(items.items()), 2)
    ask = f"the {first.name}"
    match task:
        case Task.PARALLEL:
            text = f"How many of the items with the ids {one} and {two} are in stock together? Read both."
            needed = (("read_stock", one), ("read_stock", two))
            return Warehouse(task, text + _NUMBER, str(first.stock + second.stock), needed, items)
        case Task.RECOVER:
            text = f"How many of the item with the id {one} are in stock?{_NUMBER}"
            return Warehouse(task, text, str(first.stock), (("read_stock", one),), items, fails_once=True)
        case Task.CHOOSE:
            text = f"What is the price of {ask} in cents?{_NUMBER}"
            needed = (("find_item", first.name), ("read_price", one))
            return Warehouse(task, text, str(first.cents), needed, items)
        case Task.WRITE:
            count, told = draw.randint(2, 9), code(draw)
            text = f"Reserve exactly {count} of {ask}, once. Answer with the reservation code alone."
            needed = (("find_item", first.name), ("reserve", one))
            return Warehouse(task, text, told, needed, items, reservation=(one, count, told))
        case Task.NONE:
            left, right = draw.randint(12, 88), draw.randint(12, 88)
            return Warehouse(
                task, f"What is {left} plus {right}? No tool is needed.{_NUMBER}", str(left + right), (), items
            )
        case _:
            needed = (("find_item", first.name), ("read_stock", one))
            return Warehouse(task, f"How many of {ask} are in stock?{_NUMBER}", str(first.stock), needed, items)


_NUMBER = " Answer with the number alone."
