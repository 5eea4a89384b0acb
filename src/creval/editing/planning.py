"""Plans for an editor: a model gets an image and an instruction, and writes a plan for the edit."""

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
_PLAN_WORDS = 150  # requested maximum
_MAX_PLAN_WORDS = 2 * _PLAN_WORDS  # accepted maximum


def estimate_plan_stage(settings: ChatSettings) -> StageEstimate:
    """Return the cost estimate of the calls that write plans: one call for each plan."""
    words = len(load_prompt("plan_edit", settings.prompts).text.split())
    return StageEstimate(REASONER, 1.0, words, 2 * _PLAN_WORDS)


def make_planner(open_generator: Callable[[], TextGenerator[str]], watch: ProgressCallback | None = None) -> Planner:
    """Return a planner that uses a model.

    The model is asked again if its plan is empty or far too long.
    """

    def plan_all(stage: str, requests: Mapping[str, PlanRequest]) -> PlanResults:
        generator = open_generator()
        prompt = load_prompt("plan_edit", generator.settings.prompts)

        async def plan(session: ItemSession) -> str:
            instruction, reason = requests[session.item.id].instruction, ""
            ask = partial(session.generate, REASONER, stage, prompt, instruction=instruction, words=str(_PLAN_WORDS))
            for attempt in range(1 + generator.settings.retries):
                text = await ask(attempt=attempt, reason=reason)
                count = len(text.split())
                if 0 < count <= _MAX_PLAN_WORDS:
                    return text.strip()
                reason = f"it had {count} words."
            raise GenerationFailedError(f"{stage}: {reason}")

        items = [GenerationItem(name, request.image) for name, request in requests.items()]
        result = generator.run(items, plan, watch=watch)
        if result.stopped:
            raise StrategyStoppedError(result.stopped)
        return PlanResults(result.results, result.left_out)

    return plan_all
