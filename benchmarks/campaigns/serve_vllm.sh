#!/usr/bin/env bash
# Serves a random-weight model of the shape in $HOME/model/config.json in the foreground, until it is ended.
# `dossier run` starts it by the `start` command of an arm and ends its process group; arguments go to `vllm serve`.
set -euo pipefail
export PYTHONPATH="$HOME/site" PATH="$HOME/site/bin:$PATH"
export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 VLLM_USE_FLASHINFER_SAMPLER=0
exec python3 -m vllm.entrypoints.cli.main serve "$HOME/model" --load-format dummy --served-model-name qwen3-8b-dummy \
  --host 127.0.0.1 --port 8000 --gpu-memory-utilization 0.85 --max-model-len 131072 --enable-prompt-tokens-details "$@"
