"""A tiny Qwen3 of random weights, its tokenizer trained on the spot: `vllm_model.py FOLDER`, run by vLLM's Python.

Its words are noise. What it is good for is protocol, structure and timing: a chat template with tools in the Hermes
form, and the words of the runner's prompts as one token each, as real tokenizers have them.
"""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

END, BEGIN = "<|im_end|>", "<|im_start|>"
SPECIAL = ["<|endoftext|>", BEGIN, END, "<tool_call>", "</tool_call>", "<think>", "</think>"]
TEMPLATE = """{%- if tools %}<|im_start|>system
You may call these tools:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
A call is <tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or "" }}
{%- for call in message.tool_calls or [] %}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
PROMPTS = Path(__file__).resolve().parents[2] / "dossier/runner/prompts.py"


def tokenizer() -> PreTrainedTokenizerFast:
    """Bytes, and whatever a seeded corpus of the prompts' words and of JSON is full of."""
    draw = random.Random(1)
    words = sorted(set(re.findall(r"[a-z]{2,}", PROMPTS.read_text())))
    corpus = [" ".join(draw.choices(words, k=40)) for _ in range(1500)]
    corpus += [json.dumps({"name": draw.choice(words), "arguments": {draw.choice(words): 7}}) for _ in range(1000)]
    found = Tokenizer(models.BPE())
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    found.train_from_iterator(
        corpus, trainers.BpeTrainer(vocab_size=2000, special_tokens=SPECIAL, initial_alphabet=alphabet)
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=found, eos_token=END, pad_token=SPECIAL[0])
    fast.chat_template = TEMPLATE
    return fast


def main(folder: Path) -> None:
    torch.manual_seed(1)
    tokens = tokenizer()
    tokens.save_pretrained(folder)
    config = Qwen3Config(
        vocab_size=-(-len(tokens) // 64) * 64, hidden_size=256, intermediate_size=512, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, head_dim=64, max_position_embeddings=8192,
        tie_word_embeddings=True, eos_token_id=tokens.eos_token_id, pad_token_id=tokens.pad_token_id,
        bos_token_id=None,
    )  # fmt: skip
    model = Qwen3ForCausalLM(config)
    # Random weights love one token; let it not be one that shows nothing, half a character, or none at all.
    shown = [tokens.decode([number], skip_special_tokens=True) for number in range(len(tokens))]
    silent = [number for number, text in enumerate(shown) if not text or not text.isascii()]
    with torch.no_grad():
        model.model.embed_tokens.weight[[*silent, *range(len(tokens), config.vocab_size)]] = 0
    model.to(torch.bfloat16).save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
