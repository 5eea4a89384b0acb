"""`command:TEMPLATE`: an editor that runs a program.

The placeholders are `{source}`, `{instruction}`, `{output}`, `{seed}`, `{mask}` and `{references}`. An argument
with `{references}` is repeated for each reference. An argument with `{source?}` is omitted if there is no source.
The program writes an image to `{output}`.
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
    """An editor that runs a user's program for each edit."""

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
                "was given instructions that begin with a dash, which programs parse as options. Write "
                "--text={instruction}, so that they are parsed as values."
            )
        if job.source is None and self.needs_source:
            raise CallError("unsupported", "the program needs a {source}", retryable=False)
        # Files that cannot be deleted from the temporary folder are not an error.
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
            log = await run_program(self.name, arguments, self._timeout, self._template.secrets)
            if not os.path.lexists(output):
                raise CallError("no image", f"the program did not write {{output}}: {log}".strip())
            content = await asyncio.to_thread(read_image_bytes, output, follow_links=False)
            return EditOutput(content, cost=self.price, metadata={"log": log} if log else {})


def _upright_path(image: Path | None, copy: Path) -> str:
    """Return the path of an image, or of an upright copy, since many programs ignore the EXIF orientation."""
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
