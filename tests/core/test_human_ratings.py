from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from creval.core.edit_record import EditKey
from creval.core.errors import CrevalError
from creval.core.human_ratings import (
    Rating,
    RatingScale,
    ScoreRow,
    parse_rating_scale,
    read_human_ratings,
    read_score_file,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "human.csv"


def test_ratings_are_in_percent_of_their_scale(file: Path) -> None:
    file.write_text(
        "rater,sample,model,metric,rating,scale\nann,s1,A,IF,4,1-5\nbob,s1,A,IF,0.5,0-1\nann,s1,A,,2,0..4\n"
    )
    found = read_human_ratings(file)
    assert found.skipped_rows == ()
    assert found.ratings == (
        Rating("ann", (EditKey("A", "s1"),), "IF", 75.0),
        Rating("bob", (EditKey("A", "s1"),), "IF", 50.0),
        Rating("ann", (EditKey("A", "s1"),), "overall", 50.0),
    )


def test_a_scale_must_be_stated(file: Path) -> None:
    file.write_text("rater,sample,model,rating\nann,s1,A,4\n")
    with pytest.raises(CrevalError, match="Add a column `scale`"):
        read_human_ratings(file)
    assert read_human_ratings(file, RatingScale(0, 5)).ratings[0].value == 80.0


def test_choices_name_a_model_or_a_tie(file: Path) -> None:
    file.write_text(
        "\ufeffRater\tSample\tFirst\tSecond\tChoice\nann\ts1\tB\tA\tB\nbob\ts1\tA\tB\tTie\n"
        "eve\ts1\tA\tB\tboth\neve\ts2\tA\tA\tA\n"
    )
    found = read_human_ratings(file)
    pair = (EditKey("A", "s1"), EditKey("B", "s1"))
    assert found.ratings == (Rating("ann", pair, "overall", choice="B"), Rating("bob", pair, "overall", choice=""))
    assert [(row.rows, row.line) for row in found.skipped_rows] == [(1, 4), (1, 5)]


def test_unusable_rows_are_counted_and_not_repaired(file: Path) -> None:
    rows = [
        "ann,s1,A,3",
        "ann,s1,A,3",
        "ann,s2,A,9",
        "ann,s3,A,good",
        "ann,s4",
        "ann,s5,,3",
        "ann,s6,A,nan",
        "ann,s7,A,1",
        "ann,s7,A,2",
        "ann,s7,A,1",
        "",
        "bob,s1,A,5",
    ]
    file.write_text("rater,sample,model,rating\n" + "\n".join(rows))
    found = read_human_ratings(file, RatingScale(1, 5))
    assert [rating.value for rating in found.ratings] == [50.0, 100.0]
    assert {(row.reason, row.rows, row.line) for row in found.skipped_rows} == {
        ("the row repeats another one", 1, 3),
        ("the rating is outside its scale", 1, 4),
        ("the rating is not a number", 2, 5),
        ("the row has too few cells", 1, 6),
        ("the row names no model", 1, 7),
        ("another row contradicts it", 3, 9),
    }


def test_scores_of_any_metric(file: Path) -> None:
    file.write_text("model,metric,score\nA,VIEScore,6.02\nB,VIEScore,7.17\nB,VIEScore,x\n")
    found = read_score_file(file)
    assert found.rows == (ScoreRow("", "A", "VIEScore", 6.02), ScoreRow("", "B", "VIEScore", 7.17))
    assert found.skipped_rows[0][:2] == ("the score is not a number", 1)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "It has no columns"),
        ("a,b\n1,2\n", "It has a, b"),
        ("model,model,rating\n", "two columns of the same name"),
        ("model;rating;scale\nA;3;1-5\n", "separates its cells by semicolons"),
        ("model,rating,scale\n", "It has no rows"),
        ("model,rating,scale\nA,7,1-5\n", "line 2: the rating is outside its scale"),
        ("first,second,choice\nA,B,C\n", "neither one of the two models"),
    ],
)
def test_a_file_of_another_kind_is_an_error(file: Path, content: str, sentence: str) -> None:
    file.write_text(content)
    with pytest.raises(CrevalError, match=sentence):
        read_human_ratings(file)


