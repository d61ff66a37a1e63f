"""Small files that must outlive a power cut; the standard library alone."""

from __future__ import annotations

import os
from pathlib import Path


def replace_private(path: Path, text: str) -> None:
    """Replace a file of mode 600, so that after a power cut either the old or the new content is there."""
    fresh = path.with_name(path.name + ".new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
