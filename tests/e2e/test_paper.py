"""Tests of CREval on the authors' answers: their exact scores, and the paper's tables."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from creval.analysis.scoring import build_score_table, score
from creval.benchmarks import open_benchmark
from creval.judging.replay_run import replay
from creval.parsing.judge_replies import parse_reply
from creval.store import Run, open_run
from tests.e2e.paper import MODELS, TABLE_2_S, TABLE_S1

LEVELS = {"overall": "overall", "Customization": "category", "Contextualization": "category", "Stylization": "category"}


@pytest.fixture
def run(release_run: Path) -> Iterator[Run]:
    with open_run(release_run) as opened:
        yield opened


def test_strict_scores_equal_the_authors_final_scores(run: Run, release: Path) -> None:
    table = build_score_table(run, strict=True)
    assert sorted(table.models) == sorted(MODELS)
    compared = 0
    for s, model in enumerate(table.models):
        for m, metric in enumerate(("IF", "VC", "VQ")):
            folder = release / "answer_gpt" / metric / model
            theirs = [json.loads((folder / f"{sample}.json").read_bytes())["final_score"] for sample in table.samples]
            np.testing.assert_allclose(table.values[s, :, m] / 100, theirs, rtol=0, atol=1e-9)
            compared += len(theirs)
    assert compared == 13_560


@pytest.mark.parametrize("group", TABLE_S1)
def test_strict_scores_reproduce_table_s1(run: Run, group: str) -> None:
    card = score(run, strict=True, subset="paper", resamples=100)
    for metric in ("IF", "VQ"):
        for model, theirs in zip(MODELS, TABLE_S1[group][metric], strict=True):
            ours = card.cell(model, metric, group, LEVELS.get(group, "dimension")).value
            assert ours == pytest.approx(theirs, abs=0.006), (model, group, metric)


def test_repaired_references_give_scores_close_to_table_2(run: Run) -> None:
    card = score(run, subset="paper", resamples=100)
    for place, model in enumerate(MODELS):
        assert card.cell(model, "S").value == pytest.approx(TABLE_2_S[model], abs=0.5)
        theirs = TABLE_S1["overall"]["VC"][place]
        assert card.cell(model, "VC").value == pytest.approx(theirs, abs=0.6)
    assert list(card.models) == sorted(MODELS, key=lambda model: -TABLE_2_S[model])


def test_every_cell_counts_its_questions(run: Run) -> None:
    card = score(run, resamples=100)
    for model in MODELS:
        cell = card.cell(model, "S")
        assert cell.total == 15_797
        assert 15_700 < cell.scored < cell.total
    strict = score(run, strict=True, resamples=100).cell("Bagel", "VC")
    assert (strict.scored, strict.total) == (5798, 5798)


def test_a_recording_with_gaps_is_scored_on_its_answers(release: Path, tmp_path: Path) -> None:
    """Answers of the second judge: files with errors, files of other samples, and only one metric."""
    done = replay(open_benchmark(release), release / "answer_qwen", tmp_path)
    assert len(done.recording.unmatched) == 34
    assert len(done.unreadable_files) == 172
    with open_run(tmp_path) as run:
        card = score(run, resamples=100)
    cell = card.cell("OmniGen2", "IF")
    assert cell.value == pytest.approx(74.4, abs=0.2)
    assert (cell.scored, cell.total) == (3246, 5253)
    assert card.cell("OmniGen2", "VC").value is None
    assert card.cell("OmniGen2", "S").value is None


# Questions without an answer from the authors' parser that have none in the raw replies either (checked by hand):
# two questions have no text and were never asked, the others got neither yes nor no.
NOT_IN_THE_REPLIES = {
    "VC/OmniGen2/1718672694.31025 Q6": "unaskable",
    "VC/OmniGen2/laion_3850159105832998427 Q4": "unaskable",
    "VC/gpt-image-1/1718672694.31025 Q6": "unaskable",
    "VC/gpt-image-1/laion_3850159105832998427 Q4": "unaskable",
    "VC/gpt-image-1/v2v_22251 Q1": "Not applicable",
    "VQ/OmniGen2/1718672417.407163 Q5": "Not applicable",
    "VQ/OmniGen2/HQ-Edit_100_32 Q1": "Not applicable",
    "VQ/OmniGen2/HQ-Edit_121_52 Q4": "N/A",
    "VQ/OmniGen2/HQ-Edit_123_25 Q5": "N/A",
    "VQ/OmniGen2/HQ-Edit_124_158 Q2": "N/A",
    "VQ/OmniGen2/d8c423a5ff21636baf221a9ded257c65 Q6": "The style",
    "VQ/OmniGen2/v2v_739 Q5": "Not applicable",
    "VQ/gpt-image-1/557b79e70ec2ffe04908bc528e795f66 Q1": "Not applicable",
    "VQ/gpt-image-1/HQ-Edit_119_45 Q6": "Not applicable",
    "VQ/gpt-image-1/HQ-Edit_126_7 Q3": "Not Applicable",
    "VQ/gpt-image-1/laion_7023938192694487317 Q5": "Not applicable due to blurred face.",
}
# Answers in the replies, read by a person, in the order of the questions of each file.
SEVEN_YES = ", ".join(f"Q{n} Yes" for n in range(1, 8))
READ_BY_HAND = {
    "IF/OmniGen2/HQ-Edit_114_91": "Q1 Yes",
    "IF/OmniGen2/v2v_521": "Q5 Yes",
    "IF/gpt-image-1/33676574_Lloyd_Alozie": "Q3 No",
    "IF/gpt-image-1/HQ-Edit_126_56": SEVEN_YES,
    "IF/gpt-image-1/HQ-Edit_126_58": "Q6 No",
    "IF/gpt-image-1/laion_-569946534581670968": "Q5 Yes",
    "IF/gpt-image-1/laion_3742870105961786270": SEVEN_YES,
    "IF/gpt-image-1/v2v_10357": "Q1 Yes, Q2 Yes, Q3 Yes, Q4 Yes, Q5 Yes",
    "IF/gpt-image-1/v2v_521": "Q5 Yes",
    "VC/OmniGen2/1718671214.3062265": "Q6 Yes",
    "VC/OmniGen2/HQ-Edit_101_81": "Q1 Yes, Q2 Yes, Q3 No, Q4 Yes, Q5 Yes, Q6 Yes, Q7 Yes",
    "VC/OmniGen2/HQ-Edit_111_90": "Q5 Yes",
    "VC/OmniGen2/i2i_0013": "Q1 Yes, Q2 No, Q3 Yes, Q4 Yes, Q5 No",
    "VC/OmniGen2/laion_-3908483278995552223": "Q1 Yes, Q2 Yes, Q3 Yes, Q4 No, Q5 Yes, Q6 No",
    "VC/gpt-image-1/i2i_0039": "Q5 No",
    "VC/gpt-image-1/v2v_29329": "Q4 Yes",
    "VC/gpt-image-1/v2v_521": "Q1 No, Q2 Yes, Q3 Yes, Q4 Yes, Q5 Yes, Q6 No, Q7 No, Q8 Yes",
    "VQ/OmniGen2/HQ-Edit_118_133": "Q5 No",
    "VQ/OmniGen2/i2i_0046": "Q2 Yes",
    "VQ/OmniGen2/v2v_29329": "Q3 Yes",
    "VQ/gpt-image-1/1718730205.825363": "Q5 Yes",
    "VQ/gpt-image-1/HQ-Edit_121_59": "Q4 No",
    "VQ/gpt-image-1/i2i_0039": "Q4 No",
}


def test_raw_replies_give_the_authors_answers_and_most_of_the_lost_ones(release: Path) -> None:
    samples = {sample.id: sample for sample in open_benchmark(release).dataset.samples}
    counts: Counter[str] = Counter()
    lost: dict[str, str] = {}
    recovered: dict[str, list[str]] = defaultdict(list)
    for path in sorted((release / "answer_gpt").glob("*/*/*.txt")):
        metric, model, sample = path.parts[-3], path.parts[-2], path.stem
        questions = [q for q in samples[sample].questions if q.metric == metric]
        verdicts = parse_reply(path.read_text(encoding="utf-8"), questions)
        theirs = json.loads(path.with_suffix(".json").read_bytes())["questions"]
        for question, verdict, entry in zip(questions, verdicts, theirs, strict=True):
            answer = {"yes": 1.0, "no": 0.0}.get(entry["model_answer"].casefold())
            where = f"{metric}/{model}/{sample}"
            if answer is not None:
                counts["same" if verdict.value == answer else f"other in {where}"] += 1
            elif verdict.value is None:
                lost[f"{where} {question.label}"] = verdict.raw_answer or str(verdict.status)
            else:
                word = ("No", "Yes")[int(verdict.value)]
                recovered[where].append(f"{question.label} {word}")
    assert counts == {"same": 31_517}
    assert {key: said[: len(NOT_IN_THE_REPLIES[key])] for key, said in lost.items()} == (NOT_IN_THE_REPLIES)
    assert {where: ", ".join(found) for where, found in recovered.items()} == READ_BY_HAND
    assert sum(map(len, recovered.values())) == 61


def test_replaying_raw_replies_recovers_answers(release: Path, tmp_path: Path) -> None:
    benchmark = open_benchmark(release)
    models = ["OmniGen2", "gpt-image-1"]
    answered = {}
    for raw in (False, True):
        folder = tmp_path / str(raw)
        replay(benchmark, release / "answer_gpt", folder, raw=raw, models=models)
        with open_run(folder) as run:
            answered[raw] = sum(found["answered"] for found in run.count_statuses().values())
    assert answered[True] - answered[False] == 61
