"""A curator in a process of its own that will be killed: tells on standard output all that the world has seen."""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from torture_rig import Rig

GROUPS = 60


def tell(kind: str, value: Any) -> None:
    """At once: what was written to a pipe survives the writer."""
    os.write(1, (json.dumps([kind, value]) + "\n").encode())


def main(folder: str, seed: str, url: str = "") -> None:
    rng = random.Random(int(seed))
    rig = Rig(Path(folder), rng, url or None, witness=tell)
    for line in (Path(folder) / "memory").read_text().splitlines():
        rig.recall(*json.loads(line))
    rig.start()
    os.write(1, b'["ready", null]\n')
    rig.retry_unanswered()
    for _ in range(GROUPS):
        size = rng.randint(1, 8)
        if len(rig.tickets) < size:
            rig.issue(20)
        rig.send([rig.new_report() for _ in range(size)])
    rig.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
