"""A run from judges: every edit's questions asked, every answer kept, resumed where it stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from creval.core.benchmark import Benchmark, Protocol
from creval.core.contract import contract_named
from creval.core.errors import CrevalError
from creval.core.files import clean_text, long_lived_objects
from creval.core.images import ImageError, digest
from creval.core.models import Missing
from creval.core.probe import Ask, EditKey, Measurement
from creval.core.sample import Edit, EditStatus, Sample
from creval.core.verdict import Reply, Status, Verdict
from creval.engine.asking import Asking
from creval.engine.call import paths_of
from creval.engine.caller import Progress
from creval.engine.edits import FoundEdits, find_edits
from creval.engine.ledger import Ledger, Record
from creval.engine.limits import Halt, Purse
from creval.engine.loop import INTERRUPTED, Watch, allow_files, in_a_loop, interruptible, watched
from creval.engine.manifest import check_same, describe
from creval.engine.measuring import measure, to_measure, voice
from creval.engine.plan import Answered, Plan
from creval.engine.settings import Settings
from creval.gauges.gauge import Gauge, check_uses, gauge_names, open_gauges, unused
from creval.judges.judge import Judge
from creval.judges.spec import fit_of, open_judges
from creval.prompts import Prompt, load_prompt
from creval.store import DATABASE, Run, Store, held_measures, open_run
from creval.store.makers import MAKERS
from creval.store.run import VOICE
from creval.store.store import detail_of

if TYPE_CHECKING:  # NumPy comes with them
    from creval.engine.deciding import Deciding
    from creval.stats.stopping import Outcome

MODELS_OF_GAUGES = "gauge_models"
"""The manifest's name for the models that were chosen for gauges, by what they are for."""


