"""Find a plant: by its name in the gallery, or in a TOML file."""

from __future__ import annotations

import difflib
from pathlib import Path

from ..errors import HushloopError
from . import gallery
from .plant import Plant
from .plantfile import parse
from .problem import Problem


def load(name_or_path: str | Path) -> Plant | Problem:
    """A plant of the gallery, or what the TOML file says: a `Problem` where it leaves out A and B.

    A name of the gallery wins over a file of the same name; write ./NAME for the file.
    """
    text = str(name_or_path)
    if text in gallery.names():
        return gallery.get(text)
    path = Path(text)
    if path.is_file():
        try:
            return parse(path.read_text(encoding="utf-8"), text)
        except UnicodeDecodeError as why:
            raise HushloopError(f"{text} is not UTF-8 text (byte {why.start}): save it as UTF-8") from why
        except OSError as why:
            raise HushloopError(f"{text} cannot be read: {why.strerror}") from why
    close = difflib.get_close_matches(text, gallery.names(), 1)
    hint = f"did you mean {close[0]}?" if close else "`hushloop plants` lists the gallery"
    raise HushloopError(f"{text!r} is no plant of the gallery and no file: {hint}")
