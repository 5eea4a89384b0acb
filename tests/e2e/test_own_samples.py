"""Tests of own samples from a table to a report, with the commands of README and docs/howto/own-samples.md."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from creval.benchmarks import open_benchmark
from creval.store import open_run
from creval.testing.fake_chat_server import FakeServer
from tests.benchmarks.own_samples.tables import WEATHER, write_images, write_samples
from tests.commands import creval
from tests.serving import serving
from tests.web.made import looking_at

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    with serving(FakeServer().app()) as url:
        yield f"openai:fake@{url}/v1"


def write_edits(folder: Path, samples: list[str]) -> None:
    for shade, model in enumerate(("ModelA", "ModelB"), 1):
        write_images(folder / model, [f"{name}.png" for name in samples], shade * 30)


def commands(page: Path, heading: str) -> list[list[str]]:
    """Return the commands of the first block of a section."""
    section = page.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1]
    block = re.findall(r"^```console\n(.*?)^```", section, re.MULTILINE | re.DOTALL)[0]
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("creval ")]


def test_a_table_and_a_report_in_the_three_commands_of_the_readme(
    tmp_path: Path, judge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"photo{n}.jpg,Make it {n} times as bright,{('rain', 'sun')[n % 2]}" for n in range(20)]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "samples.csv").write_text("source,instruction,weather\n" + "\n".join(rows))
    write_images(tmp_path / "mine", [f"photo{n}.jpg" for n in range(20)])
    write_edits(tmp_path / "outputs", [f"photo{n}" for n in range(20)])
    monkeypatch.chdir(tmp_path)
    done = []
    for arguments in commands(ROOT / "README.md", "Score your own edits in five minutes"):
        done.append(creval(*(judge if part == "openai:gpt-4o" else part for part in arguments)))
        assert done[-1].returncode == 0, done[-1].stderr
    assert len(done) == 3
    table = done[1].stdout
    assert re.search(r"ModelA +\S+ +100 %", table)
    assert "rain" in table
    assert "In O, " in table
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<title>mine: 2 models, judged by " in page
    assert "By weather" in page


def test_own_questions_in_own_metrics(tmp_path: Path, judge: str) -> None:
    folder = write_samples(tmp_path / "bench", WEATHER)
    questions = [
        f"cat{n},{metric},Is the cat {n}?,{'No' if n % 2 else 'Yes'},{1 + n % 2}"
        for n in range(6)
        for metric in ("Colour", "Fur")
    ]
    (folder / "questions.csv").write_text("sample,metric,question,reference,weight\n" + "\n".join(questions))
    write_edits(tmp_path, [f"cat{n}" for n in range(6)])
    run = tmp_path / "run"
    given = ("judge", folder, "--edits", tmp_path / "ModelA", tmp_path / "ModelB", "--judge", judge, "--run", run)
    assert creval(*given).returncode == 0
    found = json.loads(creval("score", run, "--by", "overall,weather,difficulty", "--json").stdout)
    assert (found["benchmark"], found["title"], found["protocol"]) == ("own-samples", "bench", "questions")
    assert found["formula"] == "mean = 0.5 Colour + 0.5 Fur"
    with open_run(run) as opened:
        samples = {name: sample.tags["weather"] for name, sample in opened.samples.items()}
        right: dict[str, list[float]] = {"rain": [], "sun": []}
        for key, values in opened.values_by_edit():
            if key.model == "ModelA":
                wanted = 0.0 if int(key.sample[-1]) % 2 else 1.0
                right[samples[key.sample]].append(100.0 * (values["Fur/1"] == wanted))
    for weather, shares in right.items():
        assert found["models"]["ModelA"]["weather"][weather]["Fur"]["value"] == pytest.approx(sum(shares) / len(shares))
    weighed = creval("score", run, "--weights", "Fur=1", "--json")
    both = json.loads(weighed.stdout)["models"]["ModelB"]["overall"]
    assert both["mean"]["value"] == both["Fur"]["value"]
    few = questions[:2]
    (folder / "questions.csv").write_text("sample,metric,question,reference,weight\n" + "\n".join(few))
    assert creval(*given[:-1], tmp_path / "few").returncode == 0
    assert "1 of 6 samples (the others have no questions)" in " ".join(creval("score", tmp_path / "few").stderr.split())
    compared = creval("compare", run, "ModelA", "ModelB")
    assert compared.returncode == 0, compared.stderr
    assert "rain" in compared.stdout
    for kind in ("forest", "radar", "groups"):
        plotted = creval("plot", run, kind, "--level", "difficulty", "--out", tmp_path / f"{kind}.svg")
        assert plotted.returncode == 0 or "--level" in plotted.stderr, plotted.stderr
    assert creval("export", run, "--out", tmp_path / "out").returncode == 0
    leaderboard = json.loads((tmp_path / "out" / "leaderboard.json").read_text())
    assert leaderboard["title"] == "bench"
    assert leaderboard["models"][0]["groups"].keys() == {"weather", "difficulty"}
    assert (tmp_path / "out" / "README.md").read_text().startswith("# bench: scores of 2 models")


def test_a_benchmark_with_if_questions_alone_needs_no_weights(tmp_path: Path, judge: str) -> None:
    folder = write_samples(tmp_path / "bench")
    rows = [f"cat{n},IF,Is the cat {n}?,Yes,1" for n in range(6)]
    (folder / "questions.csv").write_text("sample,metric,question,reference,weight\n" + "\n".join(rows))
    write_edits(tmp_path, [f"cat{n}" for n in range(6)])
    run = tmp_path / "run"
    given = ("judge", folder, "--edits", tmp_path / "ModelA", tmp_path / "ModelB", "--judge", judge, "--run", run)
    assert creval(*given, "--protocol", "creval").returncode == 0
    scored = creval("score", run)
    assert "no S, because there are no questions for VC and VQ; ranked by IF" in " ".join(
        (scored.stdout + scored.stderr).split()
    )
    assert re.search(r"model +IF *\n", scored.stdout)
    assert "In IF, " in scored.stdout
    compared = creval("compare", run, "ModelA", "ModelB")
    assert compared.returncode == 0, compared.stderr
    plotted = creval("plot", run, "forest", "--out", tmp_path / "forest.svg")
    assert plotted.returncode == 0, plotted.stderr
    assert creval("report", run, "--out", tmp_path / "report.html").returncode == 0
    assert "no composite" in creval("sensitivity", run).stderr
    weighed = json.loads(creval("score", run, "--weights", "IF=1", "--json").stdout)
    plain = json.loads(creval("score", run, "--json").stdout)
    for model, cells in plain["models"].items():
        assert cells["overall"]["IF"] == weighed["models"][model]["overall"]["S"]


def test_without_questions_the_protocols_to_choose_from_are_named(tmp_path: Path, judge: str) -> None:
    folder = write_samples(tmp_path / "bench")
    write_edits(tmp_path, ["cat0"])
    done = creval("judge", folder, "--edits", tmp_path / "ModelA", "--judge", judge, "--run", tmp_path / "run")
    assert done.returncode == 2
    assert "Give another --protocol, such as viescore or creval." in done.stderr


@pytest.mark.parametrize("protocol", ["complex-edit", "complexbench-edit", "ice-bench", "editscore"])
def test_any_protocol_is_asked_or_says_why_not(protocol: str, tmp_path: Path, judge: str) -> None:
    folder = write_samples(tmp_path / "bench")
    write_edits(tmp_path, [f"cat{n}" for n in range(6)])
    run = tmp_path / "run"
    given = ("judge", folder, "--edits", tmp_path / "ModelA", "--judge", judge, "--run", run)
    done = creval(*given, "--protocol", protocol)
    assert done.returncode in (0, 1, 2)
    if done.returncode < 2:
        scored = creval("score", run, "--by", "overall,weather", "--json")
        assert scored.returncode == 0, scored.stderr
        assert "weather" in json.loads(scored.stdout)["models"]["ModelA"]


def test_a_name_is_the_title_everywhere(tmp_path: Path, judge: str) -> None:
    folder = write_samples(tmp_path / "bench")
    assert creval("init", "samples", folder, "--name", "Cats & <rain>").returncode == 0
    assert open_benchmark(folder).title == "Cats & <rain>"
    write_edits(tmp_path, [f"cat{n}" for n in range(6)])
    run = tmp_path / "run"
    given = ("judge", folder, "--edits", tmp_path / "ModelA", "--judge", judge, "--run", run, "--protocol", "viescore")
    assert creval(*given).returncode == 0
    scored = creval("score", run)
    assert "Cats & <rain> (own-samples), protocol viescore, judge" in " ".join((scored.stdout + scored.stderr).split())
    assert creval("report", run, "--out", tmp_path / "report.html").returncode == 0
    assert "<title>Cats &amp; &lt;rain&gt;: 1 model, judged by " in (tmp_path / "report.html").read_text()
    with looking_at(run) as client:
        page = client.get("/").text
    assert "<title>Cats &amp; &lt;rain&gt; · creval</title>" in page
    assert "Scores on Cats &amp; &lt;rain&gt; <small>protocol viescore</small>" in page
    assert creval("plot", run, "forest", "--out", tmp_path / "forest.svg").returncode == 0
    drawn = (tmp_path / "forest.svg").read_text()
    assert "Cats &amp; &lt;rain&gt; (own-samples), protocol viescore" in drawn


def test_the_tables_of_the_page_are_read_as_documented(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "howto" / "own-samples.md").read_text(encoding="utf-8")
    tables = re.findall(r"^```csv\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    samples, questions = (next(table for table in tables if table.startswith(head)) for head in ("source,", "sample,"))
    folder = write_samples(tmp_path / "mine", samples)
    write_images(folder, ["photo0.jpg", "photo1.jpg"])
    (folder / "questions.csv").write_text(questions)
    benchmark = open_benchmark(folder)
    assert benchmark.schema.columns == ("Followed", "Kept", "mean")
    assert not benchmark.dataset.issues
    formats = (ROOT / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    line = re.findall(r"^```json\n(.*?)^```", formats, re.MULTILINE | re.DOTALL)[0]
    write_samples(tmp_path / "lines", line, "samples.jsonl")
    write_images(tmp_path / "lines", ["photo0.jpg"])
    (sample,) = open_benchmark(tmp_path / "lines").dataset.samples
    assert [question.metric for question in sample.questions] == ["score", "Kept"]
    write_images(tmp_path / "photos", ["photo0.jpg"])
    assert commands(ROOT / "docs" / "howto" / "own-samples.md", "Write a table and score") == commands(
        ROOT / "README.md", "Score your own edits in five minutes"
    )
    for arguments in commands(ROOT / "docs" / "howto" / "own-samples.md", "Create the table")[:1]:
        made = [str(tmp_path / part) if part in ("fresh", "photos") else part for part in arguments]
        made[2] = str(tmp_path / "new")
        assert creval(*made).returncode == 0
    assert (tmp_path / "new" / "questions.csv").is_file()


def test_groups_with_equal_names_are_distinguished_by_their_tags(tmp_path: Path, judge: str) -> None:
    folder = tmp_path / "bench"
    folder.mkdir()
    rows = [f"p{n}.png,Make it red,{('yes', 'no')[n % 2]},{('no', 'yes')[n // 2 % 2]},{n % 2 + 1}" for n in range(8)]
    (folder / "samples.csv").write_text("source,instruction,indoor,people,difficulty\n" + "\n".join(rows))
    write_images(folder, [f"p{n}.png" for n in range(8)])
    write_edits(tmp_path, [f"p{n}" for n in range(8)])
    edits, run = (tmp_path / "ModelA", tmp_path / "ModelB"), tmp_path / "run"
    given = ("judge", folder, "--edits", *edits, "--judge", judge, "--protocol", "viescore", "--run", run)
    assert creval(*given).returncode == 0
    shown = creval("score", run, "--by", "indoor,people,difficulty").stdout
    titles = ["indoor: yes", "indoor: no", "people: no", "people: yes", "difficulty: 1", "difficulty: 2"]
    assert [line.strip() for line in shown.splitlines() if ": " in line and len(line.strip()) < 14] == titles
    for form in ("--markdown", "--latex", "--wide"):
        shown = creval("score", run, "--by", "indoor,people", form).stdout
        assert all(title in shown for title in titles[:4]), form
    assert "people: yes" in creval("compare", run, "ModelA", "ModelB").stdout
    refused = creval("score", run, "--by", "yes")
    assert (refused.returncode, 'Use "indoor: yes" or "people: yes"' in refused.stderr) == (2, True)
    for name in ("people: yes", "1"):
        assert creval("score", run, "--by", name).returncode == 0
