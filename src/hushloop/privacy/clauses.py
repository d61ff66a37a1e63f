"""The words of a privacy statement: one clause a function, each made from the terms and from nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

from ..device.report import GRID
from ..errors import InvalidInput
from .budget import RESERVED, Adjacency
from .noise import ExactNoise, NoiseSource, SeededNoise, discretisation_delta
from .terms import Terms


@dataclass(frozen=True)
class Section:
    """A title, paragraphs, then a list, then a table; what is empty is left out."""

    title: str
    paragraphs: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def promise(terms: Terms) -> Section:
    guarantee = terms.guarantee
    if guarantee is None:
        text = (
            "**Nothing is promised.** Exact sums of everybody's reports are released. This is a baseline for "
            "experiments on "
            "simulated or public data and must not see the data of people."
        )
        return Section("What is promised", (text,))
    reports = terms.claimed.participations if terms.claimed else 1
    unit = "one report" if reports == 1 else f"all her reports, at most {reports}"
    text = (
        f"The unit that is protected is one person: {unit}, each made from one episode. Whatever anybody else ever "
        "gets to "
        "see, every release, every assignment, every controller and all controls of the others together, is (ε, δ) "
        "indistinguishable between any two neighbouring runs: the probability of any event about it grows by at most "
        "the "
        "factor e^ε, plus δ. This is joint differential privacy: a person's own controls use her own state, and only "
        "she sees them (billboard lemma)."
    )
    rows = tuple(
        (key + (" (asked for)" if key == guarantee.adjacency else ""), above(epsilon), number(guarantee.delta),
         above(terms.mu[key]))
        for key, epsilon in ordered_epsilons(terms)
    )  # fmt: skip
    return Section("What is promised", (text, verdict(terms)), (), ("adjacency", "ε", "δ", "μ"), rows)


def verdict(terms: Terms) -> str:
    """Whether what was claimed is what holds."""
    guarantee, claimed = terms.guarantee, terms.claimed
    assert guarantee is not None
    assert claimed is not None
    says = f"Claimed: ε = {number(claimed.epsilon)} at δ = {number(claimed.delta)} under {claimed.adjacency}. "
    truth = f"Exactly: ε = {above(guarantee.epsilon)}. "
    if terms.holds:
        return says + truth + "**The claim holds.**"
    return (
        says + truth + f"**The claim does not hold**: the truth is {guarantee.epsilon / claimed.epsilon:.3g} times it."
    )


def ordered_epsilons(terms: Terms) -> list[tuple[Adjacency, float]]:
    """ε under each adjacency, the one that was asked for first."""
    guarantee = terms.guarantee
    assert guarantee is not None
    also: list[tuple[Adjacency, float]] = [(k, guarantee.also[k]) for k in get_args(Adjacency) if k in guarantee.also]
    return [(guarantee.adjacency, guarantee.epsilon), *also]


def neighbours(terms: Terms) -> Section:
    P = terms.claimed.participations if terms.claimed else 1
    whose = "one report of one user" if P == 1 else f"the reports of one user, at most {P} of which are accepted,"
    return Section(
        "Neighbouring runs",
        (
            f"Two runs are neighbours when they differ in {whose} and in nothing else. Both have the same tickets, "
            "the same "
            "arms of a study, the same order of arrival, the same assignment ids, and the same reports are accepted. "
            "The "
            "reports of everybody else are the same in both; they may be anything, honest or not.",
            "The promise is for whoever uses the device's code. One who sends other numbers weakens her own promise "
            "alone.",
        ),
        (
            "**replace-one**: that user's device ran another episode, with any states, any controls and any number "
            "of steps "
            f"up to {terms.collection.horizon}, and the device's code made the report from it.",
            "**zero-out**: the report is one of zeros. It still counts towards its block, so this is not the "
            "add-or-remove "
            "relation: that somebody took part is not hidden.",
        ),
    )


def bounds(terms: Terms) -> Section:
    c = terms.collection
    response = [] if c.shape is None else [f"‖y‖ ≤ ‖Mz‖ + {number(c.disturbance_bound)}, λ_max(M) = {number(c.rho)}"]
    if c.response_bound is not None:
        response.append(f"‖y‖ ≤ {number(c.response_bound)}")
    t, of_t = ("z", "") if c.weighting is None else ("t", ", t = Tz for a public matrix T")
    second = f" and Σ w‖Mz‖² ≤ {number(c.response_budget)}" if c.response_budget is not None else ""
    items = (
        f"Σ w‖{t}‖² ≤ E = {number(c.energy)}{second}{of_t}: the weights w ≤ 1 of the steps spend this and then are 0; "
        "so ‖S‖ ≤ E.",
        f"At most H = {c.horizon} steps count.",
        "The response y = x⁺ − Θ_c'z is clipped before it is summed: " + "; ".join(response) + ".",
        f"Together: Σ w‖y‖² ≤ B₂ = {number(c.response_energy)}, so ‖C‖² ≤ E·B₂.",
        f"S = Σ w {t}{t}' and C = Σ w {t}y' are rounded toward zero to whole multiples of {GRID:.3g}; the numbers "
        "below include it.",
    )
    table = terms.sensitivity()
    rows = tuple(
        (key, number(table[key]["S"]), number(table[key]["C"]), number(table[key].get("pair", math.nan)))
        for key in get_args(Adjacency)
    )
    text = (
        "The device enforces every bound that the sensitivity uses, whatever the episode was. The guarantee needs no "
        "assumption about the plant, the disturbance or the person. The curator checks the resulting norms again, in "
        "whole "
        "numbers; a well-formed report beyond them counts as zeros. "
    )
    alike = terms.mechanism != "blocks" or terms.schedule.get("releases") == 1
    text += "Every block has these numbers." if alike else FIRST_BLOCK
    return Section(
        "Sensitivity, and what the device enforces", (text,), items,
        ("adjacency", "‖S−S'‖ ≤", "‖C−C'‖ ≤", "pair, in units of the noise ≤"), rows,
    )  # fmt: skip


def noise(terms: Terms, source: NoiseSource | None) -> Section:
    if terms.guarantee is None:
        return Section("Noise", ("None.",))
    shape = (
        "on S, isotropic on symmetric matrices: σ_S on the diagonal, σ_S/√2 off it"
        if terms.isotropic
        else "on S, an upper triangle of σ_S that is mirrored, as printed in the paper"
    )
    sources: list[NoiseSource] = [SeededNoise(0), ExactNoise()] if source is None else [source]
    items = [f"Shape: Gaussian {shape}; on every entry of C, σ_C."]
    items += [f"Source `{s.name}`: {s.description}." for s in sources]
    if any(s.grid for s in sources):
        items.append(_on_the_grid(terms, terms.guarantee.epsilon))
    rows = (
        ("one noisy sum", number(terms.scales.sigma_s), number(terms.scales.sigma_c)),
        ("the noisiest release", number(terms.release_std.sigma_s), number(terms.release_std.sigma_c)),
    )
    return Section("Noise", (NOISE[terms.mechanism],), tuple(items), ("standard deviation", "σ_S", "σ_C"), rows)


def _on_the_grid(terms: Terms, epsilon: float) -> str:
    """How near whole-number noise is to the Gaussian that the accounting speaks of."""
    c = terms.collection
    try:
        extra = discretisation_delta(c.p, c.n, terms.scales, epsilon, terms.isotropic)
    except InvalidInput as why:
        return f"The exact sampler cannot draw this noise and refuses to: {why}."
    return (
        "The whole-number sampler is exactly zero-concentrated private with ρ = μ²/2. The ε(δ) curve here is that of "
        f"continuous Gaussian at (1 − {RESERVED:g})δ; whole numbers add less than {extra:.2g} to δ for each noisy sum "
        f"that a report lies in, and a deployment in which that is more than {RESERVED:g}·δ is refused."
    )


def schedule(terms: Terms) -> Section:
    s = terms.schedule
    endless = "K is not known" + ("" if terms.guarantee is None else "; the guarantee holds for ever")
    known = endless if s["users"] is None else f"K = {s['users']} users"
    rule = {
        "every-episode": "a release before every episode, of which an agent may look at fewer (post-processing)",
        "every-n": f"a release after every {s['first']} users",
        "geometric": f"block t = 0, 1, … has ⌊{s['first']}·{s['growth']:g}ᵗ⌋ users",
    }[s["kind"]]
    text = [f"The schedule is public and fixed before the first report: {rule}; {known}."]
    if "ends" in s and len(s["ends"]) <= 60:
        text.append("Releases after " + ", ".join(str(end) for end in s["ends"]) + " users.")
    elif "releases" in s:
        text.append(f"{s['releases']} releases.")
    return Section("Schedule", tuple(text))


def composition(terms: Terms) -> Section:
    participations = terms.claimed.participations if terms.claimed else 1
    text = [COMPOSITION[terms.mechanism], "Accounting is exact: δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), ε rounded up."]
    if participations > 1:
        text.append(f"A person with P = {participations} reports spends P times the μ of one.")
    return Section("Composition", tuple(text))


def gaps(terms: Terms) -> Section:
    if terms.guarantee is None:
        return Section("What is not protected", ("Nothing is protected.",))
    return Section(
        "What is not protected",
        (),
        (
            "That somebody takes part, and when: enrolment lists, tickets, the time and the size of a connection.",
            "Anything towards the curator itself. It receives each report as it is and holds exact sums until a "
            "block closes.",
            "A person who publishes her own controls, states or reports. The promise is joint differential privacy: "
            "it covers "
            "what all others see. Plain differential privacy of all controls at once is impossible here, since a "
            "person's "
            "controls answer her own state, and it is not claimed.",
            "What is true of the population: that is what is learned, and it may say something about anybody.",
            "People whose episodes depend on each other, or one person behind several identities, beyond the reports "
            "counted "
            "above.",
        ),
    )


def assumptions(terms: Terms) -> Section:
    if terms.guarantee is None:
        return Section("Assumptions", ("None: there is no promise that could rest on any.",))
    return Section(
        "Assumptions",
        ("The promise rests on these and on nothing else:",),
        (
            "The person's device runs this project's report code, so that the bounds above hold.",
            "The noise is drawn as stated, stays secret and is used once: it hides one set of sums. Restoring an old "
            "copy of "
            "the store and going on would use it twice.",
            "Only releases leave the curator. Collections, schedules, energies and controllers are made from "
            "releases and "
            "public values alone; a block's are fixed before its first report.",
            "It does not rest on the model: neither stability, nor the prior about Θ, nor the bound on the "
            "disturbance is "
            "needed. Only regret and coverage depend on them.",
        ),
    )


def number(value: float) -> str:
    """Six significant digits."""
    return "–" if math.isnan(value) else f"{value:.6g}"


def above(value: float) -> str:
    """Six significant digits, never below the value: for ε and μ."""
    text = number(value)
    if math.isfinite(value) and float(text) < value:
        digit = 10.0 ** (math.floor(math.log10(value)) - 5)
        text = f"{float(text) + digit:.6g}"
    return text


FIRST_BLOCK = (
    "These are the numbers of the first block; each later one chooses its own from releases, within the same promise."
)

NOISE = {
    "blocks": "Each block is released once, with fresh noise, as the sums of its own users alone. A later block may "
    "choose "
    "other scales from earlier releases; the guarantee is the same.",
    "tree": "Every node of two binary trees, one for S and one for C, is a noisy sum over a dyadic interval of "
    "users; a "
    "release adds up the nodes that make up its prefix. A node's noise is drawn once.",
    "factorised": "The block sums are multiplied by a public lower triangular matrix C with columns of norm 1, "
    "hidden by "
    "noise, and decoded by D = A·C⁻¹: the strategy with the least noise in the worst prefix.",
}

COMPOSITION = {
    "blocks": "A report lies in exactly one block and moves one release. Given the releases before, that block's "
    "collection "
    "is fixed and all other users' data coincide, so the whole transcript, for ever, is μ-GDP by parallel composition.",
    "tree": "A report lies in at most m nodes, one a level, and moves the pair (S, C) of each by at most Δ: μ² adds "
    "up over "
    "them.",
    "factorised": "A report enters at one block and moves the measurements along one column of C, of norm 1: the "
    "transcript "
    "is μ-GDP, the adaptive choice of controllers included.",
}
