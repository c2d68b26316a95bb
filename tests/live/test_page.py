"""The page in a real Chromium: it follows a log that grows, says what is wrong, and can be used without a mouse.

SCREENSHOTS=docs/images pytest -m full tests/live/test_page.py -k screenshots      renews the pictures of the docs
"""

import io
import math
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from support.run_logs import AFTERNOON, PlayedRun

from slidewise.live import words
from slidewise.live.serve import LivePage
from slidewise.pipeline.run_log import RunLog, read_pins

pytestmark = pytest.mark.full

DESK, PHONE = {"width": 1440, "height": 1000}, {"width": 390, "height": 844}


@pytest.fixture
def look(browser, folder):
    """Open the page of the folder; what it writes to the console fails the test."""
    opened, wrong = [], []

    def look_at(viewport=DESK, wait_for="#rows tr", now=None, **options):
        context = browser.new_context(viewport=viewport, reduced_motion="reduce", **options)
        tab = context.new_page()
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        if now is not None:
            tab.clock.set_fixed_time(datetime.fromtimestamp(now, UTC))
        tab.goto(served.address)
        tab.wait_for_selector(wait_for)
        opened.append(context)
        return tab

    with LivePage(folder, port=0, poll=0.05, now=lambda: AFTERNOON) as served:
        yield look_at
        for context in opened:
            context.close()
    assert wrong == []


def text_of(tab, selector):
    return tab.locator(selector).first.inner_text()


def wait_for_text(tab, selector, text):
    tab.wait_for_function(
        "([selector, text]) => document.querySelector(selector)?.textContent.includes(text)", arg=[selector, text]
    )


def ink_of(tab, chart):
    """The pixels of a chart, as a text that changes when it does."""
    return tab.evaluate("k => document.querySelectorAll('.chart canvas')[k].toDataURL()", chart)


def is_wider_than_the_screen(tab):
    return tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def background_of(tab):
    return tab.evaluate("getComputedStyle(document.body).backgroundColor")


# ---- a log that grows
def test_an_empty_folder_fills(look, folder):
    tab = look(wait_for="#verdict[data-kind=none]")
    assert text_of(tab, "#verdict-word") == "Nothing yet"
    PlayedRun(folder).start().batches(15)
    tab.wait_for_selector("#rows tr")
    assert text_of(tab, "#name") == "plant"
    wait_for_text(tab, "#verdict-word", "Keeping up")


def test_charts_and_values_follow_the_log(look, folder):
    run = PlayedRun(folder).start().batches(30)
    tab = look()
    wait_for_text(tab, "#updated", "Batch 29")
    assert tab.locator(".chart canvas").count() == 6
    charts = [ink_of(tab, k) for k in range(6)]
    values = tab.locator("#rows").inner_text()
    run.batches(6, load=1.15)
    wait_for_text(tab, "#updated", "Batch 35")
    assert all(ink_of(tab, k) != charts[k] for k in range(4))
    assert tab.locator("#rows").inner_text() != values
    assert "/s" in text_of(tab, "#figures")


def test_the_numbers_are_those_of_the_log(look, folder):
    log = RunLog(folder)
    PlayedRun(folder).start(features=[{"name": "spent", "text": "sum(amount) over 1h"}], keys=["card"])
    rows: Any = [
        {"time": "2026-03-12T10:02:10Z", "inputs": {"amount": 5.0}, "results": {"spent": v}} for v in (5.0, 12345.5)
    ]
    log.append({"kind": "values", "batch": 0, "keys": [{"key": ["a"], "rows": rows}]})
    tab = look()
    assert tab.locator("#rows td").last.inner_text() == "12,346"
    assert "10:02:10" in text_of(tab, "#rows td.when")
    assert tab.locator(".spark-line").first.get_attribute("points").count(",") == 2


