"""The demonstration runs from nothing to a picture, and leaves no process behind."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hushloop.errors import HushloopError
from hushloop.service import demo


@pytest.mark.slow
def test_a_small_one(chromium: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hushloop.service.demo", "--homes", "300", "--rate", "2000", "--out", tmp_path]
    done = subprocess.run([str(word) for word in [*command, "--epsilon", "8"]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    address = re.search(r"http://127\.0\.0\.1:\d+/", done.stdout)
    assert address is not None
    assert "300 reports accepted" in done.stdout
    assert (tmp_path / "service.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "service.html").read_text()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address[0], timeout=5)


def test_without_a_browser_the_page_is_kept_and_the_remedy_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo.shutil, "which", lambda name: None)
    (tmp_path / "site").mkdir()
    with file_server(tmp_path / "site", "<svg>the page</svg>") as url:
        assert demo.pictures(url, tmp_path, tmp_path) == [tmp_path / "service.html"]
    assert (tmp_path / "service.html").read_text() == "<svg>the page</svg>"
    assert "apt-get install chromium" in capsys.readouterr().err


@contextmanager
def file_server(folder: Path, page: str) -> Iterator[str]:
    (folder / "index.html").write_text(page)
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_server_that_dies_is_told_with_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("Error: no such plant")
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    with pytest.raises(HushloopError, match="no such plant"):
        demo.wait("http://127.0.0.1:9", dead, tmp_path / "log")
