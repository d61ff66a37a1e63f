"""Deployment files, linted where they cannot run: an unprivileged user and a health check that works in each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from served import Served

from hushloop.cli._config import read_config
from hushloop.cli.serve import KEYS
from hushloop.lq.files import load

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = ("hushloop.service", "hushloop-health.service", "hushloop-health.timer")


def instructions() -> list[tuple[str, str]]:
    """(INSTRUCTION, rest) of the Dockerfile, continued lines joined."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "compose.yaml").read_text()))


def unit(name: str) -> dict[str, list[str]]:
    """Key → values: systemd allows a key more than once."""
    out: dict[str, list[str]] = {}
    for line in (DEPLOY / name).read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            out.setdefault(key, []).append(value)
    return out


def command_of(line: str) -> list[str]:
    """The words of an Exec line as systemd reads them: quotes, and C escapes within them."""
    words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', line)
    return [quoted.encode().decode("unicode_escape") if quoted else bare for quoted, bare in words]


def test_the_dockerfile_copies_what_is_there_and_runs_as_nobody_in_particular() -> None:
    steps = instructions()
    assert {name for name, _ in steps} <= {
        "FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK",
        "ENTRYPOINT", "CMD",
    }  # fmt: skip
    for name, rest in steps:
        if name == "COPY" and not rest.startswith("--from"):
            assert all((ROOT / source).exists() for source in rest.split()[:-1])
    order = [name for name, _ in steps]
    last = len(order) - 1 - order[::-1].index("FROM")
    assert "USER" in order[last:]
    assert dict(steps)["USER"] not in ("root", "0")
    assert order.index("USER") < order.index("ENTRYPOINT")
    assert all(rest.split()[0].count(":") == 1 for name, rest in steps if name == "FROM"), "a tag names the version"
    for name in ("ENTRYPOINT", "CMD"):
        assert isinstance(json.loads(dict(steps)[name]), list), "the exec form: signals reach the server"


def test_every_service_of_compose_has_a_health_check_and_no_privileges() -> None:
    found = compose()
    for name, service in found["services"].items():
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert str(service["user"]) not in ("root", "0")
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            assert source in found["volumes"] or (DEPLOY / source).is_file()
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    ours = found["services"]["hushloop"]
    assert (DEPLOY / ours["build"]["context"]).resolve() == ROOT
    assert (ROOT / ours["build"]["dockerfile"]).is_file()
    assert ours["depends_on"]["db"]["condition"] == "service_healthy"


def test_no_file_holds_a_secret() -> None:
    for service in compose()["services"].values():
        given = [value for key, value in service["environment"].items() if "PASSWORD" in key]
        assert given
        assert all(value.startswith("${POSTGRES_PASSWORD:?") for value in given), "from outside, and never empty"
    assert "deploy/.env" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_unit_is_unprivileged() -> None:
    found = unit("hushloop.service")
    assert found["DynamicUser"] == ["yes"]
    assert found["NoNewPrivileges"] == ["yes"]
    assert found["CapabilityBoundingSet"] == [""]
    assert found["LimitCORE"] == ["0"]
    assert found["UMask"] == ["0077"]
    assert unit("hushloop-health.service")["DynamicUser"] == ["yes"]


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing: apt-get install systemd"
)
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    for name in UNITS:
        text = (DEPLOY / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/hushloop/bin/", f"{Path(sys.executable).parent}/"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *UNITS], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in done.stderr


def test_what_starts_the_server_is_a_command_that_it_knows() -> None:
    from hushloop.cli.serve import command

    known = {option for p in command.params for option in p.opts}
    lines = [
        command_of(unit("hushloop.service")["ExecStart"][0]),
        json.loads(dict(instructions())["CMD"]),
        compose()["services"]["hushloop"]["command"],
    ]
    for words in lines:
        assert "serve" in words
        assert {w for w in words if w.startswith("--")} <= known


def test_the_configuration_starts_a_server_and_its_health_is_seen(tmp_path: Path) -> None:
    """Each health check as it stands in its file, with the test's port: yes while the server runs, no after it."""
    values = read_config(str(DEPLOY / "serve.toml"), KEYS)
    assert {"plant", "epsilon", "store", "operator_key_file"} <= values.keys()
    load(str(DEPLOY / "rooms.toml"))
    checks = [
        json.loads(dict(instructions())["HEALTHCHECK"].split("CMD", 1)[1]),
        compose()["services"]["hushloop"]["healthcheck"]["test"][1:],
        command_of(unit("hushloop-health.service")["ExecStart"][0]),
        command_of(unit("hushloop.service")["ExecStartPost"][0]),
    ]
    with Served(tmp_path, "--config", DEPLOY / "serve.toml", "--plant", DEPLOY / "rooms.toml") as server:
        assert [healthy(check, server.port) for check in checks] == [True] * 4
    assert [healthy(check, server.port) for check in checks[:3]] == [False] * 3
    hasty = [word.replace("range(600)", "range(2)") for word in checks[3]]
    assert not healthy(hasty, server.port)


def healthy(check: list[str], port: int) -> bool:
    words = [sys.executable, *(word.replace(":8080/", f":{port}/") for word in check[1:])]
    return subprocess.run(words, capture_output=True, timeout=60).returncode == 0
