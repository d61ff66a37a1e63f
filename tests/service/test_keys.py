"""Secrets: files of mode 600, keys that rotate, marks that tell nothing without the secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hushloop.errors import HushloopError
from hushloop.service.keys import OperatorKeys, ServerSecret, make_tickets, write_private


def test_the_secret_is_made_once_and_private(tmp_path: Path) -> None:
    one = ServerSecret.read(tmp_path / "s", True)
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600
    assert ServerSecret.read(tmp_path / "s", False) == one
    assert len(one.value) == 32


def test_a_missing_secret_of_an_old_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(HushloopError, match="bring it back"):
        ServerSecret.read(tmp_path / "s", False)


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    ServerSecret.read(tmp_path / "s", True)
    os.chmod(tmp_path / "s", 0o640)
    with pytest.raises(HushloopError, match="chmod 600"):
        ServerSecret.read(tmp_path / "s", False)


def test_marks_depend_on_the_secret_and_on_their_purpose() -> None:
    one, other = ServerSecret(b"1" * 32), ServerSecret(b"2" * 32)
    assert one.ticket_mark("t") != other.ticket_mark("t")
    assert one.person_mark("t") != other.person_mark("t")
    assert one.digest(b"t") != other.digest(b"t")
    assert one.person_mark("t") != one.ticket_mark("t")
    assert one.digest(b"") != one.digest(b"\0")


def test_a_mark_does_not_hold_the_ticket() -> None:
    ticket = make_tickets(1)[0]
    mark = ServerSecret(b"1" * 32).ticket_mark(ticket)
    assert ticket[16:] not in mark
    assert mark != ServerSecret(b"1" * 32).ticket_mark(ticket[:-1])


def test_tickets_differ_and_carry_192_secret_bits() -> None:
    made = make_tickets(1000)
    assert len({t[16:] for t in made}) == len({t[:16] for t in made}) == 1000
    assert {len(t) for t in made} == {48}
    assert make_tickets(1)[0][:11] != make_tickets(1)[0][:11]


@pytest.mark.parametrize("ticket", ["", "x", "\0" * 20, "ü" * 20, "'; DROP TABLE tickets; --", " " * 50])
def test_any_text_has_a_harmless_mark(ticket: str) -> None:
    assert ServerSecret(b"1" * 32).ticket_mark(ticket).isalnum()


def test_the_operators_key_is_made_and_accepted(tmp_path: Path) -> None:
    keys = OperatorKeys(tmp_path / "k")
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600
    key = (tmp_path / "k").read_text().strip()
    assert keys.accept(key)
    assert not keys.accept(key[:-1])
    assert not keys.accept("")


def test_two_keys_while_one_is_rotated_without_a_restart(tmp_path: Path) -> None:
    keys = OperatorKeys(tmp_path / "k")
    old = (tmp_path / "k").read_text().strip()
    write_private(tmp_path / "k", f"{old}\n{'n' * 20}\n")
    assert keys.accept(old)
    assert keys.accept("n" * 20)
    write_private(tmp_path / "k", f"{'n' * 20}\n")
    assert not keys.accept(old)
    assert keys.accept("n" * 20)


@pytest.mark.parametrize("text", ["", "short\n", "a" * 20 + "\n" + "b" * 20 + "\n" + "c" * 20 + "\n"])
def test_a_key_file_that_protects_nothing_is_refused(tmp_path: Path, text: str) -> None:
    write_private(tmp_path / "k", text)
    with pytest.raises(HushloopError, match="at least 16 characters"):
        OperatorKeys(tmp_path / "k")
