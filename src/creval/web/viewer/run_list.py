"""The viewer of a folder of runs: a list of the runs, and the pages of each."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from creval.analysis.scoring_options import ViewOptions
from creval.core.errors import CrevalError
from creval.providers.catalog import describe_judge
from creval.reporting.sentences import benchmark_phrase
from creval.store import DATABASE
from creval.store.edit_folders import EDITOR_KEY
from creval.store.readonly import read_stored_metrics
from creval.store.run import Run, find_databases
from creval.web.common.pages import describe_error, guarded_app, load_templates
from creval.web.viewer.app import Viewer
from creval.web.viewer.live_snapshot import LiveSnapshot

_MAX_OPEN_RUNS = 4  # runs kept in memory


class RunLine(NamedTuple):
    """A run in the list. `problem` is the reason if it cannot be read."""

    name: str
    benchmark: str = ""
    judge: str = ""
    models: int = 0
    answers: int = 0
    date: str = ""
    problem: str = ""


def open_viewer(folder: Path, scoring: ViewOptions, watch: Callable[[str], None]) -> Viewer | RunList:
    """Return the viewer of a run, or of the runs in a folder."""
    if not (folder / DATABASE).is_file() and find_runs(folder):
        return RunList(folder, scoring)
    return Viewer(LiveSnapshot(folder, watch, scoring))


def find_runs(folder: Path) -> list[Path]:
    """Return the runs in a folder, including unreadable ones. Folders of edits and built benchmarks are left out."""
    return [path for path in find_databases(folder) if _may_be_run(path)]


def _may_be_run(folder: Path) -> bool:
    try:
        manifest, _ = read_stored_metrics(folder)
    except (CrevalError, sqlite3.Error):
        return True
    return "protocol" in manifest and EDITOR_KEY not in manifest


class RunList:
    """The pages of a folder of runs. Runs are opened on first use."""

    def __init__(self, folder: Path, scoring: ViewOptions) -> None:
        self._folder, self._scoring, self._templates = folder, scoring, load_templates()
        self._open: OrderedDict[str, Viewer] = OrderedDict()
        self._lock = threading.Lock()

    def close(self) -> None:
        for viewer in self._open.values():
            viewer.close()

    def app(self, host: str = "127.0.0.1", names: tuple[str, ...] = (), token: str = "") -> Starlette:
        """Return the application, for a server that listens on `host`. With `token`, its pages require it."""
        routes = [Route("/", self.start), Mount("/run/{name}", app=self._run_pages)]
        handlers = dict.fromkeys((HTTPException, CrevalError, sqlite3.Error, OSError), self._error)
        return guarded_app(routes, handlers, host, names, token=token)

    def start(self, request: Request) -> Response:
        del request
        return self._page([_run_line(path) for path in find_runs(self._folder)])

    def _error(self, request: Request, error: Exception) -> Response:
        del request
        sentence, status = describe_error(error)
        return self._page([], sentence, status)

    def _page(self, lines: list[RunLine], problem: str = "", status: int = 200) -> HTMLResponse:
        page = self._templates.get_template("runs.html")
        return HTMLResponse(page.render(folder=str(self._folder), lines=lines, problem=problem), status)

    async def _run_pages(self, scope: Scope, receive: Receive, send: Send) -> None:
        viewer = await run_in_threadpool(self._viewer, scope["path_params"]["name"])
        await viewer.pages(scope, receive, send)

    def _viewer(self, name: str) -> Viewer:
        with self._lock:
            if name not in self._open:
                if name not in {path.name for path in find_databases(self._folder)}:
                    raise CrevalError(f"there is no run {name!r} in {self._folder}.")
                self._open[name] = Viewer(LiveSnapshot(self._folder / name, scoring=self._scoring))
                if len(self._open) > _MAX_OPEN_RUNS:
                    self._open.popitem(last=False)[1].close()
            self._open.move_to_end(name)
            return self._open[name]


def _run_line(folder: Path) -> RunLine:
    try:
        with Run(folder) as run:
            return RunLine(
                folder.name,
                benchmark_phrase(run.manifest),
                describe_judge(run.manifest["judge"]) or "none (metrics only)",
                len(run.models),
                run.count_verdicts(),
                str(run.manifest.get("date", "")),
            )
    except (CrevalError, sqlite3.Error) as error:
        return RunLine(folder.name, problem=str(error))
