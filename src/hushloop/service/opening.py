"""How a server takes up its store: a new one is made, the old one goes on, one that was rolled back is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..errors import HushloopError
from ..privacy.mechanisms import NoiseSource
from . import faults
from .block import open_rows
from .chain import Place
from .deployment import Deployment
from .highwater import HighWater
from .store import AssignmentRow, Store, StoreError
from .store.base import broken_links, chained

if TYPE_CHECKING:
    from ..agent import Agent
    from .curator import Parts

BEGUN = Place(0, -1)
"""The mark of a store that is being made: whether its creation was committed or not, the next start goes on."""

MOST_RESTORES = 64
"""Beyond so many the promise would not be worth its name."""


def prepare(parts: Parts) -> None:
    """After this the store has an open block, or is finished, and is the newest that this machine knows of."""
    store = parts.store
    stored = store.get("deployment")
    rows = store.assignments()
    if stored is None:
        _begin(parts)
        return
    parts.deployment.check_same(stored)
    check_secret(parts.secret.digest(b"hushloop"), store)
    if wrong := broken_links(store.ledger()):
        raise StoreError(f"the store is damaged: {wrong[0]}: see docs/how-to/restore")
    epoch = int(store.get("epoch") or 0)
    latest = rows[-1]
    place = max(Place(latest.epoch, latest.block), Place(epoch, 0))
    parts.highwater.check(place, fresh=False)
    found = store.open_block()
    if found is not None:
        parts.clock.seen(found.seen)
    ledger = store.ledger()
    parts.clock.seen(ledger[-1].at)
    if found is not None and json.loads(found.snapshot)["mechanism"]["block"] is None:
        place = _reopen(parts, epoch, latest, json.loads(found.snapshot))
    parts.highwater.raise_to(place)


def _begin(parts: Parts) -> None:
    """A new deployment: its first block opens, its first noise is drawn."""
    store, deployment, now = parts.store, parts.deployment, parts.clock.now()
    if parts.highwater.read() not in (None, BEGUN):
        raise HushloopError(
            f"{parts.highwater.path} belongs to another store, and this one is new: bring that store back, or give a"
            " new name to the new one"
        )
    document = deployment.document()
    agent = deployment.fresh_agent(parts.source)
    row, opened = open_rows(agent, parts.secret.value, 0, "", now, deployment.deadline)
    parts.highwater.raise_to(BEGUN)
    faults.reach("before-creation")
    with store.transaction():
        store.put("deployment", json.dumps(document))
        store.put("secret", parts.secret.digest(b"hushloop"))
        store.put("epoch", "0")
        store.set_open(opened)
        store.add_assignment(row)
        store.append(chained(None, now, "created", {"deployment": document}))
    faults.reach("after-creation")
    parts.highwater.raise_to(Place(0, 0))


def _reopen(parts: Parts, epoch: int, latest: AssignmentRow, state: dict[str, Any]) -> Place:
    """After an acknowledged restore: the abandoned block's order runs again, with noise that was never used."""
    now = parts.clock.now()
    agent = reopened(parts.deployment, parts.source, state)
    row, opened = open_rows(agent, parts.secret.value, epoch, latest.id, now, parts.deployment.deadline)
    with parts.store.transaction():
        parts.store.set_open(opened)
        parts.store.add_assignment(row)
    return Place(row.epoch, row.block)


def reopened(deployment: Deployment, source: NoiseSource, state: dict[str, Any]) -> Agent:
    agent = deployment.agent(state, source)
    order = agent.order
    agent.mechanism.open(order.collection, order.users, order.scales, ids=(agent.assignment_id,))
    return agent


def check_secret(digest: str, store: Store) -> None:
    if store.get("secret") != digest:
        raise HushloopError(
            "the secret file is not the one that this store was made with, so no ticket and no assignment can be"
            " checked: bring the right file back"
        )


def acknowledge_restore(store: Store, highwater: HighWater, now: float) -> dict[str, Any]:
    """Go on with an old copy: give up its open block and noise, revoke its tickets, and charge everybody for it.

    Whoever had a ticket may have reported into blocks that were released and are not in this copy, and may get tickets
    and report again: from now on each person's cost is counted once more.
    """
    found, epoch = store.open_block(), int(store.get("epoch") or 0) + 1
    known = highwater.read()
    if known is not None:
        epoch = max(epoch, known.epoch + 1)
    if epoch > MOST_RESTORES:
        raise HushloopError(f"{MOST_RESTORES} restores were charged already: start a new deployment")
    ledger = store.ledger()
    moment = max([now, *(entry.at for entry in ledger[-1:])])
    block = None if found is None else found.block
    facts = {"restores": epoch, "abandoned_block": block, "highest_published": None if known is None else known.index}
    with store.transaction():
        if found is not None:
            state = json.loads(found.snapshot)
            state["mechanism"]["block"] = None
            zeros = json.dumps([0] * len(json.loads(found.sums)))
            store.set_open(found._replace(reports=0, sums=zeros, snapshot=json.dumps(state)))
        facts["revoked_tickets"] = store.revoke()
        store.put("epoch", str(epoch))
        store.append(chained(ledger[-1] if ledger else None, moment, "restore", facts))
    highwater.raise_to(Place(epoch, 0))
    return facts
