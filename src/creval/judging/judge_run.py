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
    ProgressCallback,
    interruptible,
    raise_open_file_limit,
    report_progress,
    run_async,
)
from creval.calls.journal import CallJournal
from creval.calls.limits import Budget, StopSignal
from creval.calls.retry import Progress
from creval.calls.settings import Settings
from creval.core.benchmark import Benchmark
from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.files import gc_frozen, replace_lone_surrogates
from creval.core.scales import get_scale
from creval.judges.base import Judge
from creval.judges.judge_spec import JudgeSpec, judge_name, open_judges, resize_rule
from creval.judging.measurements import find_pending_measurements, run_measurements
from creval.judging.metric_models import METRIC_MODELS_KEY, RunMetrics
from creval.judging.persist import find_changed_edits, save_plan
from creval.judging.plan import AnsweredProbes, Plan
from creval.judging.requests import PLACEHOLDERS
from creval.judging.summary import JudgeSummary, summarise_run
from creval.judging.workers import JudgeWorkers
from creval.metrics.base import require_used_slots
from creval.prompts import Prompt, load_prompt
from creval.store import DATABASE, RunWriter, open_run
from creval.store.edit_folders import FoundEdits, find_edits
from creval.store.manifest import describe_run, require_same_run
from creval.store.provenance import PROVENANCE_KEY

if TYPE_CHECKING:  # NumPy comes with them
    from creval.judging.stopping_monitor import EarlyStopping


