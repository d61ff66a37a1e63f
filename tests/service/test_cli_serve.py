"""`hushloop serve`, `tickets` and `store` as processes: start, ports, signals, files, refusals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from curators_for_tests import episode

from hushloop.cli import main
from hushloop.device import Assignment
from hushloop.service.wire_client import Wire

HUSHLOOP = [sys.executable, "-m", "hushloop"]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def serving(folder: Path, *more: str, store: str = "") -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    port = free_port()
    options = ["--plant", "toy", "--epsilon", "1", "--first", "4", "--port", str(port), "--operator-key-file", "op.key"]
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(
            [*HUSHLOOP, "serve", *options, "--store", store or "sqlite:///hush.db", *more], cwd=folder, stderr=log
        )
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
                break
            except urllib.error.URLError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def run(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*HUSHLOOP, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, env=environment
    )


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def send(url: str, ticket: str, seed: int) -> int:
    """The last answer's status; a superseded episode is run again."""
    wire = Wire(url)
    for _ in range(100):
        now = Assignment.from_dict(wire.ask("GET", "/v1/assignment").document)
        report = episode(now, np.random.default_rng(seed), f"r{seed}").to_dict()
        answer = wire.ask("POST", "/v1/reports", report, {"Authorization": f"Bearer {ticket}"})
        if answer.code != "superseded":
            break
        time.sleep(0.02)
    return answer.status


