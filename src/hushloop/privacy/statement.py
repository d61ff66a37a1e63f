"""The privacy statement: everything a reviewer needs, as sections that Markdown, HTML and JSON are made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..device import Collection
from ..lq import Problem
from . import clauses
from .accounting import epsilon_curve, independent_epsilon
from .budget import RESERVED, Budget
from .clauses import Section
from .noise import NoiseSource
from .published_claim import published_claim
from .sensitivity import NoiseScales
from .terms import Terms, terms

CURVE_DELTAS = tuple(float(d) for d in 10.0 ** np.arange(-15.0, -0.5, 0.5))


@dataclass(frozen=True)
class Curve:
    """ε(δ) under each adjacency; `mark` is the δ of the guarantee."""

    deltas: tuple[float, ...]
    epsilons: dict[str, tuple[float, ...]]
    mark: float


@dataclass(frozen=True, eq=False)
class Statement:
    """A title, sections in order, the curve, and the numbers as one document."""

    title: str
    sections: tuple[Section, ...]
    document: dict[str, Any]
    curve: Curve | None

    def with_sections(self, *more: Section) -> Statement:
        """A copy with sections added before the last two, which say what is not protected and what is assumed."""
        return replace(self, sections=(*self.sections[:-2], *more, *self.sections[-2:]))

    def to_dict(self) -> dict[str, Any]:
        """The numbers, and the sections as text."""
        sections = [
            {
                "title": s.title,
                "paragraphs": list(s.paragraphs),
                "items": list(s.items),
                "columns": list(s.columns),
                "rows": [list(row) for row in s.rows],
            }
            for s in self.sections
        ]
        return {**self.document, "sections": sections}

    def markdown(self) -> str:
        from .rendering import markdown

        return markdown(self)

    def html(self) -> str:
        from .rendering import html

        return html(self)


def statement(
    problem: Problem, profile: str, budget: Budget | None = None, *, users: int | None = None,
    mechanism: str | None = None, first: int = 256, growth: float = 2.0, energy: float | None = None,
    block: tuple[Collection, NoiseScales] | None = None, source: NoiseSource | None = None, verify: bool = False,
) -> Statement:  # fmt: skip
    """The statement of a profile for a problem. `source` is the noise source in use; without it both are described."""
    return state(terms(problem, profile, budget, users, mechanism, first, growth, energy, block), source, verify)


def state(
    t: Terms, source: NoiseSource | None = None, verify: bool = False, extra: Iterable[Section] = ()
) -> Statement:
    """The statement of any terms, a deployment's own included; `extra` sections come before what is not protected."""
    curve = curve_of(t)
    verified = verified_document(t) if verify else None
    sections = [clauses.promise(t)]
    if curve is not None:
        sections.append(clauses.neighbours(t))
    sections += [clauses.bounds(t), clauses.noise(t, source), clauses.schedule(t)]
    if curve is not None:
        sections += [clauses.composition(t), curve_section(curve)]
    if (published := published_claim(t)) is not None:
        sections.append(published)
    if verified is not None:
        sections.append(_verified_section(verified))
    sections += [*extra, clauses.gaps(t), clauses.assumptions(t)]
    title = f"Privacy statement: {t.problem.name}, profile {t.profile}, mechanism {t.mechanism}"
    return Statement(title, tuple(sections), document_of(t, curve, verified, verify, source), curve)


def curve_of(t: Terms) -> Curve | None:
    if t.guarantee is None:
        return None
    epsilons = {
        str(key): tuple(epsilon_curve(mu, [delta * (1.0 - RESERVED) for delta in CURVE_DELTAS]))
        for key, mu in t.mu.items()
    }
    return Curve(CURVE_DELTAS, epsilons, t.guarantee.delta)


def curve_section(curve: Curve) -> Section:
    rows = tuple(
        (f"{delta:.0e}", *(clauses.above(values[i]) for values in curve.epsilons.values()))
        for i, delta in enumerate(curve.deltas)
        if i % 4 == 0 or delta == curve.deltas[-1]
    )
    text = "The same transcript satisfies every pair on this curve at once; a smaller δ costs a larger ε."
    return Section("ε for every δ", (text,), (), ("δ", *(f"ε, {key}" for key in curve.epsilons)), rows)


def verified_document(t: Terms) -> dict[str, float] | None:
    """ε recomputed by an accountant that is not ours."""
    if t.guarantee is None:
        return None
    epsilon = independent_epsilon(t.guarantee.mu, t.guarantee.delta * (1.0 - RESERVED))
    return {"epsilon": epsilon, "difference": t.guarantee.epsilon - epsilon}


def document_of(
    t: Terms, curve: Curve | None, verified: dict[str, float] | None, verify: bool, source: NoiseSource | None
) -> dict[str, Any]:
    """All numbers of the statement as plain values."""
    g, c = t.guarantee, t.claimed
    guarantee = None if g is None else {
        "adjacency": g.adjacency, "epsilon": g.epsilon, "delta": g.delta, "mu": g.mu, "also": dict(g.also),
        "participations": c.participations if c is not None else 1,
    }  # fmt: skip
    out: dict[str, Any] = {
        "problem": t.problem.name,
        "profile": t.profile,
        "mechanism": t.mechanism,
        "guarantee": guarantee,
        "claimed": None if c is None else {"epsilon": c.epsilon, "delta": c.delta, "adjacency": c.adjacency},
        "holds": t.holds,
        "noise": {
            "sigma_s": t.scales.sigma_s,
            "sigma_c": t.scales.sigma_c,
            "release_std_s": t.release_std.sigma_s,
            "release_std_c": t.release_std.sigma_c,
            "isotropic": t.isotropic,
            "source": None if source is None else source.name,
        },
        "sensitivity": t.sensitivity(),
        "schedule": t.schedule,
        "curve": None if curve is None else {"delta": list(curve.deltas), "epsilon": curve.epsilons},
    }
    if verify:
        out["verified"] = verified
    return out


def _verified_section(verified: dict[str, float]) -> Section:
    text = (
        f"dp-accounting, from μ alone: ε = {verified['epsilon']:.9g}, ours minus its {verified['difference']:.1e}. "
        "The two share no code."
    )
    return Section("Recomputed by another accountant", (text,))
