"""Eleven ways to break the promise that have been seen in the wild: those that need code of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..device import Report
from ..errors import HushloopError
from ..privacy.mechanisms import NoiseSource
from ..privacy.noise import Pair
from ..privacy.release import Release, Sums
from ..privacy.sensitivity import NoiseScales
from .subject import Curation, Stage


class Reused:
    """Every block gets the noise of the first."""

    def __init__(self, inner: NoiseSource) -> None:
        self.inner = inner
        self.name, self.description, self.grid = inner.name, inner.description, inner.grid

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        return self.inner.draw(p, n, scales, 0, isotropic)


class DrawnOnce(Reused):
    """The noise of the first node, added and subtracted in turns."""

    def __init__(self, inner: NoiseSource) -> None:
        super().__init__(inner)
        self.drawn = 0

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        N, L = self.inner.draw(p, n, scales, 0, isotropic)
        self.drawn += 1
        return (N, L) if self.drawn % 2 else (-N, -L)


class Halved(Reused):
    """A forgotten factor of two."""

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        N, L = self.inner.draw(p, n, scales, index, isotropic)
        return (N // 2, L // 2) if self.grid else (N / 2, L / 2)


class Numbered(Reused):
    """Counts its draws by itself."""

    count = -1

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        self.count += 1
        return self.inner.draw(p, n, scales, self.count, isotropic)


class Around:
    """A curator inside another one, which passes everything on."""

    def __init__(self, inner: Curation) -> None:
        self.inner = inner

    def open(self) -> Stage | None:
        return self.inner.open()

    def add(self, report: Report) -> bool:
        return self.inner.add(report)

    def add_sums(self, sums: Sums) -> None:
        self.inner.add_sums(sums)

    def close(self) -> Release | None:
        return self.inner.close()

    def restart(self) -> None:
        self.inner.restart()


class Renumbered(Around):
    """The stream of noise starts again from its seed after a restart."""

    def __init__(self, make: Callable[[NoiseSource], Curation], source: NoiseSource) -> None:
        self.numbered = Numbered(source)
        super().__init__(make(self.numbered))

    def restart(self) -> None:
        super().restart()
        self.numbered.count = -1


class Peeking(Around):
    """Keeps a copy of the raw sums of the open block."""

    raw: Sums | None = None

    def add(self, report: Report) -> bool:
        counted = super().add(report)
        if counted:
            self.keep(Sums.of(report))
        return counted

    def add_sums(self, sums: Sums) -> None:
        super().add_sums(sums)
        self.keep(sums)

    def keep(self, sums: Sums) -> None:
        self.raw = sums if self.raw is None else self.raw + sums

    def log_volume(self) -> float:
        """ln det(Z'Z + λI) of everybody so far."""
        if self.raw is None:
            return 0.0
        S, _ = self.raw.matrices(3, 2)
        return float(np.linalg.slogdet(S + 0.1 * np.eye(3))[1])


class RawSchedule(Peeking):
    """The next block is long or short, as the raw determinant has grown or not."""

    def open(self) -> Stage | None:
        before = self.log_volume()
        if self.inner.mechanism.index == 1:
            self.inner.sizes[1] = 3 if before > np.log(2 * 0.1**3) else 5
        return super().open()


class RawRadius(Peeking):
    """Publishes a confidence radius that is made from the raw Z'Z."""

    def open(self) -> Stage | None:
        stage = super().open()
        return None if stage is None else replace(stage, public={"beta": self.log_volume()})


class OwnCentre(Peeking):
    """The block's noisy sums are moved to a centre that the block's own raw sums have chosen."""

    def close(self) -> Release | None:
        release, raw = super().close(), self.raw
        if release is None or raw is None:
            return release
        S, C = raw.matrices(3, 2)
        center = np.asarray(np.linalg.solve(S + 0.1 * np.eye(3), C), dtype=np.float64)
        collection = replace(release.collection, center=center)
        return replace(release, T2=release.T2 - release.T1 @ center, collection=collection)


class SumThenClip(Around):
    """Adds reports up as they come and clips their sum, where each report should have been checked."""

    def add(self, report: Report) -> bool:
        if report.assignment_id != f"block-{self.inner.mechanism.index}":
            raise HushloopError(f"the report ran {report.assignment_id!r}: fetch the current assignment")
        self.inner.add_sums(Sums.of(report))
        return True

    def close(self) -> Release | None:
        block = self.inner.mechanism.block
        assert block is not None
        bound = int(block.users * block.collection.energy * 2**30)
        S = np.array([max(-bound, min(bound, int(v))) for v in block._sums.S], dtype=object)
        C = np.array([max(-bound, min(bound, int(v))) for v in block._sums.C], dtype=object)
        block._sums = Sums(block._sums.users, S, C)
        return super().close()


class CountsTwice(Around):
    """A report that comes late is carried over, although it was counted already."""

    carried: Sums | None = None

    def open(self) -> Stage | None:
        stage = super().open()
        if stage is not None and self.carried is not None:
            self.inner.add_sums(replace(self.carried, users=0))
            self.carried = None
        return stage

    def add(self, report: Report) -> bool:
        counted = super().add(report)
        if counted:
            self.carried = Sums.of(report)
        return counted
