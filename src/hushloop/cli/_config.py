"""Configuration files: the long options of a command as TOML keys. What the command line says wins."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..errors import HushloopError, InvalidInput


def read_config(path: str, known: tuple[str, ...]) -> dict[str, Any]:
    """The keys of a configuration file, all of them known to the command."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as why:
        raise HushloopError(f"cannot read {path}: {why.strerror}") from why
    except tomllib.TOMLDecodeError as why:
        raise HushloopError(f"{path} is not TOML: {why}") from why
    for key in values:
        if key not in known:
            raise InvalidInput(key, f"in {path} is not known", f"use keys among {', '.join(known)}")
    return values


def with_config(ctx: click.Context, given: dict[str, Any], path: str | None, known: tuple[str, ...]) -> dict[str, Any]:
    """What was typed, else what the file says, else the defaults."""
    if path is None:
        return given
    values = read_config(path, known)
    typed = {key for key in given if ctx.get_parameter_source(key) == ParameterSource.COMMANDLINE}
    return {key: as_typed(ctx, key, values[key]) if key in values and key not in typed else given[key] for key in given}


def as_typed(ctx: click.Context, key: str, value: Any) -> Any:
    """What the option would be, were the value typed on the command line; a list is one with commas."""
    text = ",".join(str(v) for v in value) if isinstance(value, list) else str(value)
    if isinstance(value, float) and value.is_integer():
        text = str(int(value))
    option = next(p for p in ctx.command.params if p.name == key)
    if isinstance(value, dict) or (isinstance(value, bool) and option.type.name != "boolean"):
        raise InvalidInput(key, f"is {value!r} in the configuration file", "write it as on the command line")
    return option.type_cast_value(ctx, text)
