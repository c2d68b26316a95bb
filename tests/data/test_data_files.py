"""The data sets' files are read as they are written, and a line that does not fit is told by its number."""

import gzip
from datetime import UTC, datetime

import pytest

import slidewise as sw
from slidewise import data
from slidewise.data import text

STATES = "\t".join(["0"] * 36 + ["0"] * 12)


def line2012(index=0, time="2012-02-22T16:46:28.9670320+00:00", mf01="13129", rest=STATES):
    """As in the file: numbers padded with zeros, seven digits of a second, flags as 0 and 1."""
    return f"{time}\t{index}\t{mf01}\t14406\t8119\t0071\t0193\t0150\t0000\t0000\t0000\t0000\t1\t0\t1\t0\t0\t0\t{rest}"


def line2014(id=2967740693, time=1379879533, value="82.042", kind=0, plug=1):
    return f"{id},{time},{value},{kind},{plug},0,12"


@pytest.fixture
def written(tmp_path):
    def write(lines, name):
        path = tmp_path / name
        content = "".join(f"{line}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.mark.parametrize("name", ["rows.txt", "rows.txt.gz"])
def test_debs2012(written, name):
    events = data.debs2012(written([line2012(i) for i in (2556001, 2556002)], name))
    rows = events.table()
    assert rows.schema == data.debs2012().schema
    first = rows.to_pylist()[0]
    assert first["ts"] == datetime(2012, 2, 22, 16, 46, 28, 967032, UTC)
    assert [first[c] for c in ("index", "mf01", "mf02", "mf03", "pc13", "pc14", "pc15", "pc25", "res")] == [
        *(2556001, 13129, 14406, 8119, 71, 193, 150, 0, 0)
    ]
    assert [first[c] for c in ("bm05", "bm06", "bm07", "bm08", "pp01", "pc24")] == [True, False, True, False, False, 0]
    assert events.table().equals(rows)  # a source can be read again


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_debs2014(written, name):
    rows = data.debs2014(written([line2014(), line2014(2967740694, kind=1, value=0)], name)).table()
    assert rows.schema == data.debs2014().schema
    assert rows.to_pylist()[0] == {
        "id": 2967740693,
        "timestamp": datetime(2013, 9, 22, 19, 52, 13, tzinfo=UTC),
        "value": 82.042,
        "property": 0,
        "plug_id": 1,
        "household_id": 0,
        "house_id": 12,
    }


def test_fields_that_a_row_may_lack_are_null(written):
    row = data.debs2012(written([line2012(rest="\t" * 47)], "rows.txt")).table().to_pylist()[0]
    assert row["pp01"] is None
    assert row["pc24"] is None


def test_the_seventh_digit_is_cut_off_and_not_rounded(written):
    path = written([line2012(time="2012-02-22T16:46:28.9999999+00:00")], "rows.txt")
    assert data.debs2012(path).table()["ts"][0].as_py() == datetime(2012, 2, 22, 16, 46, 28, 999999, UTC)


def test_what_is_generated_can_be_written_and_read(written):
    made = data.debs2014(plugs=5).table(5000)
    lines = [
        f"{r['id']},{int(r['timestamp'].timestamp())},{r['value']},{r['property']},{r['plug_id']},{r['household_id']},"
        f"{r['house_id']}"
        for r in made.to_pylist()
    ]
    assert data.debs2014(written(lines, "rows.csv")).table().equals(made)


def test_a_long_file_is_read_in_pieces(written, monkeypatch):
    monkeypatch.setattr(text, "BLOCK_BYTES", 1000)
    path = written([line2014(i) for i in range(5000)], "rows.csv.gz")
    batches = list(data.debs2014(path).batches(batch_rows=300))
    assert [b.num_rows for b in batches] == [300] * 16 + [200]
    assert [i for b in batches for i in b["id"].to_pylist()] == list(range(5000))
    assert data.debs2014(path).table(7)["id"].to_pylist() == list(range(7))


GOOD = [line2014(i) for i in range(100)]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*GOOD, line2014(value="much"), *GOOD], "rows.csv, line 101: the field value is 'much', not double"),
        ([*GOOD, "1,2,3"], r"rows.csv, line 101: 3 fields. DEBS 2014 has 7 fields per line, separated by commas"),
        ([*GOOD, line2014() + ",9"], "rows.csv, line 101: 8 fields"),
        ([*GOOD, line2014(id="")], "rows.csv, line 101: the field id is empty"),
        ([*GOOD[:3], "", *GOOD], "rows.csv, line 4: (1 fields|the field id is empty)"),
        (
            ["id,timestamp,value,property,plug_id,household_id,house_id"],
            "line 1: the field id is 'id'.*no header",
        ),
        ([line2014(time="2013-09-22")], "line 1: the field timestamp is '2013-09-22', not int64"),
        ([line2014(kind=300)], "line 1: the field property is '300', not int8"),
        ([line2012()], "rows.csv, line 1: 1 fields"),
        ([], "rows.csv: the file is empty"),
    ],
)
@pytest.mark.parametrize("block", [200, 1 << 20], ids=["small pieces", "one piece"])
def test_a_malformed_line_is_told_by_its_number(written, monkeypatch, lines, message, block):
    monkeypatch.setattr(text, "BLOCK_BYTES", block)
    with pytest.raises(sw.InvalidInput, match=message):
        data.debs2014(written(lines, "rows.csv")).table()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (line2012(time="yesterday"), "line 2: the field ts is 'yesterday', not timestamp"),
        (line2012(mf01=""), "line 2: the field mf01 is empty"),
        (line2012(mf01="1.5"), "line 2: the field mf01 is '1.5', not int32"),
        (line2012(rest=STATES + "\t0"), "line 2: 67 fields. DEBS 2012 has 66 fields per line, separated by tabs"),
        (line2014(), "line 2: 1 fields"),
    ],
)
def test_the_same_of_2012(written, line, message):
    with pytest.raises(sw.InvalidInput, match=message):
        data.debs2012(written([line2012(), line], "rows.txt")).table()


def test_a_missing_file_is_told_at_once(tmp_path):
    with pytest.raises(sw.InvalidInput, match=r"debs2014: there is no file '.*none.csv'. Without a path"):
        data.debs2014(tmp_path / "none.csv")


def test_a_cut_off_archive_is_told(written):
    path = written([line2014(i) for i in range(20_000)], "rows.csv.gz")
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(sw.InvalidInput, match=r"rows.csv.gz.*"):
        data.debs2014(path).table()
    path.write_bytes(b"this is not an archive")
    with pytest.raises(sw.InvalidInput, match=r"rows.csv.gz: cannot be read after line 0"):
        data.debs2014(path).table()
