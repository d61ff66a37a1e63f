"""Adds a planner and a release mechanism of one's own to the plots of two studies: `python examples/own_planner.py`."""

# %% [markdown]
# The parts are in own_parts.py, since the workers of a study import what they run by name.

# %%
from pathlib import Path

import hushloop as hl

OUT = Path("own-planner")
OUT.mkdir(exist_ok=True)

# %% [markdown]
# A study's options are plain values. `own` adds planners to those that are shipped: name → module:function.

# %%
planners = hl.study("planners", quick=True, own={"decaying": "own_parts:decaying"}, users=2**14, seeds=2)
ran = planners.run(workers=1)  # one worker is this very process: nothing to guard in a script without functions
print(ran.tables["summary"].select("label", "regret", "time"))

# %%
ran.plot("curves").savefig(OUT / "planners.png", dpi=150)

# %% [markdown]
# Mechanisms go the same way: changes of the profile `refined`, here its mechanism alone.

# %%
mechanisms = hl.study("mechanisms", quick=True, own={"louder": {"mechanism": "own_parts:Louder"}}, users=2**14, seeds=2)
found = mechanisms.run(workers=1)
print(found.tables["summary"].select("label", "regret", "time"))

# %%
found.plot("regret").savefig(OUT / "mechanisms.png", dpi=150)
print(f"figures in {OUT}")
