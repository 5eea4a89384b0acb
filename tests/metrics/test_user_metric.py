from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image

from creval.core.errors import CrevalError
from creval.core.images import ImageError
from creval.core.sample import Sample
from creval.metrics.base import image_metric_class, open_image_metrics
from creval.metrics.metric_inputs import ImageCache, MetricInputs, NotMeasurable
from creval.metrics.ssim import Ssim


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MetricInputs:
    for name, size in (("source", (8, 4)), ("edit", (4, 4))):
        Image.new("RGB", size).save(tmp_path / f"{name}.png")
    (tmp_path / "own_metrics.py").write_text(
        "from creval.metrics.ssim import Ssim\n"
        "class Other: pass\n"
        "def width(edit, source):\n"
        "    return edit.width / source.width\n"
        "def leave(edit):\n"
        "    import os\n"
        "    os._exit(0)\n"
        "def move(edit):\n"
        "    import os\n"
        "    print('0.9')\n"
        "    os.chdir('/')\n"
        "    return 0.5\n"
        "def everything(edit, source, mask, instruction):\n"
        "    return (mask is None) * len(instruction) / source.height / 8\n"
        "async def later(edit):\n"
        "    return 0.25\n"
        "def word(edit):\n"
        "    return 'much'\n"
    )
    (tmp_path / "share.py").write_text(
        "import sys\n"
        "edit, output = sys.argv[1:]\n"
        "open(output, 'w').write('0.25' if edit.endswith('edit.png') else '')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_metrics", raising=False)
    sample = Sample("s", "make it small", tmp_path / "source.png")
    return MetricInputs(sample, tmp_path / "edit.png", ImageCache(), {})


def test_a_function_measures(inputs: MetricInputs) -> None:
    (metric,) = open_image_metrics(["python:own_metrics:width"], {}).values()
    assert metric.name == "python:own_metrics:width"
    assert metric.measure(inputs, ()) == {"width": 0.5}
    found = open_image_metrics([metric, lambda edit: edit.height / 8, Ssim], {})
    assert [*found] == ["python:own_metrics:width", "<lambda>", "ssim"]
    assert found["<lambda>"].measure(inputs, ()) == {"<lambda>": 0.5}


def test_functions_cannot_affect_the_main_process(inputs: MetricInputs, capfd: pytest.CaptureFixture[str]) -> None:
    metrics = open_image_metrics(
        [f"python:own_metrics:{name}" for name in ("leave", "move", "everything", "later", "word")], {}
    )
    leave, move, everything, later, word = metrics.values()
    folder = Path.cwd()
    for _ in range(2):
        with pytest.raises(NotMeasurable, match=r"its process ended \(exit status 0\)"):
            leave.measure(inputs, ())
        assert move.measure(inputs, ()) == {"move": 0.5}
    assert Path.cwd() == folder
    assert capfd.readouterr().out == ""
    assert everything.measure(inputs, ()) == {"everything": len("make it small") / 4 / 8}
    assert later.measure(inputs, ()) == {"later": 0.25}
    with pytest.raises(NotMeasurable, match="ValueError: could not convert string to float"):
        word.measure(inputs, ())
    Path("edit.png").write_bytes(b"no image")
    damaged = MetricInputs(inputs.sample, Path("edit.png"), ImageCache(), {})
    with pytest.raises(ImageError, match=r"edit\.png is not a supported image"):
        move.measure(damaged, ())


def test_a_program_measures(inputs: MetricInputs) -> None:
    (metric,) = open_image_metrics([f"command:{sys.executable} share.py {{edit}} {{output}}"], {}).values()
    assert metric.measure(inputs, ()) == {"share": 0.25}
    (metric,) = open_image_metrics([f"command:{sys.executable} share.py {{source}} {{output}}"], {}).values()
    with pytest.raises(NotMeasurable, match="wrote no number"):
        metric.measure(inputs, ())
    (metric,) = open_image_metrics([f"command:{sys.executable} missing.py {{edit}} {{output}}"], {}).values()
    with pytest.raises(NotMeasurable, match="the program failed"):
        metric.measure(inputs, ())


@pytest.mark.usefixtures("inputs")
def test_a_class_is_a_metric_or_refused() -> None:
    assert image_metric_class("python:own_metrics:Ssim") is Ssim
    with pytest.raises(CrevalError, match="not a subclass of ImageMetric"):
        image_metric_class("python:own_metrics:Other")
