"""The pages of a run, for every benchmark."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import creval as library
from creval.benchmarks import open_benchmark
from creval.core.call import CallKey, Reply
from creval.core.edit_record import Edit, EditKey, EditStatus
from creval.core.sample import Sample
from creval.core.verdict import Verdict, VerdictStatus
from creval.judging.judge_run import judge
from creval.store import RunWriter
from creval.touchstone.builder import build_touchstone
from tests.benchmarks.complex_edit.release_files import row, write_parquet
from tests.benchmarks.complexbench_edit.release_files import write_release
from tests.editing.made import Choosy, edited
from tests.stats import written
from tests.web.made import QUESTIONS, image, looking_at, say, write_answers, write_run


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with looking_at(write_run(tmp_path_factory.mktemp("run"))) as client:
        yield client


def words(page: str) -> str:
    """Return the text of a page on one line."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def links(page: str) -> list[str]:
    return [unescape(href) for href in re.findall(r'href="([^"]*)"', page)]


def test_the_start_page(client: TestClient) -> None:
    page = client.get("/").text
    said = words(page)
    assert "1 pair of models differs" in said
    assert "Questions on which models disagree 2" in said
    assert "Questions of weight 3 that some model gets wrong 1" in said
    assert "Questions without an answer 1" in said
    # alpha's S: IF 100, VC (100 + 25 + 0) / 3, VQ 100.
    assert f"{0.4 * 100 + 0.4 * 125 / 3 + 20:.2f} (best)" in said
    assert "/model?name=alpha" in links(page)


def test_from_the_table_to_a_question(client: TestClient) -> None:
    start = links(client.get("/").text)
    model = client.get(next(href for href in start if href.startswith("/model?name=beta"))).text
    fantasy = next(href for href in links(model) if "Surreal" in href and "metric" not in href)
    samples = client.get(fantasy).text
    assert "s1" in words(samples)
    assert "s3" not in words(samples)
    sample = client.get(next(href for href in links(samples) if "/sample?id=s1" in href)).text
    question = next(href for href in links(sample) if href.startswith("/question?"))
    answers = client.get(question).text
    assert "The fur of beta looks ragged." in words(answers)
    reply = next(href for href in links(answers) if href.startswith("/reply?"))
    assert "All about s1\nby" in client.get(reply).text


def test_a_sample(client: TestClient) -> None:
    page = client.get("/sample?id=s2&model=beta").text
    said = words(page)
    assert "Put a red hat on the cat of s2." in said
    assert "VC/1 · weight 3 · expected answer Yes (released as “** Yes”)" in said
    assert "2 of 3" in said
    assert re.search(r'id="q2"[^>]*data-failed', page)
    assert not re.search(r'id="q1"[^>]*data-failed', page)
    assert "/image?sample=s2&name=0%3Abeta" in links(page)


def test_neighbours_are_those_of_the_list(client: TestClient) -> None:
    def to(page: str, key: str) -> str:
        found = re.search(rf'href="([^"]*)"[^>]*data-key="{key}"', page)
        return unescape(found[1]) if found else ""

    page = client.get("/sample?id=s1&model=alpha").text
    assert to(page, "next") == "/sample?id=s2&model=alpha"
    assert to(page, "failure") == "/sample?id=s2&model=alpha#q2"
    assert to(page, "previous") == ""
    worst = client.get("/sample?id=s2&model=alpha&order=worst").text
    assert to(worst, "previous") == "/sample?id=s3&model=alpha&order=worst"
    assert to(worst, "failure") == ""
    quality = client.get("/sample?id=s1&metric=VQ").text
    assert to(quality, "failure") == "", "failures of other metrics do not count"
    assert re.search(r'id="q4"[^>]*data-failed', quality)
    assert not re.search(r'id="q1"[^>]*data-failed', quality)
    both = client.get("/sample?id=s1&left=0:alpha&right=0:beta").text
    assert to(both, "next") == "/sample?id=s2&left=0%3Aalpha&right=0%3Abeta"
    elsewhere = client.get("/sample?id=s3&outcome=wrong&weight=3").text
    assert to(elsewhere, "previous") == "/sample?id=s2", "the sample is not in that list"


