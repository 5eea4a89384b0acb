"""Edit runs: checks of the settings, estimates and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from creval.benchmarks import open_benchmark
from creval.cli.edit import _edit_output
from creval.core.edit_record import EditStatus
from creval.core.errors import CrevalError
from creval.editing.edit_run import EditRun, EditRunResult, StrategyOptions
from creval.editing.session import EditSettings
from creval.editors.base import EditorOptions
from creval.judging.judge_run import JudgeRun
from creval.judging.plan import select_samples
from creval.providers.pricing import Price
from creval.store import RunWriter, open_run
from creval.store.edit_folders import PLANS_FOLDER, find_edits
from creval.store.provenance import read_call_costs
from creval.testing.fake_chat_server import FakeServer
from creval.touchstone.builder import build_touchstone
from tests.serving import serving


def shrink(source: Image.Image, instruction: str, seed: int = 0) -> Image.Image:
    """An editor for tests."""
    if "refuse" in instruction:
        raise ValueError("cannot")
    return source.resize((source.width // 2, source.height - seed))


broken: set[str] = set()
_seen: list[bytes] = []


def moody(source: Image.Image, instruction: str) -> Image.Image:
    """An editor for tests that fails on the first image that it saw, while `broken` is not empty."""
    del instruction
    content = source.tobytes()
    _seen.append(content)
    if broken and content == _seen[0]:
        raise ValueError("not now")
    return source.rotate(90)


def blacken(source: Image.Image, instruction: str) -> Image.Image:
    del instruction
    return Image.new("RGB", source.size)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edit")
    build_touchstone(folder / "bench", 9, 3)
    return folder / "bench"


@pytest.fixture(scope="module")
def fake() -> Iterator[str]:
    with serving(FakeServer(seed=1).app()) as url:
        yield f"openai:fake@{url}/v1"


def run_of(
    bench: Path,
    out: Path,
    editor: str | Callable[..., Any] = "touchstone:faithful",
    *,
    limit: int | None = None,
    options: EditorOptions | None = None,
    settings: EditSettings | None = None,
    **use: Any,
) -> EditRun:
    benchmark = open_benchmark(bench)
    samples = select_samples(benchmark, limit=limit)
    return EditRun(
        benchmark, samples, editor, out, StrategyOptions(**use), options or EditorOptions(), settings or EditSettings()
    )


def test_a_folder_of_edits(bench: Path, tmp_path: Path) -> None:
    edited = run_of(bench, tmp_path / "M", limit=4).run()
    assert edited.statuses == {"done": 4}
    assert edited.share_missing == 0
    more = run_of(bench, tmp_path / "M").run()
    assert (more.statuses["done"], more.progress.requests_sent, more.progress.cached) == (9, 5, 4)
    assert not more.anomalies
    found = find_edits([tmp_path / "M"], open_benchmark(bench).dataset.samples)
    assert found.models == ("M",)
    assert all(edit.status is EditStatus.DONE for edit in found.edits)


def test_a_folder_can_be_renamed(bench: Path, tmp_path: Path) -> None:
    run_of(bench, tmp_path / "M", limit=2).run()
    (tmp_path / "M").rename(tmp_path / "other")
    again = run_of(bench, tmp_path / "other", limit=2).run()
    assert again.progress.requests_sent == 0, "no image is bought again"


def test_a_folder_grows_by_any_strategy(bench: Path, tmp_path: Path) -> None:
    """With more samples later, no image is bought twice and existing images do not change."""
    for strategy, judge in (("best-of:2", "truth"), ("sequential", ""), ("sequential+best-of:2", "truth")):
        out = tmp_path / strategy
        use: dict[str, Any] = {"strategy": strategy, "judge": judge}
        editor = "touchstone:forgetful"
        first = run_of(bench, out, editor, limit=2, **use).run()
        before = {path.name: path.read_bytes() for path in out.glob("*.png")}
        assert len(before) == 2
        more = run_of(bench, out, editor, limit=4, **use)
        (expected, *_) = more.estimate()
        assert expected.cached == first.progress.requests_sent
        second = more.run()
        assert second.statuses == {"done": 4}
        assert second.progress.requests_sent == expected.calls
        assert before.items() <= {p.name: p.read_bytes() for p in out.glob("*.png")}.items()


def test_chains_are_called_the_same_whatever_is_chosen(bench: Path, tmp_path: Path) -> None:
    """C1 to C4 of one source, selected one after another, are one chain of four images."""
    benchmark = open_benchmark(bench)
    (whole, *_) = [s for s in benchmark.dataset.samples if len(s.steps) >= 4]
    chain = [replace(whole, id=f"C{n}", steps=whole.steps[:n]) for n in (1, 2, 3, 4)]
    benchmark = replace(benchmark, dataset=replace(benchmark.dataset, samples=tuple(chain)))
    made = 0
    for chosen_now in (chain[2:3], chain[:2], chain):
        edited = EditRun(
            benchmark,
            chosen_now,
            shrink,
            tmp_path / "M",
            StrategyOptions("sequential"),
            EditorOptions(),
            EditSettings(),
        ).run()
        made += edited.progress.requests_sent
        assert edited.statuses == {"done": len(chosen_now)}
    assert made == 4


def test_another_choice_is_estimated_for_itself(bench: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(bench)
    samples = benchmark.dataset.samples

    def run(chosen_now: Any) -> EditRun:
        return EditRun(
            benchmark, chosen_now, "touchstone:lazy", tmp_path / "M", StrategyOptions(), EditorOptions(), EditSettings()
        )

    run(samples[:3]).run()
    (expected,) = run(samples[3:6]).estimate()
    assert (expected.calls, expected.cached) == (3, 0)
    with pytest.raises(CrevalError, match="was created with the editor touchstone:lazy"):
        run_of(bench, tmp_path / "M", "touchstone:clumsy").estimate()


def test_a_failed_candidate_can_succeed_later_and_be_picked(bench: Path, tmp_path: Path) -> None:
    use: dict[str, Any] = {"strategy": "best-of:2", "judge": "truth"}
    broken.add("yes")
    editor, settings = moody, EditSettings(attempts=1)
    first = run_of(bench, tmp_path / "M", editor, limit=3, settings=settings, **use).run()
    assert first.statuses == {"done": 2, "failed": 1}
    broken.clear()
    second = run_of(bench, tmp_path / "M", editor, limit=3, settings=settings, **use).run()
    assert second.statuses == {"done": 3}


def test_a_kept_image_that_was_damaged_is_made_again(bench: Path, tmp_path: Path) -> None:
    out = tmp_path / "M"
    run_of(bench, out, limit=2).run()
    first, second = sorted(out.glob("*.png"))
    whole = first.read_bytes()
    first.unlink()
    first.write_bytes(b"another file in its place")
    again = run_of(bench, out, limit=2).run()
    assert (again.progress.requests_sent, first.read_bytes()) == (0, whole), "the stored image is intact"
    first.write_bytes(b"scribbled over")
    again = run_of(bench, out, limit=2).run()
    assert (again.progress.requests_sent, first.read_bytes()) == (1, whole), "the stored image was the same file"
    for path in (out / ".made").iterdir():
        if path.read_bytes() == second.read_bytes():
            path.write_bytes(b"")
    assert run_of(bench, out, limit=2).run().progress.requests_sent == 1
    assert not list(out.glob(".*.new"))


def test_black_images_are_asked_for_once_more(bench: Path, tmp_path: Path) -> None:
    for made in (2, 2):
        edited = run_of(bench, tmp_path / "M", blacken, limit=2).run()
        assert edited.statuses == {"refused": 2}
        assert edited.progress.requests_sent == made


def test_an_image_that_the_benchmark_lacks_is_not_the_editors_failing(bench: Path, tmp_path: Path, fake: str) -> None:
    benchmark = open_benchmark(bench)
    whole = benchmark.dataset.samples[0].source
    assert whole is not None
    for name, size in (("empty", 0), ("begun", 20), ("half", whole.stat().st_size // 2)):
        (tmp_path / f"{name}.png").write_bytes(whole.read_bytes()[:size])
    names = ("none", "empty", "begun", "half")
    lost = [
        replace(sample, source=tmp_path / f"{name}.png")
        for name, sample in zip(names, benchmark.dataset.samples, strict=False)
    ]
    lost.append(replace(benchmark.dataset.samples[4], mask=tmp_path / "none.png"))
    lost.append(replace(benchmark.dataset.samples[5], references=(tmp_path / "a\0.png",)))
    for use in (
        StrategyOptions(),
        StrategyOptions("reasoned", reasoner=fake),
        StrategyOptions("sequential"),
        StrategyOptions("best-of:2", judge="truth"),
    ):
        out = tmp_path / use.strategy
        edited = EditRun(benchmark, lost, "touchstone:lazy", out, use, EditorOptions(), EditSettings()).run()
        assert edited.statuses == {"impossible": 6}
        assert all("in the benchmark, " in reason for reason, _ in edited.reasons)
        assert edited.progress.requests_sent == 0, "no call is made"
        assert read_call_costs(out / PLANS_FOLDER).calls == 0
        assert "Repeating" not in " ".join(_edit_output(edited).notes)
        found = find_edits([out], lost)
        assert {edit.status for edit in found.edits} == {EditStatus.IMPOSSIBLE}


def test_a_folder_is_not_used_for_something_else(bench: Path, tmp_path: Path) -> None:
    run_of(bench, tmp_path / "M", limit=1).run()
    for words, other in (
        ("editor touchstone:faithful", {"editor": "touchstone:lazy"}),
        ("strategy direct", {"strategy": "sequential"}),
        ("seed 0", {"settings": EditSettings(seed=1)}),
    ):
        with pytest.raises(CrevalError, match=f"was created with the {words}.*another `out`"):
            run_of(bench, tmp_path / "M", **other).run()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.png").write_bytes(b"x")
    with pytest.raises(CrevalError, match=r"did not create, such as a\.png"):
        run_of(bench, tmp_path / "mine")
    with pytest.raises(CrevalError, match="is the benchmark itself"):
        run_of(bench, bench)
    with pytest.raises(CrevalError, match="is a file"):
        run_of(bench, tmp_path / "mine" / "a.png")
    with RunWriter(tmp_path / "run") as store, store.transaction():
        store.put_manifest({"protocol": "creval"})
    with pytest.raises(CrevalError, match="is a run of a judge"):
        run_of(bench, tmp_path / "run").run()


def test_options_without_effect_are_refused(bench: Path, tmp_path: Path) -> None:
    for name in ("judge", "reasoner"):
        with pytest.raises(CrevalError, match=f"`{name}` has no effect with `strategy` direct"):
            run_of(bench, tmp_path / "M", **{name: "truth"})  # type: ignore[arg-type]
    with pytest.raises(CrevalError, match="`settings` x: touchstone's editor takes no settings"):
        run_of(bench, tmp_path / "M", options=EditorOptions({"x": 1}))


def test_a_budget_needs_prices(bench: Path, tmp_path: Path, fake: str) -> None:
    settings = EditSettings(budget=1.0)
    with pytest.raises(CrevalError, match="Add `price` in US dollars per image"):
        run_of(bench, tmp_path / "M", shrink, settings=settings)
    with pytest.raises(CrevalError, match="Add `token_price`"):
        run_of(bench, tmp_path / "M", settings=settings, strategy="reasoned", reasoner=fake)


def test_all_that_is_spent_counts(bench: Path, tmp_path: Path, fake: str) -> None:
    """Plans, images and judging share one budget."""
    options, price = EditorOptions(price=0.01), Price(100.0, 100.0)
    use: dict[str, Any] = {"strategy": "reasoned+best-of:2", "judge": fake, "reasoner": fake, "price": price}
    editor = shrink
    whole = run_of(bench, tmp_path / "whole", editor, limit=2, options=options, **use).run()
    spent = 4 * 0.01
    for folder in (tmp_path / "whole" / PLANS_FOLDER, *(tmp_path / "whole").glob(".judged/*/run")):
        with RunWriter(folder) as store:
            assert store.total_cost > 0
            spent += store.total_cost
    assert whole.cost == pytest.approx(spent)
    tight = EditSettings(budget=0.6 * spent, concurrency=1)
    part = run_of(bench, tmp_path / "part", editor, limit=2, options=options, settings=tight, **use).run()
    assert part.stopped == "budget"
    assert (part.cost or 1) <= 0.6 * spent
    more = replace(tight, budget=2 * spent)
    rest = run_of(bench, tmp_path / "part", editor, limit=2, options=options, settings=more, **use).run()
    assert rest.statuses == {"done": 2}
    assert rest.cost == pytest.approx(spent)


def test_costs_of_helpers_reduce_the_budget_for_images(bench: Path, tmp_path: Path, fake: str) -> None:
    """Plans are written before the images of their round, and candidates are judged before the next round."""
    options, price = EditorOptions(price=1.0), Price(100.0, 100.0)
    for strategy in ("reasoned", "sequential+best-of:2"):
        use: dict[str, Any] = {"strategy": strategy, "price": price}
        use["reasoner" if strategy == "reasoned" else "judge"] = fake
        folder, editor = tmp_path / strategy, shrink
        settings = EditSettings(concurrency=1)
        whole = run_of(bench, folder / "whole", editor, limit=2, options=options, settings=settings, **use).run()
        images = whole.progress.requests_sent * 1.0
        assert whole.cost is not None
        assert whole.cost > images
        tight = replace(settings, budget=images)
        part = run_of(bench, folder / "part", editor, limit=2, options=options, settings=tight, **use).run()
        assert part.stopped == "budget"
        assert part.cost is not None
        assert part.cost <= images


def test_the_estimate(bench: Path, tmp_path: Path, fake: str) -> None:
    use: dict[str, Any] = {"strategy": "sequential+reasoned+best-of:2", "judge": "truth", "reasoner": fake}
    run = run_of(bench, tmp_path / "M", limit=3, **use)
    steps = sum(len(sample.steps) for sample in run.samples)
    editor, planner, judge = run.estimate()
    assert (editor.calls, editor.cost, editor.cached) == (2 * steps, 0.0, 0)
    assert planner.calls == steps
    assert judge.calls == 2 * steps * 3, "a call for each metric of each candidate"
    assert not (tmp_path / "M").exists(), "no folder was created"
    run_of(bench, tmp_path / "D", limit=2).run()
    (editor,) = run_of(bench, tmp_path / "D", limit=3).estimate()
    assert (editor.calls, editor.cached) == (1, 2)


def test_results_are_checked_for_anomalies(bench: Path, tmp_path: Path) -> None:
    edited = run_of(bench, tmp_path / "M", shrink, limit=3).run()
    assert edited.anomalies == {"another_size": 3, "another_shape": 3}
    lazy = run_of(bench, tmp_path / "L", "touchstone:lazy", limit=3).run()
    assert lazy.anomalies == {"same_as_source": 3}


def test_plans_are_stored_with_their_edits(bench: Path, tmp_path: Path, fake: str) -> None:
    use: dict[str, Any] = {"strategy": "reasoned", "reasoner": fake}
    edited = run_of(bench, tmp_path / "M", shrink, limit=2, **use).run()
    assert len(edited.strategy_result.edits) == 2
    for edit in edited.strategy_result.edits.values():
        assert "The finished picture shows" in edit.metadata["plan"]
        assert "<think>" not in edit.metadata["plan"]


def test_failures_are_reported_and_tried_again(bench: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(bench)
    first, second, *_ = benchmark.dataset.samples
    samples = [replace(first, instruction="refuse"), second]
    settings = EditSettings(attempts=1)

    def again() -> EditRunResult:
        return EditRun(benchmark, samples, shrink, tmp_path / "M", StrategyOptions(), EditorOptions(), settings).run()

    edited = again()
    assert edited.statuses == {"done": 1, "failed": 1}
    assert edited.share_missing == 0.5
    assert edited.reasons == [("the function failed: ValueError: cannot", 1)]
    assert again().progress.requests_sent == 1, "failed requests are sent again"
    found = {e.key.sample: e for e in find_edits([tmp_path / "M"], samples).edits}
    assert found[first.id].status is EditStatus.FAILED


@pytest.mark.parametrize(("message", "calls"), [("the same", 2), ("number {calls}", 5)])
def test_an_exception_that_repeats_is_not_tried_five_times(
    bench: Path, tmp_path: Path, message: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("creval.calls.retry.backoff", lambda *_: 0.0)
    seen = []

    def fails(source: Image.Image, instruction: str) -> Image.Image:  # noqa: ARG001
        seen.append(instruction)
        raise ValueError(message.format(calls=len(seen)))

    benchmark = open_benchmark(bench)
    samples, options = benchmark.dataset.samples[:1], (StrategyOptions(), EditorOptions(), EditSettings(attempts=5))
    assert EditRun(benchmark, samples, fails, tmp_path / "M", *options).run().statuses == {"failed": 1}
    assert len(seen) == calls


def test_a_transparent_source(tmp_path: Path, bench: Path) -> None:
    benchmark = open_benchmark(bench)
    sample = benchmark.dataset.samples[0]
    Image.new("RGBA", (64, 48), (255, 0, 0, 100)).save(tmp_path / "s.png")
    samples = [replace(sample, source=tmp_path / "s.png")]
    opaque = {"another_size": 1, "another_shape": 1, "no_longer_transparent": 1}
    for copied, odd in (("{source}", {"same_as_source": 1}), (str(sample.source), opaque)):
        out = tmp_path / str(len(odd))
        edited = EditRun(
            benchmark,
            samples,
            f"command:cp {copied} {{output}}",
            out,
            StrategyOptions(),
            EditorOptions(),
            EditSettings(),
        ).run()
        assert edited.anomalies == odd
        assert edited.statuses == {"done": 1}


def turned(source: Image.Image, instruction: str, mask: Image.Image | None = None) -> Image.Image:
    """An editor for tests that uses a mask."""
    del instruction
    assert mask is not None
    return Image.composite(Image.new("RGB", source.size, "blue"), source, mask.convert("L"))


def test_rotation_shape_and_mask_of_a_source_are_kept(tmp_path: Path, bench: Path) -> None:
    """A rotation in EXIF, a shape that is not square, and a mask."""
    benchmark = open_benchmark(bench)
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.new("RGB", (65, 33), "red")
    image.paste("green", (0, 0, 30, 33))
    image.save(tmp_path / "s.jpg", exif=exif)
    mask = Image.new("L", (33, 65), 0)
    mask.paste(255, (0, 0, 33, 10))
    mask.save(tmp_path / "m.png")
    (sample,) = [replace(s, source=tmp_path / "s.jpg", mask=tmp_path / "m.png") for s in benchmark.dataset.samples[:1]]
    for editor in (turned, "command:cp {source} {output}"):
        out = tmp_path / str(callable(editor))
        edited = EditRun(benchmark, [sample], editor, out, StrategyOptions(), EditorOptions(), EditSettings()).run()
        (edit,) = edited.strategy_result.edits.values()
        assert edit.metadata["size"] == [33, 65]
        with Image.open(edit.image or "") as made:
            assert made.size == (33, 65), "upright without EXIF"
            top, bottom = made.getpixel((16, 2)), made.getpixel((16, 62))
        assert isinstance(top, tuple)
        assert isinstance(bottom, tuple)
        assert bottom[0] > 200
        if callable(editor):
            assert top == (0, 0, 255)
            assert not edited.anomalies
            assert not edited.notes
        else:
            assert edited.anomalies == {"same_as_source": 1}
            assert any("takes no mask" in note for note in edited.notes)


def test_best_of_is_open_to_be_looked_at(bench: Path, tmp_path: Path) -> None:
    use: dict[str, Any] = {"strategy": "best-of:3", "judge": "truth"}
    edited = run_of(bench, tmp_path / "M", "touchstone:forgetful", limit=2, **use).run()
    assert len(edited.strategy_result.edits) == 2
    for key, edit in edited.strategy_result.edits.items():
        assert [parent.draw for parent in edit.parents] == [1, 2, 3]
        assert edit.metadata["picked_from"] == 3
        scores = edit.metadata["scores"]
        candidates = {k.draw: e for k, e in edited.strategy_result.intermediate.items() if k.sample == key.sample}
        best = max(scores, key=lambda draw: (scores[draw], -draw))
        assert candidates[best].image == edit.image
    for judge, warned in (("truth", True), ("pixel", False)):
        judging = JudgeRun(open_benchmark(bench), [tmp_path / "M"], judge, tmp_path / judge)
        assert any("picked M's edits" in note for note in judging.warnings()) == warned
    (run,) = (tmp_path / "M").glob(".judged/*/run")
    with open_run(run) as opened:
        assert opened.manifest["judge"] == "truth"


def test_candidates_do_not_collide_with_sample_names(bench: Path, tmp_path: Path, fake: str) -> None:
    """The draw of one sample may have the same name as another sample."""
    benchmark = open_benchmark(bench)
    two = zip(("s", "s--1"), benchmark.dataset.samples, strict=False)
    samples = tuple(replace(sample, id=name) for name, sample in two)
    benchmark = replace(benchmark, dataset=replace(benchmark.dataset, samples=samples))
    use = StrategyOptions("best-of:2", judge=fake)
    edited = EditRun(benchmark, samples, shrink, tmp_path / "M", use, EditorOptions(), EditSettings()).run()
    assert len(edited.strategy_result.edits) == 2
    for edit in edited.strategy_result.edits.values():
        assert all(edit.metadata["scores"][draw] is not None for draw in (1, 2))
    assert {path.stem for path in (tmp_path / "M").glob("*.png")} == {"s", "s--1"}
