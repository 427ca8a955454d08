"""Images of known content: drawn the same every time, asked about, and too many of them refused."""

from __future__ import annotations

import struct
import zlib

import pytest
from runner_support import outcome, plan_text, sampled

from dossier.runner.picture import COLOURS, Picture
from dossier.runner.plan import read_plan
from dossier.runner.probes.images import Case, Images, judge, task_of
from dossier.runner.schedule import Schedule
from dossier.runner.traits import Traits


def of(sample):
    return sample.outcome.value, sample.kind


def task(case, **fields):
    return task_of(Images.model_validate({"id": "x", "probe": "images", "case": case, **fields}), "seed/x/0")


CASES = [("shape", {}), ("count", {}), ("read", {}), ("compare", {"images": "5"}), ("corner", {"side": "1024"})]


@pytest.mark.parametrize(("case", "fields"), CASES)
def test_a_right_answer_passes_and_another_does_not(case, fields):
    answer = task(case, **fields).answer
    for said, expected in ((answer, ("passed", None)), ("It is nice.", ("missed", "no-answer"))):
        (sample,) = sampled(traits=Traits(answers={"nswer with": said}), probe="images", case=case, **fields)
        assert of(sample) == expected
    assert len(sample.facts["pixels_sha256"]) == int(fields.get("images", 1))


@pytest.mark.parametrize(
    ("case", "content", "answer", "kind"),
    [
        (Case.SHAPE, "A green square.", "green square", None),
        (Case.SHAPE, "green square, or red square", "green square", "incorrect"),
        (Case.SHAPE, "square", "green square", "incorrect"),
        (Case.COUNT, "7", "7", None),
        (Case.COUNT, "Seven", "7", "no-answer"),
        (Case.COUNT, "17", "7", "incorrect"),
        (Case.COUNT, "between 6 and 7", "7", "incorrect"),
        (Case.READ, "123 456", "123456", None),
        (Case.READ, "12345", "123456", "incorrect"),
    ],
)
def test_an_answer_is_the_one_thing_and_no_other(case, content, answer, kind):
    assert judge(outcome(content), case, answer).kind == kind


def test_more_images_than_are_taken_are_refused_clearly_or_a_miss():
    fields = {"probe": "images", "case": "limit", "images": "9", "side": "64"}
    (refused,) = sampled(traits=Traits(images=8), **fields)
    assert of(refused) == ("passed", None)
    assert "At most 8 images" in refused.observed
    (taken,) = sampled(**fields)
    assert of(taken) == ("missed", "over-limit-accepted")
    (broken,) = sampled(Schedule(fault="status", status=500), **fields)
    assert of(broken) == ("missed", "unclear-refusal")


def test_a_server_that_takes_no_images_has_failed_and_has_not_answered_wrongly():
    (sample,) = sampled(traits=Traits(images=0), probe="images")
    assert of(sample) == ("failed", "invalid-request")


# Drawing


def decoded(png):
    """Pixels of an indexed PNG by its definition: chunks with checksums, rows with filter 0."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + data)
        chunks[kind], at = data, at + 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    raw = zlib.decompress(chunks[b"IDAT"])
    rows = [raw[n * (width + 1) : (n + 1) * (width + 1)] for n in range(height)]
    assert all(row[0] == 0 for row in rows)
    palette = [tuple(chunks[b"PLTE"][n : n + 3]) for n in range(0, len(chunks[b"PLTE"]), 3)]
    return [[palette[value] for value in row[1:]] for row in rows]


def test_a_shape_lies_where_it_was_drawn():
    """A circle of 40 pixels covers pi * 20 * 20 = 1257 of them, a triangle half its square, a square all 1600."""
    for kind, area in (("circle", 1257), ("triangle", 800), ("square", 1600)):
        picture = Picture(64)
        picture.shape(kind, "red", 10, 12, 40)
        pixels = decoded(picture.png())
        count = sum(pixel == COLOURS["red"] for row in pixels for pixel in row)
        assert abs(count - area) < 30
        assert pixels[12 + 30][30] == COLOURS["red"]
        assert pixels[0][0] == COLOURS["white"]


def test_a_digit_is_its_blocks():
    """A one has the rows 010, 110, 010, 010 and 111: eight black blocks of three by three pixels."""
    picture = Picture(64)
    picture.number("1", 4, 4, 3)
    black = sum(pixel == COLOURS["black"] for row in decoded(picture.png()) for pixel in row)
    assert black == 8 * 9


@pytest.mark.parametrize(("case", "fields"), CASES)
def test_a_task_is_drawn_the_same_every_time(case, fields):
    first, again = task(case, **fields), task(case, **fields)
    assert [p.digest for p in first.pictures] == [p.digest for p in again.pictures]
    assert first.answer == again.answer


def test_several_images_belong_to_the_cases_that_compare():
    for fields in ("case: shape, images: 2", "case: compare", "case: limit, images: 1"):
        found, problems = read_plan(plan_text(populations=(f"{{id: i, probe: images, {fields}}}",)), "plan.yaml")
        assert found is None
        assert "2 or more for compare" in str(problems[0])