def test_lists_are_filtered_by_their_address(client: TestClient) -> None:
    said = words(client.get("/questions?outcome=wrong&model=alpha").text)
    assert "alpha, wrong: 2 questions" in said
    assert "Questions 1 to 2 of 2" in said
    page = client.get("/samples?split=yes").text
    assert "1 sample, with 2 matching questions" in words(page)
    assert re.search(r'<option value="yes" selected>', page)
    assert "No question matches the filters." in client.get("/questions?outcome=unasked&model=alpha").text


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/sample?id=s8", "There is no sample 's8'; did you mean 's"),
        ("/sample", "No sample is given: add id=SAMPLE"),
        ("/model?name=alhpa", "did you mean 'alpha'?"),
        ("/questions?metric=FI", "did you mean 'IF'?"),
        ("/questions?page=two", "The page must be a number"),
        ("/question?sample=s1&id=IF/9", "There is no question 'IF/9'"),
        ("/reply?id=999999", "There is no such reply"),
        ("/reply?id=1%3B", "There is no such reply"),
        ("/elsewhere", "this page does not exist"),
    ],
)
def test_unknown_pages_are_errors(client: TestClient, path: str, sentence: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert sentence in words(answer.text)


def test_pages_of_a_list(tmp_path: Path) -> None:
    samples = [Sample(f"s{n:03d}", "Do it.") for n in range(60)]
    run = tmp_path / "run"
    with RunWriter(run) as store, store.transaction():
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "j"})
        store.put_samples([(sample, QUESTIONS) for sample in samples], {})
        store.put_edits(Edit(EditKey("m", sample.id), EditStatus.ABSENT) for sample in samples)
    with looking_at(run) as client:
        first = client.get("/samples").text
        assert "Samples 1 to 25 of 60" in words(first)
        assert "/samples?page=2" in links(first)
        last = client.get("/samples?page=3").text
        assert "Samples 51 to 60 of 60" in words(last)
        assert "s059" in last
        assert "Samples 51 to 60 of 60" in words(client.get("/samples?page=99999999999999").text)
        assert "Questions 1 to 25 of 240" in words(client.get("/questions").text)


def test_a_run_that_is_still_going(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    with looking_at(run) as client:
        assert "not asked yet" in words(client.get("/sample?id=s3").text)
        say(run, {"beta": {"s3": "+-++"}})
        said = words(client.get("/sample?id=s3").text)
        assert "not asked yet" not in said, "a sample's page reads the run directly"
        for path, expected in (
            ("/questions?outcome=wrong&model=beta", "beta, wrong: 4 questions"),
            ("/", "12 answers"),
            ("/search?q=ragged+beta", "Explanations 4"),
        ):
            wait_for(client, path, expected.replace("12 answers", "24 answers"))


def wait_for(client: TestClient, path: str, expected: str) -> None:
    end = time.monotonic() + 20
    while expected not in (said := words(client.get(path).text)):
        assert time.monotonic() < end, said
        time.sleep(0.05)


def test_a_recreated_and_a_deleted_run(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    with looking_at(run) as client:
        (run / "creval.db").rename(tmp_path / "aside.db")
        wait_for(client, "/", "could not be reloaded")
        for path in ("/samples", "/sample?id=s1", "/search?q=hat"):
            answer = client.get(path)
            assert answer.status_code == 503
            assert "The run cannot be read at the moment" in words(answer.text)
        (tmp_path / "other").mkdir()
        other = write_run(tmp_path / "other", {"gamma": {"s1": "++++"}})
        (other / "creval.db").rename(run / "creval.db")
        wait_for(client, "/", "gamma")
        assert "alpha" not in words(client.get("/").text)


def test_an_empty_run(tmp_path: Path) -> None:
    with RunWriter(tmp_path) as store, store.transaction():
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "j"})
        store.put_samples([(Sample("s1", "Do it."), QUESTIONS)], {})
    with looking_at(tmp_path) as client:
        assert "There are no scores yet." in words(client.get("/").text)
        for path in ("/samples", "/questions", "/sample?id=s1", "/search?q=hat"):
            assert client.get(path).status_code == 200


def crawl(client: TestClient, most: int) -> dict[str, str]:
    """Follow links from the start page, and return the text of each page. Fails if a link is broken."""
    found: dict[str, str] = {}
    waiting, seen = ["/"], {"/"}
    while waiting and len(found) < most:
        path = waiting.pop(0)
        answer = client.get(path)
        assert answer.status_code == 200, (path, words(answer.text))
        kind = answer.headers["content-type"]
        found[path] = words(answer.text) if kind.startswith("text/html") else kind
        if kind.startswith("text/html"):
            for href in links(answer.text):
                href = href.partition("#")[0]
                if href.startswith("/") and href not in seen:
                    seen.add(href)
                    waiting.append(href)
    return found


