"""Everything that has a name: benchmarks, protocols, judges, editors, metrics, scales, prompts.

Each registry is open to other packages through an entry-point group (`creval.benchmarks`,
`creval.protocols`, ...), and to a notebook through `register`. docs/extending.md shows both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from creval.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from creval.core.benchmark import Protocol, System
    from creval.editors.base import Editor
    from creval.judges.base import Judge
    from creval.metrics.base import Gauge

benchmarks: Registry[System] = Registry(
    "benchmark",
    {
        "creval": "creval.benchmarks.creval.protocol:SYSTEM",
        "complex-edit": "creval.benchmarks.complex_edit.protocol:SYSTEM",
        "complexbench-edit": "creval.benchmarks.complexbench_edit.protocol:SYSTEM",
        "ice-bench": "creval.benchmarks.ice_bench.protocol:SYSTEM",
    },
)
# Protocols can be put to any dataset.
protocols: Registry[Callable[[], Protocol]] = Registry(
    "protocol",
    {
        "creval": "creval.benchmarks.creval.protocol:CREval",
        "complex-edit": "creval.benchmarks.complex_edit.protocol:ComplexEdit",
        "complexbench-edit": "creval.benchmarks.complexbench_edit.protocol:ComplexBenchEdit",
        "ice-bench": "creval.benchmarks.ice_bench.protocol:IceBench",
        "complex-edit-probability": (
            "creval.benchmarks.complex_edit.protocol:ComplexEditProbability"
        ),
        "viescore": "creval.benchmarks.viescore:VIEScore",
        "clip": "creval.benchmarks.clip_protocol:ClipProtocol",
        "editscore": "creval.benchmarks.viescore:EditScore",
    },
)
# Judges and editors are opened with the spec `kind:model`, the part behind the colon, and options.
judges: Registry[Callable[[str, str, Any], Judge]] = Registry(
    "judge",
    {
        **dict.fromkeys(
            ("openai", "google", "anthropic", "openrouter", "dashscope"),
            "creval.judges.spec:open_chat",
        ),
        "hf": "creval.judges.local:open_local",
        "pixel": "creval.touchstone.judges:open_touchstone",
        "truth": "creval.touchstone.judges:open_touchstone",
        "noisy": "creval.touchstone.judges:open_touchstone",
    },
)
editors: Registry[Callable[[str, str, Any], Editor]] = Registry(
    "editor",
    {
        **dict.fromkeys(
            ("openai", "google", "bfl", "dashscope", "seedream"), "creval.editors.spec:open_remote"
        ),
        "command": "creval.editors.command:Command",
        "python": "creval.editors.function:Function",
        "folder": "creval.editors.folder:Folder",
        "touchstone": "creval.touchstone.editor:Drawn",
        "diffusers": "creval.editors.diffusers.editor:Diffusers",
    },
)
metrics: Registry[type[Gauge]] = Registry(
    "metric",
    {
        "aesthetic": "creval.metrics.aesthetic:Aesthetic",
        "canny": "creval.metrics.control_maps:Canny",
        "clip": "creval.metrics.clip:ClipScores",
        "clip_cap": "creval.metrics.clip:ClipCaption",
        "clip_dir": "creval.metrics.clip:ClipDirection",
        "clip_src": "creval.metrics.clip:ClipSource",
        "colorfulness": "creval.metrics.colorfulness:Colorfulness",
        "depth": "creval.metrics.depth:Depth",
        "face": "creval.metrics.face:Face",
        "grey": "creval.metrics.control_maps:GreyDistance",
        "imaging": "creval.metrics.imaging:Imaging",
        "l1_src": "creval.metrics.pixel_distance:SourceL1",
        "l2_src": "creval.metrics.pixel_distance:SourceL2",
        "outside": "creval.metrics.outside_boxes:Outside",
        "pose": "creval.metrics.pose:Pose",
        "ssim": "creval.metrics.ssim:Ssim",
        "style": "creval.metrics.style:Style",
        "subject": "creval.metrics.subject:Subject",
        "text": "creval.metrics.text:Text",
    },
)
