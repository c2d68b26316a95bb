"""Every command by itself, without Spark: what it says, and with which code it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

import slidewise as sw
from slidewise.cli.app import app
from slidewise.cli.options import read_pairs
from slidewise.cli.session import _find_configured_master

COMMANDS = [each.name or each.callback.__name__ for each in app.registered_commands]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples(name, slidewise):
    said = slidewise(name, "--help").stdout
    assert f"slidewise {name}" in said
    assert said.count(f"slidewise {name}") >= 2, "the usage and an example"


def test_the_whole_help(slidewise):
    said = slidewise("--help").stdout
    for name in COMMANDS:
        assert name in said
    assert "Exit codes" in said
    assert "--install-completion" in said


def test_version(slidewise):
    assert slidewise("--version").stdout == f"slidewise {sw.__version__}\n"


def test_python_m_slidewise():
    out = subprocess.run([sys.executable, "-m", "slidewise", "--version"], capture_output=True, text=True, check=True)
    assert out.stdout == f"slidewise {sw.__version__}\n"


def test_without_its_packages_the_command_says_which_extra_has_them():
    code = "import sys; sys.modules['rich'] = None; from slidewise.cli import main; main()"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert out.returncode == 1
    assert out.stderr == "slidewise: the command needs rich: install its extra, pip install 'slidewise[cli]'\n"


def test_completion():
    command = [sys.executable, "-m", "slidewise", "--show-completion", "bash"]
    # Not that of whoever runs the tests, which may have no completion.
    env = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    out = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert "_SLIDEWISE_COMPLETE=complete_bash" in out.stdout, (out.stdout, out.stderr)


def test_wrong_usage(slidewise):
    assert "No such command" in slidewise("chek", code=2).stderr
    assert "Missing argument" in slidewise("check", code=2).stderr
    assert (
        "expects NAME=VALUE, got 'lake'" in slidewise("check", "a.yaml", "--no-spark", "--var", "lake", code=2).stderr
    )


def test_pairs():
    assert read_pairs(None, "--var") == {}
    assert read_pairs(["a=b=c", "d="], "--var") == {"a": "b=c", "d": ""}


# ---- new
def test_new_makes_a_project(slidewise, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "✓ cards: cards.yaml, features.py" in slidewise("new", "cards").stdout
    names = sorted(str(path.relative_to("cards")) for path in Path("cards").rglob("*") if path.is_file())
    assert names == [
        ".gitignore", "README.md", "cards.yaml", "data/payments/payments.parquet", "features.py",
        "slidewise.schema.json",
    ]  # fmt: skip
    assert len(pyarrow.parquet.read_table("cards/data/payments")) == 2000
    pipeline = sw.load("cards/cards.yaml")
    assert pipeline.name == "cards"
    assert list(pipeline.features) == ["spent_1h", "spent_24h", "spent_7d", "usual", "places", "vwap"]


def test_new_overwrites_nothing(slidewise, project):
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    said = slidewise("new", project, code=2).stderr
    assert said == f"slidewise: new: {project} is there already, and nothing is overwritten. Take another name\n"
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before


def test_new_takes_an_empty_folder_and_refuses_odd_names(slidewise, tmp_path):
    (tmp_path / "empty").mkdir()
    assert json.loads(slidewise("new", tmp_path / "empty", "--json").stdout)["files"][0] == "empty.yaml"
    assert "named by letters, digits, - and _" in slidewise("new", tmp_path / "my cards", code=2).stderr


# ---- check, without Spark
def test_check_a_right_file(slidewise, project):
    assert slidewise("check", "cards.yaml", "--no-spark").stdout == "✓ cards.yaml: 6 features, the file alone\n"


def test_a_python_file_is_an_equal_citizen(slidewise, project):
    Path("cards.py").write_text(
        """\
import slidewise as sw

