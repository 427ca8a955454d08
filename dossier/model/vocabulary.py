"""The closed lists of the field, each word with what it means; the methodology page prints them."""

from __future__ import annotations

from enum import StrEnum


class Word(StrEnum):
    """A member of a closed list, with its meaning beside it."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Word:
        """Make the member, keeping what it means."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


class MeasurementClass(Word):
    """What kind of question a population answers; a class decides what may be claimed from it."""

    FUNCTIONAL = "functional", "a feature was exercised and its output verified"
    CONTEXT = "context", "retrieval or use of long prompts, by actual prompt tokens"
    CAPACITY = "capacity", "what fits: tokens, windows, requests, memory; bounded speed cells"
    CONCURRENCY = "concurrency", "several requests at once"
    PERFORMANCE = "performance", "speed under a stated, controlled load"
    QUALITY = "quality", "answers graded against a suite"
    AGENTIC = "agentic", "multi-step tool use, repository tasks"
    MULTIMODAL = "multimodal", "images, documents, audio or video as input"
    ENDURANCE = "endurance", "the same work again and again over time"
    CLIENT_ACCEPTANCE = "client-acceptance", "a real client completed a task through the served route"
    OPERATIONAL = "operational", "starting, stopping, restoring, daily traffic"
    COMPATIBILITY = "compatibility", "does it load and answer at all"
    EXTERNAL_PRIOR = "external-prior", "measured elsewhere by others; never local evidence"
    HISTORICAL_INVALID = "historical-invalid", "kept for the record, known not to be valid"


class Provenance(Word):
    """How a figure came here, and so what it can support."""

    MEASURED = "measured", "recomputes from its own journal"
    RETAINED = "retained", "raw artifacts are kept and the figures point into them"
    TRANSCRIBED = "transcribed", "taken from a published page; no raw artifact is kept here"
    REPORTED = "reported", "somebody said so; supports no decision"
    EXTERNAL_PRIOR = "external-prior", "measured elsewhere; supports no decision"


class Kind(Word):
    """What sort of event a finding records."""

    QUALIFICATION = "qualification", "a candidate was put through its gates"
    PROMOTION = "promotion", "a configuration was promoted or put back"
    COMPARISON = "comparison", "arms were compared under a stated boundary"
    RECHECK = "recheck", "an earlier result was looked at again"
    RESTORATION = "restoration", "a known configuration was put back and checked"
    INTERPRETATION = "interpretation", "earlier results were read again; nothing new was run"
    OPERATIONAL = "operational", "observations from running the service"
    INCIDENT = "incident", "something failed"
    INTAKE = "intake", "a source or candidate was read and noted"
    EVIDENCE_GAP = "evidence-gap", "evidence that should exist does not"
    ERRATUM = "erratum", "corrects an earlier finding, which stays as it was"
    ADDENDUM = "addendum", "adds to an earlier finding, which stays as it was"
    WITHDRAWAL = "withdrawal", "takes an earlier finding back; it stays with a banner"


class Completion(Word):
    """How far the work of a finding went."""

    OPEN = "open", "still running"
    CONCLUDED = "concluded", "finished as planned or decided"
    ABORTED = "aborted", "stopped before its end"


class CacheMode(Word):
    """What the prefix cache could have held when a population ran."""

    UNIQUE = "unique", "no prompt shares a prefix with another"
    SHARED = "shared", "prompts share a prefix on purpose"
    WARM = "warm", "the prefix was sent before"
    COLD = "cold", "the cache was empty or proven not to apply"
    MIXED = "mixed", "some of both"
    OFF = "off", "prefix caching was disabled"


class Load(Word):
    """How requests arrive."""

    CLOSED = "closed", "the next request starts when a reply ends"
    OPEN = "open", "requests start on a schedule, whatever the replies do"
    SERIAL = "serial", "one request at a time"


class Path(Word):
    """The way from client to engine."""

    DIRECT = "direct", "straight to the engine's own port"
    ROUTED = "routed", "through the router or gateway that clients use"


