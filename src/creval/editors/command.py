"""`command:TEMPLATE`: any program edits.

Its places are `{source}`, `{instruction}`, `{output}`, `{seed}`, `{mask}` and `{references}`; a part
with the last stands once for each of them, one with `{source?}` not where there is none. The
program writes a picture to `{output}`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from creval.core.files import read_bytes
from creval.core.images import ImageError, encode_image
from creval.core.redaction import hide_words
from creval.core.temporary import temporary_folder
from creval.editors.base import Editor, EditorOptions, EditOutput, EditRequest, PendingTask, require_no_settings
from creval.editors.output_checks import read_image_bytes
from creval.providers.call_errors import CallError
from creval.providers.user_programs import ProgramTemplate, run_program

PLACEHOLDERS = ("source", "source?", "instruction", "output", "seed", "mask", "references")


class CommandEditor(Editor):
    """A program of the user's."""

    def __init__(self, name: str, template: str, options: EditorOptions) -> None:
        self.name, self.model, self.notes = hide_words(name), hide_words(template), []
        self._given = name, template
        require_no_settings("a command", options)
        self._template = ProgramTemplate(
            template, PLACEHOLDERS, "python edit.py {source} --text={instruction} {output}"
        )
        self.needs_source = "source" in self._template.placeholders
        self.price = options.price
        self._timeout = options.timeout
        self._digests = self._template.digests

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        return {"files": self._digests}

    def keep_secrets(self) -> None:
        self.name, self.model = self._given

    def accepts(self, extra: str) -> bool:
        return bool({extra, f"{extra}?"} & self._template.placeholders)

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del ticket
        self.note_ignored_inputs(job)
        if job.instruction.startswith("-") and self._template.stands_alone("instruction"):
            self.add_note(
                "was given instructions that begin with a dash, which programs read as options: write "
                "--text={instruction}, so that they are values."
            )
        if job.source is None and self.needs_source:
            raise CallError("unsupported", "the program needs a {source}", retryable=False)
        # What a program locks away in the folder is no reason to stop.
        with temporary_folder() as folder:
            output = folder / "edit.png"
            source = await asyncio.to_thread(_upright_path, job.source, folder / "source.png")
            references = [
                await asyncio.to_thread(_upright_path, path, folder / f"reference{number}.png")
                for number, path in enumerate(job.references, 1)
            ]
            mask = "" if job.mask is None else str(job.mask.absolute())
            images = {"source": source, "source?": source, "mask": mask, "references": references}
            words = {"instruction": job.instruction, "output": str(output), "seed": str(job.seed)}
            arguments = self._template.fill({**images, **words})
            said = await run_program(self.name, arguments, self._timeout, self._template.secrets)
            if not os.path.lexists(output):
                raise CallError("no picture", f"the program wrote none to {{output}}: {said}".strip())
            content = await asyncio.to_thread(read_image_bytes, output, follow_links=False)
            return EditOutput(content, cost=self.price, metadata={"log": said} if said else {})


def _upright_path(image: Path | None, copy: Path) -> str:
    """The path of a picture, or of an upright copy: many a program overlooks what EXIF says."""
    if image is None:
        return ""
    try:
        sent = encode_image(image)
    except ImageError as error:
        raise CallError("unreadable source", str(error), retryable=False) from None
    if sent.content == read_bytes(image):
        return str(image.absolute())
    copy.write_bytes(sent.content)
    return str(copy)
