"""The Jinja environment: where templates come from, and how values are written on a page.

A project may replace any one template by a file of the same name in its own `templates/` folder; every
other template is the packaged one. Autoescape is on for every template, whatever its name, and an undefined
name is an error: a page never shows a silent blank.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

from dossier.derive import format as written
from dossier.pages.markup import permalink, pin

SHORT_DIGEST = 12
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def packaged_templates() -> Path:
    """The folder of templates that came with dossier: in the wheel, or at the top of a checkout."""
    package = Path(__file__).resolve().parent.parent
    shipped = package / "_templates"
    return shipped if shipped.is_dir() else package.parent / "templates"


def template_folders(project: Path) -> tuple[Path, ...]:
    """Where templates, theme parts and assets are looked up, first match wins: the project's, then ours."""
    return tuple(dict.fromkeys((project.resolve() / "templates", packaged_templates())))


def number(value: Decimal | int | str) -> str:
    """Write a number for a reader: digits as recorded, thousands grouped, a true minus sign.

    A text is read as a decimal number, so that `97.60` keeps its digits. Floats are not taken: their digits
    are not what somebody recorded.
    """
    return written.number(Decimal(value) if isinstance(value, str) else value)


def signed(value: Decimal | int | str) -> str:
    """Write a difference: as `number` does, with a plus sign when it is above zero."""
    return ("+" if Decimal(value) > 0 else "") + number(value)


def size(count: int) -> str:
    """Write a file size in binary units with three significant digits, such as `1.25 MiB`."""
    step, amount = 0, Decimal(count)
    while amount >= 1024 and step < len(_UNITS) - 1:
        step, amount = step + 1, amount / 1024
    return f"{count:,} bytes" if step == 0 else f"{amount:.3g} {_UNITS[step]}"


def short_digest(value: str) -> str:
    """The first twelve digits of a digest, without its `sha256:` prefix."""
    return value.removeprefix("sha256:")[:SHORT_DIGEST]


def environment(project: Path, compiled: Path | None = None) -> Environment:
    """The environment that renders every derived page of the project.

    `compiled` is a folder of the user's own in which compiled templates are kept between runs.
    """
    made = Environment(
        loader=ChoiceLoader([FileSystemLoader(folder) for folder in template_folders(project)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        auto_reload=False,
        bytecode_cache=_kept_in(compiled) if compiled is not None else None,
    )
    made.filters |= {"number": number, "signed": signed, "size": size, "short_digest": short_digest}
    made.globals |= {"permalink": permalink, "pin": pin}
    return made


def _kept_in(folder: Path) -> FileSystemBytecodeCache | None:
    """A cache of compiled templates; None where the folder cannot be made: a cache is a convenience."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return FileSystemBytecodeCache(str(folder))
