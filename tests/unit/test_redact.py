"""Each form is planted once, among sentences that look like it; nothing planted here is real."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dossier.redact import RULES, find, redact

MIXED = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2"
# Planted tokens are put together here, so that no scanner of this repository takes them for real ones.
GITHUB = "gh" + "p_" + MIXED[:36]
SECRETS = {
    "GitHub": GITHUB,
    "GitHub, fine-grained": "github" + "_pat_" + MIXED,
    "Hugging Face": "h" + "f_" + MIXED[:34],
    "OpenAI": "s" + "k-proj-" + MIXED,
    "Anthropic": "s" + "k-ant-api03-" + MIXED,
    "NVIDIA": "nv" + "api-" + MIXED,
    "Groq": "gs" + "k_" + MIXED,
    "GitLab": "gl" + "pat-" + MIXED[:20],
    "AWS": "AK" + "IAQ2W3E4R5T6Y7UIOP",
    "Google": "AI" + "za" + MIXED[:35],
    "Slack": "xo" + "xb-1234567890-" + MIXED,
    "Slack webhook": "https://hooks.sl" + "ack.com/services/T0AAAAAA1/B0AAAAAA1/" + MIXED[:24],
    "Stripe": "s" + "k_live_" + MIXED[:24],
    "PyPI": "py" + "pi-AgE" + MIXED + MIXED,
    "npm": "np" + "m_" + MIXED[:36],
    "Docker Hub": "dc" + "kr_pat_" + MIXED[:27],
    "SendGrid": "S" + "G." + MIXED[:22] + "." + MIXED[:43],
    "Tailscale": "ts" + "key-auth-" + MIXED[:20],
    "Databricks": "da" + "pi" + "0123456789abcdef" * 2,
    "Telegram": "123456789" + ":AA" + MIXED[:33],
    "JWT": "ey" + "JhbGciOiJIUzI1NiJ9." + "ey" + "JzdWIiOiIxMjM0NTY3In0." + MIXED,
    "bearer": "Bearer " + MIXED[:20],
    "basic": "Authorization: Basic " + MIXED[:20],
    "header": '"x-api-key": "' + MIXED[:20] + '"',
    "environment": "OPENAI_API_KEY=" + MIXED[:24],
    "flag": "--api-key " + MIXED[:24],
    "password": "password: hunter2-hunter2",
    "escaped JSON": '{\\"client_secret\\": \\"' + MIXED[:20] + '\\"}',
}
PLANTED = {
    "secret": list(SECRETS.values()),
    "private key": [
        "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nAAAA\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN " + "PRIVATE KEY-----\\nMIIEvQIBADANBg\\n-----END PRIVATE KEY-----",
        "-----BEGIN " + "RSA PRIVATE KEY-----",
        "PuTTY-User-" + "Key-File-3: ssh-ed25519",
        "AGE-SECRET-" + "KEY-1" + "QPZRY9X8" * 7,
    ],
    "url credentials": [
        "https://ada:s3same@registry.example.com/v2/",
        "postgres://ada:s3same@db.example.com/dossier",
        "https://" + MIXED + "@host.example.com/x",
        "https://files.example.com/a.json?sv=1&sig=" + MIXED,
    ],
    "home path": [
        "/home/ada/models/x.gguf",
        "file:///home/ada/plan.yaml",
        "/Users/ada.lovelace/Library",
        "/mnt/c/Users/Ada/models",
        r"C:\Users\Ada Lovelace\plan.yaml",
        r'"C:\\Users\\ada\\plan.yaml"',
        "c:/users/ada/x",
        "/" + "root/notes.txt",
    ],
    "private address": [
        "10.1.2.3",
        "http://192.168.0.17:8000/v1",
        "172.16.0.9",
        "172.31.255.1",
        "169.254.1.1",
        "100.101.2.3",
        "fe80::1ff:fe23:4567:890a",
        "fd12:3456:789a:1::1",
    ],
    "private host": [
        "http://llm.local:8000/v1",
        "gpu-box.local",
        "nas.lan",
        "gpu.corp",
        "https://metrics.internal/x",
        "gpu1.home.arpa",
        "box.tail1234.ts.net",
        "ada@gpu-box:~/models$ ls",
    ],
    "e-mail address": ["ada@lovelace.name", "mailto:ada.lovelace+x@mail.engine.co.uk", "<ada@engine.org>"],
}
INNOCENT = {
    "secret": [
        "sk-learn-is-the-older-name-of-scikit-learn",
        "hf_transfer and HF_HUB_ENABLE_HF_TRANSFER=1",
        "api_key: OPENAI_API_KEY_2",
        "api_key=$OPENAI_API_KEY",
        "--api-key EMPTY",
        'password = "changeme1"',
        "password: none, the port is not published",
        "Bearer authentication is switched off",
        "max_tokens: 65536 and token: 151643",
        "token = tokenizer2.decode(1)",
        "password = base64.b16encode(x)",
        "sha256: 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "revision 0123456789abcdef0123456789abcdef01234567",
        "secret_sha256=6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "vllm/vllm-openai@sha256:6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "chatcmpl-7f4d2b9c1e6a4f0c8b3d5e7a9f1c2b4d",
        "550e8400-e29b-41d4-a716-446655440000",
        "glm-5.3-flash-w4a16-g128",
    ],
    "private key": ["-----BEGIN " + "PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----", "a private key is never kept"],
    "url credentials": [
        "https://huggingface.co/zai-org/GLM@main",
        "https://user:password@host.com/x",
        "https://${USER}:${TOKEN}@host/x",
        "https://example.com/?q=a@b",
        "https://example.com/a?design=3",
    ],
    "home path": [
        "~/models/x.gguf",
        "/home/<user>/models",
        "/home/user/models",
        "/home/$USER/x",
        "https://example.com/home/ada/x",
        "GET /v1/users/list",
        "/var/root/x",
        "the page of root/home",
        r"C:\Program Files\x",
    ],
    "private address": [
        "127.0.0.1:8000",
        "0.0.0.0",
        "8.8.8.8",
        "172.32.0.1",
        "100.20.1.1",
        "TensorRT 10.3.0.26",
        "tensorrt==10.3.0.26",
        "version 10.0.1.6",
        "v10.1.2.3",
        "110.50 tok/s",
        "10.25.3",
        "10.300.1.1",
        "12:34:56.789",
        "std::vector",
        "fd: 12",
    ],
    "private host": [
        "threading.local()",
        "self.local",
        "settings.local.json",
        "~/.local/share/x",
        "host.docker.internal:8000",
        "torch.internal.ops",
        "git@github.com:zai-org/GLM",
        "root@0123456789ab:/app# ls",
    ],
    "e-mail address": [
        "git@github.com",
        "user@example.com",
        "12345+ada@users.noreply.github.com",
        "uses: actions/checkout@v4.2.2",
        "x @ self.weight",
        "@torch.no_grad",
        "https://user:password@host.com/x",
        "decode@c1",
    ],
}


def cases(table):
    return [pytest.param(rule, text, id=f"{rule}-{index}") for rule in table for index, text in enumerate(table[rule])]


@pytest.mark.parametrize(("rule", "text"), cases(PLANTED))
def test_planted(rule, text):
    sentence = f"It said: {text}\nand went on."
    assert [leak.rule for leak in find(sentence)] == [rule]
    assert f"[redacted {rule}]" in redact(sentence)
    assert redact(sentence).endswith("\nand went on.")
    assert find(redact(sentence)) == []


@pytest.mark.parametrize(("rule", "text"), cases(INNOCENT))
def test_innocent(rule, text):
    assert find(f"It said: {text}\nand went on.") == []
    assert redact(text) == text
    assert rule in PLANTED


def test_every_rule_is_shown():
    assert set(PLANTED) == set(INNOCENT) == set(RULES)


def test_only_the_secret_is_taken_out():
    assert redact("GET https://ada:s3same@x.org/v1?a=1") == "GET https://[redacted url credentials]@x.org/v1?a=1"
    assert redact("open /home/ada/m.gguf") == "open /home/[redacted home path]/m.gguf"
    assert redact(f'{{"x-api-key": "{MIXED}"}}') == '{"x-api-key": "[redacted secret]"}'


@pytest.mark.parametrize("secret", list(SECRETS.values()), ids=list(SECRETS))
def test_no_part_of_a_secret_stays(secret):
    longest = max(secret.replace('"', " ").replace("\\", " ").split(), key=len)
    assert longest[-8:] not in redact(f"error: {secret} was refused")


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "x", "xy", '{"authorization": "'])
def test_in_base64(encode, before):
    hidden = encode(f"{before} {GITHUB} ~~~".encode()).decode()
    [leak] = find(f"payload={hidden};")
    assert leak.rule == "secret"
    assert leak.what.endswith("in Base64")
    assert redact(f"payload={hidden};") == "payload=[redacted secret];"


def test_in_base64_of_a_readable_text():
    hidden = base64.b64encode(b"the log of /home/ada/models/x.gguf").decode()
    assert [leak.rule for leak in find(hidden)] == ["home path"]


def test_in_base64_over_lines():
    hidden = base64.encodebytes(b"some words before " + GITHUB.encode() + b" and some words after it").decode()
    assert hidden.count("\n") > 1
    assert [leak.rule for leak in find(hidden)] == ["secret"]
    assert "\n" not in redact(hidden).strip()


def test_binary_in_base64_is_no_leak():
    assert find("data:image/png;base64," + base64.b64encode(bytes(range(256)) * 40).decode()) == []


@pytest.mark.parametrize("wrap", ["\n", "\n    ", "\r\n\t", "\\\n", "\\n", "\\\n  "])
@pytest.mark.parametrize("at", [6, 20, 39])
def test_over_lines(wrap, at):
    text = f"key {GITHUB[:at]}{wrap}{GITHUB[at:]} end"
    assert [leak.rule for leak in find(text)] == ["secret"]
    assert redact(text) == "key [redacted secret] end"


def test_line_ends_do_not_make_secrets():
    assert find("the flag sk-\nlearn-4\nand hf_\ntransfer-2 of the package") == []


def test_places():
    text = f"one {GITHUB} two ada@engine.org three"
    assert [text[leak.start : leak.end] for leak in find(text)] == [GITHUB, "ada@engine.org"]


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_words_that_were_harmless_in_one_file_hide_nothing_in_the_next(secret):
    pieces = [secret[:length] for length in range(1, 18)]
    find("\n".join(pieces))
    leaks = find(f"{pieces[-1]} and then {secret} stood there")
    assert [leak.rule for leak in leaks if leak.start >= len(pieces[-1])], secret[:6]


def test_what_it_says_never_holds_the_secret():
    for texts in PLANTED.values():
        for text in texts:
            assert all(leak.what not in text and text[leak.start : leak.end] not in leak.what for leak in find(text))


@given(st.text(alphabet="aAgh_p1-\n\\/@:.=~ ", max_size=300))
def test_redacting_again_changes_nothing(text):
    once = redact(text)
    assert redact(once) == once


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_token_is_found_in_any_text(before, after):
    assert GITHUB not in redact(f"{before} {GITHUB} {after}")


@pytest.mark.parametrize("before", ["a word", "a dash-", "an underscore_"])
def test_over_lines_after_a_line_that_ends_in_a_word(before):
    text = f"{before}\n{GITHUB[:20]}\n{GITHUB[20:]}\n"
    assert redact(text) == f"{before}\n[redacted secret]\n"


@pytest.mark.parametrize("word", ["a", "a1", "a-", "A/", "1.", "@", "=", "a\n", "ab:"])
def test_a_megabyte_of_one_word_is_read_in_one_go(word):
    """Each of these once cost the square of its length: this test would not end."""
    find(word * (1_000_000 // len(word)))