@dataclass
class Judged:
    """What a run of `judge` did. `stopped` says why it ended early, if it did; `outcome` how the
    question was settled that it was to settle, if there was one. `voices` is how often the run has
    asked each question: of so many judges, so many times."""

    progress: Progress
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    missing: dict[str, Counter[EditStatus]] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)
    statuses: dict[str, dict[str, int]] = field(default_factory=dict)
    voices: int = 0
    reasons: list[tuple[str, int]] = field(default_factory=list)
    measured: int = 0
    broken: int = 0
    unmeasured: list[tuple[str, int]] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    outcome: Outcome | None = None

    @property
    def asked(self) -> int:
        """The answers that were wanted of judges."""
        return sum(count for found in self.statuses.values() for count in found.values())

    @property
    def unanswered(self) -> int:
        """Those of them that did not come."""
        return self.asked - sum(found.get("answered", 0) for found in self.statuses.values())

    @property
    def share_unanswered(self) -> float:
        """The share without an answer; pictures that could not be opened count as well. Where
        nothing was wanted that could come, it is all."""
        wanted = self.asked + self.progress.unopened + self.measured + self.broken
        lost = self.unanswered + self.progress.unopened + self.broken
        return lost / wanted if wanted else 1.0


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
        self._models = self._held_models() | {
            use: str(Path(model).resolve()) if Path(model).exists() else model
            for use, model in self.settings.gauges.items()
        }
        self.gauges = open_gauges(self.plan.gauges, self._models)
        named = {q.prompt for questions in self.plan.questions.values() for q in questions}
        self.prompts: dict[str, Prompt] = {
            name: load_prompt(name or benchmark.protocol.prompt, self.settings.prompts)
            for name in sorted(named)
        }
        self._check()

    def _held_models(self) -> dict[str, str]:
        """The models with which the run was measured before, which are used again: with another
        one, what is there would have to go."""
        manifest, voices = held_measures(self.run)
        there = {name.removeprefix(VOICE).partition("@")[0] for name in voices}
        held = _models_in(manifest, self.run)
        for use in {*unused(held, there & {*gauge_names()}), *unused(held, self.plan.gauges)}:
            del held[use]
        for use, model in held.items():
            path = Path(model)
            if use not in self.settings.gauges and path.is_absolute() and not path.exists():
                raise CrevalError(
                    f"{self.run} was measured with {model}, which is not there. Give "
                    f"--gauge {use}=MODEL."
                )
        return held

    def _check(self) -> None:
        if self.settings.budget is not None:
            for judge in self.judges:
                if judge.price is None:
                    raise CrevalError(
                        f"--budget needs the price of {judge.name}: add --price IN,OUT in US "
                        "dollars for a million tokens."
                    )
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
            from creval.engine.deciding import check_decidable

            check_decidable(self.plan)
        scales = {q.contract for questions in self.plan.questions.values() for q in questions}
        if self.settings.logprobs and any(len(contract_named(s).choices) > 10 for s in scales):
            raise CrevalError("--logprobs: on this scale an answer takes more than one token.")
        if self.settings.gauges:
            check_uses(self.settings.gauges, self.benchmark.gauges)
        if not any(edit.status is EditStatus.DONE for edit in self.plan.all_edits()):
            raise CrevalError("none of the chosen samples has an edited picture.")
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
        for use in sorted(self._models.keys() - self.settings.gauges.keys()):
            notes.append(f"measured as before with --gauge {use}={self._models[use]}")
        if self.settings.gauges:
            notes += [
                f"--gauge {use}: nothing of what was chosen is measured with it."
                for use in unused(self.settings.gauges, self.plan.gauges)
            ]
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
            changed = set(self._changed(store.edits))
            return {
                name: {k: done for k, done in store.answered(name).items() if k not in changed}
                for name in self._voices()
            }

    def _voices(self) -> list[str]:
        """The names of all that brings verdicts: judges and gauges."""
        return [judge.name for judge in self.judges] + [voice(g) for g in self.gauges.values()]

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

    def _changed(self, held: Mapping[EditKey, Edit]) -> list[EditKey]:
        """The edits whose pictures, or sources, are others than those that were judged.

        Others from another folder are another model's, and no model's in this run.
        """
        changed = []
        for sample in self.plan.samples:
            edits = self.plan.edits[sample.id]
            for at, edit in enumerate(edits):
                before = held.get(edit.key)
                if before is None or before.image is None or edit.image is None:
                    continue
                edits[at] = edit._replace(seen=before.seen)
                if not _has_changed(sample, edits[at]):
                    continue
                then, now = before.image.parent, edit.image.parent
                if then.resolve() != now.resolve():
                    raise CrevalError(
                        f"{self.run} holds {edit.key.system!r} from {then}; {now} holds other "
                        f"pictures. Give it another name, --edits NAME={now}, or another --run."
                    )
                changed.append(edit.key)
        return changed

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
            self._load_models(store)
            done.notes += self._prepare(store)
            halt = in_a_loop(lambda: self._ask_all(store, done, watch), lambda: self._interrupt())
        for judge in self.judges:
            done.notes += judge.learned
        if halt.error is not None:
            raise halt.error
        done.stopped = halt.reason
        with open_run(self.run) as run:
            _summarise(done, run)
        return done

    def _load_models(self, store: Store) -> None:
        """Load the models that are new here: one that cannot be loaded stops the command before it
        is kept in mind, and before what another one has measured is dropped."""
        before = _models_in(store.manifest, store.folder)
        new = {use for use in self.settings.gauges if before.get(use) != self._models[use]}
        for gauge in self.gauges.values():
            if any(map(store.answered, _others(store, gauge))):
                gauge.load()
            elif any(model.use in new for model in gauge.card.models):
                with contextlib.suppress(Missing):  # it is said of each edit
                    gauge.load()

    def _prepare(self, store: Store) -> list[str]:
        """Keep samples, edits and manifest; drop verdicts on pictures that have changed since."""
        notes: list[str] = []
        chosen = {sample.id for sample in self.plan.samples} | set(store.samples)
        samples = [s for s in self.benchmark.dataset.samples if s.id in chosen]
        protocol = self.benchmark.protocol
        held = store.edits
        with store.transaction():
            if not store.systems:
                store.clear_edits()
                held = {}
            before = store.measurements()
            other = {s.id for s in samples if before.get(s.id, ()) != _measured_by(protocol, s)}
            keys = [key for key in held if key.sample in other]
            store.put_samples(
                [(sample, protocol.probes(sample)) for sample in samples],
                {
                    name: members & chosen
                    for name, members in self.benchmark.dataset.subsets.items()
                },
            )
            manifest = self._manifest()
            folders = set(store.manifest.get("edits_folders", ())) | self._folders()
            before = store.manifest.get("prompts", {}) if store.systems else {}
            prompts = dict(before) | self._prompt_texts()
            made = {name: maker.facts() for name, maker in self.found.makers.items()}
            makers = {**(store.manifest.get(MAKERS, {}) if store.systems else {}), **made}
            models = _models_in(store.manifest, store.folder) | self._models
            manifest |= {"edits_folders": sorted(folders), "prompts": prompts, MAKERS: makers,
                         MODELS_OF_GAUGES: models}  # fmt: skip
            if not self.spec:  # what judges were asked, if any were, is still true
                manifest["judge"] = store.manifest.get("judge", "")
            if "stopping" in store.manifest:  # it is about another time
                manifest["stopping"] = None
            store.put_manifest(manifest)
            notes += self._measured_otherwise(store)
            changed = self._changed(held)
            store.put_edits(self._kept(held))
            store.drop_verdicts(changed)
            store.drop_verdicts(keys, measured=True)
            store.put_replies(self._unaskable(held))
        if changed:
            names = ", ".join(f"{key.system}/{key.sample}" for key in changed[:3])
            notes.append(
                f"{len(changed)} edits, or their sources, have changed since they were judged "
                f"and are asked about anew: {names}{' ...' if len(changed) > 3 else ''}"
            )
        return notes

    def _measured_otherwise(self, store: Store) -> list[str]:
        """Drop what was measured with another model: measuring costs no money."""
        notes = []
        for gauge in self.gauges.values():
            for other in _others(store, gauge):
                if store.answered(other):
                    notes.append(
                        f"what was measured with {other.removeprefix(VOICE)} is dropped, and "
                        f"measured anew with {gauge.name}."
                    )
                store.forget(other, store.systems)
        return notes

    def _kept(self, held: Mapping[EditKey, Edit]) -> Iterator[Edit]:
        """The edits to keep: one that is gone does not take the place of one that was judged."""
        for edit in self.plan.all_edits():
            before = held.get(edit.key)
            if edit.status is EditStatus.DONE or before is None or before.image is None:
                yield edit

    def _unaskable(self, held: Mapping[EditKey, Edit]) -> Iterator[Record]:
        """That questions without words were not asked, for every edit that is new."""
        reply = Reply(Status.UNASKABLE)
        for edit in self.plan.all_edits():
            blank = [q.id for q in self.plan.questions[edit.key.sample] if not q.text.strip()]
            if blank and edit.status is EditStatus.DONE and edit.key not in held:
                verdicts = [Verdict(probe, Status.UNASKABLE) for probe in blank]
                for judge in self.judges:
                    yield Ask(judge.name, edit.key, tuple(blank)), reply, verdicts

    async def _ask_all(self, store: Store, done: Judged, watch: Watch | None) -> Halt:
        until = self.settings.until
        if until is None:
            return await self._ask_for(store, done.progress, watch, None)
        from creval.engine.deciding import Deciding

        names = [judge.name for judge in self.judges]
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
            done = {voice(g): store.answered(voice(g)) for g in self.gauges.values()}
            works = list(to_measure(self.plan, self.gauges, done))
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


