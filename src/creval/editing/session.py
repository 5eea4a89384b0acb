"""Calls to an editor: each image is requested once, stored byte for byte, and reused on resume.

A strategy requests images in batches. The result of a request is stored under everything that it depends on, so a
strategy that runs again gets the same images without a call.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from creval.calls.call_session import CallSession
from creval.calls.journal import CallJournal
from creval.calls.limits import ConcurrencyLimiter, raise_open_file_limit
from creval.calls.retry import Progress, ProgressCallback, RetryingCaller, Usage
from creval.calls.settings import CallSettings
from creval.core.call import CACHE_ORIGIN, CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.files import atomic_copy, atomic_write, is_file, read_bytes, sync_folder
from creval.core.images import ImageError, file_digest, missing_image_reason
from creval.core.verdict import VerdictStatus
from creval.editing.reused_edits import VERSIONS_KEY, ReusedEdits
from creval.editors.base import Editor, EditOutput, EditRequest, PendingTask
from creval.editors.output_checks import OutputCheck, check_output
from creval.providers.call_errors import REFUSALS, CallError, ProviderUnusable
from creval.store import RunWriter
from creval.store.code_versions import STOP_IF_CHANGED, continue_history, key_of_version, version_variant

STORED_IMAGES = ".made"
"""Subfolder of all images that the editor returned, named by their digests."""
REPORTED_MODEL = "reported model"
"""Manifest key of the model that a server reported last. In an entry of `VERSIONS_KEY`: the first one."""
_PENDING_TASK = "task"


@dataclass(frozen=True)
class EditSettings(CallSettings):
    """Settings of the calls to an editor."""

    concurrency: int = 4
    attempts: int = 5


class EditorSession:
    """An editor, and the folder in which its images are stored."""

    def __init__(self, editor: Editor, folder: str | Path, settings: EditSettings) -> None:
        self.editor, self.folder, self.settings = editor, Path(folder), settings
        self.facts: Mapping[str, object] = editor.manifest_entry
        """The editor's settings at the time when the folder was created. They are part of the key of each request."""
        self.history = continue_history(None, editor.fingerprint, STOP_IF_CHANGED, "", "")
        self.keep_old = False
        """True if existing images stay when the server switches to another model."""
        self.reused: ReusedEdits | None = None
        """Edits of another folder that are reused instead of calling the editor."""
        self.progress = Progress()
        self.stopped = ""
        self.get_budget: Callable[[], float | None] = lambda: settings.budget
        """Returns the budget for images in the folder. Judge and reasoner spend from the same total."""

    def edit_all(
        self, requests: Mapping[EditKey, EditRequest], stage: str = "edit", watch: ProgressCallback | None = None
    ) -> dict[EditKey, Edit]:
        """Return the edit of each request: an image in `STORED_IMAGES`, or the reason why there is none.

        If the session stops early, the result lacks the requests that were not made.
        """
        self.progress.calls = max(self.progress.calls, self.progress.done + len(requests))
        if self.stopped:
            return {}
        raise_open_file_limit(2 * self.settings.concurrency + 64)
        with RunWriter(self.folder) as store:
            with store.transaction():
                store.put_edits(Edit(key) for key in requests if key not in store.edits)
            calls = CallSession(store, self.progress, self.get_budget())
            batch = _EditBatch(self, store, calls, stage)
            try:
                self.stopped = calls.run(lambda: batch.run(requests), watch)
            finally:
                if batch.reported_model:
                    with store.transaction():
                        store.put_manifest({VERSIONS_KEY: self.history.entries, REPORTED_MODEL: batch.reported_model})
        return batch.edits

    @property
    def stored_variants(self) -> list[str]:
        """The call-key variants of all editor versions whose images are still used."""
        return [version_variant(number) for number in self.history.usable]

    def accept_model(self, reported: str) -> bool:
        """Return whether images by the model that the server reports may be added to the folder.

        True if it is the model recorded for the current version, if none is recorded, or with `keep_old`. In the last
        two cases, the reported model is recorded.
        """
        known = self.history.entries[-1]["fingerprint"].get(REPORTED_MODEL)
        if known is None or self.keep_old:
            self.history = self.history.with_current({REPORTED_MODEL: reported})
        return known is None or self.keep_old or known == reported


# Status of an edit by the kind of the error. All other kinds mean FAILED.
_STATUS_BY_ERROR = {**dict.fromkeys(REFUSALS, EditStatus.REFUSED), "unsupported": EditStatus.UNSUPPORTED}


