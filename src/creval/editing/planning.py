"""Plans for an editor: a model looks at a picture and at what is wanted, and writes how to go about
it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from creval.calls.event_loop import Watch
from creval.calls.settings import Settings
from creval.calls.text_generation import Desk, Expected, Item, UnwrittenError, Writing
from creval.editing.strategies import HaltedError, Plans, Think, Wanted
from creval.prompts import load_prompt
from creval.store.edit_folders import PLANNED

REASONER = "reasoner"
_WORDS = 150  # that a plan is to have at most
_MOST = 2 * _WORDS  # that it may have


def planner(folder: Path, spec: str, settings: Settings, *, dry: bool = False) -> Writing[str]:
    """The model that plans, with its replies in a folder beside the edits."""
    return Writing(folder / PLANNED, {REASONER: spec}, settings, dry=dry)


def expected(settings: Settings) -> Expected:
    """What one plan takes."""
    words = len(load_prompt("plan_edit", settings.prompts).text.split())
    return Expected(REASONER, 1.0, words, 2 * _WORDS)


def thinking(writing: Callable[[], Writing[str]], watch: Watch | None = None) -> Think:
    """Plans from a model; one that is empty or far too long is asked for again."""

    def think(stage: str, wanted: Mapping[str, Wanted]) -> Plans:
        model = writing()
        prompt = load_prompt("plan_edit", model.settings.prompts)

        async def plan(desk: Desk) -> str:
            instruction = wanted[desk.item.id].instruction
            reason = ""
            for again in range(1 + model.settings.retries):
                text = await desk.ask(
                    REASONER, stage, prompt, again=again, instruction=instruction,
                    words=str(_WORDS), reason=reason,
                )  # fmt: skip
                count = len(text.split())
                if 0 < count <= _MOST:
                    return text.strip()
                reason = f"it had {count} words."
            raise UnwrittenError(f"{stage}: {reason}")

        items = [Item(name, want.picture) for name, want in wanted.items()]
        wrote = model.run(items, plan, watch=watch)
        if wrote.stopped:
            raise HaltedError(wrote.stopped)
        return Plans(wrote.made, wrote.left_out)

    return think
