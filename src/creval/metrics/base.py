"""Base classes of metrics, descriptions of metrics, and functions that open metrics by name."""

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
    """The description of a metric: its name, values with their ranges, inputs, models and requirements.

    `needs` lists the inputs: source, control (a source that shows edges, depth, a pose or grey values), reference,
    caption, captions, text. A mask is always optional, even if it is listed. `extra` is the extra to install (`pip
    install 'creval[EXTRA]'`) and `packages` are the modules that it installs. `licence` is the packages' licence if it
    restricts their use.
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
    """A metric that is computed from images. Instances are used by several threads at once.

    One evaluation can return several values. `name` identifies the metric in a run. It includes the models and, for
    local models, a digest of their files: `clip@MODEL#1f3a5b7c`. `code_digests` identify the code of a user's metric.
    """

    info: ClassVar[MetricInfo]
    code_digests: Mapping[str, str] = MappingProxyType({})

    def __init__(self, pool: ModelPool | None = None) -> None:
        models = "+".join(map(model_label, (pool or ModelPool()).models_for(self.info)))
        self.name = f"{self.info.name}@{models}" if models else self.info.name

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:  # noqa: ARG002
        """Return the model outputs that `measure` needs. Raises `NotMeasurable`."""
        return ()

    def load(self) -> None:
        """Load the models now instead of at first use."""
        for part in vars(self).values():
            if isinstance(part, Lazy):
                part.get()
            elif isinstance(part, FeatureExtractor):
                part.load()

    @abstractmethod
    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> Mapping[str, float]:
        """Return the values by name, computed from the requested features.

        Raises `NotMeasurable` or `ImageError`.
        """


class ModelMetric(ImageMetric):
    """A metric based on one model: the last of `info.models`.

    Its value is the model's output if there is one input, or the cosine of the model's vectors if there are two.
    """

    extractor_class: ClassVar[type[ModelExtractor]]

    def __init__(self, pool: ModelPool) -> None:
        super().__init__(pool)
        self.extractor = pool.get_or_create(self.extractor_class, pool.chosen_model(self.info.models[-1].slot))

    @abstractmethod
    def model_inputs(self, inputs: MetricInputs) -> Sequence[ExtractorInput]:
        """Return the inputs of the model. Raises `NotMeasurable`."""

    def required_features(self, inputs: MetricInputs) -> Sequence[FeatureRequest]:
        return [FeatureRequest(self.extractor, item) for item in self.model_inputs(inputs)]

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> Mapping[str, float]:  # noqa: ARG002
        return {self.info.values[0].name: self.value(features)}

    def value(self, features: Sequence[FeatureArray]) -> float:
        """Return the metric's only value. Raises `NotMeasurable`."""
        return float(features[0][0]) if len(features) == 1 else cosine_similarity(*features)


class ModelPool:
    """The models of all metrics, by slot. Each model is opened once and shared."""

    def __init__(self, models: Mapping[str, str] | None = None) -> None:
        self._models = dict(models or {})
        self._shared: dict[tuple[object, ...], Any] = {}

    def chosen_model(self, slot: str) -> str | None:
        """Return the model chosen for a slot, or None."""
        return self._models.get(slot)

    def models_for(self, info: MetricInfo) -> Iterator[str]:
        """Yield the names of the models of a metric: the chosen ones, and defaults from the hub or a library."""
        for model in info.models:
            if model.slot in self._models:
                yield self._models[model.slot]
            elif model.origin in ("hub", "library"):
                yield model.default

    def get_or_create(self, factory: Callable[..., T], *arguments: object) -> T:
        """Return the object that the factory creates for these arguments. Later calls return the same object."""
        key = (factory, *arguments)
        if key not in self._shared:
            self._shared[key] = factory(*arguments)
        shared: T = self._shared[key]
        return shared


def image_metric_class(name: str) -> type[ImageMetric]:
    """Return the class of a metric. `python:MODULE:NAME` and `command:TEMPLATE` name custom metrics."""
    if name.startswith(_USER_CODE):
        from creval.metrics.user_metric import user_metric_class

        return user_metric_class(name)
    return registry.metrics.get(name)


def lower_is_better_metrics() -> Iterator[str]:
    """Yield the names of those values of registered metrics for which lower is better."""
    for name in registry.metrics.names():
        yield from (value.name for value in image_metric_class(name).info.values if not value.higher_is_better)


def open_image_metrics(
    metrics: Iterable[str | ImageMetric | Callable[..., Any]], models: Mapping[str, str]
) -> dict[str, ImageMetric]:
    """Create metrics that are given as names, objects, classes or functions. They share models.

    Returns the metrics by name.
    """
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
"""The model slots of creval's own metrics."""


def model_slots() -> tuple[str, ...]:
    """Return the model slots of all metrics, including metrics that other packages register."""
    others = [name for name in registry.metrics.names() if registry.metrics.origin(name)]
    return (*MODEL_SLOTS, *(model.slot for name in others for model in image_metric_class(name).info.models))


def unused_slots(models: Iterable[str], image_metrics: Iterable[str]) -> list[str]:
    """Return those of the given slots that none of these metrics uses."""
    cards = [model for name in image_metrics for model in image_metric_class(name).info.models]
    used = {model.slot for model in cards if model.origin != "shipped"}
    return [slot for slot in models if slot not in used]


def require_used_slots(models: Iterable[str], image_metrics: Iterable[str]) -> None:
    """Raise an error if a model is given for a slot that no metric uses."""
    for slot in unused_slots(models, image_metrics):
        raise CrevalError(f"`metric_models` {slot}: none of the chosen metrics uses this model.")