@pytest.mark.parametrize("protocol", ["complexbench-edit", "viescore", "clip"])
def test_complexbench_edit_and_protocols_for_any_dataset(tmp_path: Path, protocol: str) -> None:
    bench = open_benchmark(write_release(tmp_path / "bench"), protocol)
    with looking_at(write_answers(bench, tmp_path / "run")) as client:
        found = crawl(client, 120)
        name = next(iter(bench.dataset.samples)).id
        page = words(client.get("/sample", params={"id": name}).text)
    assert len(found) > 40
    assert "change the cat" in page
    if protocol == "complexbench-edit":
        assert "How well was instruction 1 carried out" in page
        by_kind = [path for path in found if "edit_type%3A" in path]
        assert by_kind
        assert all("No sample matches the filters" not in found[path] for path in by_kind)
        assert "lower is better" in found["/"]
    if protocol == "clip":
        assert "Measurements" in page


@pytest.mark.parametrize("protocol", ["complex-edit", "complex-edit-probability"])
def test_complex_edit(tmp_path: Path, protocol: str) -> None:
    rows = [row(number, 8) for number in range(2)]
    folder = write_parquet(tmp_path / "bench", test_real=rows)
    bench = open_benchmark(folder, protocol)
    run = write_answers(bench, tmp_path / "run", voices=[("one", 0), ("one", 1), ("two", 0)], draws=2)
    with looking_at(run) as client:
        found = crawl(client, 120)
        sample = bench.dataset.samples[0].id
        page = words(client.get("/sample", params={"id": sample}).text)
        start = client.get("/").text
    assert len(found) > 40
    assert "C8" in found["/"]
    assert "one, repeat 2" in page
    assert "A, draw 1" in page
    assert "upper half" in page or protocol.endswith("probability")
    assert "/samples?group=delta" not in start, "a difference between groups has no samples"


def test_masks_references_and_metadata_are_shown(tmp_path: Path) -> None:
    shown = image(tmp_path / "x.png")
    sample = Sample(
        "s1", "Do it.", shown, mask=shown, references=(shown, shown), captions={"source": "a cat", "target": "a dog"}
    )
    parent = EditKey("step one", "s1")
    run = tmp_path / "run"
    with RunWriter(run) as store, store.transaction():
        store.put_manifest({"benchmark": "creval", "protocol": "creval", "judge": "j"})
        store.put_samples([(sample, QUESTIONS)], {})
        store.put_edits(
            [
                Edit(EditKey("m", "s1"), image=shown, parents=(parent,), metadata={"plan": ["hat"]}),
                Edit(EditKey("n", "s1"), EditStatus.REFUSED, reason="it would not"),
            ]
        )
        refused = Verdict("IF/1", VerdictStatus.REFUSED, explanation="no thanks")
        ask = CallKey("j", EditKey("m", "s1"), ("IF/1",))
        store.put_replies([(ask, Reply(VerdictStatus.REFUSED), [refused])])
    with looking_at(run) as client:
        said = words(client.get("/sample?id=s1").text)
        for name in ("mask", "reference:0", "reference:1"):
            assert client.get("/image", params={"sample": "s1", "name": name}).status_code == 200
        assert "The raw reply is not stored" in words(client.get("/reply?id=1").text)
    for expected in (
        "mask",
        "reference 2",
        "Caption of the target: a dog",
        "it would not",
        "made from step one, s1, draw 0",
        '"plan"',
        "refused",
        "no thanks",
    ):
        assert expected in said


