"""Prometheus text: counters become differences, gauges stay samples."""

from __future__ import annotations

import pytest

from dossier.wire.errors import WireError
from dossier.wire.metrics import Series, differences, parse_metrics

BEFORE = """# HELP vllm:prompt_tokens_total Prefill tokens.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="m"} 100.0
vllm:prompt_tokens_total{engine="1",model_name="m"} 50.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} 3.0
vllm:num_requests_running{engine="1"} 1.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.1"} 4.0
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 5.0
vllm:time_to_first_token_seconds_count 5.0
vllm:time_to_first_token_seconds_sum 0.9
"""
AFTER = BEFORE.replace("} 100.0", "} 130.5").replace("} 50.0", "} 55.0").replace("_count 5.0", "_count 9.0")


def test_counters_are_differences_summed_over_their_labels():
    growth = differences(parse_metrics(BEFORE), parse_metrics(AFTER))
    assert growth.total("vllm:prompt_tokens_total") == 35.5
    assert growth.total("vllm:time_to_first_token_seconds_count") == 4.0
    assert growth.resets == ()


def test_each_label_set_keeps_its_own_growth():
    growth = differences(parse_metrics(BEFORE), parse_metrics(AFTER))
    assert growth.grown[Series("vllm:prompt_tokens_total", (("engine", "1"), ("model_name", "m")))] == 5.0


def test_gauges_are_samples():
    scrape = parse_metrics(BEFORE)
    assert scrape.gauge("vllm:num_requests_running") == 4.0
    assert differences(scrape, scrape).total("vllm:num_requests_running") is None


def test_what_is_absent_is_none_not_zero():
    scrape = parse_metrics(BEFORE)
    assert scrape.gauge("nothing") is None
    assert differences(scrape, scrape).total("nothing") is None


def test_a_counter_that_fell_was_reset_and_has_no_growth():
    growth = differences(parse_metrics(AFTER), parse_metrics(BEFORE))
    assert growth.total("vllm:prompt_tokens_total") is None
    assert Series("vllm:time_to_first_token_seconds_count") in growth.resets


def test_a_counter_that_first_appears_grew_from_zero():
    growth = differences(parse_metrics(""), parse_metrics(BEFORE))
    assert growth.total("vllm:prompt_tokens_total") == 150.0


def test_counters_without_a_type_are_known_by_their_ending():
    text = "llamacpp:prompt_tokens_total 7\n"
    assert differences(parse_metrics(""), parse_metrics(text)).total("llamacpp:prompt_tokens_total") == 7


@pytest.mark.parametrize("text", ['{"iter": 1}', 'name{a="b} 1', "name one"])
def test_what_is_not_prometheus_text_is_refused(text):
    with pytest.raises(WireError, match="not Prometheus text"):
        parse_metrics(text)