class _EditBatch:
    """One batch of requests."""

    def __init__(self, session: EditorSession, store: RunWriter, calls: CallSession, stage: str) -> None:
        self._session, self._calls, self._stage = session, calls, stage
        self._cached_notes = {n: store.reply_texts(version_variant(n)) for n in session.history.usable}
        self.reported_model = str(store.manifest.get(REPORTED_MODEL, ""))
        self._pending_tasks = store.reply_texts(_PENDING_TASK, VerdictStatus.MISSING)
        self._journal = calls.journal
        self._caller = _EditorCaller(
            session.editor, session.settings, calls, has_succeeded=any(self._cached_notes.values())
        )
        self.edits: dict[EditKey, Edit] = {}

    async def run(self, requests: Mapping[EditKey, EditRequest]) -> None:
        async def work(entry: tuple[EditKey, EditRequest]) -> None:
            self.edits[entry[0]] = await self._process_request(*entry)

        session = self._session
        await self._calls.for_each([session.editor], requests.items(), work, session.settings.concurrency)

    async def _process_request(self, key: EditKey, request: EditRequest) -> Edit:
        """Return the edit of a request: stored, reused from another folder, or created by the editor."""
        progress = self._session.progress
        try:
            first = await asyncio.to_thread(self._build_call_key, key, request)
            for number, notes in self._cached_notes.items():
                note = _read_note(notes.get(key_of_version(first, number).digest, ""))
                known = _edit_from_note(key, note, self._session.folder) if note else None
                if known and known.image is not None and await asyncio.to_thread(_is_intact, known.image):
                    progress.done += 1
                    progress.cached += 1
                    return known
            reused = await asyncio.to_thread(self._find_reused, first)
            if reused:
                return await self._store_reused(key, first, reused)
            problem = await asyncio.to_thread(missing_image_reason, _input_images(request))
        except ImageError as error:
            problem = await asyncio.to_thread(missing_image_reason, _input_images(request)) or str(error)
        if problem:  # no editor can do it, so no call is made
            progress.done += 1
            return Edit(key, EditStatus.IMPOSSIBLE, reason=problem)
        call_key = key_of_version(first, self._session.history.number)
        pending = call_key._replace(variant=_PENDING_TASK)
        task = _StoredTask(self._journal, pending, self._pending_tasks.get(pending.digest), self._caller.name)
        try:
            completed = await self._caller.call((request, task))
        except CallError as error:
            status = _STATUS_BY_ERROR.get(error.kind, EditStatus.FAILED)
            await self._journal.append([(call_key, self._caller.failed_reply(error, str(error)), ())])
            progress.done += 1
            if status is EditStatus.FAILED:  # refused and unsupported requests are no sign of an unusable editor
                self._caller.record_failure(error)
            return Edit(key, status, reason=str(error))
        edit, note = await asyncio.to_thread(self._store_image, key, *completed.response)
        status_of_reply = VerdictStatus.ANSWERED if edit.status is EditStatus.DONE else VerdictStatus.REFUSED
        reported = completed.response[0].seconds
        seconds = completed.latency if reported is None else reported
        reply = Reply(
            status_of_reply,
            json.dumps(note),
            self._caller.name,
            completed.attempt,
            cost=completed.cost,
            latency=seconds,
        )
        await self._journal.append([(call_key, reply, ())])
        self._caller.record_success(completed.response)
        progress.done += 1
        self._check_model(edit)
        return edit

    def _find_reused(self, first: CallKey) -> dict[str, object]:
        """Return the note of the same request in another folder, or {}. Its image is copied to this folder."""
        reused = self._session.reused
        note = _read_note(reused.find(first)) if reused is not None else {}
        if reused is None or not note:
            return {}
        name = Path(str(note["file"])).name
        image, path = reused.folder / STORED_IMAGES / name, self._session.folder / STORED_IMAGES / name
        if not _is_intact(image):
            return {}
        if not _is_intact(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_copy(image, path)
        return {**note, "file": f"{STORED_IMAGES}/{name}"}

    async def _store_reused(self, key: EditKey, first: CallKey, note: dict[str, object]) -> Edit:
        """Store an edit that was made in another folder. It costs nothing here."""
        reply = Reply(VerdictStatus.ANSWERED, json.dumps(note), CACHE_ORIGIN)
        await self._journal.append([(key_of_version(first, self._session.history.number), reply, ())])
        progress = self._session.progress
        progress.done += 1
        progress.cached += 1
        return _edit_from_note(key, note, self._session.folder)

    def _check_model(self, edit: Edit) -> None:
        """Raise `ProviderUnusable` if the server reports another model than for earlier images.

        The edit itself is already stored, with the name of the reported model.
        """
        reported = str(edit.metadata.get("version") or "")
        if reported:
            self.reported_model = reported
            if not self._session.accept_model(reported):
                known = self._session.history.entries[-1]["fingerprint"][REPORTED_MODEL]
                raise ProviderUnusable(
                    f"{self._caller.name} was answered by the model {known}, and now by {reported}. Repeat the command "
                    "with `keep_old` (keep existing images and create the rest with the new model) or `redo` (create "
                    "all images again), or give another `out`."
                )

    def _build_call_key(self, key: EditKey, request: EditRequest) -> CallKey:
        """Return the key of a request for the editor's first version. It contains all that the image depends on."""
        digests = tuple(map(file_digest, _input_images(request)))
        words = hashlib.blake2b(request.instruction.encode("utf-8", "replace"), digest_size=16)
        facts = {"words": words.hexdigest(), "seed": request.seed, **self._session.facts}
        plain = json.loads(json.dumps(facts, sort_keys=True, default=str))
        return CallKey(self._caller.name, key, (self._stage,), "", digests, plain, request.draw)

    def _store_image(self, key: EditKey, output: EditOutput, check: OutputCheck) -> tuple[Edit, dict[str, object]]:
        """Write an image, byte for byte, to a file named by its digest. Return the edit and its note.

        When this returns, the file survives a power cut.
        """
        name = _content_name(output.content) + check.suffix
        path = self._session.folder / STORED_IMAGES / name
        if not _is_intact(path):
            atomic_write(path, output.content)
        for folder in (path.parent, self._session.folder):
            sync_folder(folder)
        version = self._session.history.label
        facts = {**check.metadata(), **dict(output.metadata), **({"editor_version": version} if version else {})}
        note: dict[str, object] = {"file": f"{STORED_IMAGES}/{name}", "facts": facts}
        return _edit_from_note(key, note, self._session.folder), note


def _input_images(request: EditRequest) -> list[Path]:
    return [path for path in (request.source, request.mask, *request.references) if path is not None]


def _content_name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _is_intact(path: Path) -> bool:
    """Return whether a stored image exists and its content has the digest in its name."""
    try:
        return is_file(path) and _content_name(read_bytes(path)) == path.stem
    except OSError:  # too large for an image, or the disk is damaged
        return False


def _read_note(text: str) -> dict[str, object]:
    """Return an edit's note (the path and properties of its image) from its JSON, or {} if that is damaged."""
    try:
        note = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) and str(note.get("file")).startswith(f"{STORED_IMAGES}/") else {}


