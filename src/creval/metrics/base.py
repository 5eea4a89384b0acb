"""Metrics as data: their values, what they need, their models and the models' licences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from creval import registry
from creval.core.errors import CrevalError
from creval.core.schema import Metric
from creval.metrics.features import (
    ExtractorInput,
    FeatureArray,
    FeatureExtractor,
    FeatureRequest,
    ModelExtractor,
    cosine_similarity,
)
from creval.metrics.metric_inputs import MetricInputs
from creval.metrics.model_loading import Lazy, ModelInfo, model_label


@dataclass(frozen=True)
class MetricInfo:
    """A metric: what it is called, its values with their ranges, what it needs, and what it takes.

    It `needs` a source, a control (a source that shows lines, depth, a pose or grey), a reference, captions or texts;
    a mask is used where there is one. `extra` is what `pip install 'creval[EXTRA]'` brings for it, `packages` are the
    modules behind that and `licence` theirs, where it is not one for any use.
    """

    name: str
    title: str
    values: tuple[Metric, ...]
    unit: str
    needs: tuple[str, ...] = ()
    models: tuple[ModelInfo, ...] = ()
    extra: str = ""
    packages: tuple[str, ...] = ()
    licence: str = ""
    paper: str = ""


T = TypeVar("T")
_USER_CODE = ("python:", "command:")


class ImageMetric(ABC):
    """Measures edits, in several threads at once; one look gives the values of several metrics.

    `name` tells it apart in a run, with the models that it measures with, if any, and the state of
    their files, if they are here: `clip@MODEL#1f3a5b7c`. `code_digests` identify a user's code that measures.
    """

    info: ClassVar[MetricInfo]
    code_digests: Mapping[str, str] = MappingProxyType({})

    def __init__(self, pool: ModelPool) -> None:
        models = "+".join(map(model_label, pool.models_for(self.info)))
        self.name = f"{self.info.name}@{models}" if models else self.info.name

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:  # noqa: ARG002
        """Return what models are to make of images and texts first; raises `NotMeasurable`."""
        return ()

    def load(self) -> None:
        """Load its models now, which is else done when they are first used."""
        for part in vars(self).values():
            if isinstance(part, Lazy):
                part.get()
            elif isinstance(part, FeatureExtractor):
                part.load()

    @abstractmethod
    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> Mapping[str, float]:
        """Return the values by name, from the requested features; raises `NotMeasurable` or `ImageError`."""


class ModelMetric(ImageMetric):
    """A metric of the last of `info.models`: the number that it gives for one input, or the cosine of two."""

    extractor_class: ClassVar[type[ModelExtractor]]

    def __init__(self, pool: ModelPool) -> None:
        super().__init__(pool)
        self.extractor = pool.get_or_create(self.extractor_class, pool.chosen_model(self.info.models[-1].slot))

    @abstractmethod
    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        """Return what the model is to look at; raises `NotMeasurable`."""

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        return [FeatureRequest(self.extractor, item) for item in self.model_inputs(inputs)]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> Mapping[str, float]:  # noqa: ARG002
        return {self.info.values[0].name: self.value(features)}

    def value(self, features: Sequence[FeatureArray]) -> float:
        """Return the metric's only value; raises `NotMeasurable`."""
        return float(features[0][0]) if len(features) == 1 else cosine_similarity(*features)


class ModelPool:
    """The models to measure with, by what they are for; each is opened once, whoever uses it."""

    def __init__(self, models: Mapping[str, str] | None = None) -> None:
        self._models = dict(models or {})
        self._shared: dict[tuple[object, ...], Any] = {}

    def chosen_model(self, slot: str) -> str | None:
        """Return the model that was chosen for a slot, if one was."""
        return self._models.get(slot)

    def models_for(self, info: MetricInfo) -> Iterator[str]:
        """Yield the models that a metric measures with, as far as they can be chosen."""
        for model in info.models:
            if model.slot in self._models:
                yield self._models[model.slot]
            elif model.origin in ("hub", "library"):
                yield model.default

    def get_or_create(self, factory: Callable[..., T], *arguments: object) -> T:
        """Return the one object of a kind that these arguments make."""
        key = (factory, *arguments)
        if key not in self._shared:
            self._shared[key] = factory(*arguments)
        shared: T = self._shared[key]
        return shared


def image_metric_class(name: str) -> type[ImageMetric]:
    """Return the class of this name; `python:MODULE:NAME` and `command:TEMPLATE` are the user's."""
    if name.startswith(_USER_CODE):
        from creval.metrics.user_metric import user_metric_class

        return user_metric_class(name)
    return registry.metrics.get(name)


def open_image_metrics(
    metrics: Iterable[str | ImageMetric | Callable[..., Any]], models: Mapping[str, str]
) -> dict[str, ImageMetric]:
    """Return metrics by name; they share models. They are given by name, as objects, classes or functions."""
    pool = ModelPool(models)
    found: dict[str, ImageMetric] = {}
    for given in metrics:
        name, metric = (given, image_metric_class(given)) if isinstance(given, str) else ("", given)
        if not isinstance(metric, ImageMetric | type):
            from creval.metrics.user_metric import function_metric_class

            metric = function_metric_class(metric)
        opened: ImageMetric = metric(pool) if isinstance(metric, type) else metric
        if name.startswith(_USER_CODE):
            from creval.metrics.user_metric import user_code_digests

            opened.code_digests = user_code_digests(name)
        found[name or opened.info.name] = opened
    return found


MODEL_SLOTS = (
    *("aesthetic", "boxes", "clip", "depth", "dreamsim", "face", "hps", "image_reward", "imaging", "lpips"),
    *("pose", "siglip", "style", "subject"),
)
"""What creval's own metrics take models for, where one can be chosen."""


def model_slots() -> tuple[str, ...]:
    """Return what metrics take models for, those of other packages included."""
    others = [name for name in registry.metrics.names() if registry.metrics.origin(name)]
    return (*MODEL_SLOTS, *(model.slot for name in others for model in image_metric_class(name).info.models))


def unused_slots(models: Iterable[str], image_metrics: Iterable[str]) -> list[str]:
    """Return the slots of models that none of these metrics has."""
    cards = [model for name in image_metrics for model in image_metric_class(name).info.models]
    used = {model.slot for model in cards if model.origin != "shipped"}
    return [use for use in models if use not in used]


def require_used_slots(models: Iterable[str], image_metrics: Iterable[str]) -> None:
    """Refuse a model for which no metric has a use."""
    for use in unused_slots(models, image_metrics):
        raise CrevalError(f"`metric_models` {use}: nothing is measured with it here.")
