"""A judge, an editor and a metric that run without a model."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

from PIL import Image, ImageStat

from creval.core.images import decode_image
from creval.core.schema import Metric
from creval.editors.base import Editor, EditOutput, EditRequest, PendingTask
from creval.judges.base import Judge, JudgeRequest, JudgeResponse
from creval.metrics.base import ImageMetric, MetricInfo
from creval.metrics.features import FeatureArray
from creval.metrics.metric_inputs import MetricInputs
from creval.providers.openai_wire import Completion


class ContrastJudge(Judge):
    """Gives the highest answer to bright edits, and the lowest to dark ones."""

    counts_tokens = False

    async def ask(self, request: JudgeRequest) -> JudgeResponse:
        assert request.scale is not None
        edit = decode_image(request.images[request.image_roles.index("edit")].content)
        answer = request.scale.choices[-1 if ImageStat.Stat(edit.convert("L")).mean[0] > 127 else 0]
        reply = json.dumps({label: {"explanation": request.text, "answer": answer} for label in request.labels})
        return JudgeResponse((Completion(reply),) * len(request.repeats), cost=0.0)


class FadeEditor(Editor):
    """Blends an image with white (`fade:white`) or black (`fade`)."""

    price = 0.0

    def __init__(self, name: str, colour: str, options: object) -> None:
        del options
        self.name, self.model, self.notes, self._colour = name, name, [], colour or "black"

    async def edit(self, job: EditRequest, ticket: PendingTask) -> EditOutput:
        del ticket
        assert job.source is not None
        with Image.open(job.source) as source:
            faded = Image.blend(source.convert("RGB"), Image.new("RGB", source.size, self._colour), 0.8)
        content = io.BytesIO()
        faded.save(content, "PNG")
        return EditOutput(content.getvalue())


class Brightness(ImageMetric):
    """Mean luminance of the edit."""

    info = MetricInfo(
        "brightness", "how bright it is", (Metric("brightness", "mean luminance", 0.0, 1.0),), "luminance"
    )

    def measure(self, inputs: MetricInputs, features: Sequence[FeatureArray]) -> dict[str, float]:  # noqa: ARG002
        return {"brightness": ImageStat.Stat(inputs.edit.image.convert("L")).mean[0] / 255}
