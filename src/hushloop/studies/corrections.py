"""The thirteen points at which the paper's text is corrected, each as a number that shows it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lq import Plant, policy_cost, split
from ..lq.files import load
from ..privacy.accounting import epsilon_of, mu_of, zcdp_epsilon
from ..privacy.budget import Budget
from ..privacy.paper import paper_guarantee, printed_sigma, tree_depth
from .cell import Cell, Rows
from .figures import COLORS, look, new_figure
from .slips import clipped_cost, letter_gain, norm_identity, raw_beta, reach_of_gains
from .study import Drawing, Frames, Options, Study, Tables

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

HERE = "hushloop.studies.corrections"
PRINTED = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 8.0, 12.0, 20.0)
MOST_SHOWN = 10.0


def cells(o: Options) -> list[Cell]:
    options = {key: o[key] for key in ("plant", "clipped_plant", "users", "delta", "alpha")}
    return [
        Cell(f"{HERE}:points", options, "thirteen points", 2.0, "points"),
        Cell(f"{HERE}:kept", options, "what printed ε keep", table="kept"),
        Cell(f"{HERE}:nodes", options, "noise of each release", table="nodes"),
    ]


def points(o: dict[str, Any]) -> Rows:
    """Thirteen rows: what is printed, what holds, and a number for each."""
    plant = load(o["plant"])
    assert isinstance(plant, Plant)
    found = [*_control(plant), *_privacy(plant, o), *_proof(plant, o)]
    names = ("point", "printed", "holds", "quantity", "as_printed", "corrected")
    return [dict(zip(names, row, strict=True)) for row in sorted(found)]


Point = tuple[int, str, str, str, float, float]


def _control(plant: Plant) -> list[Point]:
    with_p, right = letter_gain(plant), plant.optimal_cost
    reach, squared, plain = reach_of_gains(plant), *norm_identity(plant)
    gamma = plant.problem.control_bound
    return [
        (1, "K_h with P_h", "K_h with P_{h+1}", "cost of the controller", with_p, right),
        (6, "‖u‖ ≤ γ follows from Θ in S", "it must be enforced", "largest ‖u‖ over S at ‖x‖ = 1; γ", reach, gamma),
        (10, "Δ', Δ'' with plain norms", "norms squared", "error of the regret identity", plain, squared),
    ]


def _privacy(plant: Plant, o: dict[str, Any]) -> list[Point]:
    problem, delta, users, alpha = plant.problem, o["delta"], o["users"], o["alpha"]
    m = tree_depth(users)
    kept = paper_guarantee(problem, Budget(8.0, delta), users)
    naive = epsilon_of(8.0 * math.sqrt(6.0 / (8.0 * math.log(2 / delta))), delta)
    rho = 0.5 * m * (1.0 / printed_sigma(1.0, m, 8.0, delta)) ** 2
    loose = zcdp_epsilon(rho, delta / 2)
    raw, released = raw_beta(plant, users, alpha)
    exact = math.sqrt(2.0 * m) / mu_of(1.0, delta)
    mean = float(np.mean([bin(k).count("1") for k in range(min(users, 2**16))])) * m / 16
    return [
        (2, "printed Δ is replace-one", "it is zero-out; slack saves it", "printed ε = 8, Δ doubled; truly", naive,
         kept.epsilon),
        (3, "σ² = 8mΔ² ln(2/δ)/ε² by zCDP", "exact accounting", "ε/2 = 4 by its own conversion", 4.0, loose),
        (4, "β from raw Z'Z", "β from the released V", "β after all users", raw, released),
        (5, "m = ⌈log₂K⌉ levels", "one more to release after K", "levels", float(m), float(users.bit_length())),
        (9, "release k has mσ² of noise", "popcount(k−1)·σ²", "mean number of nodes", float(m), mean),
        (12, "m = ⌈log₂K⌉", "at least 1", "levels at K = 1", float(math.ceil(math.log2(1))), float(tree_depth(1))),
        (13, "clipped controls are covered", "the proof is for linear ones", f"{o['clipped_plant']}: linear; clipped",
         *clipped_cost(o["clipped_plant"])),
        (3, "σ by zCDP is tight", "exact joint accounting", "σ of a node at ε = 1", printed_sigma(1.0, m, 1.0, delta),
         exact),
    ]  # fmt: skip


def _proof(plant: Plant, o: dict[str, Any]) -> list[Point]:
    K, alpha = o["users"], o["alpha"]
    reachable, limit = _open_set(plant)
    return [
        (7, "√(ln K/α)", "√ln(K/α)", "value", math.sqrt(math.log(K) / alpha), math.sqrt(math.log(K / alpha))),
        (8, "α over both statements", "3α/2 as printed", "probability of failure", alpha, 1.5 * alpha),
        (11, "argmin over controllable Θ", "over the ball", "J* along B → 0; at B = 0, outside S", reachable, limit),
    ]


def _open_set(plant: Plant) -> tuple[float, float]:
    """Without motion the optimum costs the same for every B: controllable all the way to B = 0, which is not."""
    Theta = np.zeros((plant.problem.p, plant.problem.n))
    at_limit = policy_cost(plant.problem, *split(Theta), np.zeros_like(plant.optimal_gains))
    Theta[plant.problem.n :] = 1e-3
    return policy_cost(plant.problem, *split(Theta), np.zeros_like(plant.optimal_gains)), at_limit


def kept(o: dict[str, Any]) -> Rows:
    """ε that truly holds for what is printed, under each adjacency, and by doubling Δ naively."""
    problem = load(o["plant"]).problem  # type: ignore[union-attr]
    log = math.log(2 / o["delta"])
    out: Rows = []
    for epsilon in PRINTED:
        g = paper_guarantee(problem, Budget(epsilon, o["delta"]), o["users"])
        values = {str(g.adjacency): g.epsilon, **g.also}
        values["replace-one, Δ doubled naively"] = epsilon_of(epsilon * math.sqrt(6.0 / (8.0 * log)), o["delta"])
        values["replace-one, joint bound on Δ"] = epsilon_of(epsilon * math.sqrt(4.5 / (8.0 * log)), o["delta"])
        out += [{"printed": epsilon, "what": str(what), "epsilon": float(value)} for what, value in values.items()]
    return out


def nodes(o: dict[str, Any]) -> Rows:
    """How many releases hold the noise of 0, 1, …, m nodes."""
    m = tree_depth(o["users"])
    total = 2.0**m
    return [{"nodes": j, "share": math.comb(m, j) / total, "printed": m} for j in range(m + 1)]


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    return dict(frames)


def draw_kept(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(7.5, 4.8)
    for k, (what, one) in enumerate(t["kept"].group_by("what", maintain_order=True)):
        axes.plot(one["printed"], one["epsilon"].to_numpy() / one["printed"].to_numpy(), label=what[0], **look(k))
    axes.axhline(1.0, color="#999999", linewidth=1)
    axes.set(xscale="log", xlabel="ε as printed", ylabel="ε that holds, over the printed one", title=o["plant"])
    axes.set_ylim(0, 1.75)
    axes.legend(loc="upper left")
    return figure


def draw_nodes(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(7.0, 4.0)
    axes.bar(t["nodes"]["nodes"], t["nodes"]["share"], color=COLORS[0], width=0.8)
    m = int(t["nodes"]["printed"][0])
    axes.axvline(m, color=COLORS[1], linestyle="--", label=f"as printed: m = {m}")
    axes.set(xlabel="noisy nodes in a release", ylabel="share of the releases", title=f"{o['users']:,} users")
    axes.legend(loc="upper left")
    return figure


def draw_points(t: Tables, o: Options) -> Figure:
    """Each number as printed over the corrected one, where both are above 0."""
    rows = [r for r in t["points"].iter_rows(named=True) if r["as_printed"] > 0 and r["corrected"] > 1e-9]
    figure, axes = new_figure(9.0, 1.0 + 0.36 * len(rows))
    for y, row in enumerate(reversed(rows)):
        ratio = row["as_printed"] / row["corrected"]
        at = min(ratio, MOST_SHOWN)
        axes.plot([1.0, at], [y, y], color="#bbbbbb", linewidth=2, zorder=1)
        axes.plot([at], [y], "o" if at == ratio else ">", color=COLORS[1], zorder=2)
        axes.annotate(f"{ratio:.3g}", (max(at, 1.0), y), (8, 0), textcoords="offset points", va="center", fontsize=9)
    names = [f"{r['point']}. {r['quantity']}" for r in reversed(rows)]
    axes.set_yticks(range(len(rows)), names)
    axes.axvline(1.0, color="#555555", linewidth=1)
    axes.set(xscale="log", xlabel="as printed over corrected")
    axes.set_xlim(0.5, 3 * MOST_SHOWN)
    axes.set_xticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
    axes.set_xticks([], minor=True)
    axes.grid(axis="y", visible=False)
    return figure


STUDY = Study(
    name="corrections",
    title="Thirteen corrections, measured",
    question="Where does the paper's text not hold as printed, and what does it change?",
    options={"plant": "toy", "clipped_plant": "car-following", "users": 2**18, "delta": 1e-6, "alpha": 0.1},
    quick={},
    cells=cells,
    tables=tables,
    drawings=(
        Drawing("points", "Numbers as printed over the corrected ones (table `points` has all).", draw_points),
        Drawing("kept", "Points 2 and 3: what the printed noise truly keeps.", draw_kept),
        Drawing("nodes", "Point 9: noisy nodes in a release, against the m of the printed bound.", draw_nodes),
    ),
)
