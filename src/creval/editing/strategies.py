"""Ways of using an editor: at once, step by step, the best of several, or with a plan first.

Every strategy asks for pictures in rounds. In a round each chain of steps takes one step further,
in as many draws as are wanted; a judge picks one of them, and the next step starts from it.
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
    """How an editor is used."""

    sequential: bool = False
    best_of: int = 1
    reasoned: bool = False

    @property
    def name(self) -> str:
        parts = [SEQUENTIAL] * self.sequential + [REASONED] * self.reasoned
        parts += [f"{BEST_OF}:{self.best_of}"] if self.best_of > 1 else []
        return "+".join(parts) or DIRECT


def parse_strategy(text: str) -> Strategy:
    """The strategy that a name stands for.

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
                f"`strategy` {text}: {part!r} is none of direct, sequential, best-of:N and "
                "reasoned, or stands there twice; several are joined by +."
            )
    return found


class Selection(NamedTuple):
    """What a judge made of candidates: the one that it picked, and each one's score by its draw."""

    selected: EditKey
    scores: Mapping[int, float | None]


Selector = Callable[[str, Sequence[Sample], Sequence[tuple[Sample, Sequence[Edit]]]], Mapping[str, Selection]]
"""Chooses between the candidates for samples, which are as far as their steps have come. It is told
the round's name, and all samples of the benchmark that come that far. By the sample's id."""


class PlanRequest(NamedTuple):
    """What is to be done next to a picture."""

    instruction: str
    image: Path | None


class PlanResults(NamedTuple):
    """How to go about what is wanted, in words, and why there are no words for the rest."""

    plans: Mapping[str, str]
    failures: Mapping[str, str] = MappingProxyType({})


Planner = Callable[[str, Mapping[str, PlanRequest]], PlanResults]
"""Plans what is wanted in a round. By the sample's id."""


class StrategyStoppedError(Exception):
    """That picking or planning was stopped before its end, and by what."""


@dataclass
class StrategyResult:
    """What a strategy came to: the edits of the samples, and those on the way to them."""

    edits: dict[EditKey, Edit] = field(default_factory=dict)
    intermediate: dict[EditKey, Edit] = field(default_factory=dict)


class _StepChain(NamedTuple):
    """Some steps that begin with a source, with what else is given to each."""

    source: Path | None
    steps: tuple[str, ...]
    mask: Path | None = None
    references: tuple[Path, ...] = ()

    def prefix(self, depth: int) -> _StepChain:
        """The first steps of it."""
        return self._replace(steps=self.steps[:depth])


class _ChainOwner(NamedTuple):
    """The sample that asks for a chain, as far as that goes, and the whole sample's id."""

    sample: Sample
    full_sample_id: str