pipeline = sw.Pipeline(
    name="cards", keys="card", time="at", features={"spent": sw.sum("amount").over(sw.time("1h"))},
    source={"format": "parquet", "path": "data/payments"},
)
"""
    )
    assert slidewise("check", "cards.py", "--no-spark").stdout == "✓ cards.py: 1 feature, the file alone\n"


def test_check_tells_all_mistakes_of_all_files(slidewise, project):
    text = Path("cards.yaml").read_text()
    Path("wrong.yaml").write_text(text.replace("keys:", "kes:").replace("median", "medain"))
    result = slidewise("check", "wrong.yaml", "cards.yaml", "gone.yaml", "--no-spark", code=2)
    assert result.stderr.splitlines() == [
        "wrong.yaml:12:1: kes: there is no key 'kes'. Did you mean 'keys'?",
        "wrong.yaml:17:13: features.usual.medain: there is no aggregation 'medain'. Did you mean 'median'?",
        "gone.yaml cannot be read: No such file or directory",
    ]
    assert result.stdout == "✓ cards.yaml: 6 features, the file alone\n"


def test_check_for_machines(slidewise, project):
    Path("wrong.yaml").write_text(Path("cards.yaml").read_text().replace("keys:", "kes:"))
    [right, wrong] = json.loads(slidewise("check", "cards.yaml", "wrong.yaml", "--no-spark", "--json", code=2).stdout)
    assert right == {
        "file": "cards.yaml", "ok": True, "name": "cards",
        "features": ["spent_1h", "spent_24h", "spent_7d", "usual", "places", "vwap"],
    }  # fmt: skip
    assert wrong["mistakes"] == [
        {
            "file": "wrong.yaml", "line": 12, "column": 1, "path": ["kes"],
            "message": "there is no key 'kes'. Did you mean 'keys'?",
        }
    ]  # fmt: skip


def test_a_traceback_is_shown_to_those_who_ask(slidewise, project):
    assert "Traceback" not in slidewise("explain", "gone.yaml", code=2).stderr
    assert "Traceback" in slidewise("--debug", "explain", "gone.yaml", code=2).stderr


def test_secrets_are_not_shown(slidewise, project, monkeypatch):
    monkeypatch.setenv("LAKE", "hunter22")
    text = Path("cards.yaml").read_text().replace("path: ${lake}/payments", "path: ${env:LAKE}/payments")
    Path("secret.yaml").write_text(text.replace("over: 100 rows", "over: '${env:LAKE}'"))
    for options in ((), ("--json",)):
        result = slidewise("--debug", "check", "secret.yaml", "--no-spark", *options, code=2)
        assert "***" in result.stderr + result.stdout
        assert "hunter22" not in result.stderr + result.stdout


# ---- schema, data, doctor, warm-up
def test_schema_is_json(slidewise, project):
    schema = json.loads(slidewise("schema").stdout)
    assert schema["title"] == "A slidewise pipeline"
    assert schema == json.loads(Path("slidewise.schema.json").read_text())


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_data(suffix, slidewise, tmp_path):
    out = tmp_path / f"machines.{suffix}"
    assert "✓ 500 rows of machines in" in slidewise("data", "machines", "--rows", 500, "--out", out).stdout
    if suffix == "parquet":
        assert pyarrow.parquet.read_table(out).num_rows == 500
    elif suffix == "csv":
        assert pyarrow.csv.read_csv(out).num_rows == 500
    else:
        lines = out.read_text().splitlines()
        assert len(lines) == 500
        assert json.loads(lines[0])["machine"]
    assert "is there already, and nothing is overwritten" in slidewise(
        "data", "machines", "--rows", 5, "--out", out, code=2
    ).stderr  # fmt: skip


def test_data_of_a_file(slidewise, tmp_path):
    """What was written as CSV in the data set's own form is read again."""
    rows = "1,1377986401,68.451,0,11,0,0\n2,1377986401,19.927,1,11,0,0\n"
    (tmp_path / "sorted.csv").write_text(rows)
    out = tmp_path / "plugs.parquet"
    slidewise("data", "debs2014", "--from", tmp_path / "sorted.csv", "--out", out)
    assert pyarrow.parquet.read_table(out)["value"].to_pylist() == [68.451, 19.927]


def test_data_refuses(slidewise, tmp_path):
    out = tmp_path / "x.parquet"
    assert "say how many" in slidewise("data", "machines", "--out", out, code=2).stderr
    assert "generated only" in slidewise("data", "machines", "--from", out, "--out", out, code=2).stderr
    assert "is not one of" in slidewise("data", "cars", "--out", out, code=2).stderr
    assert not out.exists()


def test_data_leaves_no_half_of_a_file(slidewise, tmp_path):
    (tmp_path / "odd.csv").write_text("this is, no row\n")
    slidewise("data", "debs2014", "--from", tmp_path / "odd.csv", "--out", tmp_path / "x.parquet", code=2)
    assert not (tmp_path / "x.parquet").exists()


