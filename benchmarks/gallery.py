"""The default profile, untuned, on every plant of the gallery, beside idle and the nominal controller."""

from __future__ import annotations

import sys
from pathlib import Path

from common import Claim, claim, show  # first: it sets the number of threads

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "results.md"
USERS, SEEDS, EPSILONS = 1_000_000, 4, (1.0, 8.0)
STABLE = ("toy", "stable3", "boeing747", "two-zone-heating", "propofol")


def measure(users: int = USERS, seeds: int = SEEDS) -> list[dict[str, object]]:
    """One row a plant and ε. Losses are of the controllers as they run, cut by their limits."""
    from hushloop.lq import gallery
    from hushloop.lq.riccati import idle_gains, optimal_gains
    from hushloop.privacy import Budget
    from hushloop.simulation import simulate

    rows = []
    for name in gallery.names():
        plant = gallery.get(name)
        problem = plant.problem
        nominal = optimal_gains(problem, problem.nominal_A, problem.nominal_B)
        others = [fixed_loss(plant, gains) for gains in (idle_gains(problem), nominal)]
        for epsilon in EPSILONS:
            s = simulate("refined", plant, users, seeds, Budget(epsilon)).summary()
            rows.append(
                {
                    "plant": name,
                    "spectral_radius": plant.spectral_radius,
                    "epsilon": epsilon,
                    "regret": s["regret"]["mean"],
                    "kind": s["regret"]["kind"],
                    "idle": others[0] * users,
                    "nominal": others[1] * users,
                    "final": s["final_loss"]["mean"] * users,
                    "covered": f"{s['coverage']['covered']}/{seeds}",
                    "learning_time": s["learning_time"]["median"],
                    "clipped": s["clipped_share"],
                    "even": break_even(s["releases"], min(others)),
                }
            )
            print(rows[-1], file=sys.stderr)
    return rows


def break_even(releases: list[dict[str, float]], rival: float) -> int | None:
    """The first release by which less has been lost, all in all, than the better of idle and nominal would have."""
    total = 0.0
    for row in releases:
        total += row["loss_mean"] * row["block_users"]
        if total < rival * row["users"]:
            return int(row["users"])
    return None


def fixed_loss(plant, gains) -> float:  # type: ignore[no-untyped-def]
    """Mean loss of one controller, as it runs, against J*."""
    from hushloop.agent import controller
    from hushloop.device import Assignment
    from hushloop.privacy.terms import first_collection
    from hushloop.simulation.play import Ruler, Tally, play

    ruler, tally, users = Ruler(plant), Tally(), 200_000
    assignment = Assignment("fixed", controller(plant.problem, gains), first_collection(plant.problem))
    tally.add(ruler, assignment, play(plant, assignment, 1, 0, users, compare=ruler.gains), None)
    return tally.mean(users)[0]


def claims(rows: list[dict[str, object]]) -> list[Claim]:
    """Among the stable plants, how many learn to lose less than both idle and the nominal controller."""
    out = []
    for epsilon in EPSILONS:
        own = [r for r in rows if r["epsilon"] == epsilon and r["plant"] in STABLE]
        better = sum(r["regret"] < r["idle"] and r["regret"] < r["nominal"] for r in own)  # type: ignore[operator]
        text = f"stable plants on which refined at ε = {epsilon:g} loses less than idle and nominal, of the 4 asked"
        out.append(claim(text, f"{better} of {len(own)}", "4", better / 4, 1.0))
    return out


def write_page(rows: list[dict[str, object]], page: Path = PAGE) -> None:
    """docs/reference/results.md: the table, losers named."""
    lines = [
        "# Results on the gallery",
        "",
        f"The default profile `refined`, untuned, {USERS:,} users, means of {SEEDS} seeds, δ = 1e-6, replace-one:"
        " cumulative regret beside doing nothing and beside the nominal model's controller, all as they run (cut by γ"
        " and by actuator limits). *Even after* is the release by which the mean over seeds has lost less, in all, than"
        " the better of the two would have. Made by `python benchmarks/gallery.py --write`.",
        "",
        "| plant | ρ(A) | ε | refined | idle | nominal | beats | even after | learning time | steps cut | covered |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        beats = [name for name in ("idle", "nominal") if r["regret"] < r[name]]  # type: ignore[operator]
        time = "–" if r["learning_time"] is None else f"{r['learning_time']:,.0f}"
        even = "–" if r["even"] is None else f"{r['even']:,}"
        lines.append(
            f"| {r['plant']} | {r['spectral_radius']:.3f} | {r['epsilon']:g} | {r['regret']:,.0f} | {r['idle']:,.0f} |"
            f" {r['nominal']:,.0f} | {'both' if len(beats) == 2 else ', '.join(beats) or 'neither'} | {even} | {time} |"
            f" {r['clipped']:.1%} | {r['covered']} |"
        )
    tail = page.read_text().partition("\n## ")[1:] if page.exists() else ("", "")
    page.write_text("\n".join(lines) + "\n" + "".join(tail))


def main() -> list[Claim]:
    """Measure, and with --write make the page of results."""
    rows = measure()
    if "--write" in sys.argv:
        write_page(rows)
    return claims(rows)


if __name__ == "__main__":
    show(main())