class StrategyRunner:
    """One editor used in one way on all samples of a benchmark."""

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
            raise CrevalError("`draws` keeps every draw, and best-of one of them: give one of the two.")
        if strategy.best_of > 1 and selector is None:
            raise CrevalError("best-of needs a judge that picks: give `judge` SPEC.")
        if strategy.reasoned and planner is None:
            raise CrevalError("reasoned needs a model that plans: give `reasoner` SPEC.")
        stepless = [sample.id for sample in samples if not sample.steps]
        if strategy.sequential and stepless:
            raise CrevalError(
                f"sequential takes samples with steps, and {stepless[0]} has none: its instruction "
                "is not made of steps."
            )
        self._session, self._model, self._samples = session, model, samples
        # Draws are counted from 1, as candidates are: 0 is the edit of a sample that has one.
        self._draws = range(1, 1 + draws) if draws > 1 else range(1)
        self._strategy, self._selector, self._planner = strategy, selector, planner
        # Chains are called the same whichever samples are chosen among the benchmark's.
        wanted, known = self._find_owners(samples), self._find_owners(all_samples)
        self._chains = {chain: known.get(chain, owner) for chain, owner in wanted.items()}
        self._known_chains = known | self._chains
        self.result = StrategyResult()

    @property
    def image_count(self) -> int:
        """How many pictures are to be made."""
        return len(self._chains) * self._strategy.best_of * len(self._draws)

    @property
    def candidate_samples(self) -> list[Sample]:
        """The samples, and those on the way to them, of which candidates are made."""
        return [owner.sample for owner in self._chains.values()]

    def run(self, watch: ProgressCallback | None = None) -> StrategyResult:
        """Make every sample's edits, shared chains once. After an error, `result` holds what came before."""
        self._session.progress.calls = self.image_count
        for draw in self._draws:
            if not self._session.stopped:
                self._run_draw(draw, watch)
        return self.result

    def _run_draw(self, draw: int, watch: ProgressCallback | None) -> None:
        """Make an edit of every sample: the only one, the one that is picked, or the draw of this number."""
        reached: dict[_StepChain, Edit] = {}
        try:
            for depth in range(1, 1 + max((len(chain.steps) for chain in self._chains), default=0)):
                here = {chain: owner for chain, owner in self._chains.items() if len(chain.steps) == depth}
                try:
                    reached |= self._run_round(depth, draw, here, reached, watch)
                except StrategyStoppedError as halted:
                    self._session.stopped = str(halted)
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
        """Every chain and beginning of one, with a sample that is just that, or the first longer one, truncated."""
        owners: dict[_StepChain, _ChainOwner] = {}
        for sample in sorted(samples, key=lambda sample: len(self._chain(sample).steps)):
            whole = self._chain(sample)
            for depth in range(1, len(whole.steps) + 1):
                part = whole.prefix(depth)
                reached = sample if depth == len(whole.steps) else _truncate_sample(sample, depth)
                owners.setdefault(part, _ChainOwner(reached, sample.id))
        return owners

    def _run_round(
        self,
        depth: int,
        number: int,
        chains: Mapping[_StepChain, _ChainOwner],
        before: Mapping[_StepChain, Edit],
        watch: ProgressCallback | None,
    ) -> dict[_StepChain, Edit]:
        """One step further for each chain, in the draw of this number."""
        jobs: dict[EditKey, EditRequest] = {}
        of: dict[EditKey, _StepChain] = {}
        made: dict[_StepChain, Edit] = {}
        wanted: dict[_StepChain, PlanRequest] = {}
        for chain, (sample, _) in chains.items():
            start = before.get(chain.prefix(-1))
            if start is not None and start.image is None:
                reason = f"the step before: {start.reason}"
                key = EditKey(self._model, sample.id, number)
                made[chain] = Edit(key, start.status, reason=reason, parents=(start.key,))
            elif start is not None or depth == 1:
                source = chain.source if start is None else start.image
                wanted[chain] = PlanRequest(chain.steps[-1], source)
        thought = PlanResults({})
        if self._planner is not None and wanted:
            requests = {chains[chain].sample.id: want for chain, want in wanted.items()}
            thought = self._planner(f"step {depth}", requests)
        for chain, want in wanted.items():
            sample, whole = chains[chain]
            if sample.id in thought.failures:
                lack = missing_image_reason(sample.input_images) if depth == 1 else ""
                status = EditStatus.IMPOSSIBLE if lack else EditStatus.FAILED
                reason = lack or f"no plan: {thought.failures[sample.id]}"
                made[chain] = Edit(EditKey(self._model, sample.id, number), status, reason=reason)
                continue
            # Candidates are counted from 1: 0 is the one that is picked.
            best_of = self._strategy.best_of
            for counted in range(1, 1 + best_of) if best_of > 1 else (number,):
                key, draw = EditKey(self._model, sample.id, counted), max(0, counted - 1)
                plan = thought.plans.get(sample.id, "")
                words = want.instruction + (f"\n\n{plan}" if plan else "")
                seed = self._session.settings.seed + draw
                jobs[key] = EditRequest(whole, words, want.image, sample.mask, sample.references, seed, draw)
                of[key] = chain
        came = self._session.edit_all(jobs, f"step {depth}", watch)
        candidates: dict[_StepChain, list[Edit]] = {}
        for key in (key for key in jobs if key in came):
            edit = came[key]
            start = before.get(of[key].prefix(-1))
            facts = {**edit.metadata, "instruction": of[key].steps[-1]}
            if key.sample in thought.plans:
                facts["plan"] = thought.plans[key.sample]
            parents = (start.key,) if start is not None else ()
            edit = edit._replace(parents=parents, metadata=facts)
            candidates.setdefault(of[key], []).append(edit)
            self.result.intermediate[key] = edit
        if self._strategy.best_of == 1:
            return made | {chain: only for chain, (only,) in candidates.items()}
        if self._session.stopped:  # a candidate that is still to come may be the best
            return made
        picked = self._select_candidates(depth, chains, candidates)
        between = self.result.intermediate
        for edit in picked.values():
            between[edit.key] = between[edit.key]._replace(metadata=edit.metadata)
        return made | picked

    def _select_candidates(
        self, depth: int, chains: Mapping[_StepChain, _ChainOwner], candidates: Mapping[_StepChain, list[Edit]]
    ) -> dict[_StepChain, Edit]:
        """Of each chain's candidates the one that a judge picks; the first where it can score none."""
        made = {
            chain: [edit for edit in edits if edit.status is EditStatus.DONE] for chain, edits in candidates.items()
        }
        open_ = [(chain, edits) for chain, edits in made.items() if edits]
        found = {chain: edits[0] for chain, edits in candidates.items() if not made[chain]}
        if self._selector is None or not open_:
            return found
        known = [owner.sample for chain, owner in self._known_chains.items() if len(chain.steps) == depth]
        shown = [(chains[chain].sample, edits) for chain, edits in open_]
        choices = self._selector(f"step {depth}", known, shown)
        for chain, edits in open_:
            choice = choices.get(chains[chain].sample.id) or Selection(edits[0].key, {})
            (picked,) = [edit for edit in edits if edit.key == choice.selected]
            facts = {**picked.metadata, "picked_from": len(edits), "scores": dict(choice.scores)}
            parents = tuple(edit.key for edit in edits)
            found[chain] = picked._replace(parents=parents, metadata=facts)
        return found


def _truncate_sample(sample: Sample, depth: int) -> Sample:
    """A sample as far as its first steps."""
    steps = sample.steps[:depth]
    words = " ".join(step.text for step in steps)
    return replace(sample, id=f"{sample.id}#{depth}", instruction=words, steps=steps)