class JudgeRun:
    """Everything that is known before the first call: who is asked what about which edits."""

    def __init__(
        self,
        benchmark: Benchmark,
        edits: Sequence[str | Path],
        judge: JudgeSpec,
        run: str | Path,
        settings: Settings | None = None,
        *,
        dry_run: bool = False,
    ) -> None:
        judge = replace_lone_surrogates(judge) if isinstance(judge, str) else judge
        self.benchmark, self.run_folder = benchmark, Path(run)
        self.settings = settings or Settings()
        self._interrupt: Callable[[], object] = lambda: None
        options = replace(self.settings.judge_options(), key_optional=dry_run)
        self.judges = open_judges(judge, options) if judge else []
        self.judge_spec = judge_name(judge, self.judges)
        self.resize_rules = [resize_rule(member.vision, self.settings.image_fit) for member in self.judges]
        dataset = benchmark.dataset
        self.found_edits: FoundEdits = find_edits(
            edits, dataset.samples, dataset.match_edit_file, dataset.read_model_outputs
        )
        self.plan = Plan(benchmark, self.found_edits, self.settings)
        self.run_metrics = RunMetrics(self.run_folder, self.plan.image_metric_names, self.settings.metric_models)
        named = {q.prompt for questions in self.plan.questions.values() for q in questions}
        self.prompts: dict[str, Prompt] = {
            name: load_prompt(name or benchmark.protocol.prompt, self.settings.prompts, benchmark.protocol.prompts)
            for name in sorted(named)
        }
        self._check_inputs()

    def _check_inputs(self) -> None:
        self.settings.check_prices(self.judges)
        self._check_prompts()
        asked, measured = (any(of.values()) for of in (self.plan.questions, self.plan.measurements))
        there = (edit for edit in self.plan.all_edits() if edit.status is EditStatus.DONE)
        if not self.judges and any(self.plan.questions[edit.key.sample] for edit in there):
            raise CrevalError("give `judge` SPEC, such as `judge` openai:gpt-4o.")
        if not asked and not measured:
            raise CrevalError(
                f"the protocol {self.benchmark.protocol.name!r} has nothing to ask about the "
                f"chosen samples of {self.benchmark.name!r}."
            )
        if self.settings.stopping_rule is not None:
            from creval.judging.stopping_monitor import require_decidable

            require_decidable(self.plan)
        scales = {q.scale for questions in self.plan.questions.values() for q in questions}
        if self.settings.logprobs and any(len(get_scale(s).choices) > 10 for s in scales):
            raise CrevalError("`logprobs`: on this scale an answer takes more than one token.")
        if self.settings.metric_models:
            require_used_slots(self.settings.metric_models, self.benchmark.image_metrics)
        if not any(edit.status is EditStatus.DONE for edit in self.plan.all_edits()):
            why = next((edit.reason for edit in self.plan.all_edits() if edit.reason), "")
            told = f" ({why})" if why else ""
            raise CrevalError(f"none of the chosen samples has an edited picture{told}.")
        needed = measured or any("source" in q.shows for questions in self.plan.questions.values() for q in questions)
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
            if "questions" not in prompt.placeholders or prompt.placeholders - PLACEHOLDERS:
                known = ", ".join(f"{{{{{place}}}}}" for place in sorted(PLACEHOLDERS))
                raise CrevalError(f"the prompt {prompt.name!r} needs {{{{questions}}}}, and may have {known}.")
            has = "instruction" in prompt.placeholders
            if self.settings.show_instruction and not has:
                raise CrevalError(f"`show_instruction`: {prompt.name}.md has no place {{{{instruction}}}}.")
            if has and name in hiding and not prompt.is_optional("instruction"):
                raise CrevalError(
                    f"{prompt.name}.md tells the instruction among other things, and it is not "
                    "shown: add `show_instruction`, or take it out of that text."
                )

    def warnings(self) -> list[str]:
        """What speaks against these judges."""
        notes = []
        for role, maker in self.benchmark.dataset.authored_by.items():
            for judge in self.judges:
                if maker.casefold() in judge.model.casefold():
                    did = {"writer": "wrote this benchmark's instructions"}.get(role, "made this benchmark's questions")
                    notes.append(f"warning: {judge.model} also {did}; a judge may favour its own work.")
        for model, made in self.found_edits.provenance.items():
            if made.judge and made.judge == self.judge_spec:
                notes.append(
                    f"warning: {self.judge_spec} also picked {model}'s edits among their candidates; a "
                    "judge favours what it has picked."
                )
        voices = len(self.judges) * self.settings.repeat
        asked = (q for questions in self.plan.questions.values() for q in questions)
        if voices % 2 == 0 and any(question.scale == "yes/no" for question in asked):
            notes.append(
                f"warning: {voices} answers to a yes/no question can tie, and a tie is no answer; "
                "what is left is easier than what was asked. An odd number cannot tie."
            )
        notes += self.run_metrics.notes()
        problems = sum(not finding.is_repaired for finding in self.benchmark.dataset.issues)
        if problems:
            notes.append(
                f"{problems} problems in the benchmark's files: creval bench {quote(str(self.benchmark.dataset.root))}"
            )
        return notes

    def count_missing(self) -> dict[str, Counter[EditStatus]]:
        """How many edits of each system are not there, by what became of them."""
        found: dict[str, Counter[EditStatus]] = {}
        for edit in self.plan.all_edits():
            if edit.status is not EditStatus.DONE:
                found.setdefault(edit.key.model, Counter())[edit.status] += 1
        return found

    def read_answered(self) -> dict[str, AnsweredProbes]:
        """What the run holds already, by judge; nothing is written."""
        if not (self.run_folder / DATABASE).is_file():
            return {}
        with RunWriter(self.run_folder) as store:
            self._require_same_run(store)
            changed = set(find_changed_edits(self.plan, store.edits, self.run_folder))
            return {
                name: {k: done for k, done in store.answered_questions(name).items() if k not in changed}
                for name in self._voices()
            }

    def _judge_names(self) -> list[str]:
        return [judge.name for judge in self.judges]

    def _voices(self) -> list[str]:
        """The names of all that brings verdicts: judges and gauges."""
        return [*self._judge_names(), *self.run_metrics.voices()]

    def _build_manifest(self) -> dict[str, object]:
        shown = self.settings.show_instruction
        described = describe_run(self.benchmark, self.judge_spec, show_instruction=shown)
        if not self.judges:
            return described
        return described | {
            "settings": self.settings.answer_affecting(),
            "prompts": self._prompt_texts(),
            "judges": [judge.manifest_entry for judge in self.judges],
            "repeat": self.settings.repeat,
            "seed": self.settings.seed,
        }

    def _prompt_texts(self) -> dict[str, str]:
        return {prompt.version: prompt.text for prompt in self.prompts.values()}

    def _edit_folders(self) -> set[str]:
        return {str(folder.resolve()) for folder in self.found_edits.folders}

    def _require_same_run(self, store: RunWriter) -> None:
        """A run is asked in one way throughout; before its first reply, all can be changed."""
        if not store.models:
            return
        manifest, held = self._build_manifest(), store.manifest
        require_same_run(store, manifest, ("benchmark", "protocol", "judge"))
        before = {version.partition("@")[0]: version for version in held.get("prompts", {})}
        for prompt in self.prompts.values():
            if before.get(prompt.name, prompt.version) != prompt.version:
                raise CrevalError(f"{store.folder} was asked in another prompt ({prompt.name}). Give another `run`.")
        then, now = held.get("settings", {}), self.settings.answer_affecting()
        for name in now if then and self.judges else ():
            if then.get(name) != now[name]:
                field = {"ask": "batch_by"}.get(name, name)
                why = ""
                if name == "temperature" and self.settings.temperature is None:
                    why = " (if not given it is 0, and 1 with `repeat`)"
                raise CrevalError(
                    f"{store.folder} was asked with `{field}` {then.get(name)}, now it is "
                    f"{now[name]}{why}. Go on with the same, or give another `run`."
                )
        if held.get("questions_digest") != manifest["questions_digest"]:
            raise CrevalError(
                f"{store.folder} was asked other questions: the benchmark has changed since. Give another `run`."
            )

    def run(self, watch: ProgressCallback | None = None) -> JudgeSummary:
        """Ask what is not answered yet, and say what came of it."""
        progress = Progress()
        done = JudgeSummary(progress, unmatched_files=list(self.found_edits.unmatched_files))
        done.missing_edits = self.count_missing()
        raise_open_file_limit(2 * self.settings.concurrency * len(self.judges) + 64)
        with RunWriter(self.run_folder) as store, gc_frozen():
            self._require_same_run(store)
            self.run_metrics.load_new_models(store)
            done.notes += self._save_plan(store)
            halt = run_async(lambda: self._run_all(store, done, watch), lambda: self._interrupt())
        for judge in self.judges:
            done.notes += judge.notes
        if halt.error is not None:
            raise halt.error
        done.stopped = halt.reason
        with open_run(self.run_folder) as run:
            summarise_run(done, run)
        return done

    def _save_plan(self, store: RunWriter) -> list[str]:
        """Keep what is planned in the run, and let go of what that makes untrue."""
        with store.transaction():
            notes = save_plan(store, self.plan, self._judge_names(), self._merge_manifest(store))
            return self.run_metrics.drop_outdated_values(store) + notes

    def _merge_manifest(self, store: RunWriter) -> dict[str, object]:
        """What the run is to say of itself, with what it has said before and still holds."""
        held = store.manifest
        before = held if store.models else {}
        made = {name: maker.to_dict() for name, maker in self.found_edits.provenance.items()}
        manifest = self._build_manifest() | {
            "edits_folders": sorted({*held.get("edits_folders", ()), *self._edit_folders()}),
            "prompts": {**before.get("prompts", {}), **self._prompt_texts()},
            PROVENANCE_KEY: {**before.get(PROVENANCE_KEY, {}), **made},
            METRIC_MODELS_KEY: self.run_metrics.all_models(store),
        }
        if not self.judge_spec:  # what judges were asked, if any were, is still true
            manifest["judge"] = held.get("judge", "")
        if "stopping" in held:  # it is about another time
            manifest["stopping"] = None
        return manifest

    async def _run_all(self, store: RunWriter, summary: JudgeSummary, watch: ProgressCallback | None) -> StopSignal:
        until = self.settings.stopping_rule
        if until is None:
            return await self._run_workers(store, summary.progress, watch, None)
        from creval.judging.stopping_monitor import EarlyStopping

        names = self._judge_names()
        with open_run(self.run_folder) as run:
            deciding = EarlyStopping(until, self.plan, run, names)
            most = self.settings.retries * self.settings.attempts
            deciding.resume({n: store.answered_questions(n, max_attempts=most) for n in names})
            halt = await self._run_workers(store, summary.progress, watch, deciding)
        summary.outcome = deciding.outcome()
        with store.transaction():
            store.put_manifest({"stopping": summary.outcome.to_dict()})
        return halt

    async def _run_workers(
        self, store: RunWriter, progress: Progress, watch: ProgressCallback | None, early_stopping: EarlyStopping | None
    ) -> StopSignal:
        halt, ledger = StopSignal(), CallJournal(store)
        loop = asyncio.get_running_loop()
        self._interrupt = lambda: loop.call_soon_threadsafe(halt.set, INTERRUPTED)
        purse = Budget(self.settings.budget, store.total_cost)
        threads = min(8, os.cpu_count() or 1)
        with ThreadPoolExecutor(threads, thread_name_prefix="creval-pictures") as pool:
            askings = []
            for judge, fit in zip(self.judges, self.resize_rules, strict=True):
                answered = store.answered_questions(judge.name)
                progress.calls += count_calls(self.plan, answered, judge)
                askings.append(
                    JudgeWorkers(
                        judge,
                        self.plan.work(answered, supports_n=judge.supports_n),
                        settings=self.settings,
                        prompts=self.prompts,
                        resize_rule=fit,
                        journal=ledger,
                        progress=progress,
                        budget=purse,
                        stop_signal=halt,
                        pool=pool,
                        prefetch=2 * threads,
                        has_succeeded=bool(answered),
                        early_stopping=early_stopping,
                    )
                )
            done = {name: store.answered_questions(name) for name in self.run_metrics.voices()}
            works = list(find_pending_measurements(self.plan, self.run_metrics.image_metrics, done))
            progress.measurements_total = len(works)
            try:
                async with report_progress(progress, watch):
                    with interruptible(halt, progress):
                        await asyncio.gather(
                            *(asking.run() for asking in askings),
                            run_measurements(
                                works,
                                self.run_folder,
                                threads=threads,
                                journal=ledger,
                                progress=progress,
                                stop_signal=halt,
                            ),
                        )
            finally:
                with contextlib.suppress(CrevalError):
                    await ledger.close()
        return halt


def judge(
    benchmark: Benchmark,
    edits: Sequence[str | Path],
    judge: JudgeSpec,
    run: str | Path,
    settings: Settings | None = None,
    *,
    watch: ProgressCallback | None = None,
) -> JudgeSummary:
    """Ask a judge about every edit, and keep the answers in a run.

    The same call goes on where an earlier one stopped. `judge` is a name such as `openai:gpt-4o`,
    a `Judge`, a function, or a list of them.
    """
    return JudgeRun(benchmark, edits, judge, run, settings).run(watch)


def count_calls(plan: Plan, answered: AnsweredProbes, judge: Judge) -> int:
    """How many calls a judge is planned to get, those that are answered already among them."""
    return sum(
        item.cached_calls + sum(1 if judge.supports_n else len(group.repeats) for group in item.batches)
        for item in plan.work(answered, supports_n=judge.supports_n)
    )
