"""What this machine says about itself. No card is here: the driver's library is played by a script of its calls."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from runner_support import plan

from dossier.runner import host as here
from dossier.runner.figures import memory_figures
from dossier.runner.surroundings import hardware_record

MIB = 1024 * 1024
RESERVED = 615
V2 = 0x02000028


class Refused(Exception):  # noqa: N818 - as the driver's library names its own
    """What the library raises for anything that a card does not tell."""


def driver(*cards, version=b"580.65.06", cuda=13010, fails=()):
    """A library with such cards, (name, total MiB, used MiB, watts or None) each; it counts who starts and stops it."""

    def limit(card):
        if card[3] is None:
            raise Refused
        return card[3] * 1000

    def memory(card, version=None):
        """As on a real H200: the first form calls the 615 MiB that the driver keeps used, the second does not."""
        if version is not None and "v2" in fails:
            raise Refused
        used = card[2] + (0 if version == V2 else RESERVED)
        return SimpleNamespace(total=card[1] * MIB, used=used * MIB, free=(card[1] - used) * MIB)

    def start():
        library.open += 1
        if "init" in fails:
            raise Refused

    library = SimpleNamespace(
        open=0,
        nvmlMemory_v2=V2,
        nvmlInit=start,
        nvmlShutdown=lambda: setattr(library, "open", library.open - 1),
        nvmlSystemGetDriverVersion=lambda: version,
        nvmlSystemGetCudaDriverVersion_v2=lambda: cuda,
        nvmlDeviceGetCount=lambda: len(cards),
        nvmlDeviceGetHandleByIndex=lambda index: cards[index],
        nvmlDeviceGetName=lambda card: card[0],
        nvmlDeviceGetMemoryInfo=memory,
        nvmlDeviceGetEnforcedPowerLimit=limit,
    )
    return library


@pytest.fixture
def played(monkeypatch):
    def play(*cards, **more):
        library = driver(*cards, **more)
        monkeypatch.setitem(sys.modules, "pynvml", library)
        return library

    return play


H200 = ("NVIDIA H200", 143_771, 1000, 700)
OLD = (b"Tesla P4", 7611, 11, None)


def test_cards_driver_and_cuda_are_told(played):
    library = played(H200, OLD)
    told = here.host()
    assert told["gpus"] == [
        {"name": "NVIDIA H200", "memory_mib": 143_771, "power_limit_w": 700},
        {"name": "Tesla P4", "memory_mib": 7611},
    ]
    assert (told["driver"], told["cuda"]) == ("580.65.06", "13.1")
    assert library.open == 0


def test_memory_in_use_becomes_a_figure_of_the_fullest_card(played):
    played(H200, ("NVIDIA H200", 143_771, 5000, 700))
    figures = memory_figures([{"memory": here.memory()}], local=True)
    cards = {(f.metric, f.statistic): (f.value, f.n) for f in figures if f.metric.startswith("gpu")}
    assert cards == {("gpu_memory_used", "max"): (5000, 2), ("gpu_memory_free", "min"): (138_771, 2)}


def test_an_old_driver_that_knows_only_the_first_form_is_asked_in_it(played):
    played(H200, fails=("v2",))
    assert here.memory()["gpu_used_mib"] == [1000 + RESERVED]


def test_equal_cards_are_one_entry_of_the_hardware_record(played):
    played(H200, H200, OLD)
    record = hardware_record(plan().declared, here.host(), local=True)
    assert [(gpu["name"], gpu["count"]) for gpu in record["gpus"]] == [("NVIDIA H200", 2), ("Tesla P4", 1)]
    assert record["gpus"][0]["power_limit"] == "700 W"
    assert record["title"] == "2 x NVIDIA H200, 1 x Tesla P4"
    assert record["host"]["driver"] == "580.65.06"


@pytest.mark.parametrize("library", [None, driver(fails=("init",))], ids=["no binding", "no driver"])
def test_no_card_is_absent_and_not_zero(monkeypatch, library):
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert not {"gpus", "driver", "cuda"} & set(here.host())
    assert not {"gpu_used_mib", "gpu_free_mib"} & set(here.memory())


def test_a_server_elsewhere_gets_no_card_of_this_machine(played):
    played(H200)
    record = hardware_record(plan().declared, here.host(), local=False)
    assert record["gpus"] == []
    assert "tells nothing about itself" in record["host"]["cpu"]["unknown"]
