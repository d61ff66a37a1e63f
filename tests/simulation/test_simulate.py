"""Regret against an own computation, exact against paired, reproducibility, interruption, and odd plants."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from hushloop.device import Assignment, Controller
from hushloop.errors import HushloopError
from hushloop.lq import Disturbance, Plant, Problem, Start
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.privacy.terms import first_collection
from hushloop.profiles import PROFILES, build
from hushloop.simulation import rows as rows_module
from hushloop.simulation import simulate
from hushloop.simulation.play import Ruler, Tally, play, sums_of

TOY = load("toy")
ONE = Budget(1.0)
SMALL = PROFILES["refined"].with_(first=32)


def plant_of(A, B, H=4, w=0.1, gamma=1.0, start=None, radius=2.0, **more) -> Plant:
    A, B = np.array(A, dtype=float), np.array(B, dtype=float)
    n, d = B.shape
    start = Start("fixed", np.full(n, 0.5)) if start is None else start
    problem = Problem(
        "own", np.eye(n), 0.1 * np.eye(d), H, start, Disturbance("sphere", w, n), gamma, 2.0, radius=radius, **more
    )
    return Plant(problem, A, B)


def test_regret_is_the_sum_of_exact_losses_of_what_the_agents_ran() -> None:
    result = simulate(SMALL, TOY, 500, 2, ONE, seed=4)
    for seed, regret in zip(result.seeds, result.regrets, strict=True):
        agent, done, total = build(TOY.problem, SMALL, ONE, seed=seed), 0, 0.0
        while done < 500:
            size = min(agent.room, 500 - done)
            plan = agent.order.plan
            total += size * (TOY.cost(plan.gains, plan.excitation) - TOY.optimal_cost)
            agent.receive_sums(sums_of(play(TOY, agent.assignment(), seed, done, size)))
            done += size
        assert regret == pytest.approx(total, rel=1e-12)
    assert result.summary()["regret"]["kind"] == "exact"
    assert result.summary()["regret"]["stderr"] == 0.0


def test_idle_and_oracle_lose_what_they_must() -> None:
    unasked = {"mechanism": "none", "private": False, "excite": (0.0,)}
    idle = simulate(SMALL.with_(planner="idle", **unasked), TOY, 1000)
    assert idle.regrets == [pytest.approx(1000 * (TOY.idle_cost - TOY.optimal_cost))]
    assert idle.learning_times == [math.inf]
    assert idle.summary()["learning_time"]["median"] is None
    oracle = simulate(SMALL.with_(planner="oracle", **unasked), TOY, 1000)
    assert oracle.regrets == [pytest.approx(0.0, abs=1e-9)]
    assert oracle.learning_times == [1.0]


@pytest.mark.parametrize("name", ["toy", "two-zone-heating", "ev-charging"])
def test_paired_losses_agree_with_exact_ones_where_nothing_clips(name: str) -> None:
    plant = load(name)
    # small gains: nothing reaches a limit
    agent = build(plant.problem, SMALL.with_(excite=(0.02,)), ONE, seed=0)
    assignment = agent.assignment()
    played = play(plant, assignment, 1, 0, 4000, compare=plant.optimal_gains * 0.0)
    assert played.clipped_steps == 0
    loss = plant.cost(assignment.controller.gains, 0.02) - plant.idle_cost
    paired = Tally()
    paired.cut = True
    paired.add(Ruler(plant), assignment, played, None)
    mean, stderr = paired.mean(played.users)
    assert 0 < stderr < 1
    assert abs(mean - loss) < 5 * stderr
    exact = Tally()
    exact.add(Ruler(plant), assignment, played, None)
    assert exact.mean(played.users) == (
        pytest.approx(plant.cost(assignment.controller.gains, 0.02) - plant.optimal_cost),
        0,
    )


def test_users_who_are_played_one_by_one_lose_what_they_lose_together() -> None:
    x1 = TOY.problem.start.center
    gains = np.repeat(-1.3 * x1[None, None] / (x1 @ x1), 5, axis=0)
    bold = Controller(gains, TOY.problem.control_bound, 0.2)  # its first control is 1.1 or 1.5, where it is cut
    assignment, ruler = Assignment("bold", bold, first_collection(TOY.problem)), Ruler(TOY)
    together, apart = Tally(), Tally()
    together.add(ruler, assignment, play(TOY, assignment, 1, 0, 400, compare=ruler.gains), None)
    for user in range(400):
        apart.add(ruler, assignment, play(TOY, assignment, 1, user, 1, compare=ruler.gains, threads=1), None)
    assert apart.mean(400) == pytest.approx(together.mean(400), rel=1e-9)


def test_a_control_bound_beyond_all_reach_is_no_obstacle() -> None:
    vast = Plant(TOY.problem.with_(control_bound=1e6), TOY.A, TOY.B)
    assert simulate(SMALL, vast, 200, 1, ONE).summary()["regret"]["kind"] == "exact"


def test_where_steps_clip_the_regret_is_paired_and_says_so() -> None:
    tight = plant_of([[0.9, 0.2], [0.0, 0.8]], [[0.0], [1.0]], gamma=0.05)
    result = simulate(SMALL.with_(planner="oracle", mechanism="none", private=False), tight, 3000, 2)
    s = result.summary()
    assert s["clipped_share"] > 0.1
    assert s["regret"]["kind"] == "paired"
    assert 0 < s["regret"]["stderr"] < 0.05 * s["regret"]["mean"]
    # the clipped optimum costs more than the linear one, and less than doing nothing
    assert 0 < s["regret"]["mean"] < 3000 * (tight.idle_cost - tight.optimal_cost)


def test_neither_threads_nor_workers_change_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [simulate(SMALL, TOY, 3000, 3, ONE, workers=k) for k in (1, 3)]
    assert runs[0].rows == runs[1].rows
    assert simulate(SMALL, TOY, 3000, 3, ONE, workers=2).rows == runs[0].rows


def test_exact_sums_promise_nothing_whoever_asks_for_them() -> None:
    assert simulate(SMALL, TOY, 40, 1, ONE).guarantee is not None
    assert simulate(SMALL.with_(mechanism="none"), TOY, 40, 1, ONE).guarantee is None


def test_seeds_are_counted_from_the_base() -> None:
    both = simulate(SMALL, TOY, 300, 2, ONE, seed=7)
    assert both.seeds == (7, 8)
    assert simulate(SMALL, TOY, 300, [8], ONE).rows == both.of_seed(8)
    assert both.regrets[0] != both.regrets[1]


def test_an_adversary_may_choose_every_start() -> None:
    asked = []

    def starts(user: int) -> np.ndarray:
        asked.append(user)
        return np.array([1.0, 0.0]) if user % 2 else np.array([0.0, -1.0])

    result = simulate(PROFILES["ofu"], TOY, 20, 1, starts=starts)
    assert asked == list(range(20))
    learner = build(TOY.problem, PROFILES["ofu"], None, 20)
    total = 0.0
    for user in range(20):
        x1 = starts(user)
        assignment, X1 = learner.assignment(x1), np.outer(x1, x1)
        total += TOY.cost(assignment.controller.gains, 0.0, X1) - TOY.cost(TOY.optimal_gains, 0.0, X1)
        learner.receive_sums(sums_of(play(TOY, assignment, 0, user, 1, x1[None])))
    assert result.regrets[0] == pytest.approx(total, rel=1e-9)


def test_own_starts_of_the_plants_law_are_measured_one_by_one() -> None:
    wide = plant_of([[0.5]], [[0.4]], start=Start("ball", np.array([0.3]), radius=0.3))
    result = simulate(PROFILES["ofu"], wide, 30)
    assert result.seeds == (0,)
    assert math.isfinite(result.regrets[0])


def test_starts_of_the_wrong_size_are_refused() -> None:
    with pytest.raises((HushloopError, ValueError)):
        simulate(PROFILES["ofu"], TOY, 3, starts=lambda user: np.zeros(3))


def test_ctrl_c_keeps_the_seeds_that_are_whole() -> None:
    def impatient(progress: rows_module.Progress) -> None:
        if progress.row["seed"] == 2:
            raise KeyboardInterrupt

    result = simulate(SMALL, TOY, 200, 4, ONE, progress=impatient, workers=1)
    assert result.interrupted
    assert result.seeds == (0, 1)
    assert [row["seed"] for row in result.rows] == [0] * len(result.of_seed(0)) + [1] * len(result.of_seed(1))
    assert result.rows == simulate(SMALL, TOY, 200, 2, ONE).rows
    assert result.summary()["coverage"]["seeds"] == 2


def test_ctrl_c_before_the_first_seed_is_whole_leaves_a_document_without_regret() -> None:
    def impatient(progress: rows_module.Progress) -> None:
        raise KeyboardInterrupt

    result = simulate(SMALL, TOY, 200, 2, ONE, progress=impatient, workers=1)
    assert result.seeds == ()
    assert result.summary()["regret"] is None


def test_a_seed_that_fails_ends_the_run_with_its_error() -> None:
    played = []

    def failing(progress: rows_module.Progress) -> None:
        played.append(progress.row["seed"])
        if progress.row["seed"] == 0:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        simulate(SMALL, TOY, 200, 50, ONE, progress=failing, workers=1)
    assert len(set(played)) < 50


def test_progress_counts_all_seeds() -> None:
    seen = []
    simulate(SMALL, TOY, 300, 2, ONE, progress=seen.append, workers=1)
    assert [p.users for p in seen] == sorted(p.users for p in seen)
    assert (seen[-1].users, seen[-1].total) == (600, 600)


ODD = {
    "one user": (TOY, 1, ONE),
    "fewer users than the first block": (TOY, 20, ONE),
    "one step": (plant_of([[0.5, 0.1], [0.0, 0.4]], [[0.1], [0.3]], H=1), 200, ONE),
    "more inputs than states": (plant_of([[0.5]], [[0.3, 0.2, 0.1]]), 200, ONE),
    "no disturbance": (plant_of([[0.5]], [[0.3]], w=0.0), 200, ONE),
    "unstable": (plant_of([[1.3, 0.2], [0.0, 1.1]], [[0.2], [1.0]], H=8, radius=3.0), 200, ONE),
    "explosive": (plant_of([[9.0]], [[1.0]], H=40, radius=20.0), 100, ONE),
    "tiny ε": (TOY, 200, Budget(1e-6)),
    "no ε to speak of": (TOY, 200, Budget(1e-12)),
    "huge ε": (TOY, 200, Budget(1e6)),
    "rests at zero": (plant_of([[0.5]], [[0.3]], start=Start("fixed", np.zeros(1))), 200, ONE),
    "rests at zero, no disturbance": (plant_of([[0.5]], [[0.3]], w=0.0, start=Start("fixed", np.zeros(1))), 200, ONE),
}

REFUSED = {"explosive": "shorten it, rescale the states", "rests at zero, no disturbance": "nothing ever moves"}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", ODD)
def test_odd_cases_end_in_a_result_or_in_a_clear_error(case: str, profile: str) -> None:
    plant, users, budget = ODD[case]
    if case in REFUSED and profile in ("refined", "nonprivate"):
        with pytest.raises(HushloopError, match=REFUSED[case]):
            simulate(profile, plant, users, 1, budget)
        return
    result = simulate(profile, plant, users, 1, budget)
    s = result.summary()
    assert result.rows[-1]["users"] == users
    assert math.isfinite(s["regret"]["mean"])
    assert 0.0 <= s["clipped_share"] <= 1.0
    assert 0.0 <= s["included_share"] <= 1.0


def test_tables_hold_what_made_them() -> None:
    result = simulate(SMALL, TOY, 300, 2, ONE)
    table = result.table
    assert table.height == len(result.rows)
    assert set(table["profile"]) == {"refined"}
    assert set(table["epsilon"]) == {1.0}
    assert table["version"].n_unique() == 1
    assert result.configuration["resolved"]["first"] == 32


@pytest.mark.parametrize(("users", "seeds"), [(0, 1), (10, 0), (-1, 1)])
def test_no_users_and_no_seeds_are_refused(users: int, seeds: int) -> None:
    with pytest.raises(HushloopError):
        simulate(SMALL, TOY, users, seeds, ONE)


def test_the_papers_own_events_are_measured() -> None:
    """Their probability is promised as 1 − α in all; its constants leave far more room than that."""
    published = simulate(PROFILES["paper"].with_(first=1, growth=1.0), TOY, 60, 2, ONE).summary()
    assert published["assumption_2"]["releases"] == 120
    assert published["assumption_2"]["held"] == published["assumption_2"]["releases"]
    exact = simulate("ofu", TOY, 50).summary()  # H = λI and L = 0, exactly
    assert exact["assumption_2"] == {"releases": 50, "held": 50}
    assert simulate(SMALL, TOY, 100, 1, ONE).summary()["assumption_2"] is None


def test_noise_beyond_its_limits_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from hushloop import profiles

    honest = profiles.paper_constants
    monkeypatch.setattr(
        profiles, "paper_constants", lambda *given: dataclasses.replace(honest(*given), nu=1e-6, lambda_max=1.0)
    )
    found = simulate("paper", TOY, 200, 1, ONE).summary()["assumption_2"]
    assert found["held"] < found["releases"]
