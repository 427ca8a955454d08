"""Who answers: what each server tells about itself, without its folders; and what counts as a change."""

from __future__ import annotations

import asyncio

import pytest
from runner_support import plan, session

from dossier.runner.identity import changed, identify
from dossier.runner.surroundings import recipe_record
from dossier.wire import api
from dossier.wire.api import Reply
from dossier.wire.dialect import Dialect
from dossier.wire.trace import Trace

PAGES = {
    Dialect.LLAMA_CPP: ("/props", {"model_path": "/srv/alice/models/m.gguf", "chat_template": "{{ x }}",
                                   "total_slots": 4, "modalities": {"vision": True, "audio": False}}),
    Dialect.SGLANG: ("/model_info", {"model_path": "/data/org/m", "weight_version": "abc",
                                     "tool_call_parser": "qwen25", "reasoning_parser": None}),
    Dialect.TGI: ("/info", {"model_sha": "0" * 40, "docker_label": "sha-1"}),
}  # fmt: skip
TOLD = {
    Dialect.LLAMA_CPP: {"model_file": "m.gguf", "slots": 4, "modalities": ["vision"],
                        "template_sha256": "e52c737297f7dad622da7e58f5a16e7437f2716daccb4da859fc567ccd75c9a4"},
    Dialect.SGLANG: {"model_file": "m", "model_revision": "abc", "parsers": {"tool-call parser": "qwen25"}},
    Dialect.TGI: {"model_revision": "0" * 40, "image_label": "sha-1"},
    Dialect.VLLM: {},
}  # fmt: skip
COMMON = {"dialect", "signs", "version", "model", "listed", "context", "owned_by", "fingerprint", "reply_model"}


@pytest.fixture
def told(monkeypatch):
    """What a server of a dialect tells; its own page is given, the rest is the reference server's."""

    def ask(dialect):
        get = api.get_json

        async def page(client, path):
            where, body = PAGES.get(dialect, ("", {}))
            return Reply(None, body, Trace()) if path == where else await get(client, path)

        async def go():
            async with session(dialect=dialect) as here:
                monkeypatch.setattr(api, "get_json", page)
                return await identify(here)

        return asyncio.run(go())

    return ask


@pytest.mark.parametrize("dialect", TOLD, ids=str)
def test_a_server_is_asked_in_its_own_dialect_and_loses_its_folders(told, dialect):
    found = told(dialect)
    assert {key: found[key] for key in TOLD[dialect]} == TOLD[dialect]
    assert set(found) <= COMMON | set(TOLD[dialect])
    assert "alice" not in str(found)


def test_parsers_that_are_told_stand_in_the_recipe(told):
    record = recipe_record("m", plan().declared, told(Dialect.SGLANG), ("i", "h"), None, (), arm="candidate")
    assert record["settings"] == {"tool-call parser": "qwen25"}


def test_a_change_is_named_and_what_is_new_every_time_is_none():
    before = {"model": "m", "fingerprint": "a", "parsers": {"tool-call parser": "x"}, "signs": ["one"]}
    assert changed(before, before | {"signs": ["two"]}) == []
    assert changed(before, before | {"fingerprint": "b"}) == ["fingerprint was 'a', is 'b'"]
    assert changed(before, {"model": "m", "fingerprint": "a"})[0].startswith("parsers was")