class Outcome(Word):
    """What a decision event does to a lane."""

    PROMOTE = "promote", "makes the recipe current in the lane"
    RETAIN_BASELINE = "retain-baseline", "the current recipe stays"
    NO_PROMOTION = "no-promotion", "the candidate is not promoted"
    REJECT = "reject", "the recipe is not to be used"
    DESIGNATE_ROLLBACK = "designate-rollback", "names the one recipe to go back to at once"
    DESIGNATE_FALLBACK = "designate-fallback", "names a conservative recipe to fall back on"
    DESIGNATE_ALTERNATE = "designate-alternate", "names a verified alternative"
    DESIGNATE_CHALLENGER = "designate-challenger", "names a candidate worth another look"
    DESIGNATE_CONTROL = "designate-control", "names a control for comparisons"
    WATCH_ONLY = "watch-only", "noted, not served, not measured here"
    WITHDRAW = "withdraw", "takes the recipe out of the lane"
    WAIVE = "waive", "a human sets a gate aside, with a reason"


class Role(Word):
    """What the fold of all decisions makes of a recipe in a lane, at a date. Never typed by an author."""

    CURRENT = "current", "in use in this lane"
    ROLLBACK = "rollback", "the one recipe to go back to at once"
    FALLBACK = "fallback", "a conservative recipe to fall back on"
    ALTERNATE = "alternate", "a verified alternative"
    CHALLENGER = "challenger", "a candidate, not promoted"
    CONTROL = "control", "kept for comparisons"
    FORMER = "former", "was current, no longer is"
    FORMER_ROLLBACK = "former-rollback", "was the rollback, no longer is"
    NO_PROMOTION = "no-promotion", "looked at and not promoted"
    REJECTED = "rejected", "not to be used"
    WATCH_ONLY = "watch-only", "noted, not measured here"
    WITHDRAWN = "withdrawn", "taken out of the lane"


class Exclusion(Word):
    """Why a population, or a figure, feeds nothing."""

    STRICT_OUTPUT_MISS = "strict-output-miss", "controlled output was not obeyed"
    CANARY_MISS = "canary-miss", "a request marker was missing or foreign"
    REASONING_EXHAUSTION = "reasoning-exhaustion", "the budget went into reasoning, no answer was left"
    WRONG_PROVIDER = "wrong-provider", "another model or provider answered"
    INVALID_EXPECTATION = "invalid-expectation", "the suite's own expected answer was wrong"
    TRUNCATED_CAPTURE = "truncated-capture", "the capture was cut"
    BUDGET_STARVED = "budget-starved", "too small a budget for a fair score"
    BIASED_STATISTIC = "biased-statistic", "the statistic is known to be biased"
    SINGLE_REQUEST = "single-request", "one request carries no percentile"
    WARM_IN_COLD = "warm-in-cold", "a warm cache in a cell meant to be cold"
    HARNESS_ABORT = "harness-abort", "the harness stopped the run"
    OTHER_PROTOCOL = "other-protocol", "measured under another protocol"
    TOO_FEW = "too-few", "too few samples: descriptive only"
    REPORTED = "reported", "reported by a user, not verified"
    OTHER_HARDWARE = "other-hardware", "an upstream claim on other hardware"
    NO_ARTIFACT = "no-artifact", "an observation without an artifact"
    CLIENT_LIMITED = "client-limited", "the measuring client was the limit"
    INVALID_RUN = "invalid-run", "the run itself was not valid"
    GATE_FAILED = "gate-failed", "the gate of this population failed, so no speed claim rests on it"


class Relation(Word):
    """How a piece of hardware relates to what was measured."""

    MEASURED = "measured", "the figures come from it"
    PROTECTED = "protected-co-resident", "it ran other services and was left alone"
    TOPOLOGY_ONLY = "topology-only", "named to describe the machine; nothing was measured on it"
    UNRELATED = "unrelated", "named, with no part in the measurement"


class Attribution(Word):
    """What a difference between arms may be put down to."""

    SINGLE_VARIABLE = "single-variable", "one thing was varied"
    WHOLE_PROFILE = "whole-profile", "several things were varied together"
    NONE = "none", "no attribution is made"


class Verdict(Word):
    """What a gate says, computed from its population, measurement or comparison."""

    PASS = "pass", "the requirement was met"
    FAIL = "fail", "the requirement was not met"
    WAIVED = "waived", "not met, and set aside by a human with a reason"
    NOT_RUN = "not-run", "its population was not run"
    NOT_APPLICABLE = "not-applicable", "it does not apply"
    UNDETERMINED = "undetermined", "the evidence at hand does not decide it"
