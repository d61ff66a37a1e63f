"""The statistical part: how well the best linear score of whole transcripts tells two neighbouring data sets apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..privacy.accounting import epsilon_of
from ..privacy.mechanisms.stream import StreamNoise
from ..privacy.release import Release
from .subject import Crowd, Make, play

Array = NDArray[np.float64]
PILOT = 20_000
CERTAIN = 1e-6
FLOOR = 1e-11
"""Directions whose noise is less than this of the largest (in variance) count as free of noise."""


MOST = 30.0
"""A larger μ than this is reported as this: ε is beyond 450 then, and it is a lower bound."""


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on ε at the claimed δ, at one confidence; each is 0 where nothing was found."""

    mean_shift: float
    gdp: float
    clopper_pearson: float

    @property
    def largest(self) -> float:
        return max(self.mean_shift, self.gdp, self.clopper_pearson)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of transcripts on either data set, and the two thresholds that were fixed before they were drawn."""

    one: Array  # (N,)
    other: Array  # (N,), larger where the audit has power
    middle: float
    tail: float


@dataclass(frozen=True, eq=False)
class Score:
    """A linear score of a flattened transcript, and what it is expected to be on either data set."""

    weights: Array
    means: tuple[float, float]
    deviation: float


def entries(releases: list[Release]) -> Array:
    """Flattened transcripts (…, T·q): the upper triangle of each T1, then T2."""
    parts = []
    for r in releases:
        rows, columns = np.triu_indices(r.collection.p)
        parts += [r.T1[..., rows, columns], r.T2.reshape(*r.T2.shape[:-2], -1)]
    return np.concatenate(parts, axis=-1)


def transcripts(make: Make, crowd: Crowd, seed: int, trials: int, at_once: bool) -> Array:
    """(trials, ·) through the real code: all at once where no collection depends on releases, else one by one."""
    if at_once:
        return np.atleast_2d(entries(play(make(StreamNoise(seed, "audit", trials)), crowd).releases))
    rows = [entries(play(make(StreamNoise(seed * 1_000_003 + i, "one")), crowd).releases) for i in range(trials)]
    return np.stack(rows)


def learn_score(make: Make, one: Crowd, other: Crowd, seed: int, pilot: int, at_once: bool) -> Score:
    """The likelihood ratio of Gaussian transcripts: shift by the same noise on both sides, covariance by a pilot.

    Nothing is taken from what the mechanism declares. Where a direction has no noise, the score is that direction.
    """
    X = transcripts(make, one, seed, pilot, at_once)
    same = [transcripts(make, crowd, seed + 1, 1, False)[0] for crowd in (one, other)]
    shift = same[1] - same[0]
    spread = X.std(axis=0)
    unit = np.where(spread > 0, spread, max(float(spread.max()), 1.0) * 1e-6)
    values, vectors = np.linalg.eigh(np.cov((X - X.mean(axis=0)) / unit, rowvar=False).reshape(shift.size, -1))
    values = np.maximum(values, max(float(values[-1]), 1e-300) * FLOOR)
    weights = vectors @ ((vectors.T @ (shift / unit)) / values) / unit
    base = X @ weights
    mean, deviation = float(base.mean()), float(base.std())
    return Score(weights, (mean, mean + float(shift @ weights)), deviation)


def score(
    make: Make, one: Crowd, other: Crowd, seed: int, trials: int, at_once: bool, delta: float,
    learned: Score | None = None,
) -> Scores:  # fmt: skip
    """Fresh transcripts of both data sets, scored. The score must be made from other transcripts than these."""
    if learned is None:
        learned = learn_score(make, one, other, seed, min(PILOT, trials), at_once)
    a = transcripts(make, one, seed + 2, trials, at_once) @ learned.weights
    b = transcripts(make, other, seed + 3, trials, at_once) @ learned.weights
    return Scores(a, b, sum(learned.means) / 2, tail_threshold(learned, trials, delta))


def lower_bounds(scores: Scores, delta: float, miss: float = 0.05) -> Bounds:
    """All three at confidence 1 − miss."""
    return Bounds(
        mean_shift_bound(scores, delta, miss), gdp_bound(scores, delta, miss), plain_bound(scores, delta, miss)
    )


def mean_shift_bound(scores: Scores, delta: float, miss: float) -> float:
    """ε of μ̂ = difference of means over the pooled deviation, less z·√(2/N); exact for Gaussian scores.

    At the confidence that accuses, the estimated deviation's own error μ̂²/4N is added.
    """
    from scipy.special import ndtri

    n = scores.one.size
    pooled = math.sqrt((float(scores.one.var(ddof=1)) + float(scores.other.var(ddof=1))) / 2)
    shift = float(scores.other.mean() - scores.one.mean())
    if pooled == 0.0:
        return math.inf if shift != 0.0 else 0.0
    mu = shift / pooled
    error = 2.0 / n + (mu * mu / (4.0 * n) if miss < 0.05 else 0.0)
    return _epsilon(mu + float(ndtri(miss)) * math.sqrt(error), delta)


def gdp_bound(scores: Scores, delta: float, miss: float) -> float:
    """ε of the μ that the two error rates at the middle threshold prove (Clopper and Pearson, half of `miss` each)."""
    from scipy.special import ndtri

    false, missed = error_rates(scores, scores.middle, miss)
    return _epsilon(float(-ndtri(false) - ndtri(missed)), delta)


def plain_bound(scores: Scores, delta: float, miss: float) -> float:
    """ln((1 − δ − missed)/false) at a tail threshold: assumes nothing about the noise."""
    false, missed = error_rates(scores, scores.tail, miss)
    caught = 1.0 - delta - missed
    return max(0.0, math.log(caught / false)) if caught > 0 else 0.0


def error_rates(scores: Scores, threshold: float, miss: float) -> tuple[float, float]:
    """Upper bounds of P(score > t | one) and P(score ≤ t | other), together at confidence 1 − miss."""
    n = scores.one.size
    false = int((scores.one > threshold).sum())
    missed = int((scores.other <= threshold).sum())
    return upper_rate(false, n, miss / 2), upper_rate(missed, n, miss / 2)


def upper_rate(hits: int, n: int, miss: float) -> float:
    """Clopper and Pearson's upper bound of a rate."""
    from scipy.special import betaincinv

    return 1.0 if hits >= n else float(betaincinv(hits + 1, n - hits, 1.0 - miss))


def tail_threshold(learned: Score, trials: int, delta: float) -> float:
    """Where the plain bound should be largest if the scores are Gaussian as the pilot says."""
    from scipy.special import ndtr

    low, high = learned.means
    t = np.linspace(low - 4 * learned.deviation, high + 4 * learned.deviation, 400)
    scale = max(learned.deviation, 1e-300)
    false, caught = ndtr((low - t) / scale), ndtr((high - t) / scale)
    slack = 2.0 / math.sqrt(trials)
    false = false + slack * np.sqrt(false * (1 - false)) + 4.0 / trials
    caught = caught - slack * np.sqrt(caught * (1 - caught)) - 4.0 / trials - delta
    ratio = np.where(caught > 0, caught / false, 0.0)
    return float(t[int(ratio.argmax())])


def _epsilon(mu: float, delta: float) -> float:
    return epsilon_of(min(mu, MOST), delta) if mu > 0 else 0.0
