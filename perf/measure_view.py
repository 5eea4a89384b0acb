"""Response times of all kinds of pages of `creval view`, on a run of 8 models x 904 samples x 17 questions.

Each page is requested several times over a real connection, with different parameters. The result is the median; the
slowest time is printed, too. The time to read and score the run at the start is printed first; no page waits for it.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from PIL import Image

from creval.benchmarks.creval.release import CATEGORY_BY_DIMENSION, CLASS_DIMENSIONS, LEVELS
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey
from creval.core.probe import Question
from creval.core.sample import Sample
from creval.core.verdict import Verdict, VerdictStatus
from creval.store import RunWriter
from creval.store.manifest import level_entry
from creval.web.common.server import open_socket, run_server, server_url
from creval.web.viewer.app import Viewer
from creval.web.viewer.live_snapshot import LiveSnapshot

MODELS, SAMPLES, ROUNDS = 8, 904, 5
MOST = 150  # milliseconds
PAGES = {
    "start": ["/", "/?column=IF"],
    "model": ["/model?name=model-0", "/model?name=model-7"],
    "samples": ["/samples", "/samples?page=30", "/samples?group=dimension:Surreal+Fantasy"],
    "samples, filtered": [
        "/samples?model=model-3&metric=VC&outcome=wrong&weight=3&order=worst",
        "/samples?split=yes&order=apart",
    ],
    "questions": ["/questions", "/questions?page=400"],
    "questions, filtered": [
        "/questions?split=yes&page=300",
        "/questions?model=model-2&outcome=unanswered",
        "/questions?outcome=wrong&weight=3&group=category:Stylization",
    ],
    "sample": ["/sample?id=made_0001", "/sample?id=made_0500&model=model-4&outcome=wrong"],
    "question": ["/question?sample=made_0100&id=VC/3"],
    "reply": ["/reply?id=9000"],
    "search": ["/search?q=finger", "/search?q=golden+threads&page=9", "/search?q=nowhere"],
    "image": ["/image?sample=made_0001&name=source"],
    "thumbnail": ["/image?sample=made_0001&name=0:model-1&size=medium"],
}
ASKED = {"IF": 6, "VC": 6, "VQ": 5}
_TEXT = (
    "the robe keeps its colour while the background becomes a woven pattern of golden threads and "
    "the figure stands where it stood before although its left hand has lost a finger and light "
    "falls from the other side which no instruction asked for so that shadows lie wrongly on snow"
)
_WORDS = _TEXT.split()


def write_run(folder: Path, models: int = MODELS, samples: int = SAMPLES) -> Path:
    """Write a generated run of that size, with a few images that all edits share."""
    chance = np.random.default_rng(0)
    images = []
    for number in range(6):
        pixels = chance.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        path = folder / f"{number}.png"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).resize((1024, 1024), Image.Resampling.BICUBIC).save(path)
        images.append(path)
    # Samples of one image would be one cluster.
    sources = [folder / "sources" / f"{number}.png" for number in range(samples)]
    sources[0].parent.mkdir()
    for source in sources:
        source.hardlink_to(images[0])
    asked = [_sample(number, source, chance) for number, source in enumerate(sources)]
    names = [f"model-{number}" for number in range(models)]
    keys = [EditKey(name, sample.id) for sample, _ in asked for name in names]
    run = folder / "run"
    with RunWriter(run) as store, store.bulk():
        store.put_manifest(
            {"benchmark": "creval", "protocol": "creval", "judge": "made", "levels": list(map(level_entry, LEVELS))}
        )
        store.put_samples(asked, {})
        store.put_edits(Edit(key, image=images[1 + at % 5]) for at, key in enumerate(keys))
        store.put_replies(_replies(names, asked, chance))
    return run


def _sample(number: int, image: Path, chance: np.random.Generator) -> tuple[Sample, list[Question]]:
    dimension = CLASS_DIMENSIONS[number % len(CLASS_DIMENSIONS)]
    questions = [
        Question(
            f"{metric}/{at}",
            metric,
            _sentence(chance, 14).capitalize() + "?",
            "yes/no",
            "Yes",
            "Yes",
            float(chance.integers(1, 4)) if metric == "VC" else 1.0,
            f"Q{at}",
        )
        for metric, count in ASKED.items()
        for at in range(1, count + 1)
    ]
    tags = {"category": CATEGORY_BY_DIMENSION[dimension], "dimension": dimension}
    return Sample(f"made_{number:04d}", _sentence(chance, 40), image, tags), questions


def _replies(
    names: list[str], asked: list[tuple[Sample, list[Question]]], chance: np.random.Generator
) -> Iterator[tuple[CallKey, Reply, list[Verdict]]]:
    for sample, questions in asked:
        for at, name in enumerate(names):
            for metric in ASKED:
                mine = [question for question in questions if question.metric == metric]
                key = EditKey(name, sample.id)
                ask = CallKey("made", key, tuple(question.id for question in mine))
                right = chance.random(len(mine)) < 0.5 + at / 20
                verdicts = [
                    Verdict(
                        question.id, VerdictStatus.ANSWERED, float(good), "Yes" if good else "No", _sentence(chance, 50)
                    )
                    for question, good in zip(mine, right.tolist(), strict=True)
                ]
                if chance.random() < 0.01:
                    verdicts[0] = Verdict(mine[0].id, VerdictStatus.MISSING)
                yield ask, Reply(VerdictStatus.ANSWERED, "{...}", "made"), verdicts


def _sentence(chance: np.random.Generator, words: int) -> str:
    start = int(chance.integers(len(_WORDS)))
    return " ".join(_WORDS[(start + 7 * at) % len(_WORDS)] for at in range(words))


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        run = write_run(Path(scratch))
        began = time.perf_counter()
        current = LiveSnapshot(run)
        took = time.perf_counter() - began
        print(f"{MODELS} models x {SAMPLES} samples x 17 questions: read, indexed and scored in ", end="")
        print(f"{took:.1f} s, before the first page")
        listening = open_socket("127.0.0.1", 0)
        ready = threading.Event()
        app = Viewer(current).app()
        threading.Thread(target=run_server, args=(app, listening, ready.set), daemon=True).start()
        ready.wait()
        for name, paths in PAGES.items():
            times = sorted(timed(server_url(listening), path) for path in paths * ROUNDS)
            median = 1000 * statistics.median(times)
            print(f"  {name}: {median:.0f} ms (slowest {1000 * times[-1]:.0f}; {MOST} wanted)")
        current.close()


def timed(server: str, path: str) -> float:
    began = time.perf_counter()
    with urlopen(f"{server.rstrip('/')}{path}") as answer:
        answer.read()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