def test_histories_and_missing_edits(tmp_path: Path) -> None:
    bench = tmp_path / "bench"
    build_touchstone(bench, 2, 1)
    names = [sample.id for sample in open_benchmark(bench).dataset.samples]
    folders = [
        edited(bench, tmp_path / "once", Choosy(bench, "lazy", names[:1], cost=0.5)),
        edited(bench, tmp_path / "steps", Choosy(bench, "lazy", cost=0.5), "sequential"),
        edited(bench, tmp_path / "best", Choosy(bench, "lazy", cost=0.5), "best-of:2"),
        edited(bench, tmp_path / "planned", Choosy(bench, "lazy"), "reasoned"),
    ]
    judge(open_benchmark(bench), folders, "truth", tmp_path / "run")
    with looking_at(tmp_path / "run") as client:
        page = client.get("/sample", params={"id": names[0]}).text
        said = words(page)
        addresses = [unescape(one) for one in re.findall(r'href="(/image[^"]+before[^"]+)"', page)]
        images = [client.get(address) for address in addresses]
        start, model = (words(client.get(path).text) for path in ("/", "/model?name=once"))
    assert "Refused. content filter: not this" in said
    for name in ("steps", "best", "planned"):
        assert f"History of {name}'s edit" in said
    assert "History of once's edit" not in said
    assert f"A plan for {names[0]}." in said
    assert said.count(", picked") == 1
    steps = len(open_benchmark(bench).dataset.samples[0].steps)
    assert len(images) == steps - 1 + 2
    assert {answer.headers["content-type"] for answer in images} == {"image/png"}
    assert "Cost of an edit by each model" in start
    assert "touchstone:lazy best-of:2 2 2 helpers 6 1.00 USD" in start
    assert "once has 1 missing edit: 1 refused (content filter: not this)." in start
    assert "made by touchstone:lazy, direct: 0.50 USD and" in model
    assert f"Missing edits sample status reason {names[0]} refused content" in model


def test_a_model_that_lacks_very_many_edits(tmp_path: Path) -> None:
    answers = {"A": {f"s{n}": EditStatus.ABSENT for n in range(201)}}
    written.write(tmp_path, answers, dict.fromkeys(answers["A"], "Surreal Fantasy"))
    with looking_at(tmp_path) as client:
        assert "and 1 more." in words(client.get("/model?name=A").text)


def test_statuses_of_missing_edits(tmp_path: Path) -> None:
    gone = [status for status in EditStatus if status is not EditStatus.DONE]
    answers = {str(status): {"s": status} for status in gone}
    written.write(tmp_path, answers, {"s": "Surreal Fantasy"})
    with looking_at(tmp_path) as client:
        said = words(client.get("/sample", params={"id": "s"}).text)
        start = words(client.get("/").text)
    assert "Refused. content filter: no" in said
    assert "Not possible. in the benchmark, s.png does not exist" in said
    assert "has 1 missing edit: 1 impossible (in the benchmark, s.png does not exist)." in start


def test_missing_edits_are_stated(tmp_path: Path) -> None:
    run = write_run(tmp_path, {"alpha": {"s1": "++++"}, "beta": {"s1": "++++"}})
    with RunWriter(run) as store, store.transaction():
        store.put_edits(
            [Edit(EditKey("beta", "s2"), EditStatus.ABSENT), Edit(EditKey("beta", "s3"), EditStatus.REFUSED)]
        )
    with looking_at(run) as client:
        page = words(client.get("/sample?id=s2").text)
        assert "No edit ." in page.replace("No edit.", "No edit .")
        assert "not asked yet" in page, "alpha's edit exists and no question was asked about it"
        assert "IF/1 · weight 1 · expected answer Yes · not asked yet no edit" in page
        assert "no edit: 8 questions" in words(client.get("/questions?model=beta&outcome=no_edit").text)
        assert "beta, not asked yet" not in words(client.get("/model?name=beta").text)


def test_a_viewer_that_is_open_follows_labels_and_changed_models(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    with looking_at(run) as client:

        def see(wanted: str) -> str:
            """Return the start page once it contains a text."""
            for _ in range(100):
                page = client.get("/")
                assert page.status_code == 200
                if wanted in words(page.text):
                    return page.text
                time.sleep(0.05)
            raise AssertionError(f"not shown: {wanted}")

        library.label(run, {"alpha": "Alpha <1>"})
        page = see("Alpha <1>")
        assert "/model?name=Alpha+%3C1%3E" in page.replace("%20", "+")
        for href in links(page):
            if href.startswith(("/model", "/samples", "/questions")):
                shown = client.get(href)
                assert shown.status_code == 200
        library.rename(run, "beta", "gamma")
        assert "beta" not in words(see("gamma"))
        library.remove(run, "gamma")
        see("Alpha <1>")
        for href in ("/", "/samples", "/questions", "/sample?id=s1", "/model?name=gamma"):
            assert client.get(href).status_code in (200, 404)
