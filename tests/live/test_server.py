"""The server: what it tells, to whom, and that it writes nothing but pins."""

import contextlib
import json
import re
import threading
import time
from pathlib import Path

import httpx
import pytest
from support.run_logs import AFTERNOON, PlayedRun

import slidewise.live
from slidewise.errors import InvalidInput
from slidewise.live.serve import PORT, LivePage
from slidewise.live.watched import BATCHES, ROWS, Watched
from slidewise.pipeline.run_log import MOST_KEYS, MOST_PINS, RunLog


@pytest.fixture
def client(folder):
    with LivePage(folder, port=0, now=lambda: AFTERNOON) as page, httpx.Client(base_url=page.address) as client:
        yield client


def origin_of(client):
    return str(client.base_url).rstrip("/")


def pin(client, key, pinned=True):
    return client.post("/pins", json={"key": key, "pinned": pinned}, headers={"origin": origin_of(client)})


# ---- what it tells
def test_the_state_tells_all(client, folder):
    PlayedRun(folder).start().batches(30)
    state = client.get("/state").json()
    assert state["start"]["name"] == "plant"
    assert state["verdict"]["kind"] == "keeping up"
    assert state["batches"]["batch"] == list(range(30))
    assert len(state["keys"]) == len(state["order"]) == 12
    assert set(state["keys"][0]["rows"][-1]["results"]) == {"peak_5m", "usual_20m", "high_20m", "operators_1h"}


def test_an_empty_folder_is_told_too(client):
    state = client.get("/state").json()
    assert state["verdict"]["kind"] == "none"
    assert state["keys"] == []
    assert client.get("/metrics").status_code == 200


def test_the_page_and_its_assets_are_served(client):
    page = client.get("/")
    assert page.status_code == 200
    for path in [*re.findall(r'(?:src|href)="(assets/[^"]+)"', page.text), "assets/charts.js", "assets/uplot/LICENSE"]:
        assert client.get(f"/{path}").status_code == 200, path
    assert client.get("/assets/%2e%2e/server.py").status_code == 404


def test_the_policy_is_strict(client):
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy


def test_what_is_kept_is_bounded(folder):
    log = RunLog(folder, file_bytes=10**9)
    row = {"time": "2026-01-01T00:00:00Z", "inputs": {}, "results": {"x": 1}}
    for number in range(BATCHES + 100):
        log.append({"kind": "batch", "batch": number, "at": "2026-01-01T00:00:00Z"})
        log.append({"kind": "values", "batch": number, "keys": [{"key": [number % 300], "rows": [row] * 20}]})
    watched = Watched(folder)
    watched.refresh()
    state = watched.snapshot()
    assert len(state["batches"]["at"]) == BATCHES
    assert len(state["keys"]) == MOST_KEYS
    assert all(len(key["rows"]) <= ROWS for key in state["keys"])


def test_keys_stay_where_they_are_and_new_ones_come_on_top(folder):
    log, watched = RunLog(folder), Watched(folder)

    def values(*keys):
        row = {"time": None, "inputs": {}, "results": {}}
        log.append({"kind": "values", "batch": 0, "keys": [{"key": [key], "rows": [row]} for key in keys]})
        watched.refresh()
        return [json.loads(name)[0] for name in watched.snapshot()["order"]]

    assert values("a", "b") == ["a", "b"]
    assert values("b", "c") == ["c", "a", "b"]
    watched.pin(["b"], True)
    assert values("a") == ["b", "c", "a"]
    assert values(*range(60))[:1] == ["b"]


def test_a_revision_takes_the_place_of_what_it_revises(folder):
    log, watched = RunLog(folder), Watched(folder)
    for time_, result, revision in [("10:00", 1, 0), ("10:01", 2, 0), ("10:00", 3, 1)]:
        row = {"time": time_, "inputs": {"x": 1}, "results": {"f": result}, "revision": revision}
        log.append({"kind": "values", "batch": 0, "keys": [{"key": ["a"], "rows": [row]}]})
    watched.refresh()
    assert [row["results"]["f"] for row in watched.snapshot()["keys"][0]["rows"]] == [3, 2]


