"""The paper in closed form against the paper played user by user, with the same noise."""

from __future__ import annotations

import numpy as np
import pytest

from hushloop.errors import HushloopError
from hushloop.lq import Plant
from hushloop.lq.files import load
from hushloop.privacy.budget import Budget
from hushloop.privacy.mechanisms import Mechanism
from hushloop.privacy.noise import SeededNoise
from hushloop.privacy.release import Sums
from hushloop.privacy.sensitivity import NoiseScales
from hushloop.simulation import simulate
from hushloop.studies.long_paper import geometric_times, long_run, noisy, regularisers_of, setup

TOY = load("toy")
assert isinstance(TOY, Plant)


def test_times_reach_the_last_user_and_grow() -> None:
    times = geometric_times(1000, 1.1)
    assert times[0] == 1
    assert times[-1] == 1000
    steps = np.diff(times)
    assert (steps >= 1).all()
    assert (np.array(times[1:]) <= np.maximum(1.1 * np.array(times[:-1]), np.array(times[:-1]) + 1)).all()


@pytest.mark.parametrize("users", [1, 37, 1000])
def test_the_noise_is_that_of_the_tree(users: int) -> None:
    """Node by node: the release of a stream of zeros, reached one by one or in one jump."""
    problem = TOY.problem
    learner, tree = setup(problem, Budget(1.0), 1024, "printed")
    mechanism = Mechanism(tree, SeededNoise(3))
    release = None
    for _ in range(users):
        block = mechanism.open(learner.collection, 1)
        zero = Sums.zero(3, 2)
        block.add_sums(Sums(1, zero.S, zero.C))
        release = block.close()
    found = noisy(problem, tree, SeededNoise(3), np.zeros(12), 0, users)
    assert release is not None
    np.testing.assert_allclose(found.T1, release.T1, rtol=1e-12)
    np.testing.assert_allclose(found.T2, release.T2, rtol=1e-12)
    assert found.sigma_s == pytest.approx(release.sigma_s)


def test_exact_accounting_lowers_the_noise_and_the_tight_bound_its_extent() -> None:
    scales = []
    for noise in ("printed", "exact", "isotropic"):
        _, tree = setup(TOY.problem, Budget(1.0), 4096, noise)
        scales.append(tree.given.sigma_s)
        assert tree.guarantee(1e-6, "replace-one").epsilon <= 1.0 + 1e-9
        assert tree.isotropic == (noise == "isotropic")
    assert scales[0] > 1.5 * scales[1]
    assert scales[1] == scales[2]
    loose, tight = (regularisers_of(TOY.problem, 10.0, 10.0, 4096, 0.1, flag) for flag in (False, True))
    assert loose.lambda_min > 1.5 * tight.lambda_min


def test_the_tight_bounds_hold_for_isotropic_noise() -> None:
    """Of 20,000 fixed draws none leaves bounds that are made for one failure in 40,000."""
    fixed = regularisers_of(TOY.problem, 1.0, 1.0, 2000, 0.1, True)
    source = SeededNoise(1, "tight")
    noise = [source.draw(3, 2, NoiseScales(1.0, 1.0), k, True) for k in range(20_000)]
    assert max(float(np.abs(np.linalg.eigvalsh(N)).max()) for N, _ in noise) < fixed.lambda_min
    assert max(float(np.linalg.norm(L)) for _, L in noise) < fixed.nu * np.sqrt(fixed.lambda_min)


def test_what_could_be_clipped_is_refused() -> None:
    tight = Plant(TOY.problem.with_(control_bound=0.05), TOY.A, TOY.B)
    with pytest.raises(HushloopError, match="clipped"):
        list(long_run(tight, Budget(1e5), 2**12, 0))


@pytest.mark.slow
def test_regret_is_that_of_the_full_simulation() -> None:
    """So large an ε that the paper learns within 2,048 users; four seeds, the same noise in both."""
    budget, users = Budget(30_000.0), 2**11
    full = simulate("paper", TOY, users, 4, budget, workers=1)
    closed = []
    for seed in range(4):
        rows = list(long_run(TOY, budget, users, seed, growth=1.02))
        closed.append(sum(row["loss"] * row["block_users"] for row in rows))
    idle = users * (TOY.idle_cost - TOY.optimal_cost)
    assert max(closed) < 0.7 * idle  # it has left the linear part
    np.testing.assert_allclose(closed, full.regrets, rtol=0.15)