@pytest.mark.slow
def test_a_day_in_the_life_of_a_server(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url):
        key = ("--url", url, "--operator-key-file", str(tmp_path / "op.key"))
        issued = invoke("tickets", "issue", *key, "--count", "5", "--for", "ann", "--json")
        assert issued.exit_code == 3, "P is 1"
        assert "at most 1 report, ever" in issued.stderr
        issued = invoke("tickets", "issue", *key, "--count", "9", "--lifetime", "1d", "--json")
        document = json.loads(issued.stdout)
        assert document["expires"] - time.time() == pytest.approx(86_400, abs=60)
        plain = invoke("tickets", "issue", *key)
        assert len(plain.stdout.split()) == 1
        given = document["tickets"]
        assert [send(url, ticket, seed) for seed, ticket in enumerate(given[:6])] == [200] * 6
        releases = Wire(url).ask("GET", "/v1/releases").document
        assert len(releases["releases"]) == 1
        looked = run(tmp_path, "store", "check", "hush.db", "--json")
        assert json.loads(looked.stdout)["ok"], "a store is looked at while it is served"
        second = run(tmp_path, "serve", "--plant", "toy", "--epsilon", "1", "--first", "4", "--store", "sqlite:///hush.db",
                     "--operator-key-file", "op.key", "--port", "1")  # fmt: skip
        assert second.returncode == 3
        assert "another server uses hush.db: stop it first" in second.stderr
        copied = run(tmp_path, "store", "backup", "hush.db", "copy.db", "--json")
        assert json.loads(copied.stdout)["backup"] == "copy.db"
        process.kill()  # as a crash would
    with serving(tmp_path) as (process, url):
        assert Wire(url).ask("GET", "/v1/releases").document == releases
        assert send(url, given[6], 6) == 200
        assert send(url, given[0], 7) == 410
        assert send(url, given[7], 8) == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    for name in ("hush.db", "hush.db.secret", "hush.db.highwater", "op.key"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0, name
    entries = json.loads(run(tmp_path, "store", "ledger", "hush.db", "--json").stdout)
    assert [e["kind"] for e in entries["entries"]] == ["created", "tickets", "tickets", "release"]
    assert entries["spent"]["reports"] == 4
    assert entries["spent"]["people"] == [{"tickets": 0, "people": 10}]
    shown = run(tmp_path, "store", "ledger", "hush.db", environment={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"})
    assert "1 releases cover 4 reports" in shown.stdout
    restored(tmp_path)


def restored(folder: Path) -> None:
    """An old copy: refused with a way on, which asks before it charges."""
    shutil.copy(folder / "copy.db", folder / "hush.db")
    with serving(folder) as (process, _):
        process.kill()  # the copy is of the same block: nothing was lost
    store = folder / "hush.db"
    (folder / "hush.db.highwater").write_text('{"epoch": 0, "index": 7}')
    refused = run(folder, "serve", "--plant", "toy", "--epsilon", "1", "--first", "4", "--store", f"sqlite:///{store}",
                  "--operator-key-file", "op.key", "--port", str(free_port()))  # fmt: skip
    assert refused.returncode == 3
    assert "noise twice" in refused.stderr
    assert "acknowledge-restore" in refused.stderr
    assert run(folder, "store", "check", "hush.db").returncode == 3
    unsure = run(folder, "store", "acknowledge-restore", "hush.db")
    assert unsure.returncode == 3
    assert "say --charge" in unsure.stderr
    done = run(folder, "store", "acknowledge-restore", "hush.db", "--charge", "--json")
    assert json.loads(done.stdout)["restores"] == 1
    with serving(folder) as (process, url):
        text = json.dumps(Wire(url).ask("GET", "/v1/statement").document)
        assert "restored from an old copy 1 time" in text
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


@pytest.mark.slow
def test_on_postgresql_and_from_a_file_of_options(tmp_path: Path, postgres_url: str) -> None:
    port = free_port()
    (tmp_path / "serve.toml").write_text(
        f'plant = "toy"\nepsilon = 1\nfirst = 4\ndeadline = "1h"\nstore = "{postgres_url}"\nport = {port}\n'
        'operator_key_file = "op.key"\n'
    )
    with open(tmp_path / "log", "wb") as log:
        process = subprocess.Popen([*HUSHLOOP, "serve", "--config", "serve.toml"], cwd=tmp_path, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                urllib.request.urlopen(url + "/healthz", timeout=5).close()
                break
            except urllib.error.URLError:
                assert process.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.1)
        issued = run(
            tmp_path, "tickets", "issue", "--url", url, "--operator-key-file", "op.key", "--count", "5", "--json"
        )
        for seed, ticket in enumerate(json.loads(issued.stdout)["tickets"]):
            assert send(url, ticket, seed) == 200
        assert len(Wire(url).ask("GET", "/v1/releases").document["releases"]) == 1
        checked = run(tmp_path, "store", "check", postgres_url, "--operator-key-file", "op.key", "--json")
        assert json.loads(checked.stdout)["ok"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.mark.slow
def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run(tmp_path, "serve", "--plant", "toy", "--epsilon", "1", "--first", "4", "--store", "sqlite:///h.db",
                   "--operator-key-file", "op.key", "--port", str(taken.getsockname()[1]))  # fmt: skip
    assert done.returncode == 3
    assert "is the port in use?" in done.stderr
    assert "Traceback" not in done.stderr


WHOLE = {"plant": "toy", "epsilon": "1", "store": "memory:", "operator-key-file": "k", "port": "0"}


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        ({}, 2, "--plant is missing"),
        ({"plant": "toy"}, 2, "--epsilon is missing"),
        ({"plant": "toy", "epsilon": "1"}, 2, "--store is missing"),
        ({**WHOLE, "epsilon": "-1"}, 3, "`epsilon` is -1.0"),
        ({**WHOLE, "store": "ftp://x"}, 3, "sqlite:///FILE or postgresql"),
        ({**WHOLE, "plant": "nothing"}, 3, "nothing"),
        ({**WHOLE, "profile": "paper"}, 3, "refined"),
        ({**WHOLE, "deadline": "soon"}, 3, "12h"),
        ({**WHOLE, "adjacency": "x"}, 3, "zero-out"),
        ({**WHOLE, "host": "no.such.address.invalid"}, 3, "cannot listen"),
    ],
)  # fmt: skip
def test_options_that_make_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], status: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    done = invoke("serve", *arguments)
    assert done.exit_code == status, done.output
    assert words in done.output


def test_a_config_key_that_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("plants = 'toy'\n")
    done = invoke("serve", "--config", str(tmp_path / "c.toml"))
    assert done.exit_code == 3
    assert "plants" in done.output


@pytest.mark.parametrize("name", ["check", "ledger", "backup", "acknowledge-restore"])
def test_a_store_that_is_not_there(tmp_path: Path, name: str) -> None:
    more = {"backup": [str(tmp_path / "copy")], "acknowledge-restore": ["--charge"]}.get(name, [])
    done = invoke("store", name, str(tmp_path / "none.db"), *more)
    assert done.exit_code == 3
    assert "does not exist" in done.output
    assert list(tmp_path.iterdir()) == [] or name == "acknowledge-restore"


@pytest.mark.parametrize(
    "words",
    ["serve", "tickets", "tickets issue", "store", "store check", "store ledger", "store backup",
     "store acknowledge-restore"],
)  # fmt: skip
def test_every_help_has_an_example(words: str) -> None:
    done = invoke(*words.split(), "--help")
    assert done.exit_code == 0
    assert "Example: hushloop " in " ".join(done.output.split())


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "k").write_text("a" * 20)
    (tmp_path / "k").chmod(0o600)
    done = invoke(
        "tickets", "issue", "--url", f"http://127.0.0.1:{free_port()}", "--operator-key-file", str(tmp_path / "k")
    )
    assert done.exit_code == 3
    assert "the server is away" in done.output
