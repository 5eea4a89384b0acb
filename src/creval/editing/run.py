"""A folder of edits from an editor: what it will take, and the way from samples to pictures."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from creval.calls.estimate import Estimate
from creval.calls.retry import Progress
from creval.calls.settings import Settings
from creval.calls.text_generation import Item, Writing
from creval.core.benchmark import Benchmark
from creval.core.edit import Edit, EditKey, EditStatus
from creval.core.errors import CrevalError
from creval.core.filenames import of_draw
from creval.core.files import clean_text
from creval.core.images import glance, lack_of
from creval.core.sample import Sample
from creval.editing.best_of import picking
from creval.editing.output_folder import keep, pictures_in, unplaceable
from creval.editing.planning import expected, planner, thinking
from creval.editing.session import Editing, EditSettings
from creval.editing.strategies import Editors, Finished, read_strategy
from creval.editors.base import EditorOptions
from creval.editors.spec import open_editor
from creval.judging.estimate import estimate
from creval.judging.run import Judging
from creval.providers.pricing import Price
from creval.store import DATABASE, Store
from creval.store.edit_folders import EDITOR, JUDGED, PLANNED
from creval.store.manifest import describe
from creval.store.provenance import Bill, bill
from creval.store.readonly import Held, held_texts

Watch = Callable[[str, Progress], None]
"""Told what is being done (`editing`, `picking`, `planning`), and how far it is."""
_GLANCE = 100  # candidates looked at for the estimate


@dataclass(frozen=True)
class Use:
    """How an editor is used: its strategy, and who helps. `price` is the helpers', for tokens."""

    strategy: str = "direct"
    judge: str = ""
    reasoner: str = ""
    price: Price | None = None
    prompts: str | None = None


