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

from creval.calls.event_loop import Watch
from creval.core.edit import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.images import lack_of
from creval.core.sample import Sample
from creval.editing.session import Editing
from creval.editors.base import Job

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


def read_strategy(text: str) -> Strategy:
    """The strategy that a name stands for.

    >>> read_strategy("sequential+best-of:4")
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
                f"--strategy {text}: {part!r} is none of direct, sequential, best-of:N and "
                "reasoned, or stands there twice; several are joined by +."
            )
    return found


class Choice(NamedTuple):
    """What a judge made of candidates: the one that it picked, and each one's score by its draw."""

    picked: EditKey
    scores: Mapping[int, float | None]


Pick = Callable[
    [str, Sequence[Sample], Sequence[tuple[Sample, Sequence[Edit]]]], Mapping[str, Choice]
]
"""Chooses between the candidates for samples, which are as far as their steps have come. It is told
the round's name, and all samples of the benchmark that come that far. By the sample's id."""


class Wanted(NamedTuple):
    """What is to be done next to a picture."""

    instruction: str
    picture: Path | None


class Plans(NamedTuple):
    """How to go about what is wanted, in words, and why there are no words for the rest."""

    plans: Mapping[str, str]
    failed: Mapping[str, str] = MappingProxyType({})


Think = Callable[[str, Mapping[str, Wanted]], Plans]
"""Plans what is wanted in a round. By the sample's id."""


class HaltedError(Exception):
    """That picking or planning was stopped before its end, and by what."""


@dataclass
class Finished:
    """What a strategy came to: the edits of the samples, and those on the way to them."""

    edits: dict[EditKey, Edit] = field(default_factory=dict)
    between: dict[EditKey, Edit] = field(default_factory=dict)


class _Chain(NamedTuple):
    """Some steps that begin with a source, with what else is given to each."""

    source: Path | None
    steps: tuple[str, ...]
    mask: Path | None = None
    references: tuple[Path, ...] = ()

    def cut(self, depth: int) -> _Chain:
        """The first steps of it."""
        return self._replace(steps=self.steps[:depth])


class _Owner(NamedTuple):
    """The sample that asks for a chain, as far as that goes, and the whole sample's id."""

    sample: Sample
    whole: str


