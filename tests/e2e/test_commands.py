"""Tests of the command line with right and with wrong input."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from miniature import write_miniature
from tests.commands import creval, parsed, right, wrong


def test_demo_replaces_an_earlier_demo(demo: Path, tmp_path: Path) -> None:
    made = tmp_path / "creval-demo"
    (made / "edits" / "overeager").mkdir(parents=True)
    for name in (".creval-demo", "edits/overeager/old.png"):
        (made / name).write_bytes((demo / ".creval-demo").read_bytes())
    shown = right("demo", "--samples", "1", cwd=tmp_path)
    assert "faithful" in shown
    assert "pairs of models differ" in shown
    assert len(list((made / "bench" / "image").iterdir())) == 1
    assert len(list((made / "edits" / "overeager").iterdir())) == 1
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    assert "has other files" in wrong("demo", "--out", tmp_path / "full")


def test_demo_runs_all_steps(demo: Path) -> None:
    made = demo
    assert len(list((made / "bench" / "image").iterdir())) == 12
    assert len(list((made / "edits" / "overeager").iterdir())) == 12
    assert "Largest differences between models" in (made / "report.html").read_text()
    cells = parsed("score", made / "run")["models"]
    found = {name: {column: cell["value"] for column, cell in cells[name]["overall"].items()} for name in cells}
    assert next(iter(found)) == "faithful"
    assert found["lazy"]["VC"] >= found["faithful"]["VC"]
    assert found["lazy"]["IF"] == min(found[name]["IF"] for name in found if name != "stranger")
    assert found["overeager"]["VC"] < found["faithful"]["VC"] - 10
    assert found["clumsy"]["VQ"] < found["faithful"]["VQ"] - 10


def test_bench_lists_benchmarks_and_describes_a_folder(miniature: Path) -> None:
    assert "creval:" in right("bench")
    assert "creval" in parsed("bench")
    found = parsed("bench", miniature)
    assert found["benchmark"] == "creval"
    assert found["samples"] == 18
    assert found["questions"] == {"IF": 90, "VC": 90, "VQ": 90}
    assert found["groups"]["categories"]["Stylization"] == 6
    assert found["images"] == {"present": 18, "missing": []}
    assert (found["repairs"], found["problems"], found["subsets"]) == ([], [], {})
    assert "repairs: none" in right("bench", miniature)


def test_bench_lists_every_repair_and_problem(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    path = tmp_path / "bench" / "questions_all" / "VC" / "mini_004.json"
    content = json.loads(path.read_text())
    content["quality_check_questions"][0]["answer"] = "** Yes"
    content["quality_check_questions"][1]["question"] = ""
    path.write_text(json.dumps(content))
    (tmp_path / "bench" / "image" / "mini_001.png").unlink()
    found = parsed("bench", tmp_path)
    (repair,), (problem,) = found["repairs"], found["problems"]
    assert (repair["where"], repair["item"]) == ("VC/mini_004", "Q1")
    assert (repair["found"], repair["became"]) == ("** Yes", "Yes")
    assert (problem["rule"], problem["where"], problem["item"]) == ("empty question", "VC/mini_004", "Q2")
    assert found["images"]["missing"] == ["mini_001"]
    shown = right("bench", tmp_path)
    assert "1 x reference '** Yes' -> 'Yes'" in shown
    assert "VC/mini_004: Q1" in shown
    assert "1 missing" in shown


def test_replay_score_and_compare(miniature: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shown = right("replay", miniature, "--answers", miniature / "answers", "--run", run)
    assert "Keeper" in shown
    found = parsed("score", run)
    assert (found["benchmark"], found["judge"]) == ("creval", "recorded:answers")
    assert sorted(found["models"]) == ["Careful", "Follower", "Keeper"]
    order = [found["models"][name]["overall"]["S"]["value"] for name in found["models"]]
    assert order == sorted(order, reverse=True)
    levels = found["models"]["Keeper"]
    assert set(levels) == {"overall", "categories", "dimensions"}
    assert len(levels["dimensions"]) == 9
    assert set(levels["overall"]["S"]) == {"value", "low", "high", "scored", "total"}
    by_sample = parsed("score", run, "--by", "sample")["models"]["Keeper"]["samples"]
    mean = sum(scores["IF"]["value"] for scores in by_sample.values()) / len(by_sample)
    assert levels["overall"]["IF"]["value"] == pytest.approx(mean)
    assert "Stylization" in right("score", run, "--by", "overall,category")
    assert right("score", run, "--csv").startswith("level,group,model")
    assert right("score", run, "--markdown").startswith("| group | model")
    assert right("score", run, "--latex").startswith(r"\begin{tabular}")
    assert "¹" in right("score", run, "--groups", "a=Keeper,Careful,b=Follower", "--strict")
    assert list(parsed("score", run, "--models", "Keeper")["models"]) == ["Keeper"]
    weighted = parsed("score", run, "--weights", "IF=1")["models"]["Keeper"]["overall"]
    assert weighted["S"]["value"] == pytest.approx(weighted["IF"]["value"])
    assert "points higher than that of Keeper" in right("compare", run, "Careful", "Keeper")
    difference = parsed("compare", run, "Careful", "Keeper")
    assert difference["decided"] is True
    assert difference["differences"]["overall"]["S"]["zero_left_out"] is True
    assert difference["samples"][0]["questions"][0]["answers"]


def test_the_same_seed_gives_the_same_table(miniature_run: Path) -> None:
    first, again = (right("score", miniature_run, "--json", "--seed", "7") for _ in "ab")
    assert first == again
    assert right("score", miniature_run, "--json", "--seed", "8") != first


def test_wrong_input_is_one_error_message(miniature: Path, miniature_run: Path, tmp_path: Path) -> None:
    answers, run = miniature / "answers", tmp_path / "run"
    replay = ("replay", miniature, "--run", run, "--answers")
    assert "does not exist" in wrong("bench", tmp_path / "absent")
    assert "not a benchmark" in wrong("bench", tmp_path)
    assert "does not exist" in wrong("score", tmp_path / "absent")
    assert "is not a run" in wrong("score", miniature)
    assert "not a folder of recorded answers" in wrong(*replay, tmp_path / "absent")
    assert "a folder for each metric" in wrong(*replay, miniature)
    assert "did you mean 'Keeper'" in wrong(*replay, answers, "--model", "keeper")
    assert not run.exists(), "no run was created"
    for option, sentence in (
        (("--weights", "FI=1"), "no metric 'FI'; did you mean 'IF'"),
        (("--weights", "IF"), "METRIC=NUMBER"),
        (("--weights", "IF=-1"), "zero or more"),
        (("--by", "dimenson"), "no level or group 'dimenson'; did you mean 'dimension'"),
        (("--subset", "paper"), "no subset 'paper'"),
        (("--models", "Keper"), "no model 'Keper'; did you mean 'Keeper'"),
        (("--groups", "open=Keper"), "no model 'Keper'; did you mean 'Keeper'"),
        (("--groups", "Keeper"), "follows no group name"),
        (("--groups", "a=Keeper,b=Keeper"), "each model only once"),
        (("--weights", "IF=1,IF=2"), "has IF twice"),
        (("--by", ""), "--by is empty"),
        (("--models", ","), "--models is empty"),
        (("--by", "smaple"), "did you mean 'sample'"),
        (("--json", "--csv"), "choose one of"),
        (("--resamples", "5"), "--resamples"),
        (("--bogus",), "No such option"),
    ):
        assert sentence in wrong("score", miniature_run, *option)
    assert "did you mean 'Keeper'" in wrong("compare", miniature_run, "Careful", "Kepper")
    assert "given twice" in wrong("compare", miniature_run, "Keeper", "Keeper")
    shutil.copytree(answers, tmp_path / "strange")
    for path in (tmp_path / "strange").glob("*/Keeper/*.json"):
        path.rename(path.with_name(f"other_{path.name}"))
    assert "no file of model 'Keeper'" in wrong(*replay, tmp_path / "strange")


def test_a_broken_file_is_named_and_the_others_are_used(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    (tmp_path / "answers" / "VQ" / "Keeper" / "mini_001.json").write_text("{")
    (tmp_path / "bench" / "questions_all" / "IF" / "mini_002.json").write_text("{")
    done = creval("replay", tmp_path, "--answers", tmp_path / "answers", "--run", tmp_path / "run")
    assert done.returncode == 0
    assert "VQ/Keeper/mini_001.json" in done.stderr
    found = parsed("score", tmp_path / "run")["models"]["Keeper"]["overall"]
    assert (found["VQ"]["scored"], found["VQ"]["total"]) == (40, 45)
    assert found["IF"]["total"] == 40


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    name = "evil\x1b[31m[bold]|<script>"
    write_miniature(tmp_path, samples=9, models={name: (1, 1, 1), "Good": (0.5, 0.5, 0.5)})
    run = tmp_path / "run"
    shown = right("replay", tmp_path, "--answers", tmp_path / "answers", "--run", run)
    shown += right("score", run) + right("score", run, "--markdown") + right("score", run, "--latex")
    shown += right("compare", run, name, "Good")
    assert "\x1b" not in shown
    assert "evil\\x1b[31m[bold]|<script>" in shown
    assert name in parsed("score", run)["models"]
    assert "\x1b" not in right("score", run, "--csv") + right("score", run, "--json")


def test_demo_never_overwrites_other_files(tmp_path: Path) -> None:
    write_miniature(tmp_path / "CREval", samples=9)
    before = (tmp_path / "CREval" / "bench" / "instruction.json").read_bytes()
    assert "has other files" in wrong("demo", "--out", tmp_path / "CREval")
    assert (tmp_path / "CREval" / "bench" / "instruction.json").read_bytes() == before


def test_a_model_named_twice_counts_once(miniature_run: Path) -> None:
    found = parsed("score", miniature_run, "--models", "Keeper,Keeper,Careful")
    assert len(found["differences"]) == 1


def test_output_in_an_ascii_terminal(miniature_run: Path) -> None:
    command = [sys.executable, "-m", "creval", "score", str(miniature_run)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, encoding="ascii", env=environment, check=False)
    assert done.returncode == 0
    assert "Keeper" in done.stdout


def test_file_names_that_are_too_long_are_errors() -> None:
    assert "too long" in wrong("bench", "x" * 300)
    assert "too long" in wrong("score", "x" * 300)


def test_build_touchstone(tmp_path: Path) -> None:
    right("build", "touchstone", "--seed", "7", "--samples", "2", "--out", tmp_path / "bench")
    assert parsed("bench", tmp_path / "bench")["samples"] == 2
    again = ("build", "touchstone", "--out", tmp_path / "bench")
    assert "not empty" in wrong(*again)
    assert "Missing option '--out'" in wrong("build", "touchstone")
    assert "No such command" in wrong("build", "towerstone", "--out", tmp_path / "x")


def test_analysis_commands(demo: Path, tmp_path: Path) -> None:
    """Each command prints a sentence and a table, and everything with --json."""
    bench, edits, pixel, noisy = demo / "bench", demo / "edits", demo / "run", tmp_path / "noisy"
    folders = [edits / name for name in ("faithful", "lazy", "clumsy")]
    right("judge", bench, "--edits", *folders, "--judge", "noisy:0.8,0.8", "--repeat", "4", "--run", noisy)
    said = {
        ("agree", pixel, noisy): "agree on",
        ("agree", noisy): "repeat 1",
        ("items", noisy): "should be reviewed",
        ("sensitivity", pixel): "faithful is best at 4 : 4 : 2",
        ("repeats", noisy, "--error", "2"): "Measurements needed for a variation of 2",
        ("unchanged", pixel): "lazy left sources unchanged: 100.0 %",
    }
    for command, words in said.items():
        assert words in right(*command)
        assert words in " ".join(parsed(*command)["sentences"])
    rows = ["rater,sample,model,metric,rating,scale"]
    for at, sample in enumerate(sorted((bench / "image").iterdir())):
        for model in ("forgetful", "overeager", "clumsy"):
            rows += [
                f"{who},{sample.stem},{model},overall,{1 + (at + len(model) + away) % 5},1-5"
                for away, who in enumerate("ab")
            ]
    (tmp_path / "human.csv").write_text("\n".join(rows))
    command = ("sensitivity", pixel, "--human", tmp_path / "human.csv")
    assert "agree best with people's ratings of overall" in right(*command)
    assert parsed(*command)["people"]["overall"]["most"] <= 1
    drawn = ("plot", pixel, "weights", "--human", tmp_path / "human.csv", "--out")
    right(*drawn, tmp_path / "weights.svg")
    assert "people's overall" in (tmp_path / "weights.svg").read_text()
    assert "are only for a plot of the kind weights" in wrong("plot", pixel, "plane", *drawn[3:], tmp_path / "x.svg")
    between = ("agree", pixel, "--human", tmp_path / "human.csv", "--by", "category")
    assert "a and b agree on 0.0 % of 36 questions (Krippendorff's alpha -0.04" in right(*between)
    assert parsed(*between, "--distance", "ordinal")["distance"] == "ordinal"
    assert "--by needs a run" in wrong("agree", *between[2:])
    assert "give one or more runs" in wrong("agree")
    assert "no distance 'far'" in wrong(*between, "--distance", "far")
    assert parsed("sensitivity", noisy)["tau"]["least"] >= -1
    asked: tuple[str | Path, ...] = (
        "judge",
        bench,
        "--edits",
        *folders,
        "--judge",
        "truth",
        "--run",
        tmp_path / "truth",
    )
    assert parsed(*asked, "--dry-run")["estimates"][0]["calls"] > 0
    found = parsed(*asked, "--until-decided", "best")
    assert found["reason"] == "out of samples"
    assert "The best model in S is not decided" in found["sentences"][0]
    assert found["answers"]["lazy"]["answered"] > 0
    assert "agreement needs at least two judges or repeats" in wrong("agree", pixel)
    assert "no level 'dimenson'; did you mean 'dimension'" in wrong("agree", pixel, noisy, "--by", "dimenson")
    assert "asked only once" in wrong("repeats", pixel)


def test_calibrate_and_correct(demo: Path, tmp_path: Path) -> None:
    out = tmp_path / "noisy.json"
    asked = ("calibrate", "--judge", "noisy:0.9,0.8", "--samples", "12", "--out", out)
    planned = creval(*asked, "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "calls" in planned.stderr
    assert not out.exists()
    said = right(*asked)
    assert "questions with known answers" in said
    assert "follows instructions written inside" not in said
    found = json.loads(out.read_text())
    assert found["judge"] == "noisy:0.9,0.8"
    assert "Can noisy:0.9,0.8 be trusted?" in out.with_suffix(".html").read_text()
    assert set(found["variants"]) == {"swapped", "re-encoded", "halved", "reworded", "ordered"}
    assert found["variants"]["reworded"]["to_yes"] == 0
    again = creval(*asked)
    assert "0 calls" in again.stderr, "no question is asked twice"
    run = demo / "run"
    assert "corrected" in right("score", run, "--correct", out)
    cells = parsed("score", run, "--correct", out)["corrected"]
    assert {cell["metric"] for cell in cells} == {"IF", "VC", "VQ", "S"}
    assert "is not valid JSON" in wrong("score", run, "--correct", run / "creval.db")
    assert "ends in .json" in wrong("calibrate", "--judge", "truth", "--out", tmp_path / "x.txt")


def test_report(miniature_run: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    right("report", miniature_run, "--out", out)
    page = out.read_text(encoding="utf-8")
    assert "Largest differences between models" in page
    kept = (miniature_run / "creval.db").read_bytes()
    assert "ends in .html" in wrong("report", miniature_run, "--out", miniature_run / "creval.db")
    assert "is a folder" in wrong("report", miniature_run, "--out", tmp_path)
    assert "inside or link" in wrong("report", miniature_run, "--images", "none")
    assert (miniature_run / "creval.db").read_bytes() == kept
    assert "Careful" in page
    assert "is not a run" in wrong("report", tmp_path)


def test_help_and_no_arguments() -> None:
    assert "replay" in right("--help")
    assert "--subset" in right("score", "--help")
    listed = right("build").splitlines()
    assert any(line.split()[:1] == ["complexbench"] for line in listed)
    assert "Usage" in right()
    assert right("--version").startswith("creval ")
    assert "No such command" in wrong("scroe")


def into_closed_pipe(*arguments: str | Path, also_errors: bool = False, **env: str) -> tuple[int, str]:
    """Return the exit status and standard error of a command that writes into a closed pipe."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "creval", *map(str, arguments)]
    errors = writing if also_errors else subprocess.PIPE
    done = subprocess.run(command, stdout=writing, stderr=errors, text=True, env={**os.environ, **env}, check=False)
    os.close(writing)
    return done.returncode, done.stderr or ""


