"""Evaluate and compare image-editing models.

>>> import creval
>>> bench = creval.open_benchmark("CREval")            # doctest: +SKIP
>>> creval.replay(bench, "CREval/answer_gpt", "runs/paper")    # doctest: +SKIP
>>> creval.score("runs/paper", subset="paper").frame()         # doctest: +SKIP

Each command has a function of the same name here. See docs/reference/api.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from creval.api.analyses import agree as agree
    from creval.api.analyses import align as align
    from creval.api.analyses import compare as compare
    from creval.api.analyses import items as items
    from creval.api.analyses import repeats as repeats
    from creval.api.analyses import score as score
    from creval.api.analyses import sensitivity as sensitivity
    from creval.api.analyses import unchanged as unchanged
    from creval.api.builds import build_captions as build_captions
    from creval.api.builds import build_complex_edit as build_complex_edit
    from creval.api.builds import build_complexbench as build_complexbench
    from creval.api.builds import build_creval as build_creval
    from creval.api.builds import build_ice as build_ice
    from creval.api.builds import build_twins as build_twins
    from creval.api.caches import cache as cache
    from creval.api.caches import prune_cache as prune_cache
    from creval.api.describe import describe_benchmark as describe_benchmark
    from creval.api.init_ice import init_ice as init_ice
    from creval.api.init_samples import init_samples as init_samples
    from creval.api.outputs import export as export
    from creval.api.outputs import plot as plot
    from creval.api.outputs import report as report
    from creval.api.outputs import view as view
    from creval.api.published import published as published
    from creval.api.releases import get as get
    from creval.api.reviews import review_agreement as review_agreement
    from creval.api.run_changes import label as label
    from creval.api.run_changes import remove as remove
    from creval.api.run_changes import rename as rename
    from creval.api.runs import calibrate as calibrate
    from creval.api.runs import edit as edit
    from creval.api.runs import estimate as estimate
    from creval.api.runs import judge as judge
    from creval.api.runs import measure as measure
    from creval.api.runs import replay as replay
    from creval.api.side_by_side import compare_sources as compare_sources
    from creval.benchmarks import open_benchmark as open_benchmark
    from creval.calls.settings import JudgeSettings as JudgeSettings
    from creval.calls.settings import Settings as Settings
    from creval.core.benchmark import Protocol as Protocol
    from creval.core.edit_record import Edit as Edit
    from creval.core.errors import CrevalError as CrevalError
    from creval.core.probe import Measurement as Measurement
    from creval.core.probe import Question as Question
    from creval.core.sample import Sample as Sample
    from creval.core.scales import AnswerScale as AnswerScale
    from creval.editing.session import EditSettings as EditSettings
    from creval.editors.base import Editor as Editor
    from creval.judges.base import Judge as Judge
    from creval.metrics.base import ImageMetric as ImageMetric
    from creval.providers.call_errors import Refused as Refused
    from creval.store.run import open_run as open_run
    from creval.touchstone.builder import build_touchstone as build_touchstone

__version__ = "0.2.0"

# The module of each public name. It is imported on first use, so that `import creval` stays fast and
# loads no heavy dependency.
_NAMES_BY_MODULE = {
    "api.analyses": "agree align compare items repeats score sensitivity unchanged",
    "api.builds": "build_captions build_complex_edit build_complexbench build_creval build_ice build_twins",
    "api.caches": "cache prune_cache",
    "api.outputs": "export plot report view",
    "api.published": "published",
    "api.releases": "get",
    "api.reviews": "review_agreement",
    "api.run_changes": "label remove rename",
    "api.runs": "calibrate edit estimate judge measure replay",
    "api.describe": "describe_benchmark",
    "api.init_ice": "init_ice",
    "api.init_samples": "init_samples",
    "api.side_by_side": "compare_sources",
    "benchmarks": "open_benchmark",
    "calls.settings": "JudgeSettings Settings",
    "core.benchmark": "Protocol",
    "core.edit_record": "Edit",
    "core.errors": "CrevalError",
    "core.probe": "Measurement Question",
    "core.sample": "Sample",
    "core.scales": "AnswerScale",
    "editing.session": "EditSettings",
    "editors.base": "Editor",
    "judges.base": "Judge",
    "metrics.base": "ImageMetric",
    "providers.call_errors": "Refused",
    "store.run": "open_run",
    "touchstone.builder": "build_touchstone",
}
_HOMES = {name: f"creval.{module}" for module, names in _NAMES_BY_MODULE.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'creval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
