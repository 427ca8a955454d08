"""Images of known content: shapes, counts, digits to read, one among several, large ones, and too many."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from dossier.model.base import Count
from dossier.model.vocabulary import MeasurementClass
from dossier.runner.journal import Entry
from dossier.runner.outcome import Outcome
from dossier.runner.picture import COLOURS, SHAPES, Picture
from dossier.runner.probes.base import Cost, Probe, Reply, Sample, Spec, excerpt, failed, judged, range_of
from dossier.runner.session import Session
from dossier.wire import api
from dossier.wire.errors import FailureClass

_INK = tuple(name for name in COLOURS if name not in {"white", "black"})
_REFUSALS = frozenset({FailureClass.INVALID_REQUEST, FailureClass.TOO_LARGE, FailureClass.CONTEXT_EXCEEDED})
_PIXELS_A_TOKEN = 400
_PROMPT_TOKENS = 150


class Case(StrEnum):
    """What is looked at."""

    SHAPE = "shape"
    """One shape in one colour."""
    COUNT = "count"
    """Two to nine circles among squares."""
    READ = "read"
    """Six large digits."""
    COMPARE = "compare"
    """Several images, one of which holds another shape than all others."""
    CORNER = "corner"
    """Six digits, small in a corner of a large white image."""
    LIMIT = "limit"
    """More images than the server takes: a clear refusal is right."""


class Images(Spec):
    """Drawn images and one question a request."""

    probe: Literal["images"]
    case: Case = Case.SHAPE
    images: Annotated[Count, Field(ge=1, le=64, description="Images a request; `limit` sends so many, too many.")] = 1
    side: Annotated[Count, Field(ge=64, le=8192, description="Pixels of each side.")] = 448
    max_tokens: Annotated[Count, Field(ge=8, le=65_536)] = 64

    @model_validator(mode="after")
    def _consistent(self) -> Images:
        several = self.case in {Case.COMPARE, Case.LIMIT}
        if several != (self.images > 1):
            text = "`images` is 2 or more for compare and limit (the number that is too many), and 1 for all others"
            raise PydanticCustomError("plan/images", "{text}", {"text": text})
        return self


@dataclass(frozen=True, slots=True)
class Task:
    """The images, the question, and the words that the answer must be."""

    pictures: tuple[Picture, ...]
    question: str
    answer: str


async def ask_images(session: Session, spec: Images, index: int) -> Sample:
    """Draw, ask, compare; the sample's facts keep the digest of every image's pixels."""
    task = task_of(spec, f"{session.seed}/{spec.id}/{index}")
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": picture.url()}} for picture in task.pictures
    ]
    message = {"role": "user", "content": [*parts, {"type": "text", "text": task.question}]}
    body = session.body("", spec.max_tokens) | {"messages": [message]}
    facts = {"pixels_sha256": [picture.digest for picture in task.pictures], "side": spec.side}
    reply = await session.whole(body)
    if spec.case is Case.LIMIT:
        return replace(await _refused(session, reply), facts=facts)
    return replace(judge(reply, spec.case, task.answer), facts=facts)


def task_of(spec: Images, seed: str) -> Task:
    """The images of one request, drawn from its seed."""
    draw = random.Random(seed)  # noqa: S311 - pictures, not secrets
    match spec.case:
        case Case.SHAPE:
            kind, colour = draw.choice(SHAPES), draw.choice(_INK)
            question = "Which shape is this, and in which colour? Answer with two words, such as: green square"
            return Task((_one(spec.side, kind, colour),), question, f"{colour} {kind}")
        case Case.COUNT:
            circles = draw.randint(2, 9)
            picture = _many(draw, spec.side, circles, draw.randint(1, 7))
            return Task((picture,), "How many circles are in this image? Answer with the number alone.", str(circles))
        case Case.READ | Case.CORNER:
            digits = "".join(draw.choices("0123456789", k=6))
            picture = _digits(draw, spec.side, digits, small=spec.case is Case.CORNER)
            return Task((picture,), "Which number stands in this image? Answer with its digits alone.", digits)
        case _:
            return _odd_one(draw, spec)


def _odd_one(draw: random.Random, spec: Images) -> Task:
    usual, other = draw.sample(SHAPES, 2)
    odd, colour = draw.randrange(spec.images), draw.choice(_INK)
    pictures = tuple(_one(spec.side, other if n == odd else usual, colour) for n in range(spec.images))
    question = (
        f"Here are {spec.images} images, numbered from 1 in their order. One shows another shape than all others. "
        "Which one? Answer with its number alone."
    )
    return Task(pictures, question, str(odd + 1))


def _one(side: int, kind: str, colour: str) -> Picture:
    picture = Picture(side)
    picture.shape(kind, colour, side // 4, side // 4, side // 2)
    return picture


def _many(draw: random.Random, side: int, circles: int, squares: int) -> Picture:
    """Shapes in the fields of a four by four grid, so that none covers another."""
    picture, step = Picture(side), side // 4
    fields = draw.sample(range(16), circles + squares)
    for number, at in enumerate(fields):
        kind = "circle" if number < circles else "square"
        x, y = at % 4 * step + step // 6, at // 4 * step + step // 6
        picture.shape(kind, draw.choice(_INK), x, y, 2 * step // 3)
    return picture


def _digits(draw: random.Random, side: int, digits: str, *, small: bool) -> Picture:
    picture = Picture(side)
    block = max(2, side // (160 if small else 28))
    width, height = 23 * block, 5 * block
    if small:
        x, y = draw.choice((block, side - width - block)), draw.choice((block, side - height - block))
    else:
        x, y = (side - width) // 2, (side - height) // 2
    picture.number(digits, x, y, block)
    return picture


def judge(reply: Reply, case: Case, answer: str) -> Sample:
    """The answer and no other of its kind, in a reply that ended by itself."""
    return judged(reply, _wrongs(reply, case, answer))


def _wrongs(reply: Reply, case: Case, answer: str) -> Iterator[tuple[str, str, str]]:
    if reply.finish != "stop":
        yield "truncated", f"{reply.content} (finish {reply.finish})", answer
    said = reply.content.casefold()
    if case is Case.SHAPE:
        seen = re.findall("|".join((*SHAPES, *COLOURS)), said)
        right = sorted(seen) == sorted(answer.split())
    else:
        seen = re.findall(r"\d+", said.replace(" ", "") if case in {Case.READ, Case.CORNER} else said)
        right = seen == [answer]
    if not right:
        yield "incorrect" if seen else "no-answer", reply.content, answer


async def _refused(session: Session, reply: Reply) -> Sample:
    """A clear 4xx, and a server that still lists its models."""
    failure = reply.failure
    if failure is None:
        return Sample(Outcome.MISSED, kind="over-limit-accepted", observed=excerpt(reply.content), expected="a refusal")
    if failure.status is None:
        return failed(None, failure)
    if failure.kind not in _REFUSALS:
        told = f"{failure.kind}: {failure.message} (HTTP {failure.status})"
        return Sample(Outcome.MISSED, kind="unclear-refusal", observed=excerpt(told), expected="a 4xx that says so")
    session.budget.request()
    alive, _ = await api.models(session.client)
    if alive.failure is not None:
        return failed(None, alive.failure)
    return Sample(Outcome.PASSED, observed=excerpt(f"{failure.kind} (HTTP {failure.status}): {failure.message}"))


def _facts(spec: Images, samples: Sequence[Entry]) -> Mapping[str, Any]:
    shown = {} if spec.case is Case.LIMIT else {"prompt_tokens": range_of(samples, "prompt")}
    return {"output_budget": spec.max_tokens, **shown}


def _cost(spec: Images) -> Cost:
    pixels = spec.images * spec.side * spec.side
    requests = 2 if spec.case is Case.LIMIT else 1
    return Cost(requests, _PROMPT_TOKENS + -(-pixels // _PIXELS_A_TOKEN) + spec.max_tokens)


PROBES = (
    Probe(
        "images", Images, MeasurementClass.MULTIMODAL,
        "Drawn images of known content: a shape and its colour, a count, digits to read, the odd one of several, small "
        "digits in a large image, or more images than are taken, which must be refused clearly.",
        "That photographs, documents, handwriting, charts or video are understood; that several large images fit "
        "beside a long text. Tokens an image are the server's; the dry run guesses one for every 400 pixels.",
        _cost, ask_images, facts=_facts,
    ),
)  # fmt: skip
