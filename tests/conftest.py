"""What all tests share: settings for hypothesis, and tools outside Python that some tests need."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "hushloop", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.load_profile("hushloop")

TOOLS = {
    "chromium": ("chromium", ("chromium", "chromium-browser", "google-chrome")),
    "postgres": ("postgresql", ("initdb",)),
    "node": ("nodejs", ("node", "nodejs")),
}
"""Tool → the Debian package that has it, and the commands to look for."""


def find_tool(tool: str) -> Path | None:
    """Where the tool is; Debian keeps PostgreSQL's own commands outside of PATH."""
    for name in TOOLS[tool][1]:
        if found := shutil.which(name):
            return Path(found)
        if tool == "postgres":
            for versioned in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True):
                return versioned
    return None


def require_tool(tool: str) -> Path:
    """The tool's path; without it the test is skipped, or fails where HUSHLOOP_REQUIRE_SERVICES is set."""
    found = find_tool(tool)
    if found is None:
        text = f"{tool} is missing: apt-get install {TOOLS[tool][0]}; the tests that need it did not run"
        if os.environ.get("HUSHLOOP_REQUIRE_SERVICES"):
            pytest.fail(text, pytrace=False)
        pytest.skip(text)
    return found


@pytest.fixture
def chromium() -> Path:
    return require_tool("chromium")


@pytest.fixture(scope="session")
def postgres() -> Path:
    return require_tool("postgres")


@pytest.fixture
def node() -> Path:
    return require_tool("node")
