"""The populations of a profile beyond the plain ones: what a server of so much context can be asked, and how often."""

from __future__ import annotations

from collections.abc import Iterator

_LADDERS = {
    "scout": (1024, 8192, 32_768, 131_072),
    "deep": (4096, 32_768, 131_072, 262_144, 524_288),
}
_ANSWER = 256
_SLACK = 0.06
_TOOL_TOKENS = 180
_LEAST_CONTEXT = 1600


def ladder(profile: str, context: int | None) -> tuple[int, ...]:
    """Prompt sizes up to what fits beside the answer; two at least."""
    room = round(((context or 4096) - _ANSWER) / (1 + _SLACK))
    fits = tuple(size for size in _LADDERS[profile] if size <= room)
    return fits if len(fits) > 1 else (max(128, room // 4), max(256, 3 * room // 4))


def retrieval(profile: str, context: int | None) -> Iterator[str]:
    """Needles over the ladder, and tools by the dozen."""
    sizes = ladder(profile, context)
    targets = ", ".join(map(str, sizes))
    each, depths = (3, "[0.1, 0.5, 0.9]") if profile == "scout" else (7, "[0, 0.1, 0.3, 0.5, 0.7, 0.9, 1]")
    kinds = ("one", "many") if profile == "scout" else ("one", "many", "distractor", "link")
    for kind in kinds:
        yield (
            f"{{id: needle-{kind}, probe: needle, title: 'Retrieval, {kind}', kind: {kind}, targets: [{targets}], "
            f"depths: {depths}, requests: {each * len(sizes)}, max_tokens: {_ANSWER}}}"
        )
    definitions = max(8, min(64 if profile == "scout" else 200, ((context or 4096) - 600) // _TOOL_TOKENS))
    yield (
        f"{{id: long-tools, probe: long-tools, title: 'One tool of {definitions}', definitions: {definitions}, "
        f"requests: 3}}"
    )
    if profile == "deep" and sizes[-1] >= _LADDERS["deep"][1]:
        yield (
            f"{{id: long-tools-after, probe: long-tools, title: A tool after a long text, definitions: 8, "
            f"prompt_tokens: {sizes[-1] - 4000}, requests: 3}}"
        )


def turnover(profile: str) -> Iterator[str]:
    """Markers of requests at once, and counted words in waves."""
    yield "{id: canary, probe: canary, title: Markers at once, concurrency: 4, requests: 20, max_tokens: 64}"
    words, requests = (16, 12) if profile == "scout" else (32, 60)
    yield (
        f"{{id: turnover, probe: canary, title: 'Turnover, {words} counted words', words: {words}, "
        f"sizes: [0, 200, 40], wave: 4, concurrency: 4, requests: {requests}, max_tokens: {8 * words}}}"
    )


def use(profile: str, context: int | None) -> Iterator[str]:
    """Sessions, a cache, suites, tool loops; images and thinking where the model has them."""
    turns, often = (6, 2) if profile == "scout" else (12, 4)
    yield f"{{id: session, probe: session, title: 'Sessions of {turns} turns', turns: {turns}, requests: {often}}}"
    tokens = min(2048, max(256, (context or 4096) // 2))
    yield "# A server without a prefix cache: expect: 'off'"
    yield f"{{id: prefix, probe: prefix, title: Prefix cache, prompt_tokens: {tokens}, requests: 3}}"
    times = 1 if profile == "scout" else 3
    for suite, items in (("choice-basics", 20), ("structure-basics", 10), ("code-basics", 8)):
        yield f"{{id: {suite}, probe: suite, title: Suite {suite}, suite: {suite}, requests: {items * times}}}"
    yield f"{{id: agent, probe: agent, title: Tool loops in a warehouse, requests: {6 * times}, steps: 8}}"
    yield "# For a model that sees: {id: images, probe: images, case: read, requests: 3}, also shape, count, corner,"
    yield "#   {case: compare, images: 4}, and {case: limit, images: 17} for a server that takes 16"
    yield "# For a model that thinks: {id: budgets, probe: budgets, budgets: [512, 2048, 8192], requests: 9}"


def steps(profile: str, size: int) -> str:
    """Steps of concurrency at one prompt size."""
    streams, each = ((1, 2, 4), 4) if profile == "scout" else ((1, 2, 4, 8, 16, 32), 4)
    return (
        f"{{id: steps, probe: steps, title: Steps of concurrency, prompt_tokens: {size}, output_tokens: 64, "
        f"steps: [{', '.join(map(str, streams))}], each: {each}, requests: {each * sum(streams)}}}"
    )


def soak(size: int, requests: int) -> str:
    """One cell again and again."""
    return (
        f"{{id: soak, probe: soak, title: Soak, prompt_tokens: {size}, output_tokens: 128, concurrency: 4, "
        f"requests: {requests}, warmups: 4}}"
    )


def apc(context: int | None) -> Iterator[str]:
    """What a prefix cache does: cold and again, and under load with shared and with unique prompts of one size."""
    size = min(25_000, max(512, ((context or 4096) - 256) * 3 // 4))
    yield f"{{id: prefix, probe: prefix, title: Cold and again, prompt_tokens: {size}, requests: 6}}"
    for cache, more in (("unique", ""), ("shared", f", shared_tokens: {size * 9 // 10}")):
        yield (
            f"{{id: {cache}, probe: cell, title: '{cache.capitalize()} prompts under load', prompt_tokens: {size}, "
            f"output_tokens: 128, cache: {cache}{more}, concurrency: 4, requests: 32, warmups: 4}}"
        )


def speculation() -> Iterator[str]:
    """Ordinary tasks, alone and at once, beside the engine's counters."""
    yield "{id: tasks, probe: speculation, title: Ordinary tasks, requests: 24, output_tokens: 512, warmups: 2}"
    yield (
        "{id: tasks-c4, probe: speculation, title: Ordinary tasks four at once, requests: 24, output_tokens: 512, "
        "concurrency: 4, warmups: 4}"
    )
