"""Tables as written by spreadsheets, scripts and people."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from creval.core.errors import CrevalError
from creval.core.table_files import MAX_COLUMNS, MAX_TABLE_BYTES, MAX_TABLE_LINES, read_table


def table(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "id,Time of Day\na,noon\n",
        "\ufeffid,time of day\r\na,noon\r\n",
        "id;time of day\na;noon\n",
        "id\ttime of day\na\tnoon\n",
        "sep=;\r\nid;time of day\r\na;noon\r\n",
        "id,time of day\n\n,\n a , noon \n",
        'id, "time of day"\n"a", "noon"\n',
        "id,time of day\na,noon".encode("utf-16"),
    ],
)
def test_tables_saved_by_spreadsheets_are_read(content: str | bytes, tmp_path: Path) -> None:
    (row,) = read_table(table(tmp_path, content))
    assert row.cells == {"id": "a", "time_of_day": "noon"}
    assert row.problem == ""


def test_a_bad_row_spoils_no_other(tmp_path: Path) -> None:
    content = b'id,text\na,good\nb,"Say ""hi"""\nc,add a hat, red\n"d"x,broken\n'
    content += b'\xe9,latin\nf,zero\0\ng,"two\nlines"\nh,last\n'
    rows = read_table(table(tmp_path, content))
    assert [(row.line, row.cells.get("text")) for row in rows if not row.problem] == [
        (2, "good"),
        (3, 'Say "hi"'),
        (8, "two\nlines"),
        (10, "last"),
    ]
    problems = {row.line: row.problem for row in rows if row.problem}
    assert "3 cells" in problems[4]
    assert "quotation mark" in problems[5]
    assert "UTF-8" in problems[6]
    assert problems.keys() == {4, 5, 6, 7}


def test_lines_of_json_keep_their_values(tmp_path: Path) -> None:
    lines = ['{"ID": "a", "tags": {"x": 1}, "mask": null}', "{broken", "[1]", "", '{"id": "b"}', "[" * 100_000]
    rows = read_table(table(tmp_path, "\ufeff" + "\n".join(lines), "table.jsonl"))
    assert [(row.line, row.cells) for row in rows if not row.problem] == [
        (1, {"id": "a", "tags": {"x": 1}}),
        (5, {"id": "b"}),
    ]
    assert [row.line for row in rows if row.problem] == [2, 3, 6]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("id,ID\na,b\n", "two columns named 'id'"),
        (",".join(f"c{n}" for n in range(MAX_COLUMNS + 1)), f"at most {MAX_COLUMNS} are allowed"),
        ('"id,a\n', "cannot be read as CSV"),
    ],
)
def test_a_head_that_says_nothing_is_refused(content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match=said):
        read_table(table(tmp_path, content))


def test_missing_and_too_large_files_are_refused_before_reading(tmp_path: Path) -> None:
    with pytest.raises(CrevalError, match="cannot be read"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(CrevalError, match="cannot be read"):
        read_table(tmp_path)
    large = table(tmp_path, "")
    with large.open("wb") as file:
        os.truncate(file.fileno(), MAX_TABLE_BYTES + 1)
    with pytest.raises(CrevalError, match=r"cannot be read: .* MB"):
        read_table(large)


@given(content=st.binary(max_size=200), name=st.sampled_from(["table.csv", "table.jsonl"]))
def test_any_bytes_are_rows_or_a_sentence(content: bytes, name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    try:
        rows = read_table(table(tmp_path_factory.getbasetemp(), content, name))
    except CrevalError:
        return
    assert all(row.problem or row.cells for row in rows)


@pytest.mark.parametrize("line", ["a,b\n", '"\n', ",\n", '"a"b\n', "x" * 500 + "\n"])
def test_time_grows_with_length_only(line: str, tmp_path: Path) -> None:
    def seconds(lines: int) -> float:
        path = table(tmp_path, "id,text\n" + line * lines)
        taken = []
        for _ in range(3):  # garbage collection can slow down one of them
            start = time.process_time()
            read_table(path)
            taken.append(time.process_time() - start)
        return min(taken)

    assert seconds(16_000) < 16 * max(seconds(2_000), 0.02)


def test_numbers_and_long_cells_are_no_traceback(tmp_path: Path) -> None:
    lines = [json.dumps({"weight": 1}), '{"weight": 1' + "0" * 5000 + "}", '{"id": "\\ud800"}']
    assert [bool(row.problem) for row in read_table(table(tmp_path, "\n".join(lines), "t.jsonl"))][0::2] == [False] * 2
    rows = read_table(table(tmp_path, f"id,text\na,{'x' * 200_000}\nb,c\n"))
    assert rows[-1].cells == {"id": "b", "text": "c"}


@pytest.mark.parametrize("name", ["table.csv", "table.jsonl"])
@pytest.mark.parametrize("end", ["\n", "\r"])
def test_more_lines_than_a_table_can_have_are_refused_at_once(name: str, end: str, tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(CrevalError, match="has more than 1,000,000 lines, the limit for a table"):
        read_table(table(tmp_path, end.join("a" * (MAX_TABLE_LINES + 2)), name))
    assert time.monotonic() - began < 2
