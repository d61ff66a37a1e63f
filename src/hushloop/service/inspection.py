"""What `hushloop store` looks at: whether a store is sound, and what was spent on whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .chain import Place, follows
from .highwater import HighWater, RolledBackError
from .store import Store
from .store.base import broken_links


def check_store(store: Store, highwater: Path) -> dict[str, Any]:
    """Findings by what was looked at; an empty list is fine."""
    found = {
        "pages": store.problems(),
        "ledger": broken_links(store.ledger()),
        "assignments": wrong_assignments(store),
        "releases": wrong_releases(store),
        "open_block": wrong_open_block(store),
        "high_water": wrong_mark(store, highwater),
    }
    return {"ok": not any(found.values()), **found}


def wrong_assignments(store: Store) -> list[str]:
    """Each id must name the one before it."""
    out, previous = [], ""
    for row in store.assignments():
        if not follows(row.id, previous):
            out.append(f"assignment {row.id} does not follow the one before it")
        if json.loads(row.body)["assignment_id"] != row.id:
            out.append(f"assignment {row.id} has another id in its body")
        previous = row.id
    return out


def wrong_releases(store: Store) -> list[str]:
    """Each release is in the ledger, and each of the ledger's is there, with the same users and noise."""
    written = {e["block"]: e for e in (json.loads(x.body) for x in store.ledger() if x.kind == "release")}
    there = {release["index"]: release for release in map(json.loads, store.releases())}
    out = [f"release {block} is in the ledger and not in the store" for block in written.keys() - there.keys()]
    for block, release in there.items():
        entry = written.get(block)
        if entry is None:
            out.append(f"release {block} is not in the ledger")
        elif any(entry[key] != release[key] for key in ("assignment_id", "users", "sigma_s", "sigma_c")):
            out.append(f"release {block} differs from the ledger")
    return out


def wrong_open_block(store: Store) -> list[str]:
    block = store.open_block()
    if block is None:
        return []
    size = json.loads(store.assignments()[-1].body)["closes"]["users"]
    wrong = not 0 <= block.reports <= size or (block.reports == 0 and any(json.loads(block.sums)))
    return ["the open block's sums do not fit its size"] if wrong else []


def wrong_mark(store: Store, path: Path) -> list[str]:
    rows = store.assignments()
    if not rows:
        return ["no assignment was ever published"]
    place = max(Place(rows[-1].epoch, rows[-1].block), Place(int(store.get("epoch") or 0), 0))
    try:
        HighWater(path).check(place, fresh=False)
    except RolledBackError as why:
        return [str(why)]
    return []


def spending(store: Store) -> dict[str, Any]:
    """What the releases cost, and how many tickets people hold. Nothing here counts the open block's reports."""
    entries = store.ledger()
    releases = [json.loads(e.body) for e in entries if e.kind == "release"]
    created = next(json.loads(e.body)["deployment"] for e in entries if e.kind == "created")
    budget, restores = created["budget"], int(store.get("epoch") or 0)
    users = sum(r["users"] for r in releases)
    mu = releases[0]["mu"] if releases else None
    text = (
        f"{len(releases)} releases cover {users} reports"
        + (f"; each report spent μ = {mu:.6g}, in the release of its own block alone. " if mu is not None else ". ")
        + f"Promised to each person: ε = {budget['epsilon']:g} at δ = {budget['delta']:g} under {budget['adjacency']},"
        f" at most {budget['participations']} report(s)."
        + (f" {restores} restore(s) were acknowledged: a person may have been counted up to {restores + 1} times as"
           " often." if restores else "")
    )  # fmt: skip
    return {
        "releases": len(releases), "reports": users, "mu_per_report": mu, "restores": restores, **{
            key: budget[key] for key in ("epsilon", "delta", "adjacency", "participations")
        },
        "people": [{"tickets": tickets, "people": people} for tickets, people in store.people()], "text": text,
    }  # fmt: skip
