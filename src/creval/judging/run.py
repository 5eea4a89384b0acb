"""A run from judges: every edit's questions asked, every answer kept, resumed where it stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from creval.calls.event_loop import (
    INTERRUPTED,
    Watch,
    allow_files,
    in_a_loop,
    interruptible,
    watched,
)
from creval.calls.journal import Ledger
from creval.calls.limits import Halt, Purse
from creval.calls.retry import Progress
from creval.calls.settings import Settings
from creval.core.benchmark import Benchmark
from creval.core.edit import EditStatus
from creval.core.errors import CrevalError
from creval.core.files import clean_text, long_lived_objects
from creval.core.scales import contract_named
from creval.judges.base import Judge
from creval.judges.spec import fit_of, open_judges
from creval.judging.measurements import measure, to_measure
from creval.judging.metric_models import MODELS, Gauges
from creval.judging.persist import changed_edits, keep_plan
from creval.judging.plan import Answered, Plan
from creval.judging.summary import Judged, summarise
from creval.judging.workers import Asking
from creval.metrics.base import check_uses
from creval.prompts import Prompt, load_prompt
from creval.store import DATABASE, Store, open_run
from creval.store.edit_folders import FoundEdits, find_edits
from creval.store.manifest import check_same, describe
from creval.store.provenance import MAKERS

if TYPE_CHECKING:  # NumPy comes with them
    from creval.judging.early_stopping import Deciding


class Judging:
    """Everything that is known before the first call: who is asked what about which edits."""

    def __init__(
        self,
        benchmark: Benchmark,
        edits: Sequence[str | Path],
        judge: str,
        run: str | Path,
        settings: Settings | None = None,
        *,
        dry: bool = False,
    ) -> None:
        judge = clean_text(judge)
        self.benchmark, self.spec, self.run = benchmark, judge, Path(run)
        self.settings = settings or Settings()
        self._interrupt: Callable[[], object] = lambda: None
        options = replace(self.settings.judge_options(), keyless=dry)
        self.judges = open_judges(judge, options) if judge else []
        self.fits = [fit_of(member.vision, self.settings.image_fit) for member in self.judges]
        dataset = benchmark.dataset
        self.found: FoundEdits = find_edits(edits, dataset.samples, dataset.place, dataset.told)
        self.plan = Plan(benchmark, self.found, self.settings)
        self.gauges = Gauges(self.run, self.plan.gauges, self.settings.gauges)
        named = {q.prompt for questions in self.plan.questions.values() for q in questions}
        self.prompts: dict[str, Prompt] = {
            name: load_prompt(name or benchmark.protocol.prompt, self.settings.prompts)
            for name in sorted(named)
        }
        self._check()

    def _check(self) -> None:
        self.settings.check_prices(self.judges)
        self._check_prompts()
        asked, measured = (any(of.values()) for of in (self.plan.questions, self.plan.measurements))
        there = (edit for edit in self.plan.all_edits() if edit.status is EditStatus.DONE)
        if not self.judges and any(self.plan.questions[edit.key.sample] for edit in there):
            raise CrevalError("give --judge SPEC, such as --judge openai:gpt-4o.")
        if not asked and not measured:
            raise CrevalError(
                f"the protocol {self.benchmark.protocol.name!r} has nothing to ask about the "
                f"chosen samples of {self.benchmark.name!r}."
            )
        if self.settings.until is not None:
            from creval.judging.early_stopping import check_decidable

            check_decidable(self.plan)
        scales = {q.contract for questions in self.plan.questions.values() for q in questions}
        if self.settings.logprobs and any(len(contract_named(s).choices) > 10 for s in scales):
            raise CrevalError("--logprobs: on this scale an answer takes more than one token.")
        if self.settings.gauges:
            check_uses(self.settings.gauges, self.benchmark.gauges)
        if not any(edit.status is EditStatus.DONE for edit in self.plan.all_edits()):
            why = next((edit.reason for edit in self.plan.all_edits() if edit.reason), "")
            told = f" ({why})" if why else ""
            raise CrevalError(f"none of the chosen samples has an edited picture{told}.")
        needed = measured or any(
            "source" in q.shows for questions in self.plan.questions.values() for q in questions
        )
        sources = [sample.source for sample in self.plan.samples if sample.source is not None]
        lost = [source for source in sources if not source.is_file()]
        if needed and lost and len(lost) == len(sources):
            raise CrevalError(f"the source pictures are not there: {lost[0]} does not exist.")

    def _check_prompts(self) -> None:
        """Refuse a text that would be put without what it tells about."""
        hiding = {
            question.prompt
            for questions in self.plan.questions.values()
            for question in questions
            if "instruction" not in question.shows
        }
        for name, prompt in self.prompts.items():
            has = "instruction" in prompt.places
            if self.settings.show_instruction and not has:
                raise CrevalError(
                    f"--show-instruction: {prompt.name}.md has no place {{{{instruction}}}}."
                )
            if has and name in hiding and not prompt.can_do_without("instruction"):
                raise CrevalError(
                    f"{prompt.name}.md tells the instruction among other things, and it is not "
                    "shown: add --show-instruction, or take it out of that text."
                )

    def warnings(self) -> list[str]:
        """What speaks against these judges."""
        notes = []
        for role, maker in self.benchmark.dataset.made_by.items():
            for judge in self.judges:
                if maker.casefold() in judge.model.casefold():
                    did = {"writer": "wrote this benchmark's instructions"}.get(
                        role, "made this benchmark's questions"
                    )
                    notes.append(
                        f"warning: {judge.model} also {did}; a judge may favour its own work."
                    )
        for system, made in self.found.makers.items():
            if made.judge and made.judge == self.spec:
                notes.append(
                    f"warning: {self.spec} also picked {system}'s edits among their candidates; a "
                    "judge favours what it has picked."
                )
        voices = len(self.judges) * self.settings.repeat
        asked = (q for questions in self.plan.questions.values() for q in questions)
        if voices % 2 == 0 and any(question.contract == "yes/no" for question in asked):
            notes.append(
                f"warning: {voices} answers to a yes/no question can tie, and a tie is no answer; "
                "what is left is easier than what was asked. An odd number cannot tie."
            )
        notes += self.gauges.notes()
        problems = sum(not finding.repaired for finding in self.benchmark.dataset.findings)
        if problems:
            notes.append(
                f"{problems} problems in the benchmark's files: creval bench "
                f"{quote(str(self.benchmark.dataset.root))}"
            )
        return notes

    def missing(self) -> dict[str, Counter[EditStatus]]:
        """How many edits of each system are not there, by what became of them."""
        found: dict[str, Counter[EditStatus]] = {}
        for edit in self.plan.all_edits():
            if edit.status is not EditStatus.DONE:
                found.setdefault(edit.key.system, Counter())[edit.status] += 1
        return found

    def answered(self) -> dict[str, Answered]:
        """What the run holds already, by judge; nothing is written."""
        if not (self.run / DATABASE).is_file():
            return {}
        with Store(self.run) as store:
            self._check_same(store)
            changed = set(changed_edits(self.plan, store.edits, self.run))
            return {
                name: {k: done for k, done in store.answered(name).items() if k not in changed}
                for name in self._voices()
            }

    def _names(self) -> list[str]:
        return [judge.name for judge in self.judges]

    def _voices(self) -> list[str]:
        """The names of all that brings verdicts: judges and gauges."""
        return [*self._names(), *self.gauges.voices()]

    def _manifest(self) -> dict[str, object]:
        shown = self.settings.show_instruction
        described = describe(self.benchmark, self.spec, show_instruction=shown)
        if not self.judges:
            return described
        return described | {
            "settings": self.settings.shape(),
            "prompts": self._prompt_texts(),
            "judges": [judge.facts for judge in self.judges],
            "repeat": self.settings.repeat,
            "seed": self.settings.seed,
        }

    def _prompt_texts(self) -> dict[str, str]:
        return {prompt.version: prompt.text for prompt in self.prompts.values()}

    def _folders(self) -> set[str]:
        return {str(folder.resolve()) for folder in self.found.folders}

    def _check_same(self, store: Store) -> None:
        """A run is asked in one way throughout; before its first reply, all can be changed."""
        if not store.systems:
            return
        manifest, held = self._manifest(), store.manifest
        check_same(store, manifest, ("benchmark", "protocol", "judge"))
        before = {version.partition("@")[0]: version for version in held.get("prompts", {})}
        for prompt in self.prompts.values():
            if before.get(prompt.name, prompt.version) != prompt.version:
                raise CrevalError(
                    f"{store.folder} was asked in another prompt ({prompt.name}). Give another "
                    "--run."
                )
        then, now = held.get("settings", {}), self.settings.shape()
        for name in now if then and self.judges else ():
            if then.get(name) != now[name]:
                option = {"parameters": "set"}.get(name, name.replace("_", "-"))
                why = ""
                if name == "temperature" and self.settings.temperature is None:
                    why = " (if not given it is 0, and 1 with --repeat)"
                raise CrevalError(
                    f"{store.folder} was asked with --{option} {then.get(name)}, now it is "
                    f"{now[name]}{why}. Go on with the same, or give another --run."
                )
        if held.get("questions_digest") != manifest["questions_digest"]:
            raise CrevalError(
                f"{store.folder} was asked other questions: the benchmark has changed since. Give "
                "another --run."
            )

    def ask(self, watch: Watch | None = None) -> Judged:
        """Ask what is not answered yet, and say what came of it."""
        progress = Progress()
        done = Judged(progress, unmatched=list(self.found.unmatched))
        done.missing = self.missing()
        allow_files(2 * self.settings.concurrency * len(self.judges) + 64)
        with Store(self.run) as store, long_lived_objects():
            self._check_same(store)
            self.gauges.load_new(store)
            done.notes += self._prepare(store)
            halt = in_a_loop(lambda: self._ask_all(store, done, watch), lambda: self._interrupt())
        for judge in self.judges:
            done.notes += judge.learned
        if halt.error is not None:
            raise halt.error
        done.stopped = halt.reason
        with open_run(self.run) as run:
            summarise(done, run)
        return done

    def _prepare(self, store: Store) -> list[str]:
        """Keep what is planned in the run, and let go of what that makes untrue."""
        with store.transaction():
            notes = keep_plan(store, self.plan, self._names(), self._whole_manifest(store))
            return self.gauges.drop_others(store) + notes

    def _whole_manifest(self, store: Store) -> dict[str, object]:
        """What the run is to say of itself, with what it has said before and still holds."""
        held = store.manifest
        before = held if store.systems else {}
        made = {name: maker.facts() for name, maker in self.found.makers.items()}
        manifest = self._manifest() | {
            "edits_folders": sorted({*held.get("edits_folders", ()), *self._folders()}),
            "prompts": {**before.get("prompts", {}), **self._prompt_texts()},
            MAKERS: {**before.get(MAKERS, {}), **made},
            MODELS: self.gauges.all_models(store),
        }
        if not self.spec:  # what judges were asked, if any were, is still true
            manifest["judge"] = held.get("judge", "")
        if "stopping" in held:  # it is about another time
            manifest["stopping"] = None
        return manifest

    async def _ask_all(self, store: Store, done: Judged, watch: Watch | None) -> Halt:
        until = self.settings.until
        if until is None:
            return await self._ask_for(store, done.progress, watch, None)
        from creval.judging.early_stopping import Deciding

        names = self._names()
        with open_run(self.run) as run:
            deciding = Deciding(until, self.plan, run, names)
            most = self.settings.retries * self.settings.attempts
            deciding.resume({n: store.answered(n, given_up_after=most) for n in names})
            halt = await self._ask_for(store, done.progress, watch, deciding)
        done.outcome = deciding.outcome()
        with store.transaction():
            store.put_manifest({"stopping": done.outcome.facts()})
        return halt

    async def _ask_for(
        self, store: Store, progress: Progress, watch: Watch | None, deciding: Deciding | None
    ) -> Halt:
        halt, ledger = Halt(), Ledger(store)
        loop = asyncio.get_running_loop()
        self._interrupt = lambda: loop.call_soon_threadsafe(halt.now, INTERRUPTED)
        purse = Purse(self.settings.budget, store.spent)
        threads = min(8, os.cpu_count() or 1)
        with ThreadPoolExecutor(threads, thread_name_prefix="creval-pictures") as pool:
            askings = []
            for judge, fit in zip(self.judges, self.fits, strict=True):
                answered = store.answered(judge.name)
                progress.calls += count_calls(self.plan, answered, judge)
                askings.append(
                    Asking(
                        judge,
                        self.plan.items(answered, several=judge.several),
                        settings=self.settings,
                        prompts=self.prompts,
                        fit=fit,
                        ledger=ledger,
                        progress=progress,
                        purse=purse,
                        halt=halt,
                        pool=pool,
                        ahead=2 * threads,
                        begun=bool(answered),
                        deciding=deciding,
                    )
                )
            done = {name: store.answered(name) for name in self.gauges.voices()}
            works = list(to_measure(self.plan, self.gauges.opened, done))
            progress.to_measure = len(works)
            try:
                async with watched(progress, watch):
                    with interruptible(halt, progress):
                        await asyncio.gather(
                            *(asking.run() for asking in askings),
                            measure(
                                works,
                                self.run,
                                threads=threads,
                                ledger=ledger,
                                progress=progress,
                                halt=halt,
                            ),
                        )
            finally:
                with contextlib.suppress(CrevalError):
                    await ledger.close()
        return halt


def judge(
    benchmark: Benchmark,
    edits: Sequence[str | Path],
    judge: str,
    run: str | Path,
    settings: Settings | None = None,
    *,
    watch: Watch | None = None,
) -> Judged:
    """Ask a judge about every edit, and keep the answers in a run.

    The same call goes on where an earlier one stopped. `judge` is a name such as `openai:gpt-4o`.
    """
    return Judging(benchmark, edits, judge, run, settings).ask(watch)


def count_calls(plan: Plan, answered: Answered, judge: Judge) -> int:
    """How many calls a judge is planned to get, those that are answered already among them."""
    return sum(
        item.cached + sum(1 if judge.several else len(group.repeats) for group in item.groups)
        for item in plan.items(answered, several=judge.several)
    )
