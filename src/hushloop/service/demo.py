"""`make demo-service`: a server, simulated homes that report to it, the dashboard, and a picture of it at the end."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..errors import HushloopError

HUSHLOOP = [sys.executable, "-m", "hushloop"]
PLANT = "two-zone-heating"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
START = 300.0
"""Seconds that the first start on a machine may take: it compiles."""


@click.command()
@click.option("--homes", type=click.IntRange(1), default=20_000, show_default=True, help="How many report, once each.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), default=1000.0, show_default=True, help="A second.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="Promised to each home.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"), show_default=True)
@click.option("--stay", is_flag=True, help="Go on serving until Ctrl-C.")
def main(homes: int, rate: float, epsilon: float, out: Path, stay: bool) -> None:
    """Homes teach a server how to heat them; nobody learns anything about any one of them."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="hushloop-demo-") as name:
        folder = Path(name)
        with served(folder, epsilon) as url:
            click.echo(f"the dashboard is at {url}/ while {homes:,} homes report, {rate:g} a second")
            told = load(url, folder, homes, rate)
            settle(url)
            click.echo(summary(url, told))
            for path in pictures(url, out, folder):
                click.echo(f"wrote {path}")
            if stay:
                click.echo(f"still serving at {url}/; Ctrl-C ends it")
                wait_for_interrupt()


@contextmanager
def served(folder: Path, epsilon: float) -> Iterator[str]:
    """The server's address, for as long as it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--plant", PLANT, "--epsilon", epsilon, "--store", f"sqlite:///{folder}/hush.db", "--port", port]
    options += ["--operator-key-file", folder / "operator.key", "--quiet"]
    with open(folder / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen([*HUSHLOOP, "serve", *map(str, options)], stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        wait(url, server, folder / "log")
        yield url
    finally:
        server.terminate()
        server.wait()


def wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + START
    while server.poll() is None and time.monotonic() < give_up:
        try:
            urllib.request.urlopen(f"{url}/healthz", timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise HushloopError(
        f"the server does not answer: {log.read_text(encoding='utf-8').strip() or 'no word in its log'}"
    )


def load(url: str, folder: Path, homes: int, rate: float) -> dict[str, Any]:
    """Every home reports once; progress goes to the terminal."""
    options = [
        "--url",
        url,
        "--devices",
        homes,
        "--rate",
        rate,
        "--operator-key-file",
        folder / "operator.key",
        "--json",
    ]
    done = subprocess.run([*HUSHLOOP, "load", *map(str, options)], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise HushloopError(f"hushloop load has failed with exit code {done.returncode}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def get(url: str, path: str) -> Any:
    with urllib.request.urlopen(url + path, timeout=60) as answer:
        return json.load(answer)


def settle(url: str) -> None:
    """Until no release comes any more: the last block that is full is released after its last report was answered."""
    before = -1
    while (now := len(get(url, "/v1/releases")["releases"])) != before:
        before = now
        time.sleep(1.0)


def summary(url: str, told: dict[str, Any]) -> str:
    last = get(url, "/tables/costs.json")["rows"][-1]
    text = f"{told['accepted']:,} reports accepted, {told['rate']:,.0f} a second; {last['releases']} releases"
    if last["releases"]:
        saved = 1.0 - last["expected"] / last["idle"]
        text += f"; by the released estimate the controller costs {saved:.1%} less than doing nothing"
    return text


def pictures(url: str, out: Path, folder: Path) -> list[Path]:
    """The page as it stands, and a picture of it where a browser is installed."""
    page = out / "service.html"
    with urllib.request.urlopen(f"{url}/", timeout=60) as answer:
        page.write_bytes(answer.read())
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        click.echo("no picture: chromium is not installed (apt-get install chromium)", err=True)
        return [page]
    picture = out / "service.png"
    options = ["--headless", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    options += [f"--user-data-dir={folder}/browser", "--window-size=1400,2600", f"--screenshot={picture}", f"{url}/"]
    done = subprocess.run([browser, *options], capture_output=True, text=True, timeout=120)
    if not picture.exists():
        raise HushloopError(f"{browser} made no picture: {done.stderr.strip()[-300:]}")
    return [page, picture]


def wait_for_interrupt() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        click.echo("")


if __name__ == "__main__":
    try:
        main(standalone_mode=True)
    except HushloopError as why:
        raise SystemExit(f"demo: {why}") from None
