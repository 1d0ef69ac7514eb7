"""A run exported as a page: in Chromium, from a host of files, with the network off."""

import functools
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import translate
from tests.export.in_node import in_node, run_script
from tests.figures.browser import Browser, find_chromium, in_chromium
from tests.serve.test_live_page import READING, SHARES, STATUS, TRANSLATION, mistakes, type_text, until
from translate.export.browser_runtime import PACKAGE, VERSION
from translate.export.export_run import export_run
from translate.export.static_page import POLICY, page_files
from translate.translator import Translator

TEXT = "I love you ."
LINES = (Path(__file__).parents[2] / "data" / "sample" / "sample.en").read_text(encoding="utf-8").splitlines()
ASK = (
    "import('./assets/request.js').then(({{ask}}) => ask({path}, {body})).then((found) => found.translations)"
)


class _Host(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ONNX Runtime for browsers, from the package index of Node."""
    folder = tmp_path_factory.mktemp("runtime")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"needs npm, which gets {PACKAGE}")
    command = [npm, "pack", "--silent", f"{PACKAGE}@{VERSION}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{PACKAGE} cannot be had: no answer")
    if done.returncode:
        pytest.skip(f"{PACKAGE} cannot be had: {done.stderr.decode()[-200:]}")
    return folder / f"{PACKAGE}-{VERSION}.tgz"


@pytest.fixture(scope="module", params=["transformer", "rnn_bahdanau"])
def exported(
    request: pytest.FixtureRequest,
    tiny_runs: dict[str, Path],
    runtime: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Translator]:
    """A run as a page, and the run itself."""
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package)
    run, out = tiny_runs[request.param], tmp_path_factory.mktemp("export") / "site"
    proof = export_run(run, "page", out, runtime=runtime, num_sentences=9)
    assert (proof.sentences, proof.differing, proof.relinked) == (9, 0, 0)
    assert proof.words > 0
    return out, translate.load(run, device="cpu")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = find_chromium()
    assert chromium is not None
    # No name has an address, so that nothing but the host of the page can be reached.
    one = Browser(
        chromium,
        tmp_path_factory.mktemp("profile"),
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    )
    yield one
    one.close()


@pytest.fixture(scope="module")
def site(exported: tuple[Path, Translator]) -> Iterator[str]:
    """The address of the page, which is not at the root of its host."""
    handler = functools.partial(_Host, directory=str(exported[0].parent))
    host = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=host.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{host.server_address[1]}/site/"
    host.shutdown()
    host.server_close()


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Browser]:
    """The page with its model loaded, and the network off since."""
    browser.call("Page.navigate", url="about:blank")
    browser.events.clear()
    browser.call("Page.navigate", url=site)
    until(browser, "document.querySelectorAll('#model option').length", 1)
    until(browser, STATUS, "")
    assert browser.run("import('./assets/request.js').then(({ask}) => ask('/v1/models')).then(() => 7)") == 7
    switch(browser, offline=True)
    yield browser
    switch(browser, offline=False)


def switch(browser: Browser, *, offline: bool) -> None:
    speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.call("Network.emulateNetworkConditions", offline=offline, **speed)


def ask(page: Browser, path: str, **body: Any) -> Any:
    return page.run(ASK.format(path=json.dumps(path), body=json.dumps(body)))


def test_the_policy_is_the_live_pages_but_for_webassembly() -> None:
    policy = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))
    assert policy["default-src"] == policy["form-action"] == policy["base-uri"] == "'none'"
    assert policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["script-src"] == "'self' 'wasm-unsafe-eval'"
    text = page_files()["index.html"]
    assert text.index(POLICY) < text.index("<link") < text.index("<script")


def test_every_file_that_the_page_asks_for_is_there() -> None:
    files = page_files()
    for path, text in files.items():
        for name in re.findall(r' from "\./([\w.]+)"', text):
            assert f"assets/{name}" in files, (path, name)
    for name in re.findall(r'(?:href|src)="([^":]+)"', files["index.html"]):
        assert name in files
    assert "{{" not in files["index.html"]


@in_chromium
@pytest.mark.slow
def test_it_translates_and_aligns_with_the_network_off(
    page: Browser, exported: tuple[Path, Translator], site: str
) -> None:
    (expected,) = exported[1].translate([TEXT], alignments=True)
    assert expected.alignment is not None
    type_text(page, TEXT)
    until(page, TRANSLATION, expected.text)
    words = page.run("[...document.querySelectorAll('#translation .piece')].map(one => one.textContent)")
    assert words == expected.alignment.target_words
    page.hover("#translation .piece:nth-of-type(1)")
    until(page, f"{READING}.length > 0", True)
    lit = page.run(SHARES.format("under"))
    row = expected.alignment.weights[0].tolist()
    assert lit == pytest.approx([share if share >= 0.02 else 0 for share in row], abs=2e-4)
    assert max(lit) > 0.02
    assert mistakes(page) == []
    requests = [each["params"]["request"]["url"] for each in page.events if "request" in each["params"]]
    assert len(requests) > 20
    assert all(url.startswith((site, "data:", "about:")) for url in requests)


@in_chromium
@pytest.mark.slow
def test_lines_have_the_texts_scores_and_weights_of_the_run(
    page: Browser, exported: tuple[Path, Translator]
) -> None:
    lines = [*LINES[:25], "", "  ", "cherchez 日本 !", "I love you . " * 9]
    for line, ours in zip(lines, exported[1].translate(lines, alignments=True), strict=True):
        (found,) = ask(page, "/v1/translate", text=line)
        assert found["text"] == ours.text, line
        if ours.alignment is None or not ours.alignment.source_words:
            assert found["weights"] == []
            continue
        assert found["score"] == pytest.approx(ours.score, abs=1e-5)
        for side in ("source", "target"):
            words = [word["text"] for word in found[f"{side}_words"]]
            assert words == getattr(ours.alignment, f"{side}_words")
            spans = [(word["start"], word["end"]) for word in found[f"{side}_words"]]
            assert spans == list(getattr(ours.alignment, f"{side}_offsets"))
        for row, wanted in zip(found["weights"], ours.alignment.weights.tolist(), strict=True):
            assert row == pytest.approx(wanted, abs=1e-4)


@in_chromium
@pytest.mark.slow
def test_several_sentences_stay_where_they_were(page: Browser, exported: tuple[Path, Translator]) -> None:
    text = "\U0001f600 it rains.\n\n  You sleep! "
    (found,) = ask(page, "/v1/translate", text=text, split_sentences=True)
    first, second = (each.text for each in exported[1].translate(["\U0001f600 it rains.", "You sleep!"]))
    assert found["text"] == f"{first}\n\n  {second} "
    assert [each["source"] for each in found["sentences"]] == [[0, 11], [15, 25]]
    assert [each["target"] for each in found["sentences"]] == [
        [0, len(first)],
        [len(first) + 4, len(first) + 4 + len(second)],
    ]
    assert [word["text"] for word in found["source_words"]][-2:] == ["sleep", "!"]
    weights = [each["weights"] for each in found["sentences"]]
    assert [len(row) for rows in weights for row in rows] == [4] * len(weights[0]) + [3] * len(weights[1])
    assert len(weights[0]) + len(weights[1]) == len(found["target_words"])


@in_chromium
@pytest.mark.slow
def test_opened_as_a_file_it_says_what_it_needs(browser: Browser, exported: tuple[Path, Translator]) -> None:
    browser.open(exported[0] / "index.html")
    assert "only from a host, such as python3 -m http.server" in " ".join(browser.run(STATUS).split())


@in_node
def test_a_beam_finds_what_greedy_search_misses(tmp_path: Path) -> None:
    """A toy of four words: the best first word leads nowhere good."""
    script = """
import { search } from "./search.js";
const SECOND = { 4: [0.4, 0.3, 0.3], 5: [0.9, 0.05, 0.05] };
const toy = {
  read: async () => ({ fixed: {}, states: [] }),
  reorder: (states) => states,
  advance: async (hypotheses) => {
    const rows = hypotheses.map((ids) => {
      const [end, four, five] = ids.length === 1 ? [0.01, 0.6, 0.4] : SECOND[ids.at(-1)];
      return [0.5, 0, 0.5, end, four, five].map(Math.log);
    });
    return { logs: Float32Array.from(rows.flat()), states: [] };
  },
};
const found = {};
for (const [name, options] of Object.entries({
  greedy: { beam: 1 }, beam: { beam: 2 }, begun: { beam: 2, prefix: [4] }, short: { beam: 2, longest: 1 },
}))
  found[name] = await search(toy, [3], { longest: 3, lengthPenalty: 0, ...options });
const answer = () => found;
"""
    found = run_script(tmp_path, script, None)
    assert found["beam"]["ids"] == [5]
    assert found["beam"]["score"] == pytest.approx(-1.0217, abs=1e-4)  # log(0.4 * 0.9)
    assert found["greedy"]["ids"] == [4]  # 0.6 * 0.4
    assert found["begun"]["ids"] == [4]
    assert found["short"]["ids"] == []


@in_chromium
@pytest.mark.slow
def test_files_and_lost_models_are_told(page: Browser, site: str) -> None:
    assert page.run("getComputedStyle(document.querySelector('#source-box .tools')).display") == "none"
    page.run("""(() => { const data = new DataTransfer();
      data.items.add(new File(["one line"], "a.txt"));
      document.getElementById("source-box").dispatchEvent(
        new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })); })()""")
    until(page, STATUS, "a.txt: this page translates text, not files.")
    page.call("Network.setBlockedURLs", urls=["*/model/step.onnx"])
    switch(page, offline=False)
    page.call("Page.navigate", url="about:blank")
    page.call("Page.navigate", url=site)
    until(page, f"{STATUS}.startsWith('The translator cannot be loaded: ')", True)
    page.call("Network.setBlockedURLs", urls=[])
