"""A thermostat that learns with others: `thermostat.py URL TICKET`, or without arguments a server and six rooms."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np

from hushloop.service.client import Device

SET_POINT, SCALE = 21.0, 5.0  # x = (temperature - SET_POINT) / SCALE, as the server's problem file has it


class Room:
    """Stands for the hardware: replace the two marked lines by your sensor and your heater."""

    def __init__(self) -> None:
        self.temperature = SET_POINT

    def step(self, control: np.ndarray | None) -> list[float]:
        """Apply a control and wait for one step; None begins an episode, here after an airing."""
        if control is None:
            self.temperature = SET_POINT - SCALE * 0.8
        else:  # the heater, and five minutes of the room
            loss, gain = 0.3 * (self.temperature - SET_POINT), 0.4 * SCALE * float(control[0])
            self.temperature += gain - loss + SCALE * random.choice((-0.05, 0.05))
        return [(self.temperature - SET_POINT) / SCALE]  # the sensor


def main(url: str, ticket: str, outbox: Path) -> str:
    """Control until the one report of this ticket is delivered; the outbox remembers it through restarts."""
    outcome = Device(url, ticket, outbox).run(Room().step)
    return f"{outcome.status}: {len(outcome.controls)} controls under assignment {outcome.assignment_id[:12]}…"


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(main(sys.argv[1], sys.argv[2], Path("thermostat.outbox")))
    else:
        from serve_for_demo import demonstrate

        demonstrate(main)
