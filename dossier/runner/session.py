"""What a probe works with: one server, the model it asks for, and the bounds that hold for the whole run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dossier.errors import DossierError
from dossier.runner.whole import Whole, read_whole
from dossier.wire import api
from dossier.wire.client import Client
from dossier.wire.decode import Protocol
from dossier.wire.dialect import Detection
from dossier.wire.events import Usage
from dossier.wire.stream import Expect, StreamOutcome


class BoundReachedError(DossierError):
    """The run has used up its requests, tokens or time: nothing more is sent."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, of the prompt and of the output; any currency."""

    prompt: float
    output: float

    def of(self, prompt: int, output: int) -> float:
        """What so many tokens cost."""
        return (self.prompt * prompt + self.output * output) / 1e6


FREE = Price(0.0, 0.0)


@dataclass(slots=True)
class Budget:
    """What may still be spent. Tokens are counted by usage, and by what was asked for where none comes back.

    What is in flight when a bound is reached ends, so a run may spend that much more.
    """

    requests: int
    tokens: int
    seconds: float
    money: float = math.inf
    price: Price = FREE
    now: Callable[[], float] = time.monotonic
    spent_requests: int = 0
    spent_tokens: int = 0
    spent_money: float = 0.0
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.now()

    @property
    def seconds_left(self) -> float:
        """Time to the bound; negative past it."""
        return self.seconds - (self.now() - self._began)

    def request(self) -> None:
        """Take one request. Raises BoundReachedError where none is left."""
        if self.spent_requests >= self.requests:
            raise BoundReachedError(f"the run's bound of {self.requests} requests is reached")
        if self.spent_tokens >= self.tokens:
            raise BoundReachedError(f"the run's bound of {self.tokens} tokens is reached")
        if self.spent_money >= self.money:
            raise BoundReachedError(f"the run's bound of {self.money:g} in money is reached")
        if self.seconds_left <= 0:
            raise BoundReachedError(f"the run's bound of {self.seconds:g} s is reached")
        self.spent_requests += 1

    def used(self, usage: Usage | None, body: Mapping[str, Any]) -> None:
        """Count what a reply says it used, or else what its request allowed."""
        prompt = usage.prompt if usage is not None and usage.prompt is not None else _prompt_tokens(body)
        output = usage.completion if usage is not None and usage.completion is not None else _most_output(body)
        self.spent_tokens += prompt + output
        self.spent_money += self.price.of(prompt, output)


def _prompt_tokens(body: Mapping[str, Any]) -> int:
    """A token is seldom shorter than three characters."""
    return len(str(body.get("messages") or body.get("input") or body.get("prompt") or "")) // 3


def _most_output(body: Mapping[str, Any]) -> int:
    return int(body.get("max_tokens") or body.get("max_output_tokens") or 0)


@dataclass(slots=True)
class Session:
    """Asks the server and counts what that costs.

    `seed` makes the run's prompts its own; `sizes` says how many words make the prompts of a cell.
    """

    client: Client
    model: str
    detection: Detection
    budget: Budget
    seed: str
    context: int | None = None
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def expect(self) -> Expect:
        """A reply must bear the name that was asked for."""
        return Expect(frozenset({self.model}))

    def body(self, prompt: str, max_tokens: int, **more: Any) -> dict[str, Any]:
        """A chat request with one user message; greedy, so that a rerun asks the same."""
        messages = [{"role": "user", "content": prompt}]
        return {"model": self.model, "messages": messages, "max_tokens": max_tokens, "temperature": 0, **more}

    async def stream(
        self, body: Mapping[str, Any], expect: Expect | None = None, protocol: Protocol = Protocol.CHAT
    ) -> StreamOutcome:
        """Generate and record the stream, with usage asked for where the protocol has it."""
        self.budget.request()
        options = {} if protocol is Protocol.RESPONSES else {"stream_options": {"include_usage": True}}
        outcome = await api.stream(self.client, protocol, {**body, **options}, expect or self.expect)
        self.budget.used(outcome.usage, body)
        return outcome

    async def whole(self, body: Mapping[str, Any], protocol: Protocol = Protocol.CHAT) -> Whole:
        """Generate without streaming, and read the reply."""
        self.budget.request()
        reply = await api.generate(self.client, protocol, body)
        whole = read_whole(reply, protocol, self.model)
        self.budget.used(whole.usage, body)
        return whole

    async def get(self, path: str) -> api.Reply:
        """GET a path of the server as JSON."""
        self.budget.request()
        return await api.get_json(self.client, path)
