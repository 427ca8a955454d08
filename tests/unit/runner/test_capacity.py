"""What a cache holds by the server's metrics, and what is divided out of it."""

from __future__ import annotations

import pytest
from simulated import AT, Simulated, plan, timed

from dossier.runner.capacity import kv_tokens
from dossier.wire.dialect import Dialect

VLLM = """# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
"""


def engine(blocks, number=0):
    labels = f'block_size="16",cache_dtype="auto",engine="{number}",num_gpu_blocks="{blocks}"'
    return f"vllm:cache_config_info{{{labels}}} 1.0\n"


@pytest.mark.parametrize(
    ("text", "dialect", "tokens"),
    [
        (VLLM + engine(27_000), Dialect.VLLM, 432_000),
        (VLLM + engine(27_000) + engine(1_000, 1), Dialect.VLLM, 448_000),
        (VLLM + engine("None"), Dialect.VLLM, None),
        (VLLM + engine(27_000) + engine("None", 1), Dialect.VLLM, None),
        ("# TYPE sglang:max_total_num_tokens gauge\nsglang:max_total_num_tokens 65536\n", Dialect.SGLANG, 65_536),
        (VLLM + engine(27_000), Dialect.UNKNOWN, None),
        ("no metrics at all {", Dialect.VLLM, None),
    ],
)
def test_the_tokens_of_the_cache(text, dialect, tokens):
    assert kv_tokens(text, dialect) == tokens


def test_full_windows_reserve_and_shares_are_divided_out():
    """432,000 tokens over a context of 4,096: 105.47 windows; by 64 streams: 6,750 each."""
    cells = [f"{{id: c{n}, probe: cell, prompt_tokens: 100, output_tokens: 65, requests: 64, concurrency: {n}}}"
             for n in (1, 64)]  # fmt: skip
    run = Simulated(plan(cells, [], [], schedule="schedule: {order: sequential, starts: 1}"))
    for arm, tokens in (("baseline", 432_000), ("candidate", None)):
        known = {"kv_tokens": tokens} if tokens else {"gpu_free_mib": [1500, 2000]}
        run.write("capacity", block=1, arm=arm, at=AT, **known)
    finding = run.go(lambda _instance, index: timed(100, index)).finding()
    told = {o.id.removeprefix("capacity-"): o.value for o in finding.observations if o.id.startswith("capacity-")}
    assert told == {
        "baseline-kv-tokens": "432,000 tokens",
        "baseline-full-windows": "105.47 windows",
        "baseline-shared-64": "6,750 tokens a request",
        "candidate-reserve-0": "1,500 MiB",
        "candidate-reserve-1": "2,000 MiB",
    }
