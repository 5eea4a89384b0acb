"""Captions of sources and ideal edits: what is asked, kept, repeated, and read by the metric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.building.captions.builder import CaptionBuilder
from creval.calls.settings import Settings
from creval.core.errors import CrevalError
from creval.judging.judge_run import judge
from creval.store import open_run
from tests.benchmarks.complex_edit.release_files import row, write_parquet
from tests.metrics.images import noise
from tests.metrics.tiny import write_clip
from tests.serving import serving

SOURCE = "A grey cat sits on a wooden chair beside a window, a photograph."


class Captioner:
    """A server whose model describes every source alike, and every edit by its instruction."""

    def __init__(self, *first: str) -> None:
        self.asked: list[str] = []
        self._first = list(first)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self.answer)
        return app

    async def answer(self, request: web.Request) -> web.Response:
        text = (await request.json())["messages"][-1]["content"][-1]["text"]
        self.asked.append(text)
        instruction = text.partition("The instruction: ")[2].partition("\n")[0]
        said = f"A cat sits on a chair after {instruction.rstrip('.')}." if instruction else SOURCE
        said = self._first.pop(0) if self._first else said
        choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps({"caption": said})}}
        return web.json_response({"choices": [{**choice, "finish_reason": "stop"}]})


def release(folder: Path, rows: int = 2) -> Path:
    return write_parquet(folder, test_real=[row(number, 3) for number in range(rows)])


def builder(bench: Path, url: str, **settings: Any) -> CaptionBuilder:
    return CaptionBuilder(bench, f"openai:m@{url}/v1", Settings(**settings))


def test_a_source_is_described_once_and_each_instruction_once(tmp_path: Path) -> None:
    bench, model = release(tmp_path / "bench"), Captioner()
    assert not any(sample.captions for sample in open_benchmark(bench).dataset.samples)
    with serving(model.app()) as url:
        work = builder(bench, url)
        assert [one.calls for one in work.estimate()] == [8], "two sources and six instructions"
        assert len(work.run().results) == 6
        assert len(model.asked) == 8
        assert builder(bench, url).run().progress.requests_sent == 0
    samples = {sample.id: sample for sample in open_benchmark(bench).dataset.samples}
    assert samples["test_real/C2/0001"].captions == {
        "source": SOURCE,
        "target": "A cat sits on a chair after Do 2 things to 1.",
    }
    asked = next(text for text in model.asked if "Do 2 things to 1." in text)
    assert SOURCE in asked


def test_a_changed_instruction_is_captioned_again_and_peoples_words_stay(tmp_path: Path) -> None:
    bench, model = tmp_path / "bench", Captioner()
    (bench / "built").mkdir(parents=True)
    Image.new("RGB", (32, 24), "teal").save(bench / "built" / "0000.png")
    content = {"image": "0000.png", "edit": row(0, 2)["edit"]}
    path = bench / "built" / "0000.json"
    path.write_text(json.dumps(content))
    with serving(model.app()) as url:
        builder(bench, url).run()
        file = bench / "captions" / "captions.jsonl"
        file.write_text(file.read_text().replace("Do 1 things to 0", "people said so"))
        content["edit"]["compound"][1]["compound_instruction"] = "Do something else."
        path.write_text(json.dumps(content))
        dataset = open_benchmark(bench).dataset
        assert [(one.rule, one.location) for one in dataset.issues] == [("outdated captions", "built/C2/0000")]
        assert [sample.has_captions for sample in dataset.samples] == [True, False]
        before = len(model.asked)
        builder(bench, url).run()
        assert len(model.asked) == before + 1, "the source's caption is kept"
    one, two = open_benchmark(bench).dataset.samples
    assert "people said so" in one.captions["target"]
    assert "Do something else" in two.captions["target"]


def test_unusable_captions_are_asked_for_again(tmp_path: Path) -> None:
    bench = release(tmp_path / "bench", 1)
    model = Captioner("A cat.", SOURCE, SOURCE, "The cat of the original picture, now blue and much larger.")
    with serving(model.app()) as url:
        result = builder(bench, url, limit=1).run()
    assert len(result.results) == 1
    reasons = [text.partition("for this reason: ")[2].partition(" Write another")[0] for text in model.asked]
    assert "words" in reasons[1]
    assert "before the edit" in reasons[3]
    assert "“original picture”" in reasons[4]


def test_nothing_to_caption_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    Image.new("RGB", (9, 9)).save(folder / "a.png")
    (folder / "samples.csv").write_text(
        "source,instruction,source_caption,target_caption\na.png,Make it red,A black square on black.,A red square.\n"
    )
    with pytest.raises(CrevalError, match="needs no captions: all samples have captions of their own"):
        builder(folder, "http://127.0.0.1:9")


def test_broken_captions_do_not_stop_a_benchmark(tmp_path: Path) -> None:
    bench = release(tmp_path / "bench", 1)
    (bench / "captions").mkdir()
    (bench / "captions" / "captions.jsonl").write_text("no JSON\n")
    dataset = open_benchmark(bench).dataset
    assert len(dataset.samples) == 3
    assert "The stored captions are not used." in dataset.issues[-1].note


def test_the_metric_reads_them(tmp_path: Path) -> None:
    """The directional score is the cosine of two differences of CLIP's vectors, computed here by transformers."""
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    bench, edits = release(tmp_path / "bench", 1), tmp_path / "edits" / "m"
    with serving(Captioner().app()) as url:
        builder(bench, url).run()
    edits.mkdir(parents=True)
    noise(5, (32, 24)).save(edits / "0000.png")
    sample = next(one for one in open_benchmark(bench).dataset.samples if one.tags["complexity"] == "C1")
    (edits / "C1").mkdir()
    (edits / "0000.png").rename(edits / "C1" / "0000.png")
    clip = write_clip(tmp_path / "clip")
    settings = Settings(metric_models={"clip": str(clip)}, metrics=("CLIP_dir",))
    judge(open_benchmark(bench, "clip"), [edits], "", tmp_path / "run", settings)
    with open_run(tmp_path / "run") as run:
        values = [answer.value for answer in run.answers() if answer.value is not None]
    model, processor = (getattr(transformers, name).from_pretrained(clip) for name in ("AutoModel", "AutoProcessor"))
    assert sample.source is not None
    shown = [Image.open(path).convert("RGB") for path in (sample.source, edits / "C1" / "0000.png")]
    texts = [sample.captions["source"], sample.captions["target"]]
    with torch.no_grad():
        given = processor(text=texts, images=shown, return_tensors="pt", padding="max_length", truncation=True)
        found = model.eval()(**given)
    images, words = (np.asarray(one, dtype=float) for one in (found.image_embeds, found.text_embeds))
    images, words = images[1] - images[0], words[1] - words[0]
    expected = images @ words / np.linalg.norm(images) / np.linalg.norm(words)
    assert values == [pytest.approx(expected, abs=1e-3)]
