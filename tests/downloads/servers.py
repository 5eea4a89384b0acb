"""A server that speaks the protocols of the Hugging Face hub and of GitHub, with faults."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.typedefs import Handler

from tests.serving import serving

OLD, NEW = "a" * 40, "b" * 40
_PAGE = 2  # entries of the tree in a reply


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()


@dataclass
class Server:
    """The content of repositories, the faults, and what was requested.

    - `branches`: the commit of each branch; `commits`: the files of each commit.
    - `large`: paths that are stored outside Git; the server redirects to them, on `cdn` if that is set.
    - `cut`: how many bytes of a file are sent before the connection is closed, by path.
    - `wrong`: paths whose stated checksum is wrong; `lost`: paths that are listed, but do not exist.
    """

    branches: dict[str, str] = field(default_factory=lambda: {"main": OLD})
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    large: set[str] = field(default_factory=set)
    cut: dict[str, int] = field(default_factory=dict)
    wrong: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    ranges: bool = True
    gated: bool = False
    longer: bytes = b""
    cdn: str = ""
    url: str = ""
    requests: list[str] = field(default_factory=list)
    started: dict[str, list[int]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._record])
        app.router.add_get("/api/datasets/{owner}/{name}/revision/{revision:.+}", self._revision)
        app.router.add_get("/api/datasets/{owner}/{name}/tree/{commit}", self._tree)
        app.router.add_get("/datasets/{owner}/{name}/resolve/{commit}/{path:.+}", self._resolve)
        app.router.add_get("/cdn/{commit}/{path:.+}", self._content)
        app.router.add_get("/repos/{owner}/{name}/commits/{revision:.+}", self._revision)
        app.router.add_get("/{owner}/{name}/archive/{commit}.zip", self._archive)
        app.router.add_get("/codeload/{commit}.zip", self._zip)
        return app

    @web.middleware
    async def _record(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.requests.append(request.path)
        self.keys[request.path] = request.headers.get("Authorization", "")
        if self.gated and not self.keys[request.path]:
            return web.json_response({"error": "Access to this dataset is restricted."}, status=401)
        return await handler(request)

    async def _revision(self, request: web.Request) -> web.Response:
        revision = request.match_info["revision"]
        commit = self.branches.get(revision, revision if revision in self.commits else None)
        if commit is None:
            raise web.HTTPNotFound
        return web.json_response({"sha": commit, "cardData": {"license": "cc-by-4.0"}})

    async def _tree(self, request: web.Request) -> web.Response:
        commit, start = request.match_info["commit"], int(request.query.get("cursor", 0))
        entries: list[dict[str, object]] = [{"type": "directory", "path": "folder", "size": 0, "oid": "0" * 40}]
        for path, content in self.commits[commit].items():
            oid = git_sha1(content + b"!" if path in self.wrong else content)
            entry: dict[str, object] = {"type": "file", "path": path, "size": len(content), "oid": oid}
            if path in self.large:
                entry["lfs"] = {"oid": sha256(content + b"!" if path in self.wrong else content), "size": len(content)}
            entries.append(entry)
        headers = {}
        if start + _PAGE < len(entries):
            headers["Link"] = f'<{self.url}{request.path}?recursive=true&cursor={start + _PAGE}>; rel="next"'
        return web.json_response(entries[start : start + _PAGE], headers=headers)

    async def _resolve(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["path"] in self.large:
            place = f"{self.cdn or self.url}/cdn/{request.match_info['commit']}/{request.match_info['path']}"
            raise web.HTTPFound(place)
        return await self._content(request)

    async def _content(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        if path in self.lost:
            raise web.HTTPNotFound
        return await self._send(request, path, self.commits[request.match_info["commit"]][path] + self.longer)

    async def _archive(self, request: web.Request) -> web.Response:
        raise web.HTTPFound(f"/codeload/{request.match_info['commit']}.zip")

    async def _zip(self, request: web.Request) -> web.StreamResponse:
        commit = request.match_info["commit"]
        if commit not in self.commits:
            raise web.HTTPNotFound
        files = {f"repository-{commit}/{path}": content for path, content in self.commits[commit].items()}
        return await self._send(request, "archive", zipped(files))

    async def _send(self, request: web.Request, path: str, content: bytes) -> web.StreamResponse:
        start = 0
        if self.ranges and (wanted := request.headers.get("Range")):
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        self.started.setdefault(path, []).append(start)
        response = web.StreamResponse(status=206 if start else 200)
        response.content_length = len(content) - start
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        await response.prepare(request)
        if path in self.cut:
            await response.write(content[start : self.cut[path]])
            if request.transport is not None:
                request.transport.close()
            return response
        await response.write(content[start:])
        return response


@contextmanager
def server(**content: object) -> Iterator[Server]:
    """Serve repositories on loopback."""
    made = Server(**content)  # type: ignore[arg-type]
    with serving(made.application()) as made.url:
        yield made
