"""Plans for an editor: a model looks at a picture and at what is wanted, and writes how to go about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from creval.calls.retry import ProgressCallback
from creval.calls.settings import ChatSettings
from creval.calls.text_generation import (
    GenerationFailedError,
    GenerationItem,
    ItemSession,
    StageEstimate,
    TextGenerator,
)
from creval.editing.strategies import Planner, PlanRequest, PlanResults, StrategyStoppedError
from creval.prompts import load_prompt

REASONER = "reasoner"
_PLAN_WORDS = 150  # that a plan is to have at most
_MAX_PLAN_WORDS = 2 * _PLAN_WORDS  # that it may have


def estimate_plan_stage(settings: ChatSettings) -> StageEstimate:
    """What one plan takes."""
    words = len(load_prompt("plan_edit", settings.prompts).text.split())
    return StageEstimate(REASONER, 1.0, words, 2 * _PLAN_WORDS)


def make_planner(open_generator: Callable[[], TextGenerator[str]], watch: ProgressCallback | None = None) -> Planner:
    """Plans from a model; one that is empty or far too long is asked for again."""

    def think(stage: str, wanted: Mapping[str, PlanRequest]) -> PlanResults:
        model = open_generator()
        prompt = load_prompt("plan_edit", model.settings.prompts)

        async def plan(desk: ItemSession) -> str:
            instruction, reason = wanted[desk.item.id].instruction, ""
            ask = partial(desk.generate, REASONER, stage, prompt, instruction=instruction, words=str(_PLAN_WORDS))
            for again in range(1 + model.settings.retries):
                text = await ask(attempt=again, reason=reason)
                count = len(text.split())
                if 0 < count <= _MAX_PLAN_WORDS:
                    return text.strip()
                reason = f"it had {count} words."
            raise GenerationFailedError(f"{stage}: {reason}")

        items = [GenerationItem(name, want.image) for name, want in wanted.items()]
        wrote = model.run(items, plan, watch=watch)
        if wrote.stopped:
            raise StrategyStoppedError(wrote.stopped)
        return PlanResults(wrote.results, wrote.left_out)

    return think
