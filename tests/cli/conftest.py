"""The command as it is called, in this process, with one Spark for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("pyspark")


class Command:
    """Runs `slidewise` with some arguments, and keeps what it said."""

    def __call__(self, *arguments: object, code: int = 0) -> Any:
        from slidewise.cli.app import app

        result = CliRunner().invoke(app, [str(each) for each in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, (result.exit_code, result.stdout, result.stderr)
        return result


@pytest.fixture
def slidewise() -> Command:
    return Command()


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    """Commands take a session that is there."""
    from slidewise.cli.screen import Screen
    from slidewise.cli.session import open_session

    with open_session(Screen(), master="local[2]", conf={"spark.sql.shuffle.partitions": "2"}) as session:
        yield session


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, and the current folder is that."""
    from slidewise.cli.new import write_project

    write_project(tmp_path / "cards")
    monkeypatch.chdir(tmp_path / "cards")
    return tmp_path / "cards"