def _models_in(manifest: Mapping[str, object], run: Path) -> dict[str, str]:
    """The models that were chosen for a run's gauges, by what they are for."""
    held = manifest.get(MODELS_OF_GAUGES, {})
    if not isinstance(held, dict) or not all(isinstance(model, str) for model in held.values()):
        raise CrevalError(
            f"{run} does not say which models it was measured with: its {MODELS_OF_GAUGES} is "
            "damaged. Give another --run."
        )
    return dict(held)


def _others(store: Store, gauge: Gauge) -> list[str]:
    """The voices of the same gauge with other models."""
    name = voice(gauge).partition("@")[0]
    return [v for v in store.voices if v.partition("@")[0] == name and v != voice(gauge)]


def _measured_by(protocol: Protocol, sample: Sample) -> tuple[str, ...]:
    """What a sample's measurements depend on, to see whether it has changed."""
    probes = protocol.probes(sample)
    return tuple(detail_of(probe) for probe in probes if isinstance(probe, Measurement))


def count_calls(plan: Plan, answered: Answered, judge: Judge) -> int:
    """How many calls a judge is planned to get, those that are answered already among them."""
    return sum(
        item.cached + sum(1 if judge.several else len(group.repeats) for group in item.groups)
        for item in plan.items(answered, several=judge.several)
    )


def _has_changed(sample: Sample, edit: Edit) -> bool:
    """Whether a picture is another than the one that was judged. Most are known by their date."""
    for name, stamp in edit.seen.items():
        shown, _, file = name.partition(" ")
        for path in paths_of(sample, edit, shown):
            if file and path.name != file:
                continue
            with contextlib.suppress(OSError, ImageError):
                now = path.stat()
                same = (now.st_size, now.st_mtime_ns) == (stamp.size, stamp.changed)
                if not same and digest(path) != stamp.digest:
                    return True
    return False


def _summarise(done: Judged, run: Run) -> None:
    """What is unanswered in the run, and why."""
    done.statuses, done.voices = run.statuses(), len(run.voices())
    done.reasons = run.unanswered_reasons()
    done.measured, done.broken, done.unmeasured = run.measured()
    for answer in run.unanswered(5):
        said = answer.said if answer.status in ("unreadable", "ambiguous") else ""
        words = " ".join((said or answer.explanation or answer.status).split())
        words = words if len(words) <= 160 else words[:159] + "…"
        edit = answer.edit
        done.examples.append(f"{edit.system}, {edit.sample}, {answer.probe}: {words}")
