"""Strategies: direct, step by step (sequential), best of several candidates, or with a plan first (reasoned).

Each strategy requests images in rounds. A round applies the next step of each chain of steps. With best-of, a round
creates several candidates for each chain, and the next round starts from the one that a judge selects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from creval.calls.retry import ProgressCallback
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.images import missing_image_reason
from creval.core.sample import Sample
from creval.editing.session import EditorSession
from creval.editors.base import EditRequest

DIRECT, SEQUENTIAL, BEST_OF, REASONED = "direct", "sequential", "best-of", "reasoned"
_BEST_OF = re.compile(r"best-of:([0-9]{1,3})")


class Strategy(NamedTuple):
    """How an editor is used: all steps at once or one by one, number of candidates, with or without plans."""

    sequential: bool = False
    best_of: int = 1
    reasoned: bool = False

    @property
    def name(self) -> str:
        parts = [SEQUENTIAL] * self.sequential + [REASONED] * self.reasoned
        parts += [f"{BEST_OF}:{self.best_of}"] if self.best_of > 1 else []
        return "+".join(parts) or DIRECT


def parse_strategy(text: str) -> Strategy:
    """Return the strategy with a given name.

    >>> parse_strategy("sequential+best-of:4")
    Strategy(sequential=True, best_of=4, reasoned=False)
    """
    found = Strategy()
    for part in text.split("+"):
        match = _BEST_OF.fullmatch(part.strip())
        if match and int(match[1]) and found.best_of == 1:
            found = found._replace(best_of=int(match[1]))
        elif part.strip() in (SEQUENTIAL, REASONED):
            found = found._replace(**{part.strip(): True})
        elif part.strip() != DIRECT:
            raise CrevalError(
                f"`strategy` {text}: {part!r} is repeated, or is not one of direct, sequential, best-of:N and "
                "reasoned. Join several strategies with +."
            )
    return found


class Selection(NamedTuple):
    """The selected candidate of a sample, and the score of each candidate by its number (`draw`)."""

    selected: EditKey
    scores: Mapping[int, float | None]


Selector = Callable[[str, Sequence[Sample], Sequence[tuple[Sample, Sequence[Edit]]]], Mapping[str, Selection]]
"""Selects one candidate for each sample. Samples are truncated to the steps of the round.

Arguments: the round's name, all samples of the benchmark that reach the round, and the candidates of each sample.
Returns the selections by sample id.
"""


class PlanRequest(NamedTuple):
    """A request for a plan: the next instruction, and the image that it will be applied to."""

    instruction: str
    image: Path | None


class PlanResults(NamedTuple):
    """Plans by sample id, and the reasons for plans that could not be made."""

    plans: Mapping[str, str]
    failures: Mapping[str, str] = MappingProxyType({})


Planner = Callable[[str, Mapping[str, PlanRequest]], PlanResults]
"""Writes the plans of a round. Arguments: the round's name, and the requests by sample id."""


class StrategyStoppedError(Exception):
    """Selecting or planning was stopped early. The message is the reason."""


@dataclass
class StrategyResult:
    """Final edits of the samples, and intermediate edits: all candidates, and the edits after earlier steps."""

    edits: dict[EditKey, Edit] = field(default_factory=dict)
    intermediate: dict[EditKey, Edit] = field(default_factory=dict)


class _StepChain(NamedTuple):
    """A source image and the steps that are applied to it. Each step gets the same mask and references."""

    source: Path | None
    steps: tuple[str, ...]
    mask: Path | None = None
    references: tuple[Path, ...] = ()

    def prefix(self, depth: int) -> _StepChain:
        """Return the chain that ends after the first `depth` steps."""
        return self._replace(steps=self.steps[:depth])


class _ChainOwner(NamedTuple):
    """The sample under which a chain's edits are stored.

    `sample` has exactly the chain's steps: it is truncated if the full sample has more.
    """

    sample: Sample
    full_sample_id: str


