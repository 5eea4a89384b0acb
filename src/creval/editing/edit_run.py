"""Edit runs: one editor applied to the samples of a benchmark, with checks, an estimate and the output folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from creval.calls.cost_estimate import CostEstimate
from creval.calls.retry import Progress
from creval.calls.settings import JudgeSettings
from creval.calls.text_generation import GenerationItem, TextGenerator
from creval.core.benchmark import Benchmark
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError, require_count
from creval.core.filenames import draw_filename, parse_edit_filename
from creval.core.files import is_file, replace_lone_surrogates
from creval.core.images import check_header, missing_image_reason
from creval.core.redaction import hide_settings, hide_words
from creval.core.sample import Sample
from creval.core.temporary import temporary_folder
from creval.editing.best_of import make_selector
from creval.editing.output_folder import invalid_path_reason, list_folder_images, remove_images, save_edits
from creval.editing.planning import REASONER, estimate_plan_stage, make_planner
from creval.editing.reused_edits import VERSIONS_KEY, open_reused_edits
from creval.editing.session import REPORTED_MODEL, EditorSession, EditSettings
from creval.editing.strategies import StrategyResult, StrategyRunner, parse_strategy
from creval.editors.base import Editor, EditorOptions
from creval.editors.editor_spec import open_editor
from creval.judges.judge_spec import judge_identity, open_judges
from creval.judging.estimate import estimate_judge_costs
from creval.judging.judge_run import JudgeRun
from creval.providers.pricing import Price
from creval.store import DATABASE, RunWriter
from creval.store.code_versions import STOP_IF_CHANGED, ChangeChoice, continue_history
from creval.store.edit_folders import EDITOR_KEY, PLANS_FOLDER, SELECTION_FOLDER
from creval.store.manifest import describe_run, require_same
from creval.store.provenance import CallCosts, read_call_costs
from creval.store.readonly import read_stored_manifest, read_stored_texts

StageProgressCallback = Callable[[str, Progress], None]
"""Receives the current stage (`editing`, `picking`, `planning`) and its progress."""
_MAX_DRAWS = 1000
_MAX_ESTIMATED_CANDIDATES = 100  # candidates inspected for the estimate


@dataclass(frozen=True)
class StrategyOptions:
    """Strategy of an edit run, and the models that it needs.

    - `judge`: model that selects a candidate.
    - `reasoner`: model that writes plans.
    - `price`: token price of judge and reasoner.
    - `prompts`: folder of prompt overrides.
    - `repeat`: how often the judge scores each candidate. The scores are averaged.
    - `candidates`: another folder of edits by the same editor. Its images are reused instead of creating new ones.
    """

    strategy: str = "direct"
    judge: str = ""
    reasoner: str = ""
    price: Price | None = None
    prompts: str | None = None
    repeat: int = 1
    candidates: Path | None = None


@dataclass
class EditRunResult:
    """Result of an edit run: one edit for each sample, or several with `draws`.

    - `cost`: US dollars for the whole folder, including judge and reasoner. None if it is unknown.
    - `unsupported_count`: edits whose inputs the editor does not support. 0 unless the benchmark requires all inputs.
    """

    sample_count: int
    strategy_result: StrategyResult
    progress: Progress
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    cost: float | None = None
    unsupported_count: int = 0
    draws: int = 1

    @property
    def edit_count(self) -> int:
        """Number of requested edits."""
        return self.sample_count * self.draws

    @property
    def statuses(self) -> Counter[str]:
        return Counter(str(edit.status) for edit in self.strategy_result.edits.values())

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Reasons for missing images with their counts, the most common first."""
        edits = self.strategy_result.edits.values()
        return Counter(edit.reason for edit in edits if edit.reason).most_common()

    @property
    def anomalies(self) -> Counter[str]:
        """Counts of unusual images, such as images that are identical to their source."""
        names = ("same_as_source", "another_size", "another_shape", "no_longer_transparent")
        facts = [edit.metadata for edit in self.strategy_result.edits.values()]
        return Counter(name for found in facts for name in names if found.get(name))

    @property
    def share_missing(self) -> float:
        """Share of edits without an image. Edits that the editor does not support are excluded."""
        return 1 - self.statuses[str(EditStatus.DONE)] / max(1, self.edit_count - self.unsupported_count)