def test_news_are_what_has_changed(folder):
    run, watched = PlayedRun(folder).start().batches(5), Watched(folder)
    watched.refresh()
    version = watched.version
    assert watched.news_since(version) == []
    run.batches(2)
    watched.refresh()
    (news,) = watched.news_since(version)
    assert news["batches"]["batch"] == [5, 6]
    run.start()
    watched.refresh()
    assert watched.news_since(version) is None
    assert watched.news_since(watched.version) == []


# ---- metrics
def test_metrics_are_in_the_text_format(client, folder):
    PlayedRun(folder).start(name='a "quoted"\n\\name').batches(30)
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = {}
    for line in answer.text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP|TYPE) slidewise_\w+ .+", line)
            continue
        matched = re.fullmatch(r'(slidewise_\w+)\{pipeline="a \\"quoted\\"\\n\\\\name"(.*)\} (\S+)', line)
        assert matched, line
        samples[matched[1] + matched[2]] = float(matched[3])
    assert samples["slidewise_batches_total"] == 30
    assert samples['slidewise_verdict,verdict="keeping up"'] == 1
    assert samples["slidewise_rows_in_total"] > samples["slidewise_rows_out_total"] > 0
    assert samples["slidewise_watermark_lag_seconds"] > 100


def test_the_dashboard_asks_for_metrics_that_there_are(client, folder):
    PlayedRun(folder).start().batches(30)
    there = set(re.findall(r"^(slidewise_\w+)", client.get("/metrics").text, re.M))
    dashboard = (Path(slidewise.live.__file__).parent / "grafana.json").read_text()
    asked = {
        name
        for panel in json.loads(dashboard)["panels"]
        for t in panel["targets"]
        for name in re.findall(r"slidewise_\w+", t["expr"])
    }
    assert asked <= there
    assert len(asked) >= 10


# ---- pins
def test_pins_are_written_and_let_go(client, folder):
    PlayedRun(folder).start().batches(30)
    assert pin(client, ["press-05"]).json() == {"pins": [["press-05"]]}
    state = client.get("/state").json()
    assert state["order"][0] == '["press-05"]'
    assert state["pinned"] == ['["press-05"]']
    assert pin(client, ["press-05"]).json() == {"pins": [["press-05"]]}
    assert pin(client, ["press-05"], False).json() == {"pins": []}


def test_a_key_can_be_pinned_before_it_has_rows(client, folder):
    PlayedRun(folder).start().batches(3)
    assert pin(client, ["press-77"]).status_code == 200
    assert client.get("/state").json()["pins"] == [["press-77"]]


def test_too_many_pins_are_refused(client, folder):
    folder.mkdir()
    for k in range(MOST_PINS):
        assert pin(client, [k]).status_code == 200
    refused = pin(client, ["one more"])
    assert refused.status_code == 409
    assert "let one go first" in refused.json()["error"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'{"key": "a", "pinned": true}', b'{"key": [], "pinned": true}', b'{"key": ["a"], "pinned": 1}',
     b'{"key": [{}], "pinned": true}', b'{"key": ["a"]}', b'{"key": ["a"], "pinned": true, "path": "x"}',
     b'{"key": ["' + b"a" * 1000 + b'"], "pinned": true}', b" " * 30_000],
)  # fmt: skip
def test_what_is_no_pin_is_refused(client, folder, body):
    folder.mkdir()
    headers = {"origin": origin_of(client), "content-type": "application/json"}
    answer = client.post("/pins", content=body, headers=headers)
    assert answer.status_code == 400
    assert not (folder / "pins.json").exists()


def test_a_folder_that_cannot_be_written_is_told(client):
    answer = pin(client, ["a"])
    assert answer.status_code == 503
    assert "cannot be written" in answer.json()["error"]