class Editors:
    """One editor used in one way on all samples of a benchmark."""

    def __init__(
        self,
        editing: Editing,
        system: str,
        samples: Sequence[Sample],
        strategy: Strategy,
        *,
        among: Sequence[Sample] = (),
        pick: Pick | None = None,
        think: Think | None = None,
    ) -> None:
        if strategy.best_of > 1 and pick is None:
            raise CrevalError("best-of needs a judge that picks: give --judge SPEC.")
        if strategy.reasoned and think is None:
            raise CrevalError("reasoned needs a model that plans: give --reasoner SPEC.")
        stepless = [sample.id for sample in samples if not sample.steps]
        if strategy.sequential and stepless:
            raise CrevalError(
                f"sequential takes samples with steps, and {stepless[0]} has none: its instruction "
                "is not made of steps."
            )
        self._editing, self._system, self._samples = editing, system, samples
        self._strategy, self._pick, self._think = strategy, pick, think
        # Chains are called the same whichever samples are chosen among the benchmark's.
        wanted, known = self._owners(samples), self._owners(among)
        self._all = {chain: known.get(chain, owner) for chain, owner in wanted.items()}
        self._known = known | self._all
        self.finished = Finished()

    @property
    def jobs(self) -> int:
        """How many pictures are to be made."""
        return len(self._all) * self._strategy.best_of

    @property
    def reached(self) -> list[Sample]:
        """The samples, and those on the way to them, of which candidates are made."""
        return [owner.sample for owner in self._all.values()]

    def run(self, watch: Watch | None = None) -> Finished:
        """Make every sample's edit. A chain that several samples share is made once. What came
        before something went wrong is in `finished`."""
        at: dict[_Chain, Edit] = {}
        try:
            self._run(at, watch)
        finally:
            for sample in self._samples:
                edit = at.get(self._chain(sample))
                if edit is not None:
                    key = EditKey(self._system, sample.id)
                    parents = edit.parents if edit.key == key else edit.parents or (edit.key,)
                    self.finished.edits[key] = edit._replace(key=key, parents=parents)
        return self.finished

    def _run(self, at: dict[_Chain, Edit], watch: Watch | None) -> None:
        """Take every chain to its end, or as far as it goes."""
        self._editing.progress.calls = self.jobs
        for depth in range(1, 1 + max((len(chain.steps) for chain in self._all), default=0)):
            here = {chain: owner for chain, owner in self._all.items() if len(chain.steps) == depth}
            try:
                at |= self._round(depth, here, at, watch)
            except HaltedError as halted:
                self._editing.stopped = str(halted)
            if self._editing.stopped:
                break

    def _chain(self, sample: Sample) -> _Chain:
        steps = tuple(step.text for step in sample.steps) if self._strategy.sequential else ()
        steps = steps or (sample.instruction,)
        return _Chain(sample.source, steps, sample.mask, sample.references)

    def _keys(self, sample: Sample) -> list[EditKey]:
        """The draws of a sample. Candidates are counted from 1: 0 is the one that is picked."""
        first = int(self._strategy.best_of > 1)
        draws = range(first, first + self._strategy.best_of)
        return [EditKey(self._system, sample.id, draw) for draw in draws]

    def _owners(self, samples: Sequence[Sample]) -> dict[_Chain, _Owner]:
        """Every chain, and every beginning of one, with the sample as far as it has come: a sample
        that is just that, or the first that goes further, cut short."""
        owners: dict[_Chain, _Owner] = {}
        for sample in sorted(samples, key=lambda sample: len(self._chain(sample).steps)):
            whole = self._chain(sample)
            for depth in range(1, len(whole.steps) + 1):
                part = whole.cut(depth)
                reached = sample if depth == len(whole.steps) else _cut(sample, depth)
                owners.setdefault(part, _Owner(reached, sample.id))
        return owners

    def _round(
        self,
        depth: int,
        here: Mapping[_Chain, _Owner],
        before: Mapping[_Chain, Edit],
        watch: Watch | None,
    ) -> dict[_Chain, Edit]:
        """One step further for each chain."""
        jobs: dict[EditKey, Job] = {}
        of: dict[EditKey, _Chain] = {}
        made: dict[_Chain, Edit] = {}
        wanted: dict[_Chain, Wanted] = {}
        for chain, (sample, _) in here.items():
            start = before.get(chain.cut(-1))
            if start is not None and start.image is None:
                reason = f"the step before: {start.reason}"
                key = EditKey(self._system, sample.id)
                made[chain] = Edit(key, start.status, reason=reason, parents=(start.key,))
            elif start is not None or depth == 1:
                source = chain.source if start is None else start.image
                wanted[chain] = Wanted(chain.steps[-1], source)
        thought = self._planned(depth, here, wanted)
        for chain, want in wanted.items():
            sample, whole = here[chain]
            if sample.id in thought.failed:
                lack = lack_of(sample.pictures) if depth == 1 else ""
                status = EditStatus.IMPOSSIBLE if lack else EditStatus.FAILED
                reason = lack or f"no plan: {thought.failed[sample.id]}"
                made[chain] = Edit(EditKey(self._system, sample.id), status, reason=reason)
                continue
            for draw, key in enumerate(self._keys(sample)):
                plan = thought.plans.get(sample.id, "")
                words = want.instruction + (f"\n\n{plan}" if plan else "")
                seed = self._editing.settings.seed + draw
                jobs[key] = Job(whole, words, want.picture, sample.mask, sample.references, seed,
                                draw)  # fmt: skip
                of[key] = chain
        came = self._editing.make(jobs, f"step {depth}", watch)
        candidates: dict[_Chain, list[Edit]] = {}
        for key in (key for key in jobs if key in came):
            edit = came[key]
            start = before.get(of[key].cut(-1))
            facts = {**edit.facts, "instruction": of[key].steps[-1]}
            if key.sample in thought.plans:
                facts["plan"] = thought.plans[key.sample]
            parents = (start.key,) if start is not None else ()
            edit = edit._replace(parents=parents, facts=facts)
            candidates.setdefault(of[key], []).append(edit)
            self.finished.between[key] = edit
        if self._strategy.best_of == 1:
            return made | {chain: only for chain, (only,) in candidates.items()}
        if self._editing.stopped:  # a candidate that is still to come may be the best
            return made
        picked = self._picked(depth, here, candidates)
        between = self.finished.between
        for edit in picked.values():
            between[edit.key] = between[edit.key]._replace(facts=edit.facts)
        return made | picked

    def _planned(
        self, depth: int, here: Mapping[_Chain, _Owner], wanted: Mapping[_Chain, Wanted]
    ) -> Plans:
        if self._think is None or not wanted:
            return Plans({})
        named = {here[chain].sample.id: want for chain, want in wanted.items()}
        return self._think(f"step {depth}", named)

    def _picked(
        self, depth: int, here: Mapping[_Chain, _Owner], candidates: Mapping[_Chain, list[Edit]]
    ) -> dict[_Chain, Edit]:
        """Of each chain's candidates the one that a judge picks; the first where it can score
        none."""
        open_ = []
        found = {}
        for chain, edits in candidates.items():
            there = [edit for edit in edits if edit.status is EditStatus.DONE]
            if there:
                open_.append((chain, there))
            else:
                found[chain] = edits[0]
        if self._pick is None or not open_:
            return found
        known = [owner.sample for chain, owner in self._known.items() if len(chain.steps) == depth]
        shown = [(here[chain].sample, edits) for chain, edits in open_]
        choices = self._pick(f"step {depth}", known, shown)
        for chain, edits in open_:
            choice = choices.get(here[chain].sample.id) or Choice(edits[0].key, {})
            (picked,) = [edit for edit in edits if edit.key == choice.picked]
            facts = {**picked.facts, "picked_from": len(edits), "scores": dict(choice.scores)}
            parents = tuple(edit.key for edit in edits)
            found[chain] = picked._replace(parents=parents, facts=facts)
        return found


def _cut(sample: Sample, depth: int) -> Sample:
    """A sample as far as its first steps."""
    steps = sample.steps[:depth]
    words = " ".join(step.text for step in steps)
    return replace(sample, id=f"{sample.id}#{depth}", instruction=words, steps=steps)
