"""States saved by earlier versions can still be read, and nothing that saves or reads them uses pickle."""

import ast
import pickle
from pathlib import Path

import make_fixtures as fixtures
import pytest

import slidewise as sw

PACKAGE = Path(sw.__file__).parent


@pytest.mark.parametrize("name", fixtures.SWAGS)
def test_an_old_state_goes_on(name):
    saved = (fixtures.FIXTURES / f"{name}.bin").read_bytes()
    new = fixtures.SWAGS[name]
    assert fixtures.go_on(new().from_bytes(saved)) == fixtures.go_on(fixtures.fill(new()))


@pytest.mark.parametrize("name", fixtures.WINDOWS)
def test_an_old_window_goes_on(name):
    saved = (fixtures.FIXTURES / f"{name}.bin").read_bytes()
    late, new = name in fixtures.LATE, fixtures.WINDOWS[name]
    loaded, made = new().from_bytes(saved), new()
    fixtures.push(made, range(20), late)
    expected = fixtures.push(made, range(20, 40), late) + made.flush()
    assert len(expected) >= 7
    assert fixtures.push(loaded, range(20, 40), late) + loaded.flush() == expected


def test_every_fixture_is_read():
    assert {p.stem for p in fixtures.FIXTURES.glob("*.bin")} == {*fixtures.SWAGS, *fixtures.WINDOWS}


def test_no_module_imports_a_serialiser_that_runs_code():
    """But for what a driver sends to its own executors, as Spark itself does: that is never kept."""
    forbidden = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "copyreg"}
    sent = {PACKAGE / "spark" / name for name in ("shipping.py", "streams/processor.py")}
    for path in set(PACKAGE.rglob("*.py")) - sent:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {(node.module or "").split(".")[0]}
            else:
                continue
            assert not names & forbidden, f"{path}: line {node.lineno}"


def test_saving_and_reading_work_without_pickle(monkeypatch):
    for name in ("dumps", "loads", "dump", "load", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, lambda *_, **__: pytest.fail("pickle is used"))
    for new in fixtures.SWAGS.values():
        s = fixtures.fill(new())
        assert fixtures.go_on(s.from_bytes(s.to_bytes())) == fixtures.go_on(s)