# ---- to whom
@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:9999", "http://localhost:8437"]
)
def test_a_page_of_another_origin_cannot_pin(client, folder, origin):
    folder.mkdir()
    headers = {"origin": origin} if origin else {}
    answer = client.post("/pins", json={"key": ["a"], "pinned": True}, headers=headers)
    assert answer.status_code == 403
    assert not (folder / "pins.json").exists()


def test_a_pin_must_be_sent_as_json(client, folder):
    folder.mkdir()
    body = '{"key": ["a"], "pinned": true}'
    answer = client.post("/pins", content=body, headers={"origin": origin_of(client), "content-type": "text/plain"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8437", "localhost.evil.example", "127.0.0.1.evil.example", ""]
)
@pytest.mark.parametrize("path", ["/", "/state", "/events", "/metrics", "/assets/page.js"])
def test_a_name_that_was_rebound_to_loopback_is_refused(client, host, path):
    answer = client.get(path, headers={"host": host})
    assert answer.status_code == 403
    assert "not served as" in answer.json()["error"]


@pytest.mark.parametrize("host", ["localhost:8437", "LOCALHOST", "127.0.0.1", "[::1]:8437", "10.1.2.3:80"])
def test_loopback_and_numbers_are_served(client, host):
    assert client.get("/", headers={"host": host}).status_code == 200


def test_a_further_name_is_served_where_it_was_given(folder):
    with LivePage(folder, port=0, hosts=["spark.example"]) as page:
        assert httpx.get(page.address, headers={"host": "spark.example"}).status_code == 200


@pytest.mark.parametrize("method", ["put", "delete", "post", "patch"])
def test_nothing_else_can_be_written(client, method):
    for path in ("/", "/state", "/metrics", "/events", "/assets/page.js"):
        assert getattr(client, method)(path, headers={"origin": origin_of(client)}).status_code == 405


# ---- served for real
@contextlib.contextmanager
def events_of(page):
    """The events of a page, one by one."""
    with httpx.stream("GET", f"{page.address}/events", timeout=20) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")

        def read():
            kind = None
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield kind, json.loads(line.removeprefix("data: "))

        yield read()


def test_events_follow_the_log(folder):
    run = PlayedRun(folder).start().batches(20)
    with LivePage(folder, port=0, poll=0.05, now=lambda: AFTERNOON) as page, events_of(page) as events:
        kind, state = next(events)
        assert (kind, len(state["batches"]["at"])) == ("state", 20)
        kind, verdict = next(events)
        assert (kind, verdict["word"]) == ("verdict", "Keeping up")
        run.batch()
        kind, news = next(events)
        assert (kind, news["batches"]["batch"]) == ("news", [20])
        run.end("failed", "boom")
        told = next(verdict for kind, verdict in events if kind == "verdict" and verdict["word"] == "Failed")
        assert told["reasons"] == ["boom"]
        run.start()
        assert next(kind for kind, _ in events if kind != "verdict") == "state"


def test_closing_ends_pages_that_are_open(folder):
    page = LivePage(folder, port=0, poll=0.05, now=lambda: AFTERNOON)
    with events_of(page) as events:
        next(events)
        began = time.monotonic()
        page.close()
        assert time.monotonic() - began < 5
        list(events)
    with pytest.raises(httpx.ConnectError):
        httpx.get(page.address)


def test_it_is_on_loopback_and_takes_another_port_where_its_own_is_taken(folder):
    with LivePage(folder) as first, LivePage(folder) as second:
        assert first.address.startswith("http://127.0.0.1:")
        assert first.address != second.address
        assert not second.address.endswith(f":{PORT}")
        assert httpx.get(f"{second.address}/state").status_code == 200


def test_a_port_that_was_asked_for_and_is_taken_is_an_error(folder):
    with LivePage(folder, port=0) as page:
        port = int(page.address.rpartition(":")[2])
        with pytest.raises(InvalidInput, match=f"port {port}: .*Give another port"):
            LivePage(folder, port=port)


def test_waiting_ends_when_it_is_closed(folder):
    page = LivePage(folder, port=0)
    threading.Timer(0.3, page.close).start()
    page.wait()
