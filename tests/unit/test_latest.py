"""What is asked again of the same objects is answered from memory; anything else is not."""

from __future__ import annotations

import pytest

from dossier.derive.latest import latest


def test_the_same_question_is_answered_once_until_another_is_asked():
    asked = []

    @latest
    def length(text: list[str], other: object) -> int:
        asked.append(other)
        return len(text)

    one, two = ["a"], ["a"]
    assert [length(one, 1), length(one, 1), length(two, 1), length(two, 2), length(one, 1)] == [1] * 5
    assert asked == [1, 1, 2, 1]  # equal is not the same: a list may have changed


def test_an_answer_that_could_not_be_given_is_not_remembered():
    tries = iter([ValueError("no"), None])

    @latest
    def attempt(_: object) -> str:
        if (error := next(tries)) is not None:
            raise error
        return "done"

    with pytest.raises(ValueError, match="no"):
        attempt(attempt)
    assert attempt(attempt) == "done"
