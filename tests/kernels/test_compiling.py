"""A cached kernel goes stale with any source that it inlines."""

from __future__ import annotations

from pathlib import Path

from hushloop.kernels.compiling import fingerprint, room_jit


def test_fingerprint_sees_every_source(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")
    first = fingerprint(tmp_path)
    (tmp_path / "b.py").write_text("b = 1\n")
    second = fingerprint(tmp_path)
    (tmp_path / "a.py").write_text("a = 2\n")
    assert len({first, second, fingerprint(tmp_path)}) == 3


def test_the_cache_is_stamped_with_it() -> None:
    import hushloop.kernels.compiling as room

    def kernel(x: float) -> float:
        return x

    stamp = room_jit(kernel)._cache._cache_file._source_stamp
    assert stamp[1] == fingerprint(Path(room.__file__).parent)
