"""Shared fixtures: a miniature benchmark, the authors' release if available, caches and browsers."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

import shared_data
from creval.benchmarks import open_benchmark
from creval.core.cache import CACHE_ENV
from creval.judging.replay_run import replay
from creval.store import Run, open_run
from miniature import write_miniature
from tests import browser
from tests.commands import right

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page


def pytest_xdist_auto_num_workers() -> int:
    """Use more workers than cores if memory allows.

    Tests spend a third of their time waiting for servers, browsers and other programs.
    """
    cores = os.cpu_count() or 1
    if not hasattr(os, "sysconf"):
        return cores
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return max(cores, min(cores * 3 // 2, 8, int(gigabytes / 3)))


# Tests rewrite modules within a second, which the bytecode of a process that imported one does not notice.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
# On a busy machine, generating examples may be slow, and a single example may take long.
settings.register_profile("creval", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("creval")

HEAVY_PACKAGES = (
    *("controlnet_aux", "diffusers", "furo", "huggingface_hub", "insightface", "ipykernel", "krippendorff"),
    *("myst_parser", "nbclient", "nbformat", "onnx", "onnxruntime", "openai", "playwright", "ppi_py", "rapidocr"),
    *("safetensors", "scipy", "skimage", "sklearn", "sphinx", "statsmodels", "tokenizers", "torch", "torchmetrics"),
    *("torchvision", "transformers"),
)
"""Packages of the extra `dev` that are not in `test`. Tests that need one are skipped where it is not installed."""


def missing_package(error: BaseException | None) -> str:
    """Return the heavy package whose absence caused an error, or an empty string."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in HEAVY_PACKAGES:
            return str(error.name)
        error = error.__cause__ or error.__context__
    return ""


def skip_without_package(report: pytest.TestReport | pytest.CollectReport, call: pytest.CallInfo[Any] | None) -> None:
    package = missing_package(call.excinfo.value) if call is not None and call.excinfo is not None else ""
    if report.outcome == "failed" and package:
        report.outcome = "skipped"
        report.longrepr = (str(report.fspath), 0, f"Skipped: {package} is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    skip_without_package(report, getattr(report, "call", None))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    skip_without_package(report, call)
    return report


TIME_LIMIT = 120
"""Seconds after which a test is interrupted and fails. Simulations (`study`) have no limit."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    def interrupt(*_: object) -> None:
        pytest.fail(f"it takes over {TIME_LIMIT} s")

    if item.get_closest_marker("study") or not hasattr(signal, "setitimer"):
        return (yield)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def miniature(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark in the release's layout, with recorded answers. Do not write to it."""
    return write_miniature(tmp_path_factory.mktemp("miniature"), samples=18, seed=3)


@pytest.fixture(scope="session")
def miniature_run(miniature: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the miniature's recorded answers. Do not write to it."""
    run = tmp_path_factory.mktemp("run")
    replay(open_benchmark(miniature), miniature / "answers", run)
    return run


@pytest.fixture
def small_run(miniature_run: Path) -> Iterator[Run]:
    with open_run(miniature_run) as run:
        yield run


@pytest.fixture(scope="session")
def release() -> Path:
    """CREval's official release."""
    folder = shared_data.creval_release()
    if folder is None:
        pytest.skip(f"needs the released data in {shared_data.SHARED / 'data'}")
    return folder


@pytest.fixture(scope="session")
def release_run(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the release's recorded answers for five models, made once for all workers. Do not write to it."""
    return make_once(
        tmp_path_factory, "release-run", lambda run: replay(open_benchmark(release), release / "answer_gpt", run)
    )


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of `creval demo` with 12 samples, created once for all workers. Do not write to it."""
    return make_once(tmp_path_factory, "demo", lambda folder: right("demo", "--out", folder, "--samples", "12"))


def make_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that the first worker makes and all workers read."""
    base = factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / name
    with open_lock(folder.with_suffix(".lock")):
        if not folder.with_suffix(".made").exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
            make(folder)
            folder.with_suffix(".made").touch()
    return folder


@contextmanager
def open_lock(path: Path) -> Iterator[None]:
    """Hold a lock shared by all workers."""
    lock = sqlite3.connect(path, timeout=600, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        lock.close()


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use a temporary cache folder instead of the user's."""
    before = os.environ.get(CACHE_ENV)
    os.environ[CACHE_ENV] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop(CACHE_ENV)
    if before is not None:
        os.environ[CACHE_ENV] = before


@pytest.fixture
def answer_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Share answers between the runs of a test. Runs of other tests are not affected."""
    monkeypatch.setenv(CACHE_ENV, str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def no_shared_answers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "answer_cache" not in request.fixturenames:
        monkeypatch.setattr("creval.judging.judge_run.JudgeRun.count_cached_answers", lambda _: 0)
        monkeypatch.setattr("creval.judging.judge_run.AnswerCache", lambda: None)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A real Chromium. Without one, tests are skipped, or fail if the environment variable `CI` is `true`.

    It is closed at the end of the module, because the thread cannot run another event loop while Playwright runs.
    """
    path = browser.find()
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(browser.MISSING)
        pytest.skip(browser.MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=browser.arguments())
        yield started
        started.close()


@pytest.fixture
def browser_page(chromium: Browser) -> Iterator[Page]:
    """A new page. The test fails if the page logs an error, throws an exception or opens a dialog."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(10_000)
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def asked(dialog: Dialog) -> None:
        wrong.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", asked)
    yield page
    context.close()
    assert wrong == []