def test_an_image_is_no_table(file: Path) -> None:
    file.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(CrevalError, match="not text in UTF-8"):
        read_score_file(file)


@pytest.mark.parametrize("text", ["1-5", "1 to 5", " 1–5 ", "1..5"])
def test_a_scale_has_two_ends(text: str) -> None:
    assert parse_rating_scale(text) == (1.0, 5.0)
    assert parse_rating_scale("-1-1") == (-1.0, 1.0)
    for wrong in ("5", "5-1", "1-1", "a-b", "", "1-1" + "0" * 400):
        with pytest.raises(CrevalError, match="is not a scale"):
            parse_rating_scale(wrong)


@given(text=st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read_or_refused_in_a_sentence(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("any") / "human.csv"
    file.write_bytes(("model,rating,scale\n" + text).encode("utf-8", "surrogatepass"))
    try:
        found = read_human_ratings(file)
    except CrevalError:
        return
    assert found.ratings
    assert all(rating.value is not None and 0 <= rating.value <= 100 for rating in found.ratings)


SCALES = {"0-1": (0, 1), "1-5": (1, 5), " 2..12 ": (2, 12)}
CELLS = st.tuples(
    st.sampled_from(["A", "B", ""]), st.sampled_from(["0", "1", "4.5", "12", "x", ""]), st.sampled_from([*SCALES, "5"])
)


@given(rows=st.lists(CELLS, max_size=8))
@settings(max_examples=100, deadline=None)
def test_every_valid_row_is_a_rating(
    rows: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("rows") / "human.csv"
    lines = [",".join((f"s{at}", *cells)) for at, cells in enumerate(rows)]
    file.write_text("\n".join(["sample,model,rating,scale", *lines]))
    expected: list[tuple[EditKey, object]] = []
    for at, (model, rating, scale) in enumerate(rows):
        low, high = SCALES.get(scale, (1, 0))
        if model and rating not in ("x", "") and low <= float(rating) <= high:
            percent = (float(rating) - low) / (high - low) * 100
            expected.append((EditKey(model, f"s{at}"), pytest.approx(percent)))
    if not expected:
        with pytest.raises(CrevalError, match="no valid rating"):
            read_human_ratings(file)
        return
    found = read_human_ratings(file)
    assert [(rating.edits[0], rating.value) for rating in found.ratings] == expected
    assert sum(skipped.rows for skipped in found.skipped_rows) == len(rows) - len(expected)


def test_jsonl_is_read_as_the_same_rows_in_csv_are(tmp_path: Path) -> None:
    lines = tmp_path / "human.jsonl"
    lines.write_text(
        '{"rater": "ann", "sample": "s1", "model": "A", "metric": "IF", "Rating": 4, "scale": "1-5"}\n\n'
        '{"rater": "bob", "sample": "s1", "model": "A", "rating": 0.5, "scale": "0-1", "note": [1]}\n'
        '{"rater": "eve", "sample": "s1", "rating": null, "scale": "0-1"}\n'
    )
    found = read_human_ratings(lines)
    assert found.ratings == (
        Rating("ann", (EditKey("A", "s1"),), "IF", 75.0),
        Rating("bob", (EditKey("A", "s1"),), "overall", 50.0),
    )
    assert [(row.reason, row.line) for row in found.skipped_rows] == [("the row names no model", 4)]
    scores = tmp_path / "scores.ndjson"
    scores.write_text('\ufeff{"sample": "s1", "model": "A", "metric": "IF", "score": 0.25}\n', encoding="utf-8")
    assert read_score_file(scores).rows == (ScoreRow("s1", "A", "IF", 0.25),)


@pytest.mark.parametrize("content", ['{"model": "A"', "[1]", '"A"', "[" * 100_000])
def test_a_line_of_jsonl_that_is_no_object_is_named(tmp_path: Path, content: str) -> None:
    lines = tmp_path / "human.jsonl"
    lines.write_text('{"model": "A", "rating": 1, "scale": "0-1"}\n' + content)
    with pytest.raises(CrevalError, match="line 2, is"):
        read_human_ratings(lines)
