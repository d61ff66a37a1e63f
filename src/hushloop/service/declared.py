"""The privacy statement of a running deployment: the profile's own, and what this server adds to it."""

from __future__ import annotations

from ..privacy.accounting import epsilon_of
from ..privacy.clauses import Section, above
from ..privacy.noise import ExactNoise
from ..privacy.statement import Statement, statement
from .deployment import Deployment
from .published import Published


def declared(deployment: Deployment, published: Published, first: int) -> Statement:
    """`first` is the public size of the first block."""
    order = deployment.first_order
    assert order.scales is not None
    made = statement(
        deployment.problem, deployment.profile_name, deployment.budget, users=deployment.users, first=first,
        block=(order.collection, order.scales), source=ExactNoise(),
    )  # fmt: skip
    sections = [_unit(deployment, published), _operation(deployment)]
    if published.restores:
        sections.append(_restores(deployment, published))
    return made.with_sections(*sections)


def _unit(deployment: Deployment, published: Published) -> Section:
    P = deployment.budget.participations
    if published.anonymous:
        text = (
            "**The unit is the ticket, not the person.** Tickets were issued without naming whom they are for, so "
            "the server cannot tell how many one person holds: whoever reports with k tickets spends k times the μ of "
            "one report. The adjacency is that of one ticket's report."
        )
    else:
        text = (
            f"**The unit is the person.** Every ticket was issued for a pseudonym, and no pseudonym was ever issued "
            f"more than {P}; the server keeps a keyed hash of it. One person behind several pseudonyms counts as "
            "several."
        )
    return Section("Whom the promise is for", (text,))


def _operation(deployment: Deployment) -> Section:
    close = "its public size is reached"
    if deployment.deadline is not None:
        close += f" or its public deadline, {deployment.deadline:g} seconds after it has opened, has come"
    return Section(
        "How this server works",
        (),
        (
            f"A block closes when {close}; its noise is drawn before its first report.",
            "No report is kept: the store holds the exact sums of the open block, marks of tickets and persons, and "
            "a keyed digest of each counted report. Sums and noise are erased when the block is released.",
            "A report beyond its norm bounds counts as zeros, and only its sender is told.",
            "Erasure: a report that was added cannot be taken out of a sum again, and a release cannot be taken back. "
            "What the promise says of a release holds all the same.",
        ),
    )


def _restores(deployment: Deployment, published: Published) -> Section:
    budget, times = deployment.budget, 1 + published.restores
    mu = budget.mu * budget.participations * times
    text = (
        f"The store was restored from an old copy {published.restores} time(s). Whoever reported before may have "
        f"been counted in releases that the copy does not know, and again after it: at most {times} times in all. For "
        f"such a person ε = {above(epsilon_of(mu, budget.delta))} at δ = {budget.delta:g} under {budget.adjacency}."
    )
    return Section("Charged for restores", (text,))
