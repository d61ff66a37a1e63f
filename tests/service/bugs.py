"""Four classic bugs of a durable counter, seeded on purpose: a test that does not find them proves nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hushloop.service.curator import Curator, Parts
from hushloop.service.judge import Answer, Desk, Incoming
from hushloop.service.store import Counted


class AcknowledgesBeforeTheCommit(Curator):
    """Answers at once and commits with the next group: a restart in between loses what was acknowledged."""

    def __init__(self, parts: Parts) -> None:
        self._late: list[Counted] = []
        self._late_marks: list[str] = []
        super().__init__(parts)

    def take(self, batch: Sequence[Incoming]) -> list[Answer]:
        store = self.parts.store
        self._flush()
        self.tend()
        desk = Desk(self.parts.secret.value, self._ids, self.place, self.parts.clock.now())
        known = store.reports([item.report.report_id for item in batch])
        tickets = store.tickets([item.mark for item in batch if item.mark])
        verdicts = desk.judge(batch, self.block, known, tickets)
        self._late, self._late_marks = verdicts.counted, verdicts.spent
        if self.block is not None and self.block.full:
            self._flush()
        return verdicts.answers

    def _flush(self) -> None:
        if self._late and self.block is not None:
            with self.parts.store.transaction():
                self.parts.store.add_reports(self._late)
                self.parts.store.spend(self._late_marks)
                self.parts.store.add_sums(self.block.count, self.block.text(), self.parts.clock.now())
        self._late, self._late_marks = [], []


class ReleasesAgainAfterARestart(Curator):
    """Does not know whether its last release went out, so it makes it once more, with fresh noise."""

    def __init__(self, parts: Parts) -> None:
        rows = parts.store.releases()
        if rows:
            release = json.loads(rows[-1])
            fresh = parts.deployment.fresh_agent(parts.source)
            assert fresh.block is not None
            drawn = next(iter(fresh.block._noise.values()))
            p = len(release["T1"])
            release["T1"] = [
                [release["T1"][i][j] + float(drawn.N[i, j]) * 2.0**-30 for j in range(p)] for i in range(p)
            ]
            with parts.store.transaction():
                parts.store._db.execute("DELETE FROM releases WHERE block = ?", (release["index"],))  # type: ignore[attr-defined]
                parts.store.add_release(release["index"], json.dumps(release))
        super().__init__(parts)


class DrawsNoiseAgainAfterARestart(Curator):
    """Keeps the sums but not the noise: the same block gets another draw."""

    def __init__(self, parts: Parts) -> None:
        found = parts.store.open_block()
        if found is not None:
            state = json.loads(found.snapshot)
            fresh = parts.deployment.fresh_agent(parts.source)
            assert fresh.block is not None
            state["mechanism"]["block"]["noise"] = fresh.block._state()["noise"]
            with parts.store.transaction():
                parts.store.set_open(found._replace(snapshot=json.dumps(state)))
        super().__init__(parts)


class RemembersFewIds(Curator):
    """A bounded cache of report ids: an old report that is sent again counts again."""

    def __init__(self, parts: Parts) -> None:
        self._recent: list[str] = []
        self._store = parts.store
        super().__init__(parts)

    def take(self, batch: Sequence[Incoming]) -> list[Answer]:
        store: Any = self.parts.store
        whole, add = type(store).reports, type(store).add_reports

        def few(ids: Sequence[str]) -> dict[str, Counted]:
            return {name: row for name, row in whole(store, ids).items() if name in self._recent[-4:]}

        def anew(rows: Sequence[Counted]) -> None:
            ids = json.dumps([row.report_id for row in rows])
            store._db.execute("DELETE FROM reports WHERE id IN (SELECT value FROM json_each(?))", (ids,))
            add(store, rows)
            self._recent += [row.report_id for row in rows]

        store.reports, store.add_reports = few, anew
        try:
            return super().take(batch)
        finally:
            del store.reports, store.add_reports


BUGS = (AcknowledgesBeforeTheCommit, ReleasesAgainAfterARestart, DrawsNoiseAgainAfterARestart, RemembersFewIds)
