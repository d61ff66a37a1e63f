"""The mark outside the store: it rises, it survives, and it knows an old copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from hushloop.errors import HushloopError
from hushloop.service.chain import Place
from hushloop.service.highwater import HighWater, RolledBackError


def test_it_only_rises(tmp_path: Path) -> None:
    mark = HighWater(tmp_path / "m")
    assert mark.read() is None
    for place in (Place(0, 3), Place(0, 1), Place(1, 0), Place(0, 9)):
        mark.raise_to(place)
    assert HighWater(tmp_path / "m").read() == Place(1, 0)
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o600


def test_an_old_copy_is_known_and_the_newest_is_not_refused(tmp_path: Path) -> None:
    mark = HighWater(tmp_path / "m")
    mark.raise_to(Place(0, 3))
    mark.check(Place(0, 3), fresh=False)
    mark.check(Place(0, 4), fresh=False)  # a crash between commit and mark
    with pytest.raises(RolledBackError, match=r"block 2 .* block 3 .*acknowledge-restore"):
        mark.check(Place(0, 2), fresh=False)


def test_a_missing_mark_proves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RolledBackError, match="is missing"):
        HighWater(tmp_path / "m").check(Place(0, 0), fresh=False)
    HighWater(tmp_path / "m").check(Place(0, 0), fresh=True)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"epoch": "x", "index": 1}'])
def test_a_broken_mark_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "m").write_text(text)
    with pytest.raises(HushloopError, match="cannot be read"):
        HighWater(tmp_path / "m").read()
