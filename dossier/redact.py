"""What must not be published: secrets, private keys, URL credentials, home paths, private hosts, e-mail addresses.

The same rules guard what is written (`redact`) and what is checked (`find`). A bare hexadecimal number is never
taken for a secret: digests are what evidence is made of. A detector over entropy would flag every one of them,
and the kept lists of token forms lack most of the services that this field talks to, so the table is our own.
"""

from __future__ import annotations

import base64
import binascii
import re
import string
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple


class Leak(NamedTuple):
    """A stretch of a text that must not be published; `what` says in words what it is, never what it holds."""

    rule: str
    start: int
    end: int
    what: str


def find(text: str) -> list[Leak]:
    """Every leak, in order, without overlaps; also in Base64, and tokens that are wrapped over lines."""
    direct = list(_direct(text))
    seen = {leak.start for leak in direct}
    return _merged([*direct, *_encoded(text), *(leak for leak in _wrapped(text) if leak.start not in seen)])


def redact(text: str) -> str:
    """The text with a placeholder such as `[redacted secret]` in place of every leak."""
    parts, at = [], 0
    for leak in find(text):
        parts += [text[at : leak.start], f"[redacted {leak.rule}]"]
        at = leak.end
    return "".join([*parts, text[at:]])


@dataclass(frozen=True, slots=True)
class _Rule:
    """One form. No hint in the text (in lower case): it is neither tried nor compiled. Group 1, if any, is the leak.

    With `alone` it is a long word of its own: `desk-` is not `sk-`.
    """

    name: str
    what: str
    hints: tuple[str, ...]
    form: str
    accept: Callable[[re.Match[str]], bool] = lambda _: True
    alone: bool = False


def _token(what: str, form: str, *hints: str) -> _Rule:
    return _Rule("secret", what, hints, form, _is_random, alone=True)


def _is_random(match: re.Match[str]) -> bool:
    """Real tokens hold digits and letters; the names of packages and flags seldom hold so many."""
    return _mixed(match[match.lastindex or 0])


def _mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


_TOKENS = (
    _token("a GitHub token", r"(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{22,255})",
           "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    _token("a Hugging Face token", r"(?:hf|api_org)_[A-Za-z0-9]{30,60}", "hf_", "api_org_"),
    _token("an API key", r"sk-[A-Za-z0-9_-]{20,250}", "sk-"),
    _token("an API key", r"(?:nvapi-|xai-|pplx-|fw_|gsk_|r8_|tgp_v1_|csk-)[A-Za-z0-9_-]{30,250}",
           "nvapi-", "xai-", "pplx-", "fw_", "gsk_", "r8_", "tgp_v1_", "csk-"),
    _token("a GitLab token", r"(?:glpat|gldt|glrt|glcbt|glptt|glft|glsoat|glagent|gloas)-[A-Za-z0-9_-]{20,250}",
           "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glagent-", "gloas-"),
    _token("an AWS access key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])", "akia", "asia", "abia", "acca"),
    _token("a Google API key", r"AIza[A-Za-z0-9_-]{35}", "aiza"),
    _token("a Slack token", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}", "xox"),
    _Rule("secret", "a Slack webhook", ("hooks.slack.com",),
          (r"hooks\.slack\.com/services/[A-Za-z0-9_]+/[A-Za-z0-9_]+/[A-Za-z0-9_]+")),
    _token("a Stripe key", r"[rs]k_live_[A-Za-z0-9]{20,250}", "k_live_"),
    _token("a package registry token", r"(?:pypi-AgE[A-Za-z0-9_-]{50,}|npm_[A-Za-z0-9]{36})", "pypi-age", "npm_"),
    _token("a container registry token", r"dckr_[po]at_[A-Za-z0-9_-]{20,}", "dckr_"),
    _token("a SendGrid key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", "sg."),
    _token("a Tailscale key", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}", "tskey-"),
    _token("a Databricks token", r"dapi[0-9a-f]{32}(?![0-9a-f])", "dapi"),
    _token("a bot token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", ":aa"),
    _token("a JSON web token", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]{10,})?", "eyj"),
)  # fmt: skip

_KEY_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
_KEYS = (
    _Rule("private key", "a private key", ("private key",),
          (rf"{_KEY_BEGIN}(?:(?:(?!-----BEGIN)[\s\S]){{0,20000}}?"
                     r"-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----)?")),
    _Rule("private key", "a private key", ("putty-user-key-file",), (r"PuTTY-User-Key-File-\d[^\n]*")),
    _Rule("private key", "a private key", ("age-secret-key-",), (r"AGE-SECRET-KEY-1[A-Z0-9]{50,}")),
)  # fmt: skip

