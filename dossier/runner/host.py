"""What this machine says about itself: cards by NVML, processor, memory, system, container. Unknown stays absent."""

from __future__ import annotations

import importlib
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MIB = 1024 * 1024


def host() -> dict[str, Any]:
    """Processor, memory in MiB, system, virtualisation, container, and the cards with driver and memory."""
    found = {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_mib": _meminfo("MemTotal"),
        "swap_mib": _meminfo("SwapTotal"),
        "os": _system(),
        "kernel": platform.release(),
        "virtualization": _virtualization(),
        "container": _container(),
        **_cards(),
    }
    return {name: value for name, value in found.items() if value is not None}


def memory() -> dict[str, Any]:
    """Memory in use now, in MiB: of the host, and of each card."""
    total, free = _meminfo("MemTotal"), _meminfo("MemAvailable")
    used = {"host_used_mib": total - free} if total is not None and free is not None else {}
    with _nvml() as nvml:
        if nvml is None:
            return used
        states = [_memory_of(nvml, card) for card in _handles(nvml)]
        return used | {"gpu_used_mib": [int(state.used // MIB) for state in states],
                       "gpu_free_mib": [int(state.free // MIB) for state in states]}  # fmt: skip


def _cpu() -> str | None:
    named = (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name"))
    return next(named, None) or platform.processor() or None


def _meminfo(name: str) -> int | None:
    for line in _lines("/proc/meminfo"):
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) // 1024
    return None


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return f"{platform.system()} {platform.release()}"


def _virtualization() -> str | None:
    text = " ".join(_lines("/proc/version")).lower()
    if "microsoft" in text:
        return "WSL2"
    flags = next((line for line in _lines("/proc/cpuinfo") if line.startswith("flags")), "")
    return "under a hypervisor" if " hypervisor" in flags else ("native" if flags else None)


def _container() -> str | None:
    if Path("/.dockerenv").exists():
        return "docker"
    return "podman" if Path("/run/.containerenv").exists() else None


def _cards() -> dict[str, Any]:
    with _nvml() as nvml:
        if nvml is None:
            return {}
        cards = [_card(nvml, handle) for handle in _handles(nvml)]
        driver = _asked(nvml.nvmlSystemGetDriverVersion)
        cuda = _asked(nvml.nvmlSystemGetCudaDriverVersion_v2)
        known = {"driver": driver, "cuda": f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None}
        return {"gpus": cards, **{name: value for name, value in known.items() if value}}


def _card(nvml: Any, handle: Any) -> Mapping[str, Any]:
    info = _memory_of(nvml, handle)
    power = _asked(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
    watts = {"power_limit_w": power // 1000} if power else {}
    return {"name": _asked(lambda: nvml.nvmlDeviceGetName(handle)), "memory_mib": int(info.total // MIB), **watts}


def _memory_of(nvml: Any, handle: Any) -> Any:
    """Total, used and free memory of a card; the first form of the call counts what the driver keeps as used."""
    second = getattr(nvml, "nvmlMemory_v2", None)
    told = _asked(lambda: nvml.nvmlDeviceGetMemoryInfo(handle, version=second)) if second is not None else None
    return told or nvml.nvmlDeviceGetMemoryInfo(handle)


def _handles(nvml: Any) -> list[Any]:
    return [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]


def _asked(ask: Callable[[], Any]) -> Any:
    """One answer of the driver, or None: cards differ in what they tell."""
    try:
        answer = ask()
    except Exception:  # the driver's library has an error class for every refusal
        return None
    return answer.decode() if isinstance(answer, bytes) else answer


@contextmanager
def _nvml() -> Iterator[Any]:
    """The driver's library, or None where there is no card, driver or binding."""
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # not installed, no driver, no card
        yield None
        return
    try:
        yield nvml
    finally:
        nvml.nvmlShutdown()


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
