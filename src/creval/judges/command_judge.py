"""`command:TEMPLATE`: a program as a judge.

The placeholders of the template are `{prompt}` (a file with the text of the request), `{images}` (the argument
with it is repeated for each image), `{source}`, `{edit}`, `{mask}` and `{output}`. The program writes its reply to
`{output}`: the JSON that the prompt asks for, or only the answer.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from creval.core.errors import CrevalError
from creval.core.files import read_bytes
from creval.core.redaction import hide_words
from creval.core.temporary import temporary_folder
from creval.judges.base import Judge, JudgeOptions, JudgeRequest, JudgeResponse
from creval.providers.call_errors import CallError
from creval.providers.openai_wire import Completion
from creval.providers.user_programs import ProgramTemplate, run_program

_ROLES = ("source", "edit", "mask")
PLACEHOLDERS = ("prompt", "images", *_ROLES, *(f"{role}?" for role in _ROLES), "output")
_MAX_REPLY_BYTES = 1 << 22


class CommandJudge(Judge):
    """A user's program as a judge. Each repeat is a separate call."""

    counts_tokens = False

    def __init__(self, name: str, template: str, options: JudgeOptions) -> None:
        self.name, self.model, self.notes = hide_words(name), hide_words(template), []
        self._template = ProgramTemplate(template, PLACEHOLDERS, "python judge.py {prompt} {source} {edit} {output}")
        for parameter in options.parameters:
            raise CrevalError(f"`parameters` {parameter}: a command judge has no parameters.")
        self.price, self._timeout = options.price, options.timeout
        self.code_digests = self._template.digests

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        return JudgeResponse(tuple([await self._run(request) for _ in request.repeats]), 0, 0, 0.0)

    async def _run(self, request: JudgeRequest) -> Completion:
        with temporary_folder() as folder:
            arguments = await asyncio.to_thread(self._write_inputs, request, folder)
            said = await run_program(self.name, arguments, self._timeout, self._template.secrets)
            try:
                reply = await asyncio.to_thread(read_bytes, folder / "reply.txt", _MAX_REPLY_BYTES)
            except FileNotFoundError:
                raise CallError("no reply", f"the program wrote nothing to {{output}}: {said}".strip()) from None
            except OSError as error:
                raise CallError("no reply", f"{{output}} cannot be read: {error.strerror}") from None
            return Completion(reply.decode("utf-8", "replace"))

    def _write_inputs(self, request: JudgeRequest, folder: Path) -> list[str]:
        prompt = folder / "prompt.txt"
        prompt.write_text(request.text, encoding="utf-8", errors="replace")
        images = [
            folder / f"image{number}.{image.media_type.rpartition('/')[2]}"
            for number, image in enumerate(request.images, 1)
        ]
        for path, image in zip(images, request.images, strict=True):
            path.write_bytes(image.content)
        shown = list(zip(request.image_roles, map(str, images), strict=False))
        places = {name: next((path for role, path in shown if role == name.rstrip("?")), "") for name in PLACEHOLDERS}
        output = str(folder / "reply.txt")
        return self._template.fill({**places, "prompt": str(prompt), "images": [*map(str, images)], "output": output})
