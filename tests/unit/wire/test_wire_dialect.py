"""Which server answers, told by its signs; no sign, or the signs of two, is unknown."""

from __future__ import annotations

import json

import pytest
from wire_servers import http, raw_server

from dossier.wire.client import connect
from dossier.wire.dialect import HABITS, SIGNS, Detection, Dialect, Observations, Place, detect, observe
from dossier.wire.loop import run


def models(owner: str, **extra) -> str:
    return json.dumps({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": owner, **extra}]})


SERVERS = {
    Dialect.VLLM: ({"/v1/models": models("vllm", max_model_len=4096), "/version": '{"version":"0.32.0"}'}, "0.32.0"),
    Dialect.SGLANG: ({"/v1/models": models("sglang"), "/model_info": '{"model_path":"m","weight_version":"1"}'}, None),
    Dialect.LLAMA_CPP: (
        {"/v1/models": models("llamacpp"), "/props": '{"default_generation_settings":{},"build_info":"b0-unknown"}'},
        "b0-unknown",
    ),
    Dialect.TGI: (
        {"/v1/models": models("m"), "/info": '{"model_id":"m","version":"3.3.0","docker_label":"x"}'},
        "3.3.0",
    ),
    Dialect.OLLAMA: (
        {"/v1/models": models("library"), "/": "Ollama is running", "/api/version": '{"version":"0.12"}'},
        "0.12",
    ),
    Dialect.TRTLLM: ({"/v1/models": models("tensorrt_llm"), "/version": '{"version":"1.2.0"}'}, "1.2.0"),
    Dialect.LM_STUDIO: (
        {
            "/v1/models": models("organization_owner"),
            "/api/v0/models": '{"data":[{"id":"m","max_context_length":8192}]}',
        },
        None,
    ),
    Dialect.OPENAI: ({"/v1/models": models("openai")}, None),
    Dialect.UNKNOWN: ({"/v1/models": models("somebody")}, None),
}


def look(paths: dict[str, str]) -> Detection:
    async def main():
        def answer(_connection, _number):
            path = raw.requests[-1].split()[1].decode()
            return http(paths[path].encode()) if path in paths else http(b"{}", "404 Not Found")

        async with raw_server(answer) as raw, connect(raw.url, proxy=None) as client:
            return detect(await observe(client))

    return run(main())


@pytest.mark.parametrize("dialect", SERVERS, ids=str)
def test_a_server_is_known_by_its_answers(dialect):
    paths, version = SERVERS[dialect]
    found = look(paths)
    assert (found.dialect, found.version) == (dialect, version)


def test_two_servers_at_once_are_unknown_with_the_evidence_kept():
    found = look({"/v1/models": models("vllm"), "/metrics": "sglang:num_running_reqs 1\n"})
    assert found.dialect is Dialect.UNKNOWN
    assert found.evidence == ("/v1/models ~ ^vllm$", "/metrics ~ ^sglang:")


def test_a_name_in_the_middle_of_a_text_is_no_sign():
    seen = Observations(
        {Place.OWNER: "not-vllm", Place.METRICS: "# about vllm: see docs", Place.ROOT: "no Ollama is running"}
    )
    assert detect(seen) == Detection(Dialect.UNKNOWN, (), None)


def test_every_dialect_has_habits_and_all_but_unknown_have_signs():
    assert set(HABITS) == set(Dialect)
    assert {sign.dialect for sign in SIGNS} == set(Dialect) - {Dialect.UNKNOWN}