class StrategyRunner:
    """Runner of one strategy with one editor on samples of a benchmark."""

    def __init__(
        self,
        session: EditorSession,
        model: str,
        samples: Sequence[Sample],
        strategy: Strategy,
        *,
        all_samples: Sequence[Sample] = (),
        selector: Selector | None = None,
        planner: Planner | None = None,
        draws: int = 1,
    ) -> None:
        if draws > 1 and strategy.best_of > 1:
            raise CrevalError("`draws` keeps every draw, but best-of keeps only one. Remove `draws` or best-of.")
        if strategy.best_of > 1 and selector is None:
            raise CrevalError("best-of needs a judge that selects a candidate: give `judge` SPEC.")
        if strategy.reasoned and planner is None:
            raise CrevalError("reasoned needs a model that writes plans: give `reasoner` SPEC.")
        stepless = [sample.id for sample in samples if not sample.steps]
        if strategy.sequential and stepless:
            raise CrevalError(
                f"sequential needs samples with steps, but {stepless[0]} has none: its instruction is not split into "
                "steps."
            )
        self._session, self._model, self._samples = session, model, samples
        # Draws are numbered from 1, like candidates. 0 is the edit of a sample that has only one.
        self._draws = range(1, 1 + draws) if draws > 1 else range(1)
        self._strategy, self._selector, self._planner = strategy, selector, planner
        # Owners come from all samples, so that a chain has the same name for any selection of samples.
        selected, known = self._find_owners(samples), self._find_owners(all_samples)
        self._chains = {chain: known.get(chain, owner) for chain, owner in selected.items()}
        self._known_chains = known | self._chains
        self.result = StrategyResult()

    @property
    def image_count(self) -> int:
        """Number of images to create."""
        return len(self._chains) * self._strategy.best_of * len(self._draws)

    @property
    def candidate_samples(self) -> list[Sample]:
        """Samples for which images are created, including truncated samples for intermediate steps."""
        return [owner.sample for owner in self._chains.values()]

    def run(self, watch: ProgressCallback | None = None) -> StrategyResult:
        """Create the edits of all samples. A chain that several samples share runs once.

        After an error, `result` contains the edits made before it.
        """
        self._session.progress.calls = self.image_count
        for draw in self._draws:
            if not self._session.stopped:
                self._run_draw(draw, watch)
        return self.result

    def _run_draw(self, draw: int, watch: ProgressCallback | None) -> None:
        """Create one edit of each sample and store it under this draw number (0 if there is only one draw)."""
        reached: dict[_StepChain, Edit] = {}
        try:
            for depth in range(1, 1 + max((len(chain.steps) for chain in self._chains), default=0)):
                chains = {chain: owner for chain, owner in self._chains.items() if len(chain.steps) == depth}
                try:
                    reached |= self._run_round(depth, draw, chains, reached, watch)
                except StrategyStoppedError as error:
                    self._session.stopped = str(error)
                if self._session.stopped:
                    break
        finally:
            for sample in self._samples:
                edit = reached.get(self._chain(sample))
                if edit is not None:
                    key = EditKey(self._model, sample.id, draw)
                    parents = edit.parents if edit.key == key else edit.parents or (edit.key,)
                    self.result.edits[key] = edit._replace(key=key, parents=parents)

    def _chain(self, sample: Sample) -> _StepChain:
        steps = tuple(step.text for step in sample.steps) if self._strategy.sequential else ()
        steps = steps or (sample.instruction,)
        return _StepChain(sample.source, steps, sample.mask, sample.references)

    def _find_owners(self, samples: Sequence[Sample]) -> dict[_StepChain, _ChainOwner]:
        """Return the owner of each chain and of each prefix of a chain.

        The owner is the sample with exactly these steps. If there is none, it is the first sample that begins with
        them, truncated.
        """
        owners: dict[_StepChain, _ChainOwner] = {}
        for sample in sorted(samples, key=lambda sample: len(self._chain(sample).steps)):
            chain = self._chain(sample)
            for depth in range(1, len(chain.steps) + 1):
                truncated = sample if depth == len(chain.steps) else _truncate_sample(sample, depth)
                owners.setdefault(chain.prefix(depth), _ChainOwner(truncated, sample.id))
        return owners

    def _run_round(
        self,
        depth: int,
        number: int,
        chains: Mapping[_StepChain, _ChainOwner],
        before: Mapping[_StepChain, Edit],
        watch: ProgressCallback | None,
    ) -> dict[_StepChain, Edit]:
        """Apply the next step of each chain. `number` is the draw under which the edits are stored."""
        requests: dict[EditKey, EditRequest] = {}
        chain_of: dict[EditKey, _StepChain] = {}
        edits: dict[_StepChain, Edit] = {}
        plan_requests: dict[_StepChain, PlanRequest] = {}
        for chain, (sample, _) in chains.items():
            start = before.get(chain.prefix(-1))
            if start is not None and start.image is None:
                reason = f"the step before: {start.reason}"
                key = EditKey(self._model, sample.id, number)
                edits[chain] = Edit(key, start.status, reason=reason, parents=(start.key,))
            elif start is not None or depth == 1:
                source = chain.source if start is None else start.image
                plan_requests[chain] = PlanRequest(chain.steps[-1], source)
        planned = PlanResults({})
        if self._planner is not None and plan_requests:
            by_sample = {chains[chain].sample.id: request for chain, request in plan_requests.items()}
            planned = self._planner(f"step {depth}", by_sample)
        for chain, request in plan_requests.items():
            sample, full_sample_id = chains[chain]
            if sample.id in planned.failures:
                missing = missing_image_reason(sample.input_images) if depth == 1 else ""
                status = EditStatus.IMPOSSIBLE if missing else EditStatus.FAILED
                reason = missing or f"no plan: {planned.failures[sample.id]}"
                edits[chain] = Edit(EditKey(self._model, sample.id, number), status, reason=reason)
                continue
            # Candidates are numbered from 1. 0 is the selected one.
            best_of = self._strategy.best_of
            for candidate in range(1, 1 + best_of) if best_of > 1 else (number,):
                key, draw = EditKey(self._model, sample.id, candidate), max(0, candidate - 1)
                plan = planned.plans.get(sample.id, "")
                text = request.instruction + (f"\n\n{plan}" if plan else "")
                seed = self._session.settings.seed + draw
                requests[key] = EditRequest(
                    full_sample_id, text, request.image, sample.mask, sample.references, seed, draw
                )
                chain_of[key] = chain
        results = self._session.edit_all(requests, f"step {depth}", watch)
        candidates: dict[_StepChain, list[Edit]] = {}
        for key in (key for key in requests if key in results):
            edit = results[key]
            start = before.get(chain_of[key].prefix(-1))
            facts = {**edit.metadata, "instruction": chain_of[key].steps[-1]}
            if key.sample in planned.plans:
                facts["plan"] = planned.plans[key.sample]
            parents = (start.key,) if start is not None else ()
            edit = edit._replace(parents=parents, metadata=facts)
            candidates.setdefault(chain_of[key], []).append(edit)
            self.result.intermediate[key] = edit
        if self._strategy.best_of == 1:
            return edits | {chain: only for chain, (only,) in candidates.items()}
        if self._session.stopped:  # a candidate that is not created yet may be the best
            return edits
        selected = self._select_candidates(depth, chains, candidates)
        intermediate = self.result.intermediate
        for edit in selected.values():
            intermediate[edit.key] = intermediate[edit.key]._replace(metadata=edit.metadata)
        return edits | selected

    def _select_candidates(
        self, depth: int, chains: Mapping[_StepChain, _ChainOwner], candidates: Mapping[_StepChain, list[Edit]]
    ) -> dict[_StepChain, Edit]:
        """Return the selected candidate of each chain.

        If no candidate can be scored, the first one with an image is selected. Without any image, it is the first one.
        """
        done = {
            chain: [edit for edit in edits if edit.status is EditStatus.DONE] for chain, edits in candidates.items()
        }
        to_judge = [(chain, edits) for chain, edits in done.items() if edits]
        found = {chain: edits[0] for chain, edits in candidates.items() if not done[chain]}
        if self._selector is None or not to_judge:
            return found
        known = [owner.sample for chain, owner in self._known_chains.items() if len(chain.steps) == depth]
        by_sample = [(chains[chain].sample, edits) for chain, edits in to_judge]
        selections = self._selector(f"step {depth}", known, by_sample)
        for chain, edits in to_judge:
            selection = selections.get(chains[chain].sample.id) or Selection(edits[0].key, {})
            (selected,) = [edit for edit in edits if edit.key == selection.selected]
            facts = {**selected.metadata, "picked_from": len(edits), "scores": dict(selection.scores)}
            parents = tuple(edit.key for edit in edits)
            found[chain] = selected._replace(parents=parents, metadata=facts)
        return found


def _truncate_sample(sample: Sample, depth: int) -> Sample:
    """Return a sample with its first `depth` steps only."""
    steps = sample.steps[:depth]
    instruction = " ".join(step.text for step in steps)
    return replace(sample, id=f"{sample.id}#{depth}", instruction=instruction, steps=steps)
