"""A real server in a process of its own, for as long as a test needs it; it may be killed and started again."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

HUSHLOOP = [sys.executable, "-m", "hushloop"]


class Served:
    """`hushloop serve` on a free port, its store and key in `folder`."""

    def __init__(self, folder: Path, *options: Any) -> None:
        self.folder, self.options = folder, [str(option) for option in options]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.key = folder / "operator.key"
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Served:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.stop()

    def start(self) -> None:
        store = f"sqlite:///{self.folder}/hush.db"
        command = [*HUSHLOOP, "serve", "--plant", "toy", "--epsilon", "1", "--store", store, "--port", str(self.port)]
        command += ["--operator-key-file", str(self.key), "--quiet", *self.options]
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                urllib.request.urlopen(self.url + "/healthz", timeout=5).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        assert self.process.wait() == 0
        self.process = None

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def releases(self, count: int) -> list[Any]:
        """Waits for so many: a block is released after its last report was answered."""
        while len(found := self.get("/v1/releases")["releases"]) < count:
            time.sleep(0.02)
        assert len(found) == count
        return list(found)

    def load(self, *options: Any) -> subprocess.Popen[str]:
        command = [*HUSHLOOP, "load", "--url", self.url, "--json", "--quiet", *map(str, options)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def fleet(self, *options: Any) -> dict[str, Any]:
        """The summary of a load that has ended well."""
        return summary(self.load(*options))

    def tickets(self, count: int) -> list[str]:
        options = ["--url", self.url, "--operator-key-file", str(self.key), "--count", str(count), "--json"]
        done = subprocess.run([*HUSHLOOP, "tickets", "issue", *options], capture_output=True, text=True, check=True)
        return list(json.loads(done.stdout)["tickets"])


def summary(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    found: dict[str, Any] = json.loads(output)
    return found
