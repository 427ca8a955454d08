"""A server with a planted fault, for tests: `python planted_server.py PORT [--die-after N] ...`; needs no package.

It answers what it is asked for by a few fixed rules. Where a file `heard.txt` lies in its folder it appends every
prompt there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int, nargs="?", default=0)
parser.add_argument("--as-is", action="store_true")
parser.add_argument("--die-after", type=int, help="chat replies, then the process ends")
parser.add_argument("--other-after", type=int, help="chat replies, then another fingerprint")
parser.add_argument("--slow", type=float, default=0.0, help="seconds before each reply")
parser.add_argument("--truncate-after", type=int, help="chat replies, then each loses its last word")
parser.add_argument("--miscount", type=int, nargs="*", default=[], help="which counted answers have a word too many")
parser.add_argument("--cached", type=int, help="percent of the prompt's tokens that usage calls cached")
parser.add_argument("--leak-after", type=int, help="chat replies, then each ends with words of another request")


def reply_to(prompt: str) -> str:
    """The word that was asked for, or the marker and so many words."""
    marked = re.search(r"with the marker (\S+)\.(?: After it write the word (\w+) exactly (\d+) times)?", prompt)
    if marked is not None:
        Handler.counted += 1
        many = int(marked[3] or 0) + (Handler.counted in OPTIONS.miscount)
        return " ".join([marked[1], *[marked[2] or ""] * many]).strip()
    asked = re.search(r"single word (\w+)", prompt)
    return asked[1] if asked else "word word"


class Handler(BaseHTTPRequestHandler):
    """Models, chat and nothing else."""

    protocol_version = "HTTP/1.1"
    count = 0
    counted = 0
    last = "nothing"
    lock = threading.Lock()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """The list of models."""
        if self.path == "/v1/models":
            self._send({"object": "list", "data": [{"id": "planted", "max_model_len": 4096}]})
        else:
            self._send({"error": {"message": "no such path"}}, 404)

    def do_POST(self) -> None:
        """One reply."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self._send({"error": {"message": "no such path"}}, 404)
            return
        prompt = str(body["messages"][-1]["content"])
        with Handler.lock:
            Handler.count += 1
            number, before, Handler.last = Handler.count, Handler.last, prompt
            if os.path.exists("heard.txt"):  # noqa: PTH110
                with open("heard.txt", "a") as heard:  # noqa: PTH123
                    heard.write(f"{number} {' '.join(prompt.split())}\n")
        if OPTIONS.die_after is not None and number > OPTIONS.die_after:
            os._exit(7)
        time.sleep(OPTIONS.slow)
        text = reply_to(prompt)
        if OPTIONS.truncate_after is not None and number > OPTIONS.truncate_after:
            text = text[:-1] or text
        if OPTIONS.leak_after is not None and number > OPTIONS.leak_after:
            text = f"{text} {before[:60]}"
        other = OPTIONS.other_after is not None and number > OPTIONS.other_after
        self._reply(body, prompt, text, "planted-2" if other else "planted-1")

    def _reply(self, body: dict, prompt: str, text: str, fingerprint: str) -> None:
        tokens = max(1, len(text.split()))
        usage: dict = {"prompt_tokens": len(prompt.split()), "completion_tokens": tokens, "total_tokens": 0}
        if OPTIONS.cached is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": usage["prompt_tokens"] * OPTIONS.cached // 100}
        head = {"id": "x", "model": "planted", "system_fingerprint": fingerprint}
        if not body.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            self._send({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        chunk = {**head, "object": "chat.completion.chunk"}
        events = [{**chunk, "choices": [{"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}]}
                  for word in text.split()]  # fmt: skip
        events.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        events.append({**chunk, "choices": [], "usage": usage})
        data = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        self._write(200, "text/event-stream", data.encode())

    def _send(self, value: dict, status: int = 200) -> None:
        self._write(status, "application/json", json.dumps(value).encode())

    def _write(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    OPTIONS = parser.parse_args()
    ThreadingHTTPServer(("127.0.0.1", OPTIONS.port), Handler).serve_forever()
