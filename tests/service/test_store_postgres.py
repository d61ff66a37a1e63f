"""What is PostgreSQL's own: its schema, its format, and what is said when the server is not there."""

from __future__ import annotations

import psycopg
import pytest

from hushloop.service.store import FORMAT, StoreError
from hushloop.service.store import postgres as module
from hushloop.service.store.postgres import PostgresStore


def test_nobody_there(tmp_path) -> None:
    with pytest.raises(StoreError, match="cannot be used"):
        PostgresStore(f"postgresql://hush@/x?host={tmp_path}")


def test_a_password_is_never_said(tmp_path) -> None:
    with pytest.raises(StoreError) as caught:
        PostgresStore(f"postgresql://hush:verysecret@/x?host={tmp_path}")
    assert "verysecret" not in str(caught.value)


def test_commits_wait_for_the_disk(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    assert store._rows("SHOW synchronous_commit") == [("on",)]
    store.close()


def test_an_older_format_is_migrated_and_a_newer_one_refused(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(postgres_url)
    store.put("a", "1")
    store.close()
    monkeypatch.setattr(module, "FORMAT", FORMAT + 1)
    monkeypatch.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, "ALTER TABLE meta ADD COLUMN note text"))
    for _ in range(2):
        again = PostgresStore(postgres_url)
        assert again.get("a") == "1"
        again.close()
    monkeypatch.undo()
    with pytest.raises(StoreError, match="update hushloop"):
        PostgresStore(postgres_url)


def test_other_tables_of_the_database_are_left_alone(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as db:
        db.execute("CREATE TABLE reports (mine int)")
    PostgresStore(postgres_url).close()
    with psycopg.connect(postgres_url) as db:
        assert db.execute("SELECT count(*) FROM public.reports").fetchone() == (0,)


def test_a_lost_connection_is_lasting_and_counts_nothing(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hushloop'")
    with pytest.raises(StoreError) as caught, store.transaction():
        store.put("a", "1")
    assert caught.value.lasting
    store.close()
    again = PostgresStore(postgres_url)
    assert again.get("a") is None
    again.close()
