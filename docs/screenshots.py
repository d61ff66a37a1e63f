"""Makes the pictures of docs/how-to/dashboard.md: python docs/screenshots.py (needs playwright and chromium).

A deployment is simulated on public seeds, so that the pictures show the same numbers every time.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import msgspec

from hushloop.lq import gallery
from hushloop.privacy.budget import Budget
from hushloop.privacy.noise import SeededNoise
from hushloop.service.block import release_out
from hushloop.service.dashboard.board import Board
from hushloop.service.dashboard.page import render
from hushloop.service.dashboard.tables import tables
from hushloop.service.deployment import Deployment
from hushloop.service.protocol import ReleaseOut, ReleasesAnswer
from hushloop.service.published import Published, etag
from hushloop.simulation.play import play, sums_of

IMAGES = Path(__file__).parent / "images"
PLANT, EPSILON, SEED = "two-zone-heating", 8.0, 1
PICTURES = (
    ("dashboard-wide-light", 9, 1400, 1230, "light"),
    ("dashboard-wide-dark", 9, 1400, 1230, "dark"),
    ("dashboard-phone-light", 9, 380, 1300, "light"),
    ("dashboard-phone-dark", 9, 380, 1300, "dark"),
    ("dashboard-empty-light", 0, 1400, 860, "light"),
    ("dashboard-empty-phone-dark", 0, 380, 1300, "dark"),
)
"""File, releases, width, height, colour scheme."""


def page(blocks: int) -> bytes:
    """The dashboard after so many releases, as a server would answer it."""
    plant = gallery.get(PLANT)
    what = Deployment(plant.problem, Budget(EPSILON))
    agent, releases, users = what.fresh_agent(SeededNoise(SEED)), list[ReleaseOut](), 0
    first = agent.room
    for _ in range(blocks):
        assignment, room = agent.assignment(), agent.room
        agent.receive_sums(sums_of(play(plant, assignment, SEED, users, room)))
        users += room
        assert agent.release is not None
        releases.append(release_out(agent.release, assignment.id))
    body, text = agent.assignment().to_json().encode(), msgspec.json.encode(ReleasesAnswer(releases))
    published = Published(body, etag(body), text, etag(text), blocks, users, agent.room, None, 0, False)
    view = Board(what, first).view(published, "ok")
    return render(view, tables(view))


def shrink(path: Path) -> None:
    """A palette is enough for drawings and text, and half the size."""
    from PIL import Image

    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
    print(path)


def main() -> None:
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    made = {blocks: page(blocks) for blocks in {one[1] for one in PICTURES}}
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tool:
        browser = tool.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        for name, blocks, width, height, scheme in PICTURES:
            file = Path(folder) / f"{blocks}.html"
            file.write_bytes(made[blocks])
            tab = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
            tab.goto(file.as_uri())
            tab.screenshot(path=IMAGES / f"{name}.png")
            tab.context.close()
            shrink(IMAGES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