class EditRun:
    """An edit run: a benchmark's samples, an editor, a strategy, and the output folder.

    The constructor checks the settings. `estimate` returns the expected cost, `run` creates the edits.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        samples: Sequence[Sample],
        editor: str | Editor | Callable[..., Any],
        folder: Path,
        strategy_options: StrategyOptions,
        editor_options: EditorOptions,
        settings: EditSettings,
        *,
        draws: int = 1,
        if_changed: ChangeChoice = STOP_IF_CHANGED,
        dry_run: bool = False,
    ) -> None:
        # Absolute, so that user code that changes the working directory has no effect on it.
        self.benchmark, self.samples, self.folder, self.settings = benchmark, samples, folder.absolute(), settings
        self.draws, self._if_changed = draws, if_changed
        self.strategy_options, self.strategy = strategy_options, parse_strategy(strategy_options.strategy)
        self._dry_run = dry_run
        root = benchmark.dataset.root
        self.editor = open_editor(editor, replace(editor_options, benchmark_folder=root, key_optional=dry_run))
        self._keep_stored_names()
        for name, given, needed in (
            ("judge", strategy_options.judge, self.strategy.best_of > 1),
            ("reasoner", strategy_options.reasoner, self.strategy.reasoned),
        ):
            if given and not needed:
                raise CrevalError(f"`{name}` has no effect with `strategy` {self.strategy.name}.")
        if strategy_options.repeat > 1 and self.strategy.best_of == 1:
            raise CrevalError(f"`repeat` is for best-of; it has no effect with `strategy` {self.strategy.name}.")
        self._helper_settings = JudgeSettings(
            concurrency=settings.concurrency,
            budget=settings.budget,
            price=strategy_options.price,
            prompts=strategy_options.prompts,
            repeat=strategy_options.repeat,
            keep_old=if_changed.keep_old,
            redo=if_changed.redo,
        )
        self._check_draws()
        self._check_folder()
        self._check_budget()
        self.session = EditorSession(self.editor, self.folder, settings)
        self.session.keep_old = if_changed.keep_old
        if strategy_options.candidates is not None:
            self.session.reused = open_reused_edits(
                strategy_options.candidates, self.folder, self.editor.name, self.editor.fingerprint
            )

    def _check_draws(self) -> None:
        require_count("draws", self.draws, 1, _MAX_DRAWS)
        ids = {sample.id for sample in self.benchmark.dataset.samples} if self.draws > 1 else set()
        for sample in ids:
            name, draw = parse_edit_filename(sample)
            if name in ids and draw:
                raise CrevalError(
                    f"`draws`: an edit of the sample {name} would have the same file name as the sample {sample}."
                )

    def _keep_stored_names(self) -> None:
        """Keep secrets in the editor's name and settings if the folder was created before they were redacted."""
        manifest = read_stored_manifest(self.folder)
        stored = manifest.get(EDITOR_KEY), manifest.get("editor_facts")
        if list(stored) != hide_settings(stored):
            self.editor.keep_secrets()

    def _editor_facts(self) -> Any:
        return json.loads(json.dumps(dict(self.editor.manifest_entry), default=str))

    def _check_folder(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise CrevalError(f"`out` {self.folder} is a file. Give a folder with the name of the model.")
        if self.folder.resolve() == self.benchmark.dataset.root.resolve():
            raise CrevalError(f"`out` {self.folder} is the benchmark itself. Give another folder.")
        if not (self.folder / DATABASE).is_file():
            existing = next(list_folder_images(self.folder), None)
            if existing is not None:
                raise CrevalError(
                    f"{self.folder} contains images that creval edit did not create, such as "
                    f"{existing.name}. Give another `out`."
                )

    def _check_budget(self) -> None:
        if self.settings.budget is None:
            return
        if self.editor.price is None:
            raise CrevalError(f"`budget` needs the price of {self.editor.name}. Add `price` in US dollars per image.")
        options = replace(self._helper_settings.judge_options(), key_optional=True)
        for spec in filter(None, (self.strategy_options.judge, self.strategy_options.reasoner)):
            if any(judge.price is None for judge in open_judges(spec, options)):
                raise CrevalError(
                    f"`budget` needs the price of {spec}. Add `token_price` IN,OUT in US dollars per million tokens."
                )

    @property
    def model(self) -> str:
        """Name of the model under which edits are stored: the folder's name when it was created."""
        return str(read_stored_texts(self.folder).manifest.get("system") or self.folder.resolve().name)

    @cached_property
    def skipped_edits(self) -> dict[EditKey, Edit]:
        """Edits that are known in advance to have no image, with the reason."""
        found, model, dataset = {}, self.model, self.benchmark.dataset
        draws = range(1, 1 + self.draws) if self.draws > 1 else range(1)
        for key, sample in ((EditKey(model, sample.id, draw), sample) for sample in self.samples for draw in draws):
            if reason := invalid_path_reason(self.folder, sample.id):
                found[key] = Edit(key, EditStatus.IMPOSSIBLE, reason=f"the sample {reason}")
            elif reason := missing_image_reason(sample.input_images, check_header):
                found[key] = Edit(key, EditStatus.IMPOSSIBLE, reason=reason)
            elif dataset.requires_all_inputs and (reason := self.editor.unsupported_reason(sample)):
                found[key] = Edit(key, EditStatus.UNSUPPORTED, reason=reason)
        return found

    def _make_runner(self, watch: StageProgressCallback | None = None) -> StrategyRunner:
        watch_selection = partial(watch, "picking") if watch is not None else None
        watch_planning = partial(watch, "planning") if watch is not None else None
        selector = planner = None
        if self.strategy_options.judge:
            selector = make_selector(
                self.benchmark, self.strategy_options.judge, self.folder, self._settings_within_budget, watch_selection
            )
        if self.strategy_options.reasoner:
            planner = make_planner(self._open_plan_generator, watch_planning)
        skipped = {key.sample for key in self.skipped_edits}
        samples = [sample for sample in self.samples if sample.id not in skipped]
        benchmark_samples = self.benchmark.dataset.samples
        all_samples = [sample for sample in benchmark_samples if not invalid_path_reason(self.folder, sample.id)]
        return StrategyRunner(
            self.session,
            self.model,
            samples,
            self.strategy,
            all_samples=all_samples,
            selector=selector,
            planner=planner,
            draws=self.draws,
        )

    def _open_plan_generator(self) -> TextGenerator[str]:
        settings = self._settings_within_budget(self.folder / PLANS_FOLDER)
        roles = {REASONER: self.strategy_options.reasoner}
        return TextGenerator(self.folder / PLANS_FOLDER, roles, settings, dry_run=self._dry_run)

    def _settings_within_budget(self, folder: Path) -> JudgeSettings:
        """Return the settings of the judge or reasoner that stores its answers in this folder.

        Their budget is what remains of the total budget.
        """
        return replace(self._helper_settings, budget=self._remaining_budget(folder))

    def _remaining_budget(self, subfolder: Path) -> float | None:
        """Return the total budget minus all costs so far, except those in this subfolder."""
        if self.settings.budget is None:
            return None
        other_costs = (read_call_costs(path).cost for path in _find_cost_folders(self.folder) if path != subfolder)
        return self.settings.budget - sum(cost or 0.0 for cost in other_costs)

    def estimate(self) -> list[CostEstimate]:
        """Return the estimated costs of the editor, the reasoner and the judge."""
        runner, max_draws = self._make_runner(), max(self.strategy.best_of, self.draws)
        manifest = read_stored_texts(self.folder).manifest
        if manifest:
            self._require_same_settings(manifest, self._build_manifest())
        stored = read_stored_texts(self.folder, self.session.stored_variants)
        names = (replace_lone_surrogates(sample.id) for sample in runner.candidate_samples)
        reused = self.session.reused.counts if self.session.reused is not None else {}
        counts = (max(stored.texts[self.editor.name, self.model, name], reused.get(name, 0)) for name in names)
        editor = CostEstimate(self.editor.name, pace=self.editor.seconds_per_edit, role="editor")
        editor.cached = sum(min(count, max_draws) for count in counts)
        editor.calls = editor.images = runner.image_count - editor.cached
        if self.editor.price is not None:
            editor.cost = self.editor.price * editor.calls
        editor.seconds = self.settings.estimate_seconds(editor.calls, editor.pace)
        found = [editor]
        if self.strategy_options.reasoner:
            times = self.draws if self.strategy.sequential else 1  # all draws share the plan of the first step
            items = [GenerationItem(sample.id, sample.source) for sample in runner.candidate_samples] * times
            found += self._open_plan_generator().estimate(items, [estimate_plan_stage(self._helper_settings)])
        if self.strategy_options.judge:
            found += self._estimate_selection(runner.candidate_samples)
        return found

    def _estimate_selection(self, samples: Sequence[Sample]) -> list[CostEstimate]:
        """Return the estimated cost of judging candidates. Source images stand in for candidates that do not exist."""
        with temporary_folder() as folder:
            shown = [s for s in samples if is_file(s.source)]
            for sample in shown:
                source = Path(sample.source or "").resolve()
                for draw in range(1, 1 + self.strategy.best_of):
                    place = folder / "M" / f"{draw_filename(sample.id, draw)}{source.suffix}"
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.symlink_to(source)
            if not shown:
                return []
            dataset = replace(self.benchmark.dataset, samples=tuple(shown), subsets={}, match_edit_file=None)
            judging = JudgeRun(
                replace(self.benchmark, dataset=dataset),
                [folder / "M"],
                self.strategy_options.judge,
                folder / "run",
                replace(self._helper_settings, budget=None),
                dry_run=True,
            )
            return [
                replace(estimate, role="judge")
                for estimate in estimate_judge_costs(judging, {}, _MAX_ESTIMATED_CANDIDATES)
            ]

    def run(self, watch: StageProgressCallback | None = None) -> EditRunResult:
        """Create the edits and save them under their samples' names. After an error, finished edits are saved too."""
        manifest = self._build_manifest()
        self.folder.mkdir(parents=True, exist_ok=True)  # with default permissions, since images are shared
        with RunWriter(self.folder) as store, store.transaction():
            before = store.manifest.get(VERSIONS_KEY, ())
            self._require_same_settings(store.manifest, manifest)
            store.put_manifest(
                manifest | {"editor_facts": self.session.facts, VERSIONS_KEY: self.session.history.entries}
            )
            if self._if_changed.redo and self.session.history.drops(before):
                remove_images(self.folder, store.edits.values())
        self.session.get_budget = lambda: self._remaining_budget(self.folder)
        runner = self._make_runner(watch)
        runner.result.edits |= self.skipped_edits
        try:
            runner.run(partial(watch, "editing") if watch is not None else None)
        finally:
            save_edits(self.folder, runner.result)
        statuses = [edit.status for edit in runner.result.edits.values()]
        return EditRunResult(
            len(self.samples),
            runner.result,
            self.session.progress,
            self.session.stopped,
            [*self.editor.notes, *version_notes(runner.result.edits.values())],
            sum(map(read_call_costs, _find_cost_folders(self.folder)), CallCosts()).cost,
            self.benchmark.dataset.requires_all_inputs * statuses.count(EditStatus.UNSUPPORTED),
            self.draws,
        )

    def _build_manifest(self) -> dict[str, Any]:
        return describe_run(self.benchmark, hide_words(self.strategy_options.judge)) | {
            EDITOR_KEY: self.editor.name,
            "editor_facts": self._editor_facts(),
            "strategy": self.strategy.name,
            "reasoner": hide_words(self.strategy_options.reasoner),
            "seed": self.settings.seed,
            "draws": self.draws,
            "system": self.model,
            **({"repeat": self.strategy_options.repeat} if self.strategy_options.repeat > 1 else {}),
        }

    def _require_same_settings(self, stored: Mapping[str, Any], manifest: dict[str, Any]) -> None:
        """Raise `CrevalError` if the folder was created with other settings."""
        if stored and EDITOR_KEY not in stored:
            raise CrevalError(f"{self.folder} is a run of a judge, not a folder of edits. Give another `out`.")
        plain = self._settings_facts(stored.get("editor_facts", {}))
        counts = {"draws": stored.get("draws", 1), "repeat": stored.get("repeat", 1)}
        before = {**stored, "editor_facts": plain, **counts} if stored else {}
        now = {**manifest, "editor_facts": self._settings_facts(manifest["editor_facts"])}
        now["repeat"] = self.strategy_options.repeat
        if before and min(before["draws"], self.draws) > 1:  # draws can be added; existing ones stay
            manifest["draws"] = before["draws"] = now["draws"] = max(before["draws"], self.draws)
        names = ("benchmark", EDITOR_KEY, "editor_facts", "strategy", "judge", "reasoner", "seed", "draws", "repeat")
        labels = {
            EDITOR_KEY: "the editor",
            "editor_facts": "the editor's settings",
            "draws": "`draws`",
            "repeat": "`repeat`",
        }

        def select(entries: Mapping[str, Any]) -> dict[str, Any]:
            chosen = {name: entries.get(name) for name in names}
            return chosen | {name: judge_identity(chosen[name] or "") for name in ("judge", "reasoner")}

        require_same(
            select(before) if stored else {},
            select(now),
            lambda name, before, now: (
                f"{self.folder} was created with {labels.get(name, f'the {name}')} {_format_value(before)}, not "
                f"{_format_value(now)}. Give another `out`."
            ),
        )
        self._continue_versions(stored)

    def _settings_facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that a user has chosen, without the editor's fingerprint."""
        return {name: value for name, value in facts.items() if name not in self.editor.fingerprint}

    def _continue_versions(self, stored: Mapping[str, Any]) -> None:
        """Set the session's version history.

        Raises `CrevalError` if the editor has changed and the user has not chosen to keep or redo its images.
        """
        entries, facts = stored.get(VERSIONS_KEY), stored.get("editor_facts")
        fingerprint = dict(self.editor.fingerprint)
        if reported := stored.get(REPORTED_MODEL):
            fingerprint[REPORTED_MODEL] = reported
        if entries is None and facts is not None:
            # Older folders have no versions. Some editors stored parts of the fingerprint in their settings.
            known = {name: facts[name] for name in fingerprint if name in facts and name != "files"}
            entries = [{"version": "", "fingerprint": known}]
        what = f"{self.folder} was created with another version of {self.editor.name}"
        self.session.history = continue_history(entries, fingerprint, self._if_changed, what, "out")
        self.session.facts = self._build_manifest()["editor_facts"] if facts is None else facts


def version_notes(edits: Collection[Edit]) -> Iterator[str]:
    """Yield a note if the images come from several versions of the editor or of a server's model.

    The note counts the images of each version.
    """
    for name, what in (
        ("editor_version", "versions of the editor"),
        ("version", "models that the server reported"),
        ("fingerprint", "versions that the server reported"),
    ):
        counts = Counter(str(edit.metadata.get(name, "unknown")) for edit in edits if edit.status is EditStatus.DONE)
        if len(counts) > 1:
            shown = ", ".join(f"{version} ({number:,})" for version, number in counts.most_common())
            yield f"the images come from {len(counts)} {what}: {shown}"


def _format_value(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def _find_cost_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders in which costs are stored: the folder itself, that of plans and those of selections."""
    yield folder
    yield folder / PLANS_FOLDER
    yield from sorted((folder / SELECTION_FOLDER).glob("*/run"))