@dataclass
class Edited:
    """What came of it: samples by how they ended, why some have no picture, and what is odd about
    those that have one. `cost` is all that the folder has cost, with what helpers took; none where
    that is not known. `unable` counts samples that a benchmark of many tasks lets an editor not
    support."""

    wanted: int
    finished: Finished
    progress: Progress
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    cost: float | None = None
    unable: int = 0

    @property
    def statuses(self) -> Counter[str]:
        return Counter(str(edit.status) for edit in self.finished.edits.values())

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why there is no picture, the most common reason first."""
        edits = self.finished.edits.values()
        return Counter(edit.reason for edit in edits if edit.reason).most_common()

    @property
    def odd(self) -> Counter[str]:
        """How many pictures are not what one expects of an edit, by what they are."""
        names = ("same_as_source", "another_size", "another_shape", "no_longer_transparent")
        facts = [edit.facts for edit in self.finished.edits.values()]
        return Counter(name for found in facts for name in names if found.get(name))

    @property
    def share_missing(self) -> float:
        """The share of the samples that have no picture, of those that the editor supports."""
        return 1 - self.statuses[str(EditStatus.DONE)] / max(1, self.wanted - self.unable)


class EditRun:
    """Everything that is known before the first picture: who edits what, how, and who helps."""

    def __init__(
        self,
        benchmark: Benchmark,
        samples: Sequence[Sample],
        editor: str,
        folder: Path,
        use: Use,
        options: EditorOptions,
        settings: EditSettings,
        *,
        dry: bool = False,
    ) -> None:
        self.benchmark, self.samples, self.folder, self.use = benchmark, samples, folder, use
        self.settings, self.strategy = settings, read_strategy(use.strategy)
        self._dry = dry
        root = benchmark.dataset.root
        self.editor = open_editor(editor, replace(options, bench=root, keyless=dry))
        for name, given, needed in (
            ("judge", use.judge, self.strategy.best_of > 1),
            ("reasoner", use.reasoner, self.strategy.reasoned),
        ):
            if given and not needed:
                raise CrevalError(f"--{name} does nothing with --strategy {self.strategy.name}.")
        self._helping = Settings(
            concurrency=settings.concurrency, budget=settings.budget, price=use.price,
            prompts=use.prompts,
        )  # fmt: skip
        self._check_folder()
        self._check_budget()
        self.editing = Editing(self.editor, folder, settings)

    def _check_folder(self) -> None:
        if self.folder.exists() and not self.folder.is_dir():
            raise CrevalError(f"--out {self.folder} is a file; give a folder, named as the model.")
        if self.folder.resolve() == self.benchmark.dataset.root.resolve():
            raise CrevalError(f"--out {self.folder} is the benchmark itself; give another folder.")
        if not (self.folder / DATABASE).is_file():
            there = next(pictures_in(self.folder), None)
            if there is not None:
                raise CrevalError(
                    f"{self.folder} holds pictures that creval edit did not make, such as "
                    f"{there.name}; give another --out."
                )

    def _check_budget(self) -> None:
        if self.settings.budget is None:
            return
        if self.editor.price is None:
            raise CrevalError(
                f"--budget needs the price of {self.editor.name}: add --price, US dollars a "
                "picture."
            )
        helpers = [spec for spec in (self.use.judge, self.use.reasoner) if spec]
        for spec in helpers:
            if any(judge.price is None for judge in self._opened(spec)):
                raise CrevalError(
                    f"--budget needs the price of {spec}: add --token-price IN,OUT, US dollars "
                    "for a million tokens."
                )

    def _opened(self, spec: str) -> Sequence[Any]:
        from creval.judges.spec import open_judges

        return open_judges(spec, replace(self._helping.judge_options(), keyless=True))

    @property
    def system(self) -> str:
        """The name under which edits are kept: the folder's when it was begun."""
        return str(self._held().manifest.get("system") or self.folder.resolve().name)

    def _held(self) -> Held:
        """What the folder holds already; nothing is written."""
        return held_texts(self.folder)

    @cached_property
    def skipped(self) -> dict[EditKey, Edit]:
        """Of which samples it is known before that there will be no picture, and why."""
        found, system, dataset = {}, self.system, self.benchmark.dataset
        for sample in self.samples:
            key = EditKey(system, sample.id)
            if reason := unplaceable(self.folder, sample.id):
                found[key] = Edit(key, EditStatus.IMPOSSIBLE, reason=f"the sample {reason}")
            elif lack := lack_of(sample.pictures, glance):
                found[key] = Edit(key, EditStatus.IMPOSSIBLE, reason=lack)
            elif dataset.whole and (reason := self.editor.unable(sample)):
                found[key] = Edit(key, EditStatus.UNSUPPORTED, reason=reason)
        return found

    def _editors(self, watch: Watch | None = None) -> Editors:
        told = partial(watch, "picking") if watch is not None else None
        planned = partial(watch, "planning") if watch is not None else None
        pick = think = None
        if self.use.judge:
            pick = picking(self.benchmark, self.use.judge, self.folder, self._allowed, told)
        if self.use.reasoner:
            think = thinking(self._planner, planned)
        skipped = {key.sample for key in self.skipped}
        samples = [sample for sample in self.samples if sample.id not in skipped]
        whole = self.benchmark.dataset.samples
        among = [sample for sample in whole if not unplaceable(self.folder, sample.id)]
        return Editors(
            self.editing, self.system, samples, self.strategy, among=among, pick=pick, think=think
        )

    def _planner(self) -> Writing[str]:
        settings = self._allowed(self.folder / PLANNED)
        return planner(self.folder, self.use.reasoner, settings, dry=self._dry)

    def _allowed(self, part: Path) -> Settings:
        """A helper's settings; what it may spend is what the others have left."""
        return replace(self._helping, budget=self._left(part))

    def _left(self, part: Path) -> float | None:
        """What a part of the folder may cost altogether."""
        if self.settings.budget is None:
            return None
        others = (bill(folder).cost for folder in _stores(self.folder) if folder != part)
        return self.settings.budget - sum(cost or 0.0 for cost in others)

    def estimate(self) -> list[Estimate]:
        """What the editor and those who help will take."""
        editors, held, most = self._editors(), self._held(), self.strategy.best_of
        if held.manifest:
            self._check_same(held.manifest, self._manifest())
        names = (clean_text(sample.id) for sample in editors.reached)
        kept = (held.texts[self.editor.name, self.system, name] for name in names)
        editor = Estimate(self.editor.name, pace=self.editor.pace, role="editor")
        editor.cached = sum(min(number, most) for number in kept)
        editor.calls = editor.pictures = editors.jobs - editor.cached
        if self.editor.price is not None:
            editor.cost = self.editor.price * editor.calls
        editor.seconds = max(
            editor.calls * editor.pace / self.settings.concurrency,
            60 * editor.calls / (self.settings.requests_a_minute or float("inf")),
        )
        found = [editor]
        if self.use.reasoner:
            items = [Item(sample.id, sample.source) for sample in editors.reached]
            found += self._planner().estimate(items, [expected(self._helping)])
        if self.use.judge:
            found += self._picks(editors.reached)
        return found

    def _picks(self, reached: Sequence[Sample]) -> list[Estimate]:
        """What picking will take, with the sources in the place of candidates."""
        with tempfile.TemporaryDirectory(prefix="creval-") as folder:
            shown = [s for s in reached if s.source is not None and s.source.is_file()]
            for sample in shown:
                source = Path(sample.source or "").resolve()
                for draw in range(1, 1 + self.strategy.best_of):
                    place = Path(folder) / "M" / f"{of_draw(sample.id, draw)}{source.suffix}"
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.symlink_to(source)
            if not shown:
                return []
            dataset = replace(self.benchmark.dataset, samples=tuple(shown), subsets={}, place=None)
            judging = Judging(
                replace(self.benchmark, dataset=dataset), [Path(folder) / "M"], self.use.judge,
                Path(folder) / "run", replace(self._helping, budget=None), dry=True,
            )  # fmt: skip
            return [replace(made, role="judge") for made in estimate(judging, {}, _GLANCE)]

    def run(self, watch: Watch | None = None) -> Edited:
        """Make the edits, and put them under their samples' names. What came is kept, whatever
        happens."""
        manifest = self._manifest()
        with Store(self.folder) as store, store.transaction():
            self._check_same(store.manifest, manifest)
            store.put_manifest(manifest)
        self.editing.allowance = lambda: self._left(self.folder)
        editors = self._editors(watch)
        editors.finished.edits |= self.skipped
        try:
            editors.run(partial(watch, "editing") if watch is not None else None)
        finally:
            keep(self.folder, editors.finished)
        return Edited(
            len(self.samples), editors.finished, self.editing.progress, self.editing.stopped,
            list(self.editor.learned), sum(map(bill, _stores(self.folder)), Bill()).cost,
            self._unable(editors.finished),
        )  # fmt: skip

    def _unable(self, finished: Finished) -> int:
        statuses = [edit.status for edit in finished.edits.values()]
        return self.benchmark.dataset.whole * statuses.count(EditStatus.UNSUPPORTED)

    def _manifest(self) -> dict[str, Any]:
        facts = json.loads(json.dumps(dict(self.editor.facts), default=str))
        return describe(self.benchmark, self.use.judge) | {
            EDITOR: self.editor.name,
            "editor_facts": facts,
            "strategy": self.strategy.name,
            "reasoner": self.use.reasoner,
            "seed": self.settings.seed,
            "system": self.system,
        }

    def _check_same(self, held: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
        """Refuse to put beside what the folder holds what was made in another way."""
        if held and EDITOR not in held:
            raise CrevalError(f"{self.folder} holds a run; give another --out.")
        names = {
            "benchmark": "benchmark", EDITOR: "editor", "editor_facts": "editor's settings",
            "strategy": "strategy", "judge": "judge", "reasoner": "reasoner", "seed": "seed",
        }  # fmt: skip
        for name, words in names.items():
            if held and held.get(name) != manifest[name]:
                raise CrevalError(
                    f"{self.folder} was made with the {words} {_said(held.get(name))}, not "
                    f"{_said(manifest[name])}; give another --out."
                )


def _said(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def _stores(folder: Path) -> Iterator[Path]:
    """The folder and those inside in which something was paid for."""
    yield folder
    yield folder / PLANNED
    yield from sorted((folder / JUDGED).glob("*/run"))