def test_a_stream_that_falls_behind_and_catches_up(look, folder):
    run = PlayedRun(folder).start().batches(30)
    tab = look()
    wait_for_text(tab, "#verdict-word", "Keeping up")
    run.batches(20, load=2.0)
    wait_for_text(tab, "#verdict-word", "Falling behind")
    assert "never catches up" in text_of(tab, "#verdict-text")
    assert tab.locator("#verdict").get_attribute("data-level") == "bad"
    assert tab.locator("#verdict-icon").get_attribute("href") == "#icon-bad"
    run.batches(8, load=0.3)
    wait_for_text(tab, "#verdict-word", "Catching up")
    assert "caught up in about" in text_of(tab, "#verdict-text")


def test_a_stream_that_failed_and_comes_back(look, folder):
    run = PlayedRun(folder).start().batches(30)
    run.end("failed", "org.apache.spark.SparkException: <b>no</b> such topic\n  at line 1")
    tab = look()
    wait_for_text(tab, "#verdict-word", "Failed")
    assert "<b>no</b> such topic\n  at line 1" in text_of(tab, "#verdict-reasons")
    run.now += 300
    run.start().batches(20)
    wait_for_text(tab, "#verdict-word", "Keeping up")
    assert tab.evaluate("document.querySelectorAll('.chart canvas').length") == 6


PLAY = """
import sys, time
from support.run_logs import AFTERNOON, PlayedRun
PlayedRun(sys.argv[1]).start(run="killed").batches(20)
print("played", flush=True)
time.sleep(600)
"""


def test_a_stream_that_is_killed_and_comes_back(look, folder):
    path = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, "-c", PLAY, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}) as stream:
        stream.stdout.readline()
        tab = look()
        wait_for_text(tab, "#verdict-word", "Keeping up")
        stream.kill()
    wait_for_text(tab, "#verdict-word", "Gone")
    assert f"The process {stream.pid} is gone" in text_of(tab, "#verdict-text")
    PlayedRun(folder).start(run="back").batches(20)
    wait_for_text(tab, "#verdict-word", "Keeping up")


def test_a_server_that_goes_away_is_told(browser, folder):
    PlayedRun(folder).start().batches(15)
    served = LivePage(folder, port=0, poll=0.05, now=lambda: AFTERNOON)
    tab = browser.new_page()
    tab.goto(served.address)
    wait_for_text(tab, "#connection", "live")
    served.close()
    wait_for_text(tab, "#connection", "away")
    tab.close()


# ---- keys
def test_keys_are_pinned_by_keyboard_and_by_typing(look, folder):
    PlayedRun(folder).start().batches(30)
    tab = look()
    names = tab.locator("#rows .name").all_inner_texts()
    for key in "jjjk":
        tab.keyboard.press(key)
    assert tab.locator("#rows tr[aria-selected=true] .name").inner_text() == names[1]
    tab.keyboard.press("p")
    tab.wait_for_selector("#rows tr.pinned")
    assert tab.locator("#rows .name").first.inner_text() == names[1]
    assert read_pins(folder) == [[names[1]]]
    tab.keyboard.press("p")
    tab.wait_for_function("() => !document.querySelector('#rows tr.pinned')")
    tab.keyboard.press("/")
    tab.keyboard.type("press-77")
    assert "Pin “press-77”" in text_of(tab, "#empty")
    tab.keyboard.press("Enter")
    wait_for_text(tab, "#toast", "press-77 is pinned")
    assert read_pins(folder) == [["press-77"]]


def test_an_opened_key_says_why_rows_wait_after_a_kill(look, folder):
    run = PlayedRun(folder, pid=2**22 + 1).start().batches(120)
    run.log.append(
        {"kind": "values", "batch": run.number, "keys": [{"key": [name], "rows": []} for name in run.names]}
    )  # as a stream writes it: which rows are pending is not known
    tab = look()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#key[open] canvas")
    wait_for_text(tab, "#why", "The run is over: they are in the checkpoint")
    why = text_of(tab, "#why")
    assert "A row of after" in why
    assert "waits until one of at least 2 min later has come, of any key." in why
    assert "The last of this key that was emitted is of" in why


