"""`hushloop serve`: the curator as a durable server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import HushloopError, InvalidInput, MissingExtra
from ._common import load_problem, quiet_option, remark
from ._config import with_config

KEYS = (
    "plant", "profile", "epsilon", "delta", "adjacency", "participations", "users", "first", "deadline", "store",
    "host", "port", "operator_key_file",
)  # fmt: skip
EXAMPLE = "Example: hushloop serve --plant toy --epsilon 1 --store sqlite:///hush.db --operator-key-file operator.key"


@click.command(epilog=EXAMPLE)
@click.option("--plant", help="A plant of the gallery, or a problem file; A and B are not needed.")
@click.option("--profile", default="refined", show_default=True, help="refined: the one that needs no K.")
@click.option("--epsilon", type=float, help="ε, promised to each person.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="δ.")
@click.option("--adjacency", default="replace-one", show_default=True, help="replace-one or zero-out.")
@click.option("--participations", type=int, default=1, show_default=True, help="P, most reports of one person.")
@click.option("--users", type=int, help="K: stop after so many; default: never.")
@click.option("--first", type=int, help="Users of the first block; default: chosen from the prior and the budget.")
@click.option("--deadline", help="Close a block after this time at the latest, such as 12h; default: when it is full.")
@click.option("--store", help="sqlite:///FILE or postgresql://USER@HOST/DATABASE; memory: keeps nothing.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; TLS is a proxy's work.")
@click.option("--port", type=int, default=8080, show_default=True, help="Port to listen on.")
@click.option("--operator-key-file", help="The operator's key, made when missing; two lines while it is rotated.")
@click.option("--config", type=click.Path(dir_okay=False), help="A TOML file with these options as keys.")
@quiet_option
@click.pass_context
def command(ctx: click.Context, /, config: str | None, quiet: bool, **given: Any) -> None:
    """Serve assignments, count reports durably, release noisy sums."""
    try:
        import apsw  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as why:
        raise MissingExtra(why.name or "uvicorn", "service") from None
    from ..service.server import Files, serve

    o = with_config(ctx, given, config, KEYS)
    for key in ("plant", "epsilon", "store", "operator_key_file"):
        if o[key] is None:
            raise click.UsageError(f"--{key.replace('_', '-')} is missing: name it, here or in --config FILE")
    files = Files.beside(o["store"], Path(o["operator_key_file"]))
    serve(deployment_of(o), o["store"], files, o["host"], o["port"], lambda text: remark(text, quiet))


def deployment_of(o: dict[str, Any]) -> Any:
    """The deployment that the options describe."""
    from ..lq import Plant
    from ..privacy.budget import Budget
    from ..service.deployment import Deployment, duration

    if o["profile"] != "refined":
        raise InvalidInput("profile", f"is {o['profile']!r}", "only `refined` learns in blocks that can be served")
    try:
        budget = Budget(float(o["epsilon"]), float(o["delta"]), o["adjacency"], o["participations"])
    except (TypeError, ValueError) as why:
        raise HushloopError(f"epsilon and delta must be numbers: {why}") from why
    found = load_problem(o["plant"])
    problem = found.problem if isinstance(found, Plant) else found
    return Deployment(problem, budget, o["users"], o["first"], duration(o["deadline"]))