def test_doctor_finds_what_is_here(slidewise):
    found = {each["what"]: each for each in json.loads(slidewise("doctor", "--json").stdout)}
    for what in ("Python", "Java", "pyspark", "pandas", "protobuf", "pyarrow", "numba", "state store"):
        assert found[what]["status"] == "ok", found[what]
    assert found["cache of kernels"]["found"]


def test_doctor_says_what_to_do(slidewise, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "nowhere")
    result = slidewise("doctor", code=1)
    assert "to be seen to: Java" in result.stdout
    found = {each["what"]: each for each in json.loads(slidewise("doctor", "--json", code=1).stdout)}
    assert found["Java"]["todo"].startswith("Install Java 17 or newer")


@pytest.mark.full
def test_warm_up(slidewise):
    said = slidewise("warm-up", "max", "--type", "float64", "--over", "9 rows").stdout
    assert "kernels compiled" in said
    assert "sw.list_aggregations() has the names" in slidewise("warm-up", "maxx", code=2).stderr


def test_ctrl_c_ends_with_130_and_leaves_nothing(tmp_path):
    out = tmp_path / "endless.json"
    command = [sys.executable, "-m", "slidewise", "data", "machines", "--rows", str(10**12), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not out.exists() or not out.stat().st_size:
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, stdout, stderr) == (130, "", "interrupted\n")
    assert not out.exists()


# ---- the session, without one
def test_a_master_that_is_configured_is_found(tmp_path, monkeypatch):
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _find_configured_master() is None
    (tmp_path / "spark-defaults.conf").write_text(
        "# ours\nspark.eventLog.enabled false\nspark.master  spark://a:7077\n"
    )
    assert _find_configured_master() == "spark://a:7077"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master local[3] pyspark-shell")
    assert _find_configured_master() == "local[3]"


# ---- trace
def test_trace_draws_text(slidewise):
    said = slidewise("trace", "daba_lite", "max_count", "insert 4 5 3, evict, query").stdout
    assert said == f"{sw.trace('daba_lite', sw.max_count(), 'insert 4 5 3, evict, query')}\n"


def test_trace_takes_options_and_calls_of_aggregations(slidewise):
    said = slidewise("trace", "flat_fat", "sum", "insert 4 7, query", "--option", "capacity=4").stdout
    assert "query = 11" in said
    said = slidewise("trace", "incremental_quantile", "percentile(0.25)", "insert 1 2 3 4 5, query",
                     "--option", "variant=naive").stdout  # fmt: skip
    assert "query = 2" in said


def test_trace_writes_an_image(slidewise, tmp_path):
    path = tmp_path / "daba.svg"
    said = slidewise("trace", "daba", "max", "insert 4 5 3", "--svg", path).stdout
    assert "✓ daba of max()" in said and "3 steps" in said.replace("\n", " ")
    assert path.read_text(encoding="utf-8") == sw.trace("daba", sw.max(), "insert 4 5 3").svg()
    refused = slidewise("trace", "daba", "max", "insert 4", "--svg", tmp_path / "no" / "a.svg", code=2).stderr
    assert "a.svg cannot be written: No such file or directory" in refused


def test_trace_for_machines(slidewise):
    given = json.loads(slidewise("trace", "daba_lite", "max", "insert 4 5, query", "--json").stdout)
    assert [step["operation"] for step in given] == ["insert 4", "insert 5", "query"]
    assert given[1]["cases"] == ["flip", "shrink"]
    assert given[1]["pointers"] == {"F": 0, "L": 1, "R": 1, "A": 1, "B": 2, "E": 2}
    assert given[1]["calls"] == [{"function": "combine", "older": 4, "newer": 5, "result": 5}]
    assert given[2]["result"] == 5 and given[2]["window"] == [4, 5]


def test_trace_says_what_is_wrong(slidewise):
    unknown = slidewise("trace", "daba", "mx", "insert 1", code=2).stderr
    assert "there is no aggregation 'mx'. Did you mean 'max'?" in unknown
    assert "is no call of percentile" in slidewise("trace", "daba", "percentile(x", "insert 1", code=2).stderr
    assert "Did you mean 'evict'?" in slidewise("trace", "daba", "max", "evit", code=2).stderr
    assert "Did you mean 'daba'?" in slidewise("trace", "dabba", "max", "evict", code=2).stderr