def test_a_key_is_opened_and_closed_by_keyboard(look, folder):
    run = PlayedRun(folder).start().batches(120)
    tab = look()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#key[open] canvas")
    name = text_of(tab, "#key-title")
    assert tab.locator("#signal canvas").count() == 2
    assert "temperature" in text_of(tab, "#legend")
    why = text_of(tab, "#why")
    assert re.search(r"The watermark is at \d\d:\d\d:\d\d|The watermark is at 2026-03-12", why)
    assert "It stays 2 min (max_delay) before the newest row" in why
    assert "its windows end at" in why
    rows = tab.locator("#key-rows").inner_text()
    run.batches(9)
    tab.wait_for_function("rows => document.querySelector('#key-rows').innerText !== rows", arg=rows)
    tab.keyboard.press("j")
    assert text_of(tab, "#key-title") != name
    tab.keyboard.press("Escape")
    tab.wait_for_function("() => !document.querySelector('#key').open")


def test_the_windows_of_the_row_under_the_cursor_are_told(look, folder):
    PlayedRun(folder).start().batches(120)
    tab = look()
    tab.locator("#rows tr").first.click()
    tab.wait_for_selector("#key[open] canvas")
    assert "The newest result" in text_of(tab, "#key-focus")
    before = tab.evaluate("document.querySelector('#signal canvas').toDataURL()")
    box = tab.locator("#signal .u-over").first.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wait_for_text(tab, "#key-focus", "The row under the cursor")
    assert tab.evaluate("document.querySelector('#signal canvas').toDataURL()") != before


def test_help_and_theme_by_keyboard(look, folder):
    PlayedRun(folder).start().batches(15)
    tab = look(color_scheme="light")
    tab.keyboard.press("?")
    tab.wait_for_selector("#help[open]")
    tab.keyboard.press("Escape")
    light, chart = background_of(tab), ink_of(tab, 0)
    tab.keyboard.press("t")
    assert background_of(tab) != light
    assert ink_of(tab, 0) != chart
    tab.reload()
    tab.wait_for_selector("#rows tr")
    assert background_of(tab) != light


# ---- looks
def test_dark_is_dark_and_light_is_light(look, folder):
    PlayedRun(folder).start().batches(15)

    def brightness(scheme):
        red, green, blue = map(int, re.findall(r"\d+", background_of(look(color_scheme=scheme)))[:3])
        return red + green + blue

    assert brightness("dark") < 100 < 600 < brightness("light")


@pytest.mark.parametrize("width", [320, 390, 768, 1024])
def test_a_narrow_screen_scrolls_in_one_direction_only(look, folder, width):
    PlayedRun(folder).start().batches(40).end("failed", "x" * 500)
    tab = look({"width": width, "height": 800})
    assert not is_wider_than_the_screen(tab)
    tab.locator("#rows tr").first.click()
    tab.wait_for_selector("#key[open] canvas")
    assert not is_wider_than_the_screen(tab)
    assert tab.evaluate("document.querySelector('#key').scrollWidth <= document.querySelector('#key').clientWidth")


def test_every_control_has_a_name(look, folder):
    PlayedRun(folder).start().batches(15)
    tab = look()
    unnamed = tab.evaluate(
        """[...document.querySelectorAll("button, input, dialog, [role=img], section")].filter((e) =>
             !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim())
           ).map((e) => e.outerHTML)"""
    )
    assert unnamed == []