def _edit_from_note(key: EditKey, note: Mapping[str, object], folder: Path) -> Edit:
    """Return the edit that a note describes. An all-black image counts as refused."""
    facts = note.get("facts")
    facts = dict(facts) if isinstance(facts, Mapping) else {}
    if facts.get("black"):
        reason = "the image is all black, as from a safety checker"
        return Edit(key, EditStatus.REFUSED, reason=reason, metadata=facts)
    return Edit(key, EditStatus.DONE, folder.absolute() / str(note["file"]), metadata=facts)


@dataclass
class _StoredTask:
    """The stored id of the provider's task for one request."""

    journal: CallJournal
    call_key: CallKey
    task_id: str | None
    origin: str

    async def save(self, name: str) -> None:
        self.task_id = name
        await self.journal.append([(self.call_key, Reply(VerdictStatus.MISSING, name, self.origin), ())])


class _EditorCaller(RetryingCaller[tuple[EditRequest, PendingTask], tuple[EditOutput, OutputCheck]]):
    """Caller of one editor. A response that is not an image is retried."""

    def __init__(self, editor: Editor, settings: EditSettings, calls: CallSession, *, has_succeeded: bool) -> None:
        limiter = ConcurrencyLimiter(settings.concurrency, settings.requests_per_minute)
        super().__init__(editor.name, limiter, settings.attempts, calls, has_succeeded=has_succeeded)
        self._editor = editor

    async def send(self, request: tuple[EditRequest, PendingTask]) -> tuple[EditOutput, OutputCheck]:
        output = await self._editor.edit(*request)
        return output, await asyncio.to_thread(check_output, output.content, request[0].source)

    def estimate_usage(self, request: tuple[EditRequest, PendingTask]) -> Usage:
        del request
        return Usage(0, 0, self._editor.price)

    def read_usage(self, response: tuple[EditOutput, OutputCheck]) -> Usage:
        return Usage(0, 0, response[0].cost)
