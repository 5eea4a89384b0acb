"""`creval score`, and the options saved with a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from creval import api
from creval.analysis.scoring_options import choice_to_save, describe_choice, resolve_options
from creval.core.errors import CrevalError
from creval.store import RunWriter
from tests.commands import creval
from tests.web.made import looking_at, write_run


@pytest.fixture
def run(tmp_path: Path, miniature_run: Path) -> Path:
    return Path(shutil.copytree(miniature_run, tmp_path / "run"))


def overall(*arguments: object) -> dict[str, object]:
    done = creval("score", *arguments, "--json", "--resamples", 100)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_saved_options_are_used_by_all_commands(run: Path) -> None:
    chosen = ("--models", "Careful,Keeper", "--weights", "IF=1,VC=1,VQ=0")
    wanted = overall(run, *chosen)
    assert overall(run)["models"] != wanted["models"]
    assert overall(run, *chosen, "--save")["models"] == wanted["models"]
    later = overall(run)
    assert later["models"] == wanted["models"]
    assert later["weights"] == {"IF": 0.5, "VC": 0.5}
    assert "Scoring options saved with this run, used by default" in " ".join(later["sentences"])  # type: ignore[arg-type]
    table = api.analyses.score(run, resamples=100)
    assert set(table.value.models) == {"Careful", "Keeper"}
    with looking_at(run) as client:
        page = client.get("/").text
        assert "Follower" not in page
        assert client.get("/samples?model=Follower").status_code == 404
    everything = overall(run, "--models", "all", "--weights", "default")
    assert set(everything["models"]) == {"Careful", "Follower", "Keeper"}  # type: ignore[call-overload]
    overall(run, "--models", "all", "--weights", "default", "--save")
    assert set(overall(run)["models"]) == {"Careful", "Follower", "Keeper"}  # type: ignore[call-overload]


def test_further_options_are_added_to_the_saved_ones(run: Path) -> None:
    overall(run, "--models", "Careful,Keeper", "--save")
    both = overall(run, "--weights", "IF=1,VC=1", "--save")
    assert (set(both["models"]), both["weights"]) == ({"Careful", "Keeper"}, {"IF": 0.5, "VC": 0.5})  # type: ignore[call-overload]
    weighed = overall(run, "--models", "all", "--save")
    assert (len(weighed["models"]), weighed["weights"]) == (3, {"IF": 0.5, "VC": 0.5})  # type: ignore[arg-type]
    nothing = creval("score", run, "--save")
    assert (nothing.returncode, "give at least one of them" in nothing.stderr) == (2, True)
    assert overall(run)["weights"] == {"IF": 0.5, "VC": 0.5}


def test_invalid_options_are_not_saved(run: Path) -> None:
    for wrong in (("--subset", "nothing"), ("--models", "Nobody"), ("--weights", "XX=1"), ("--strict",)):
        assert creval("score", run, *wrong, "--save").returncode == 2
    assert describe_choice(json.loads(json.dumps(read_manifest(run)))) == ""


def read_manifest(run: Path) -> dict[str, object]:
    with RunWriter(run) as store:
        return store.manifest


def test_given_options_override_saved_ones() -> None:
    manifest = {"protocol": "creval", "scoring": {"subset": "paper", "missing": "zero", "models": ["A"]}}
    assert resolve_options({}, manifest) == {"subset": "paper", "missing": "zero", "models": ("A",), "weights": None}
    given = resolve_options({"subset": "all", "missing": "exclude", "models": ("B",), "strict": True}, manifest)
    assert given == {"subset": None, "missing": "exclude", "models": ("B",), "weights": None, "strict": True}
    assert choice_to_save({"subset": "paper", "missing": None}, {"protocol": "creval"}) == {"subset": "paper"}
    with pytest.raises(CrevalError, match="`strict` and `common_samples`: omit them"):
        choice_to_save({"strict": True}, {"protocol": "creval"})


def test_the_viewer_takes_the_same_options_and_shows_the_same_score(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    with RunWriter(run) as store, store.transaction():
        from creval.store.run import open_run
        from tests.web.made import QUESTIONS

        with open_run(run) as opened:
            samples = [(sample, QUESTIONS) for sample in opened.samples.values()]
        store.put_samples(samples, {"few": ["s1", "s2"]})
    scored = overall(run, "--subset", "few", "--models", "alpha")
    cell = scored["models"]["alpha"]["overall"]["S"]  # type: ignore[index]
    with looking_at(run, subset="few", models=("alpha",)) as client:
        page = client.get("/").text
        assert f"{cell['value']:.2f}" in page
        assert "beta" not in page
        assert "2 samples" in page
        assert client.get("/sample?id=s3").status_code == 404
        sample = client.get("/sample?id=s1").text
        assert "beta" not in sample
        assert "0 to" not in client.get("/search?q=beta").text
    from creval.web.viewer.live_snapshot import LiveSnapshot

    with pytest.raises(CrevalError, match="there is no subset 'nothing'"):
        LiveSnapshot(run, scoring={"subset": "nothing"})
