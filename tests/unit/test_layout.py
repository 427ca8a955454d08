"""The shape of the house: which layer may know which, who may print, and how large a room may be."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "dossier"
MODULES = sorted(PACKAGE.rglob("*.py"))

# Each layer may import itself and what stands in its row.
BASE = {"errors", "source", "digest", "files", "cache", "stats", "stamp", "redact"}
MAY_IMPORT = {
    "errors": set(),
    "source": {"errors"},
    "digest": {"errors"},
    "files": {"errors"},
    "cache": {"errors"},
    "stamp": set(),
    "stats": set(),
    "redact": set(),
    "model": BASE,
    "derive": BASE | {"model"},
    "fold": BASE | {"model"},
    "catalog": BASE | {"model", "derive", "fold"},
    "checks": BASE | {"model", "derive", "fold", "catalog"},
    "pages": BASE | {"model", "derive", "fold", "catalog", "checks"},
    "wire": {"errors"},
    "runner": BASE | {"model", "wire"},
    "scaffold": set(),
}
PURE = {"model", "derive", "fold", "checks", "stats", "errors", "source"}
DOES_IO = {"os", "pathlib", "shutil", "subprocess", "socket", "sqlite3", "tempfile", "io"}
# Data of the package's own, read through importlib.resources.
READS_PACKAGE_DATA = {"checks/rules/__init__.py"}


def _name(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


def _layer(module: Path) -> str:
    return _name(module).split("/")[0].removesuffix(".py")


def _imports(module: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "dossier":
                found |= {f"dossier.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("module", MODULES, ids=_name)
def test_a_module_imports_only_what_lies_below_it(module):
    layer = _layer(module)
    if layer in {"cli", "__init__"}:
        return
    used = {name.split(".")[1] for name in _imports(module) if name.startswith("dossier.")}
    used -= {"__version__", layer}
    assert used <= MAY_IMPORT[layer], f"{layer} must not know {sorted(used - MAY_IMPORT[layer])}"


@pytest.mark.parametrize("module", [m for m in MODULES if _layer(m) in PURE], ids=_name)
def test_the_inner_layers_do_no_input_or_output(module):
    if _name(module) in READS_PACKAGE_DATA:
        return
    assert {name.split(".")[0] for name in _imports(module)} & DOES_IO == set()


@pytest.mark.parametrize("module", [m for m in MODULES if _layer(m) != "cli"], ids=_name)
def test_only_the_command_line_prints_or_exits(module):
    calls = {
        n.func.id
        for n in ast.walk(ast.parse(module.read_text("utf-8")))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert calls & {"print", "exit", "quit"} == set()
    assert "click" not in {name.split(".")[0] for name in _imports(module)}


@pytest.mark.parametrize("module", MODULES, ids=_name)
def test_a_module_can_be_read_in_one_sitting(module):
    assert len(module.read_text("utf-8").splitlines()) <= 400
