"""What a probe works with: one server, the model it asks for, and the bounds that hold for the whole run."""

from __future__ import annotations

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


@dataclass(slots=True)
class Budget:
    """What may still be spent. Tokens are counted when usage comes back, and before by what was asked for."""

    requests: int
    tokens: int
    seconds: float
    now: Callable[[], float] = time.monotonic
    spent_requests: int = 0
    spent_tokens: int = 0
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
        if self.seconds_left <= 0:
            raise BoundReachedError(f"the run's bound of {self.seconds:g} s is reached")
        self.spent_requests += 1

    def used(self, usage: Usage | None) -> None:
        """Count what a reply says it used."""
        if usage is not None:
            self.spent_tokens += (usage.prompt or 0) + (usage.completion or 0)


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
        self.budget.used(outcome.usage)
        return outcome

    async def whole(self, body: Mapping[str, Any], protocol: Protocol = Protocol.CHAT) -> Whole:
        """Generate without streaming, and read the reply."""
        self.budget.request()
        reply = await api.generate(self.client, protocol, body)
        whole = read_whole(reply, protocol, self.model)
        self.budget.used(whole.usage)
        return whole

    async def get(self, path: str) -> api.Reply:
        """GET a path of the server as JSON."""
        self.budget.request()
        return await api.get_json(self.client, path)
