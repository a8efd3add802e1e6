"""The page in a real browser: it moves, its controls work, and its results can be saved."""

import json
import subprocess
import sys

import numpy as np
import pytest

from attnflow.app.server import warm_up
from browser import Page, browser, chromium
from explorer import serve

STATE = "attnflow.page.state"


@pytest.fixture(scope="module")
def window():
    chromium()
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def served():
    with serve() as served:
        warm_up()
        yield served


@pytest.fixture
def page(window, served):
    opened = Page(window, served.url + "#n=40&d=3&beta=6&dt=0.05", permissions=["clipboard-read", "clipboard-write"])
    opened.moving()
    yield opened
    assert not opened.wrong
    opened.close()


def test_opening_it_shows_something_that_moves_and_nothing_leaves_the_machine(window, served):
    page = Page(window, served.url)
    page.moving()
    assert page.ask(f"{STATE}.scene") == page.ask("attnflow.catalogue.scenes[0].id")
    before = np.array(page.tokens())
    page.moving()
    assert np.abs(np.array(page.tokens()) - before).max() > 1e-4
    page.wait("!!document.querySelector('#chart-energy svg .scatterlayer path')")  # plotly is there, too
    page.wait("document.getElementById('key-energy').textContent.includes('uniform law')")
    assert page.ask("document.getElementById('look').textContent.length") > 80
    assert all(url.split("://")[1].startswith(served.host + "/") for url in page.requests), page.requests
    assert not page.wrong
    # Something was drawn: the picture that is saved has many colours.
    colours = page.ask(
        """async () => { const { picture } = await import('/static/leave.js');
        const bitmap = await createImageBitmap(await picture(attnflow.stage, 'a', 'b'));
        const canvas = Object.assign(document.createElement('canvas'), { width: bitmap.width, height: bitmap.height });
        const pen = canvas.getContext('2d'); pen.drawImage(bitmap, 0, 0);
        return new Set(new Uint32Array(pen.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer)).size; }"""
    )
    assert colours > 100
    page.close()


def test_sliders_keys_scenes_and_time(page):
    page.ask("() => { const e = document.querySelector('[name=beta]'); e.value = 2; e.onchange(); }")
    page.wait("attnflow.page.running?.state.beta === 2")
    page.moving()
    page.ask(
        "() => { const e = document.querySelector('[name=beta]').previousSibling; e.value = Math.log(8); e.oninput(); }"
    )
    page.wait("Math.abs((attnflow.page.running?.state.beta ?? 0) - 8) < 0.1")
    page.moving()
    page.page.select_option("[name=attention]", "l2")
    page.wait("attnflow.page.running?.state.attention === 'l2' && !!document.querySelector('[name=g]')")
    page.page.select_option("[name=space]", "euclidean")
    page.wait("attnflow.page.running?.state.init === 'gaussian'")
    page.moving()
    page.page.select_option("[name=V]", "typed")
    page.page.fill("textarea", "1 0 0\n0 1")
    page.page.press("textarea", "Tab")
    page.wait("document.getElementById('sentence').textContent.includes('V has 2 rows')")
    page.page.keyboard.press("2")
    page.wait(f"{STATE}.scene === attnflow.catalogue.scenes[1].id && attnflow.page.running?.state.d === 2")
    page.moving()
    assert page.ask("document.getElementById('play').getAttribute('aria-label')") == "Pause"
    page.page.keyboard.press(" ")
    page.wait("!attnflow.page.playing && !attnflow.page.waiting")
    step, shown = page.ask("attnflow.page.step"), page.tokens()
    page.page.keyboard.press(".")
    page.wait(f"attnflow.page.step === {step + 1} && !attnflow.page.waiting")
    page.ask(f"() => {{ const e = document.getElementById('scrub'); e.value = {step}; e.oninput(); }}")
    page.wait(f"attnflow.page.step === {step} && !attnflow.page.waiting")
    assert page.tokens() == shown
    page.page.keyboard.press("r")
    page.wait("attnflow.page.step === 0")


def test_the_address_holds_the_picture_and_python_its_numbers(page, window):
    page.wait("attnflow.page.step > 15")
    page.pause()
    page.page.focus("#stage")
    page.page.keyboard.press("ArrowLeft")
    page.page.click("#link")
    address = page.ask("navigator.clipboard.readText()")
    shown, step = page.tokens(), page.ask("attnflow.page.step")
    other = Page(window, address)
    other.wait(f"window.attnflow?.page.running && attnflow.page.step === {step} && attnflow.page.latest")
    assert other.tokens() == shown and not other.ask("attnflow.page.playing")
    assert other.ask("attnflow.stage.camera.yaw") == pytest.approx(page.ask("attnflow.stage.camera.yaw"), abs=1e-3)
    assert not other.wrong
    other.close()
    named = Page(window, address.split("#")[0] + "#scene=equiangular")  # a scene alone, as one writes it by hand
    named.wait("window.attnflow?.page.state?.init === 'orthonormal' && attnflow.page.state.beta === 3")
    named.close()
    page.page.click("#python")
    page.wait("!!attnflow.page.program")
    program = page.ask("navigator.clipboard.readText()")
    code = "import json, sys\nscope = {}\nexec(sys.stdin.read(), scope)\nprint(json.dumps(scope['x'].tolist()))"
    done = subprocess.run([sys.executable, "-c", code], input=program, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    computed = np.array(json.loads(done.stdout.splitlines()[-1])).reshape(-1)
    assert np.abs(computed - np.array(shown)).max() < 1e-6


def test_hover_files_and_labels(page):
    page.pause()
    x, y = page.ask("attnflow.stage.where(0)")
    box = page.page.locator("#stage").bounding_box()
    page.page.mouse.move(box["x"] + x, box["y"] + y)
    page.wait("document.getElementById('tip').textContent.includes('attends to')")
    for button, name in (("#png", "tokens.png"), ("#netcdf", "run.nc")):
        with page.page.expect_download() as download:
            page.page.click(button)
        assert download.value.suggested_filename == name
    unnamed = page.ask(
        """Array.from(document.querySelectorAll('button, input, select, textarea, canvas')).filter((e) =>
        !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim() || e.title))
        .map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    theme = page.ask("document.documentElement.dataset.theme")
    page.page.click("#theme")
    assert page.ask("document.documentElement.dataset.theme") != theme


def test_small_screens(window, served):
    page = Page(window, served.url + "#n=40&beta=6&d=8", width=360, height=740, theme="light")
    page.moving()
    assert page.ask("document.documentElement.scrollWidth") <= 360
    assert page.ask("document.documentElement.dataset.theme") == "light"
    assert "principal axes" in page.ask("document.getElementById('view').textContent")
    assert page.ask("document.getElementById('stage').getBoundingClientRect().height") > 300
    # The buttons above the tokens are one row, and those of time are in sight.
    tops = "Array.from(document.querySelectorAll('nav button'), (b) => b.getBoundingClientRect().top)"
    assert len(set(page.ask(tops))) == 1
    assert page.ask("document.getElementById('transport').getBoundingClientRect().bottom") < 740
    assert not page.wrong
    page.close()


def test_it_connects_again_when_the_server_comes_back(window):
    with serve() as first:
        page = Page(window, first.url + "#n=40&d=3&beta=6&dt=0.05")
        page.moving()
        port = first.port
    page.wait("document.getElementById('busy').textContent.includes('away')")
    with serve(port):
        page.wait("!!attnflow.page.running", 40)
        page.moving()
        assert page.ask("attnflow.page.running.state.n") == 40
        page.close()
