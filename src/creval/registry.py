"""Registries of benchmarks, protocols, judges, editors, metrics, scales and prompts.

Other packages add entries through an entry-point group (`creval.benchmarks`, `creval.protocols`, ...).
Notebooks add entries with `register`. See docs/howto/extending.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from creval.core.plugins import THIS_SESSION as THIS_SESSION
from creval.core.plugins import Registry
from creval.core.scales import scales as scales

if TYPE_CHECKING:
    from collections.abc import Callable

    from creval.core.benchmark import BenchmarkFormat, Protocol
    from creval.editors.base import Editor
    from creval.judges.base import Judge
    from creval.metrics.base import ImageMetric

benchmarks: Registry[BenchmarkFormat] = Registry(
    "benchmark",
    {
        "creval": "creval.benchmarks.creval.protocol:BENCHMARK_FORMAT",
        "complex-edit": "creval.benchmarks.complex_edit.protocol:BENCHMARK_FORMAT",
        "complexbench-edit": "creval.benchmarks.complexbench_edit.protocol:BENCHMARK_FORMAT",
        "ice-bench": "creval.benchmarks.ice_bench.protocol:BENCHMARK_FORMAT",
        "own-samples": "creval.benchmarks.own_samples.protocol:BENCHMARK_FORMAT",
    },
)
# Protocols can be used with any dataset.
protocols: Registry[Callable[[], Protocol]] = Registry(
    "protocol",
    {
        "creval": "creval.benchmarks.creval.protocol:CREval",
        "complex-edit": "creval.benchmarks.complex_edit.protocol:ComplexEdit",
        "complexbench-edit": "creval.benchmarks.complexbench_edit.protocol:ComplexBenchEdit",
        "complexbench-edit-all-boxes": "creval.benchmarks.complexbench_edit.protocol:ComplexBenchEditAllBoxes",
        "ice-bench": "creval.benchmarks.ice_bench.protocol:IceBench",
        "questions": "creval.benchmarks.own_samples.protocol:OwnQuestions",
        "complex-edit-probability": ("creval.benchmarks.complex_edit.protocol:ComplexEditProbability"),
        "viescore": "creval.benchmarks.viescore:VIEScore",
        "clip": "creval.benchmarks.clip_protocol:ClipProtocol",
        "editscore": "creval.benchmarks.viescore:EditScore",
    },
)
# Judges and editors are opened with the spec `kind:model`, the part after the colon, and options;
# those of other packages also without arguments.
judges: Registry[Callable[..., Judge]] = Registry(
    "judge",
    {
        **dict.fromkeys(
            ("openai", "google", "anthropic", "openrouter", "dashscope", "rehearsal"),
            "creval.judges.judge_spec:open_chat",
        ),
        "hf": "creval.judges.local:open_local",
        "python": "creval.judges.python_judge:open_python_judge",
        "command": "creval.judges.command_judge:CommandJudge",
        "pixel": "creval.touchstone.judges:open_touchstone_judge",
        "truth": "creval.touchstone.judges:open_touchstone_judge",
        "noisy": "creval.touchstone.judges:open_touchstone_judge",
    },
)
editors: Registry[Callable[..., Editor]] = Registry(
    "editor",
    {
        **dict.fromkeys(("openai", "google", "bfl", "dashscope", "seedream"), "creval.editors.editor_spec:open_remote"),
        "rehearsal": "creval.editors.editor_spec:open_rehearsal",
        "command": "creval.editors.command:CommandEditor",
        "python": "creval.editors.function:FunctionEditor",
        "folder": "creval.editors.folder:FolderEditor",
        "touchstone": "creval.touchstone.simulated_editor:SimulatedEditor",
        "diffusers": "creval.editors.diffusers.diffusers_editor:DiffusersEditor",
    },
)
metrics: Registry[type[ImageMetric]] = Registry(
    "metric",
    {
        "aesthetic": "creval.metrics.aesthetic:AestheticScore",
        "canny": "creval.metrics.control_maps:CannyDistance",
        "clip": "creval.metrics.clip:ClipScores",
        "clip_cap": "creval.metrics.clip:ClipCaption",
        "clip_dir": "creval.metrics.clip:ClipDirection",
        "clip_src": "creval.metrics.clip:ClipSource",
        "colorfulness": "creval.metrics.colorfulness:Colorfulness",
        "depth": "creval.metrics.depth:DepthDistance",
        "dreamsim": "creval.metrics.dreamsim:DreamSim",
        "face": "creval.metrics.face:FaceSimilarity",
        "grey": "creval.metrics.control_maps:GreyDistance",
        "hps": "creval.metrics.hps:HumanPreferenceScore",
        "image_reward": "creval.metrics.image_reward:ImageReward",
        "imaging": "creval.metrics.imaging:ImagingQuality",
        "l1_src": "creval.metrics.pixel_distance:SourceL1",
        "l2_src": "creval.metrics.pixel_distance:SourceL2",
        "lpips": "creval.metrics.lpips:Lpips",
        "ms_ssim": "creval.metrics.ssim:MsSsim",
        "outside": "creval.metrics.outside_boxes:OutsideBoxes",
        "outside_all": "creval.metrics.outside_boxes:OutsideAllBoxes",
        "pose": "creval.metrics.pose:PoseDistance",
        "psnr": "creval.metrics.psnr:Psnr",
        "ssim": "creval.metrics.ssim:Ssim",
        "style": "creval.metrics.style:StyleSimilarity",
        "subject": "creval.metrics.subject:SubjectSimilarity",
        "text": "creval.metrics.text:TextAccuracy",
    },
)
# Texts that are sent to models. A protocol can also have its own.
prompts: Registry[str] = Registry(
    "prompt", {path.stem: path for path in sorted((Path(__file__).parent / "prompts").glob("*.md"))}
)
REGISTRIES: tuple[Registry[Any], ...] = (benchmarks, protocols, judges, editors, metrics, scales, prompts)

register_benchmark = benchmarks.decorator
register_protocol = protocols.decorator
register_judge = judges.decorator
register_editor = editors.decorator
register_metric = metrics.decorator