_PLACEHOLDER = re.compile(
    r"(?i)[\[<{$%*].*|.*\.\.\.|(?:x+|\*+|none|null|empty|dummy|not-needed|redacted|changeme|example|test)[\w-]*"
)


def _is_value(match: re.Match[str]) -> bool:
    """Neither a placeholder nor the name of an environment variable, but a value with digits or marks in it."""
    value = match[1]
    if _PLACEHOLDER.fullmatch(value) or re.fullmatch(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", value):
        return False
    return _mixed(value)


_TOKEN_NAMES = ("access", "auth", "refresh", "bearer", "hf", "github", "api", "id", "session")
_NAMES = (
    r"(?:api[_-]?key|secret(?:[_-]?(?:access[_-]?)?key)?|passw(?:or)?d|passphrase|private[_-]?key"
    rf"|(?:{'|'.join(_TOKEN_NAMES)})[_-]?token|client[_-]?secret|set-cookie|authorization)"
)
_ASSIGNED = (
    _Rule("secret", "a bearer credential", ("bearer", "basic"),
          (r"(?i)\b(?:bearer|authorization\W{1,4}basic)\s+([A-Za-z0-9._~+/-]{12,}=*)"), _is_value),
    _Rule("secret", "a secret beside its name",
          ("secret", "passw", "passphrase", "authorization", "set-cookie",
           *(f"{word}{gap}key" for word in ("api", "private") for gap in ("", "_", "-")),
           "token:", "token=", 'token"', "token'", "token\\"),
          (rf"(?i){_NAMES}\\?[\"']?(?:\s*[:=]\s*|(?<=-key)\s+)\\?[\"']?"
                     r"([^\s\"'\\,;&(){}<>|[\]]{8,}+)(?!\()"), _is_value),
)  # fmt: skip


def _is_credential(match: re.Match[str]) -> bool:
    user, _, password = match[1].partition(":")
    return not _PLACEHOLDER.fullmatch(password or user) and password.lower() not in {"password", "pass", "pw"}


_URLS = (
    _Rule("url credentials", "a user name or password in an address", ("://",),
          (r"[A-Za-z][A-Za-z0-9+.-]{1,20}://([^\s/?#@\"'<>\[\]\\]+)@(?=[A-Za-z0-9\[])"), _is_credential),
    _Rule("url credentials", "a signed address", ("sig=", "signature="),
          (r"(?i)[?&](?:sig|signature|x-amz-signature)=([A-Za-z0-9%+/=_-]{16,})"), _is_random),
)  # fmt: skip


_NO_NAME = frozenset(
    {"user", "username", "you", "name", "someone", "runner", "shared", "public", "default", "ubuntu", "vscode", "app"}
)


def _is_person(match: re.Match[str]) -> bool:
    return match[1].lower() not in _NO_NAME if match.lastindex else True


_NOT_IN_PATH = r"(?<![A-Za-z0-9_.~)\]}-])"
_HOMES = (
    _Rule("home path", "a home folder", ("/home/", "/users/"),
          (rf"{_NOT_IN_PATH}(?:/mnt/[a-z])?/(?:home|Users)/([A-Za-z0-9_][A-Za-z0-9._-]*)(?![A-Za-z0-9{{<$])"),
          _is_person),
    _Rule("home path", "a home folder", ("users", "documents and settings"),
          (r"(?i)\b[a-z]:(?:\\{1,2}|/)(?:users|documents and settings)(?:\\{1,2}|/)"
                     r"([a-z0-9_][a-z0-9._ -]*?)(?=[\\/\"'\s:,;)]|$)"),
          _is_person),
    _Rule("home path", "the home folder of root", ("/root",), (rf"{_NOT_IN_PATH}/root(?=/[A-Za-z0-9.])")),
)  # fmt: skip


def _is_address(match: re.Match[str]) -> bool:
    """TensorRT and others have versions of four numbers, which look like addresses."""
    before = match.string[max(0, match.start() - 24) : match.start()].lower()
    version = re.search(r"(?:version|release|tensorrt|cudnn|driver|==|>=|[_-]|\bv)[\s:=\"'`(]*$", before)
    return version is None and all(int(part) < 256 for part in match[0].split(".") if part.isdigit())


_ADDRESSES = (
    _Rule("private address", "a private network address", ("10.", "172.", "192.168.", "169.254.", "100."),
          (r"(?<![\w.])(?:10\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])|192\.168|169\.254"
                     r"|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.\d{1,3}\.\d{1,3}(?![\w]|\.\d)"), _is_address),
    _Rule("private address", "a private network address", ("fe80:", "fc", "fd"),
          (r"[Ff](?<![\w:].)(?:[Ee]80|[CcDd][0-9A-Fa-f]{2}):(?:[0-9A-Fa-f]{0,4}:){1,7}[0-9A-Fa-f]{1,4}(?![\w:])")),
)  # fmt: skip

_PUBLIC_HOSTS = frozenset({"host.docker.internal", "gateway.docker.internal", "metadata.google.internal"})


def _is_host(match: re.Match[str]) -> bool:
    """Code such as `threading.local` is no host: a weak ending needs an address around it, or a host's spelling."""
    name, text = match[1].lower(), match.string
    if name in _PUBLIC_HOSTS:
        return False
    if name.endswith((".lan", ".corp", ".intranet", ".localdomain", ".home.arpa", ".ts.net")):
        return True
    around = text[: match.start(1)].endswith(("://", "@")) or re.match(r":\d{2,5}\b", text[match.end(1) :])
    return bool(around) or any(c in "-0123456789" for c in name)


_HOSTS = (
    _Rule("private host", "a private host name",
          (".local", ".lan", ".corp", ".internal", ".intranet", ".home", ".ts.net"),
          (r"(?i)(?<![\w./\\-])(?:https?://)?((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.){1,5}"
                     r"(?:local(?:domain)?|lan|corp|internal|intranet|home(?:\.arpa)?|ts\.net))(?![\w(-]|\.\w)"),
          _is_host),
    _Rule("private host", "a host name of a shell prompt", ("@",),
          (r"(?<![\w.@-])((?!root@[0-9a-f]{12}:)[a-z_][\w-]*@[A-Za-z][A-Za-z0-9-]{1,62})"
                     r":(?:[~/][^\s]*?)?\s?[$#%>](?=\s)")),
)  # fmt: skip

_NO_MAIL = re.compile(
    r"(?i)git@.*|.*@(?:.+\.)?(?:example|test|invalid|localhost)(?:\.(?:com|org|net))?|.*@users\.noreply\.github\.com"
)


def _is_mail(match: re.Match[str]) -> bool:
    in_address = re.search(r"://[^\s/@]*$", match.string[max(0, match.start() - 80) : match.start()])
    return in_address is None and not _NO_MAIL.fullmatch(match[0])


_MAILS = (
    _Rule("e-mail address", "an e-mail address", ("@",),
          (r"(?<![\w.+%@/-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+"
                     r"[A-Za-z]{2,24}(?![\w(-]|\.\w)"), _is_mail),
)  # fmt: skip

_SECRETS = (*_KEYS, *_TOKENS)
_RULES = (*_SECRETS, *_URLS, *_ASSIGNED, *_HOMES, *_ADDRESSES, *_HOSTS, *_MAILS)
RULES = tuple(dict.fromkeys(rule.name for rule in _RULES))
"""The names that a leak's `rule` may have."""


_LONG = re.compile(r"[a-z0-9_.:-]{18,}")
_TOKEN_LENGTH = 18
_SEVERAL_WORDS = tuple(dict.fromkeys(hint for rule in _RULES for hint in rule.hints if " " in hint))
_HARMLESS: set[str] = set()  # short words without a hint: file after file consists of the same ones
_MANY = 20_000


@lru_cache(maxsize=4)
def _words(text: str) -> tuple[str, str]:
    """The words of a text that may hold a hint, and among them those that can hold a token: few, and soon searched."""
    words = set(text.split()) - _HARMLESS
    return " ".join(words), " ".join([word for word in words if len(word) >= _TOKEN_LENGTH])


def _learn(words: str, hints: list[str]) -> None:
    """Remember the short words that have none of the hints which the words hold together."""
    for word in words.split():
        if len(word) < _TOKEN_LENGTH and not _holds(word.lower(), hints):
            if len(_HARMLESS) == _MANY:
                _HARMLESS.clear()
            _HARMLESS.add(word)


_INSIDE = frozenset(string.ascii_letters + string.digits + "_-")


def _direct(text: str, rules: tuple[_Rule, ...] = _RULES, edges: Container[int] | None = frozenset()) -> Iterator[Leak]:
    """Leaks in plain sight. A word may also begin at an edge; with None for edges it may begin anywhere."""
    words, long_words = _words(text)
    lower = text.lower()
    told = " ".join([words.lower(), *[hint for hint in _SEVERAL_WORDS if hint in lower]])
    long_told = " ".join(_LONG.findall(long_words.lower()))
    held = [rule for rule in rules if _holds(long_told if rule.alone else told, rule.hints)]
    if rules is _RULES:
        _learn(words, [hint for rule in held for hint in rule.hints])
    for rule in held:
        for match in re.finditer(rule.form, text):
            start = match.start()
            inside = rule.alone and edges is not None and start > 0 and text[start - 1] in _INSIDE
            if rule.accept(match) and not (inside and start not in (edges or ())):
                yield Leak(rule.name, *match.span(match.lastindex or 0), rule.what)


def _holds(text: str, hints: Iterable[str]) -> bool:
    for hint in hints:  # noqa: SIM110  (a generator would cost more than the searches)
        if hint in text:
            return True
    return False


_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = re.compile(r"[0-9a-fA-F]+")


def _encoded(text: str) -> Iterator[Leak]:
    if any(_hidden(word) for word in _BASE64.findall(_words(text)[1])):
        for match in _BASE64.finditer(text):
            if (leak := _hidden(match[0])) is not None:
                yield Leak(leak.rule, *match.span(), f"{leak.what}, in Base64")


def _hidden(word: str) -> Leak | None:
    """The first leak in what a word is the Base64 of."""
    if _HEX.fullmatch(word):
        return None
    plain = _decoded(word)
    readable = plain.isascii() and sum(c.isprintable() or c.isspace() for c in plain) == len(plain)
    return next(_direct(plain, _RULES if readable else _SECRETS), None)


def _decoded(text: str) -> str:
    """Base64 of either alphabet as text; its last, incomplete group is left out."""
    standard = text.rstrip("=").replace("-", "+").replace("_", "/")
    whole = standard + "=" * (-len(standard) % 4) if len(standard) % 4 != 1 else standard[:-1]
    try:
        return base64.b64decode(whole, validate=True).decode("latin-1")
    except (binascii.Error, ValueError):
        return ""


_WRAP = re.compile(r"(?:\n|\r\n|\\\r?\n|\\\\?n)[ \t]*")  # each form by its first character: found sooner
# Each word is tried once, from its beginning: a long one without an end must not cost its length squared.
_JOINED = re.compile(r"(?<![A-Za-z0-9_.:-])(?=[\w.:\n-]{0,400}[0-9])[A-Za-z0-9_.:-]+\\?\n[A-Za-z0-9_-]")
_SHORTEST = 19  # the shortest token of the table
_ENOUGH = 64
_LONG_LINE = re.compile(rf"(?<![A-Za-z0-9+/_-])([A-Za-z0-9+/_-]{{40,}}){_WRAP.pattern}[A-Za-z0-9+/_-]")
_RUN = re.compile(r"[A-Za-z0-9+/_-]{40,}")
_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def _wrapped(text: str) -> Iterator[Leak]:
    """Tokens, plain or in Base64, that only show once line ends and indentation are taken out."""
    runs = _RUN.findall(_words(text)[1])
    encoded = not all(map(_DIGEST.fullmatch, runs)) and any(
        _DIGEST.fullmatch(long[1]) is None for long in _LONG_LINE.finditer(text)
    )
    if not encoded and not _may_wrap(text):
        return
    joined = _WRAP.sub("", text)
    coded = list(_encoded(joined)) if encoded else []
    if not coded and not any(_direct(joined, _SECRETS, None)):
        return
    starts, places = _pieces(text)
    for leak in (*_direct(joined, _SECRETS, set(starts)), *coded):
        first, last = (_place(offset, starts, places) for offset in (leak.start, leak.end - 1))
        if _WRAP.search(text, first, last):
            yield Leak(leak.rule, first, last + 1, f"{leak.what}, over several lines")


def _may_wrap(text: str) -> bool:
    """Does a line end, and the next begin, with words that make a long one together? A quick, rough look."""
    tail = ""
    for line in text.replace("\\n", "\n").split("\n"):
        words = line.split()
        if not words:
            continue
        head = words[0]
        if len(tail) + len(head) >= _SHORTEST and head[-1] != ":" and _JOINED.search(f"{tail}\n{head}"):
            return True
        # Enough of the word to know it as long: a file of short lines must not cost its length squared.
        tail = (tail + head if len(words) == 1 else words[-1])[-_ENOUGH:]
    return False


def _pieces(text: str) -> tuple[list[int], list[int]]:
    """Where each piece between two wraps begins: in the text without wraps, and in the text."""
    starts, places = [0], [0]
    for wrap in _WRAP.finditer(text):
        starts.append(starts[-1] + wrap.start() - places[-1])
        places.append(wrap.end())
    return starts, places


def _place(offset: int, starts: list[int], places: list[int]) -> int:
    piece = bisect_right(starts, offset) - 1
    return places[piece] + offset - starts[piece]


def _merged(leaks: list[Leak]) -> list[Leak]:
    """In order of place; of leaks that overlap one is made, named after the first rule among them."""
    rank = {name: index for index, name in enumerate(RULES)}
    kept: list[Leak] = []
    for leak in sorted(leaks, key=lambda leak: (leak.start, -leak.end)):
        if not kept or leak.start >= kept[-1].end:
            kept.append(leak)
            continue
        last = kept[-1]
        named = min(last, leak, key=lambda one: rank[one.rule])
        kept[-1] = Leak(named.rule, last.start, max(last.end, leak.end), named.what)
    return kept
