"""Errors that say what was wrong, with which value, and what to do about it."""

from __future__ import annotations


class HushloopError(Exception):
    """Base of every error that a user can mend. The command line prints it without a traceback and exits with 3."""

    exit_code = 3


class InvalidInput(HushloopError):
    """A value that makes the computation meaningless: names the key, the value and the remedy."""

    def __init__(self, key: str, problem: str, remedy: str = "") -> None:
        self.key = key
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"`{key}` {problem}" + (f": {remedy}" if remedy else ""))


class MissingExtra(HushloopError):
    """An optional package that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'hushloop[{extra}]'")