# ---- hostile text
HOSTILE = [
    "<img src=x onerror='window.hacked=1'>", "</script><script>window.hacked=1</script>", "{{7*7}}",
    '"><svg onload=window.hacked=1>', "__proto__", "constructor", "toString", "\u202egnirts", "a\nb\tc", "", "\x00",
    "javascript:alert(1)", "💥" * 50,
]  # fmt: skip


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_hostile_keys_and_names_stay_text(look, folder, viewport):
    log = RunLog(folder)
    features = [{"name": name, "text": f"max({name})", "of": [name], "unit": "time", "back": 60.0} for name in HOSTILE]
    PlayedRun(folder).start(
        name=HOSTILE[0], features=features, keys=[HOSTILE[1]], definition="\n".join(f"{h}: {h} # {h}" for h in HOSTILE),
        explain={"columns": HOSTILE, "rows": [HOSTILE, HOSTILE]}, time=HOSTILE[0], mode=HOSTILE[4],
    ).batches(3)  # fmt: skip
    keys: Any = []
    for hostile in HOSTILE:
        row = {
            "time": "2026-03-12T14:05:00Z",
            "inputs": dict.fromkeys(HOSTILE, hostile),
            "results": dict.fromkeys(HOSTILE, hostile),
        }
        keys.append(
            {"key": [hostile], "rows": [row, row], "pending": [{"time": hostile, "inputs": {}, "due": hostile}]}
        )
    log.append({"kind": "values", "batch": 0, "keys": keys})
    log.append({"kind": "end", "why": "failed", "error": HOSTILE[0]})
    tab = look(viewport)
    wait_for_text(tab, "#verdict-reasons", HOSTILE[0])
    assert HOSTILE[0] in tab.locator("#rows .name").all_text_contents()
    assert tab.locator("#name").text_content() == HOSTILE[0]
    for number in range(tab.locator("#rows tr").count()):
        tab.locator("#rows tr").nth(number).dispatch_event("click")
        tab.wait_for_selector("#key[open]")
        tab.keyboard.press("Escape")
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("main img, main script").count() == 0
    assert not is_wider_than_the_screen(tab)


def test_a_missing_result_is_no_property_of_objects(look, folder):
    PlayedRun(folder).start(features=[{"name": "constructor", "text": "max(x)"}], keys=["k"])
    row = {"time": None, "inputs": {}, "results": {}}
    RunLog(folder).append({"kind": "values", "batch": 0, "keys": [{"key": ["a"], "rows": [row]}]})
    assert look().locator("#rows td").last.inner_text() == "\N{EN DASH}"


# ---- the words of the page are those of the verdict
def test_numbers_are_written_as_in_the_verdict(look, folder):
    PlayedRun(folder).start().batches(3)
    tab = look()
    numbers = [
        0,
        0.004,
        0.42,
        1,
        2.14,
        7,
        9.96,
        42,
        59.6,
        200,
        725,
        812,
        999.96,
        3900,
        12_345,
        93_600,
        999_999,
        3.4e6,
        1e12,
    ]
    for name in ("count", "size", "span"):
        written = tab.evaluate("""async ([name, numbers]) => {
            const format = await import("./assets/format.js");
            return numbers.map(format[name]);
        }""", [name, numbers])  # fmt: skip
        assert written == [getattr(words, name)(number) for number in numbers]


# ---- the pictures of the docs
def test_screenshots_for_the_docs(look, folder, tmp_path):
    pictures = Path(os.environ.get("SCREENSHOTS", tmp_path))
    run = PlayedRun(folder).start()
    for k in range(330):
        run.batch(load=0.75 + 0.3 * math.sin(k / 40) + 0.1 * math.sin(k / 7))
    (folder / "pins.json").write_text('[["press-03"]]')

    def take(name, tab):
        tab.wait_for_timeout(300)
        path = pictures / f"live-{name}.png"
        picture = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
        picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE).save(path, optimize=True)
        assert path.stat().st_size < 200_000

    take("light", look(color_scheme="light", now=run.now, device_scale_factor=2))
    take("dark", look(color_scheme="dark", now=run.now, device_scale_factor=2))
    take("phone", look(PHONE, color_scheme="light", now=run.now, device_scale_factor=2))
    tab = look(color_scheme="light", now=run.now, device_scale_factor=2)
    for key in ["j", "j", "j", "Enter"]:
        tab.keyboard.press(key)
    tab.wait_for_selector("#key[open] canvas")
    take("key", tab)
