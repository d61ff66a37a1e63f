"""The service under the audit of privacy: neighbours in its reports, everything that it publishes compared."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from replayed import assert_standard_normal, scores
from torture_rig import ENTRIES, FIRST, Rig, deployment

from hushloop.audit.canaries import neighbours, worst_people
from hushloop.audit.exact import exact_audit
from hushloop.audit.subject import AgentCuration, Stage
from hushloop.device import Report
from hushloop.privacy.mechanisms import NoiseSource
from hushloop.privacy.mechanisms.base import load_collection
from hushloop.privacy.mechanisms.stream import StreamNoise
from hushloop.privacy.release import Release, Sums
from hushloop.service.clock import Clock
from hushloop.service.curator import Curator, Parts
from hushloop.service.highwater import HighWater
from hushloop.service.judge import Incoming
from hushloop.service.keys import ServerSecret
from hushloop.service.protocol import ReportAnswer, ReportIn, TicketRequest
from hushloop.service.store.sqlite import SqliteStore

BLOCKS = 3
SECRET = ServerSecret(bytes(range(32)))


class Counter:
    """A curator behind the auditor's door: reports one by one with tickets, published values alone on the way out."""

    def __init__(self, source: NoiseSource) -> None:
        self.source = source
        self.home = tempfile.TemporaryDirectory()
        self.opened = self.made = 0
        self._start()

    def _start(self) -> None:
        folder = Path(self.home.name)
        store = SqliteStore(folder / "hush.db")
        mark = HighWater(folder / "mark")
        self.curator = Curator(Parts(deployment(), store, SECRET, mark, self.source, Clock(lambda: 1e9)))

    def open(self) -> Stage | None:
        if self.opened == BLOCKS:
            self.curator.close()
            self.home.cleanup()
            return None
        self.opened += 1
        document = json.loads(self.curator.published.assignment)
        collection = {k: v for k, v in document["collection"].items() if k != "scale_bits"}
        self.stage = Stage(
            load_collection(collection), document["closes"]["users"], document["assignment_id"], document
        )
        return self.stage

    def add(self, report: Report) -> bool:
        """What others can see of it. That a report was beyond its bounds is told to its sender alone."""
        (ticket,) = self.curator.issue(TicketRequest(1)).tickets
        sent = ReportIn(report.report_id, report.assignment_id, report.S.tolist(), report.C.tolist())
        digest = SECRET.digest(repr((sent.S, sent.C)).encode())
        (answer,) = self.curator.take([Incoming(sent, digest, SECRET.ticket_mark(ticket))])
        assert isinstance(answer, ReportAnswer), answer
        return not answer.repeated

    def add_sums(self, sums: Sums) -> None:
        S, C = (np.array([int(v) // sums.users for v in part], dtype=np.int64) for part in (sums.S, sums.C))
        for _ in range(sums.users):
            self.made += 1
            assert self.add(Report(S, C, self.stage.assignment_id, f"other-{self.made}"))

    def close(self) -> Release | None:
        self.curator.tend()
        r = json.loads(self.curator.published.releases)["releases"][-1]
        return Release(
            r["index"], r["users"], r["total_users"], np.array(r["T1"]), np.array(r["T2"]), r["sigma_s"], r["sigma_c"],
            True, load_collection(r["collection"]), "block",
        )  # fmt: skip

    def restart(self) -> None:
        self.curator.close()
        self._start()


@pytest.mark.slow
def test_the_service_keeps_its_promise_to_the_last_bit() -> None:
    """Every pair of neighbours costs at most μ, all else is equal when releases are: as for the agent alone."""
    budget = deployment().budget

    def agent(source: NoiseSource) -> AgentCuration:
        return AgentCuration(deployment().fresh_agent(source), BLOCKS)

    block = agent(StreamNoise(0)).agent.block
    assert block is not None
    pairs = neighbours(*worst_people(block.collection, block.scales, budget.adjacency), (0, FIRST))
    found, alone = (exact_audit(make, pairs, budget.mu) for make in (Counter, agent))
    assert found.holds, found
    assert found.cost == pytest.approx(alone.cost, rel=1e-9)
    assert found.cost > 0.3 * budget.mu, "an audit that moves nothing shows nothing"


@pytest.mark.slow
def test_what_is_released_is_the_sums_and_fresh_noise_of_the_declared_size(tmp_path: Path) -> None:
    """Many stores, restarted under way: noise over its scale is standard normal, and no two blocks share any."""
    values: list[list[float]] = []
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        rig = Rig(folder, random.Random(number))
        rig.start()
        for _ in range(14):
            rig.issue(4)
            rig.send([rig.new_report() for _ in range(4)])
            if rig.rng.random() < 0.2:
                rig.stop()
                rig.start()
        rig.check()
        for release in rig.published:
            drawn = rig.noise[release["assignment_id"]]
            values.append(scores(release, (drawn.N, drawn.L)))
        rig.stop()
    z = np.array(values)
    assert z.shape == (120, ENTRIES)
    assert_standard_normal(list(z.ravel()))
    neighbours_in_time = (z[:-1] * z[1:]).sum() / np.sqrt(z[:-1].size)
    assert abs(neighbours_in_time) < 6.0  # the sum of products of independent standard normals: 1e-7 and less
