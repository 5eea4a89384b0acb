"""Run of judges: asks the questions about every edit, stores every answer, and resumes an interrupted run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from creval.calls.call_session import CallSession
from creval.calls.limits import raise_open_file_limit
from creval.calls.retry import Progress, ProgressCallback
from creval.calls.settings import JudgeSettings
from creval.core.benchmark import Benchmark
from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.core.files import gc_frozen, replace_lone_surrogates
from creval.judges.judge_spec import (
    JudgeSpec,
    adopt_stored_name,
    judge_identity,
    keep_stored_names,
    open_judges,
    resize_rule,
)
from creval.judging.checks import (
    check_inputs,
    file_warnings,
    judging_warnings,
    require_no_mixed_rehearsal,
    require_same_judging,
)
from creval.judging.code_changes import CodeChanges
from creval.judging.measurements import find_pending_measurements, run_measurements
from creval.judging.metric_models import METRIC_MODELS_KEY, RunMetrics
from creval.judging.persist import find_changed_edits, save_plan
from creval.judging.plan import AnsweredProbes, Plan
from creval.judging.summary import JudgeSummary, summarise_run
from creval.judging.workers import JudgeWorkers
from creval.prompts import Prompt, load_prompt
from creval.providers.huggingface import loaded_commits
from creval.store import DATABASE, RunWriter, open_run
from creval.store.answer_cache import AnswerCache
from creval.store.code_versions import ChangeChoice
from creval.store.edit_folders import find_edits
from creval.store.manifest import describe_run
from creval.store.provenance import PROVENANCE_KEY
from creval.store.readonly import read_stored_manifest

HUB_COMMITS_KEY = "hub_commits"
"""Manifest key of the commits of models from the hub, by model."""

if TYPE_CHECKING:  # NumPy comes with them
    from creval.judging.stopping_monitor import EarlyStopping


class JudgeRun:
    """A run of judges: its judges, edits, plan, prompts and metrics. Only `run` makes calls."""

    def __init__(
        self,
        benchmark: Benchmark,
        edits: Sequence[str | Path],
        judge: JudgeSpec,
        run: str | Path,
        settings: JudgeSettings | None = None,
        *,
        dry_run: bool = False,
    ) -> None:
        judge = replace_lone_surrogates(judge) if isinstance(judge, str) else judge
        # Absolute, because user code may change the working directory.
        self.benchmark, self.run_folder = benchmark, Path(run).absolute()
        self.settings = settings or JudgeSettings()
        options = replace(self.settings.judge_options(), key_optional=dry_run)
        self.judges = open_judges(judge, options) if judge else []
        self.judge_spec = keep_stored_names(judge, self.judges, str(self._stored_manifest().get("judge")))
        self.resize_rules = [resize_rule(member.vision, self.settings.image_fit) for member in self.judges]
        dataset = benchmark.dataset
        self.found_edits = find_edits(edits, dataset.samples, dataset.match_edit_file, dataset.read_model_outputs)
        self.plan = Plan(benchmark, self.found_edits, self.settings)
        self.run_metrics = RunMetrics(self.run_folder, self.plan.image_metric_names, self.settings.metric_models)
        measured = zip(self.run_metrics.voices(), self.run_metrics.image_metrics.values(), strict=True)
        digests = {judge.name: judge.code_digests for judge in self.judges}
        self._code_changes = CodeChanges(
            digests | {voice: metric.code_digests for voice, metric in measured},
            ChangeChoice(self.settings.keep_old, self.settings.redo),
        )
        named = {q.prompt for questions in self.plan.questions.values() for q in questions}
        self.prompts = {name: self._load_prompt(name or benchmark.protocol.prompt) for name in sorted(named)}
        self._prompt_texts = {prompt.version: prompt.text for prompt in self.prompts.values()}
        check_inputs(self.plan, self.judges, self.prompts)

    def _load_prompt(self, name: str) -> Prompt:
        """Return a prompt.

        With `show_instruction`, creval's own prompts get a paragraph with the instruction.
        """
        own = self.benchmark.protocol.prompts
        prompt = load_prompt(name, self.settings.prompts, own)
        lacks = self.settings.show_instruction and "instruction" not in prompt.placeholders
        return prompt.with_instruction() if lacks and prompt == load_prompt(name, own=own) else prompt

    def _stored_manifest(self) -> Mapping[str, Any]:
        """Return the run's manifest; empty if it does not exist or cannot be read."""
        try:
            return read_stored_manifest(self.run_folder)
        except CrevalError:
            return {}

    @property
    def _judge_names(self) -> list[str]:
        return [judge.name for judge in self.judges]

    def _adopt_stored_names(self, store: RunWriter) -> None:
        """Give the judges the names under which the run stores their answers.

        Older versions included server addresses in these names.
        """
        for judge in self.judges:
            adopt_stored_name(judge, store.voices)
        held = str(store.manifest.get("judge", ""))
        if held and judge_identity(held) == self.judge_spec:
            self.judge_spec = held

    def warnings(self) -> list[str]:
        """Return warnings before the first call, such as conflicts of interest of judges."""
        judging = judging_warnings(self.plan, self.found_edits, self.judge_spec, self.judges)
        return [*judging, *self.run_metrics.notes(), *file_warnings(self.plan)]

    def count_cached_answers(self) -> int:
        """Return the number of these judges' answers in the cache."""
        if not self.settings.cache or not self.judges:
            return 0
        with closing(AnswerCache()) as cache:
            return cache.count_answers(judge_identity(name) for name in self._judge_names)

    def count_missing(self) -> dict[str, Counter[EditStatus]]:
        """Count the missing edits of each model by status."""
        found: dict[str, Counter[EditStatus]] = {}
        for edit in self.plan.all_edits():
            if edit.status is not EditStatus.DONE:
                found.setdefault(edit.key.model, Counter())[edit.status] += 1
        return found

    def read_answered(self) -> dict[str, AnsweredProbes]:
        """Return the questions that the run has answers to, by judge and edit. Nothing is written."""
        if not (self.run_folder / DATABASE).is_file():
            return {}
        with RunWriter(self.run_folder) as store:
            self._adopt_stored_names(store)
            self._require_same_run(store)
            changed = set(find_changed_edits(self.plan, store.edits, self.run_folder))
            redone = self._code_changes.find_redone(store)
            return {
                name: {k: done for k, done in store.answered_questions(name).items() if k not in changed}
                for name in (*self._judge_names, *self.run_metrics.voices())
                if name not in redone
            }

    def _build_manifest(self) -> dict[str, object]:
        shown = self.settings.show_instruction
        described = describe_run(self.benchmark, self.judge_spec, show_instruction=shown)
        if not self.judges:
            return described
        return described | {
            "settings": self.settings.answer_affecting(),
            "prompts": self._prompt_texts,
            "judges": [judge.manifest_entry for judge in self.judges],
            "repeat": self.settings.repeat,
            "seed": self.settings.seed,
        }

    def _require_same_run(self, store: RunWriter) -> None:
        settings = self.settings if self.judges else None
        require_same_judging(store, self._build_manifest(), self.prompts.values(), settings)
        require_no_mixed_rehearsal(store, self.found_edits)

    def run(self, watch: ProgressCallback | None = None) -> JudgeSummary:
        """Ask all unanswered questions, and return a summary."""
        progress = Progress()
        done = JudgeSummary(progress, unmatched_files=list(self.found_edits.unmatched_files))
        done.missing_edits = self.count_missing()
        raise_open_file_limit(2 * self.settings.concurrency * len(self.judges) + 64)
        with RunWriter(self.run_folder) as store, gc_frozen():
            self._adopt_stored_names(store)
            self._require_same_run(store)
            self._code_changes.find_redone(store)
            self.run_metrics.load_new_models(store)
            with store.transaction():
                code_notes = self._code_changes.apply(store)
                notes = save_plan(store, self.plan, self._judge_names, self._merge_manifest(store))
                done.notes += self.run_metrics.drop_outdated_values(store) + code_notes + notes
            cache = AnswerCache() if self.settings.cache else None
            session = CallSession(store, progress, self.settings.budget, cache)
            try:
                done.stopped = session.run(lambda: self._run_all(session, store, done), watch)
            finally:
                if cache is not None:
                    cache.close()
                    done.notes += [cache.problem] if cache.problem else []
                if done.outcome is not None:
                    with store.transaction():
                        store.put_manifest({"stopping": done.outcome.to_dict()})
                done.notes += self._record_hub_commits(store)
        for judge in self.judges:
            done.notes += judge.notes
        with open_run(self.run_folder) as run:
            summarise_run(done, run)
        return done

    def _record_hub_commits(self, store: RunWriter) -> list[str]:
        """Store which commit of each hub model was loaded. Return a note for each model whose commit has changed."""
        names = [*(judge.model for judge in self.judges), *self.run_metrics.model_names()]
        before, now = store.manifest.get(HUB_COMMITS_KEY, {}), loaded_commits(names)
        if now:
            with store.transaction():
                store.put_manifest({HUB_COMMITS_KEY: {**before, **now}})
        return [
            f"{name} was loaded from the hub at commit {before[name]} before, and now at {commit}."
            for name, commit in now.items()
            if before.get(name, commit) != commit
        ]

    def _merge_manifest(self, store: RunWriter) -> dict[str, object]:
        """Return the new manifest. Entries of the stored manifest that are still valid are kept."""
        held = store.manifest
        before = held if store.models else {}
        made = {name: maker.to_dict() for name, maker in self.found_edits.provenance.items()}
        folders = {str(folder.resolve()) for folder in self.found_edits.folders}
        addresses = {str(entry["url"]) for judge in self.judges if "url" in (entry := judge.manifest_entry)}
        addresses |= {str(entry["url"]) for entry in held.get("judges", ()) if "url" in entry}
        manifest = self._build_manifest() | {
            "edits_folders": sorted({*held.get("edits_folders", ()), *folders}),
            "judge_addresses": sorted({*held.get("judge_addresses", ()), *addresses}),
            "prompts": {**before.get("prompts", {}), **self._prompt_texts},
            PROVENANCE_KEY: {**before.get(PROVENANCE_KEY, {}), **made},
            METRIC_MODELS_KEY: self.run_metrics.all_models(store),
        }
        if not self.judge_spec:  # the answers of earlier judges are still in the run
            manifest["judge"] = held.get("judge", "")
        if "stopping" in held:  # the outcome of an earlier call
            manifest["stopping"] = None
        return manifest

    async def _run_all(self, session: CallSession, store: RunWriter, summary: JudgeSummary) -> None:
        until = self.settings.stopping_rule
        if until is None:
            await self._run_workers(session, store, None)
            return
        from creval.judging.stopping_monitor import EarlyStopping

        names = self._judge_names
        with open_run(self.run_folder) as run:
            deciding = EarlyStopping(until, self.plan, run, names)
            most = self.settings.retries * self.settings.attempts
            deciding.resume({n: store.answered_questions(n, max_attempts=most) for n in names})
            try:
                await self._run_workers(session, store, deciding)
            finally:
                summary.outcome = deciding.outcome()

    async def _run_workers(self, session: CallSession, store: RunWriter, early_stopping: EarlyStopping | None) -> None:
        progress = session.progress
        workers = []
        for judge, fit in zip(self.judges, self.resize_rules, strict=True):
            answered = store.answered_questions(judge.name)
            work = partial(self.plan.work, answered, supports_n=judge.supports_n)
            progress.calls += sum(w.cached_calls + w.count_calls(supports_n=judge.supports_n) for w in work())
            workers.append(
                JudgeWorkers(
                    judge,
                    work(),
                    settings=self.settings,
                    prompts=self.prompts,
                    resize_rule=fit,
                    session=session,
                    has_succeeded=bool(answered),
                    early_stopping=early_stopping,
                )
            )
        done = {name: store.answered_questions(name) for name in self.run_metrics.voices()}
        jobs = list(find_pending_measurements(self.plan, self.run_metrics.image_metrics, done))
        progress.measurements_total = len(jobs)
        await asyncio.gather(*(each.run() for each in workers), run_measurements(jobs, self.run_folder, session))


def judge(
    benchmark: Benchmark,
    edits: Sequence[str | Path],
    judge: JudgeSpec,
    run: str | Path,
    settings: JudgeSettings | None = None,
    *,
    watch: ProgressCallback | None = None,
) -> JudgeSummary:
    """Ask a judge about every edit, and store the answers in a run.

    Repeating the call resumes an interrupted run. `judge` is a name such as `openai:gpt-4o`,
    a `Judge`, a function, or a list of them.
    """
    return JudgeRun(benchmark, edits, judge, run, settings).run(watch)