def test_a_closed_pipe_ends_a_command_quietly(miniature: Path, miniature_run: Path) -> None:
    for arguments in (
        ["score", miniature_run],
        ["score", miniature_run, "--by", "sample", "--csv"],
        ["score", "--help"],
    ):
        assert into_closed_pipe(*arguments) == (141, "")
    assert into_closed_pipe("bench", miniature, "--json", PYTHONUNBUFFERED="1") == (141, "")
    assert into_closed_pipe("score", miniature_run, also_errors=True) == (141, "")
    assert into_closed_pipe("score", miniature_run / "none", also_errors=True) == (2, "")


def test_a_pipe_that_is_closed_early_gets_the_first_line(miniature_run: Path) -> None:
    command = f"{sys.executable} -m creval score {miniature_run} --by sample --csv | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("level,group")
    assert done.stderr == ""


def test_closed_or_full_standard_output(miniature_run: Path) -> None:
    creval = f"{sys.executable} -m creval"
    for command, status, said in (
        (f"{creval} score {miniature_run} >&-", 0, "have an answer.\n"),
        (f"{creval} score {miniature_run} >/dev/full", 2, "creval: No space left on device.\n"),
    ):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (status, "")
        assert done.stderr.endswith(said)
        assert "Traceback" not in done.stderr


def test_ctrl_c_stops_with_a_message(tmp_path: Path) -> None:
    write_miniature(tmp_path, samples=9)
    script = (
        "import os, signal, creval.judging.replay_run as r\n"
        "r.read_recorded_answers = lambda *_: os.kill(os.getpid(), signal.SIGINT) or 1 / 0\n"
        "from creval.cli import main; main()"
    )
    run = tmp_path / "run"
    where = ["replay", str(tmp_path), "--answers", str(tmp_path / "answers"), "--run", str(run)]
    command = [sys.executable, "-c", script, *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "creval: stopped.\n")
    assert "is an empty run" in wrong("score", run)
