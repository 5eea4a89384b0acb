"""The cache of features: arrays are stored unchanged, and problems with the file never stop a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from creval.store.feature_cache_file import CACHE_FILE, FeatureCacheFile
from tests.databases import edit_database


@pytest.mark.parametrize("kind", ["float32", "float64", "uint8"])
@pytest.mark.parametrize("shape", [(3,), (0, 5), (2, 3), ()])
def test_kept_as_they_are(tmp_path: Path, kind: str, shape: tuple[int, ...]) -> None:
    made = np.arange(np.prod(shape, dtype=int), dtype=kind).reshape(shape)
    for _ in range(2):
        vectors = FeatureCacheFile(tmp_path)
        vectors.put("model", {"key": made})
        found = vectors.get("model", ["key", "other"])
        vectors.close()
        assert list(found) == ["key"]
        assert (found["key"].dtype, found["key"].shape) == (made.dtype, made.shape)
        assert np.array_equal(found["key"], made)
    assert FeatureCacheFile(tmp_path).get("another", ["key"]) == {}


def test_many_at_once(tmp_path: Path) -> None:
    vectors = FeatureCacheFile(tmp_path)
    vectors.put("m", {str(n): np.array([n], dtype=np.float32) for n in range(1200)})
    assert len(vectors.get("m", [str(n) for n in range(2000)])) == 1200


def test_reading_creates_no_file(tmp_path: Path) -> None:
    assert FeatureCacheFile(tmp_path).get("m", ["a"]) == {}
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_database_is_replaced(tmp_path: Path) -> None:
    (tmp_path / CACHE_FILE).write_bytes(b"nothing that SQLite knows" * 100)
    vectors = FeatureCacheFile(tmp_path)
    assert vectors.get("m", ["a"]) == {}
    vectors.put("m", {"a": np.ones(2, dtype=np.float32)})
    assert vectors.get("m", ["a"])["a"].tolist() == [1, 1]


def test_a_database_that_is_damaged_further_on_is_replaced_too(tmp_path: Path) -> None:
    made = {str(n): np.full(200, n, dtype=np.float64) for n in range(100)}
    vectors = FeatureCacheFile(tmp_path)
    vectors.put("m", made)
    vectors.close()
    content = bytearray((tmp_path / CACHE_FILE).read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    (tmp_path / CACHE_FILE).write_bytes(content)
    for attempt in range(2):
        vectors = FeatureCacheFile(tmp_path)
        found = vectors.get("m", list(made))
        vectors.put("m", {key: made[key] for key in made.keys() - found.keys()})
        vectors.close()
        assert attempt == 0 or found.keys() == made.keys(), "features that were computed again are cached again"


def test_rows_that_are_no_arrays_are_passed_over(tmp_path: Path) -> None:
    vectors = FeatureCacheFile(tmp_path)
    vectors.put("m", {"good": np.ones(2, dtype=np.float32)})
    with edit_database(tmp_path / CACHE_FILE) as connection:
        rows = [
            ("object", "2", b"12345678"),
            ("float32", "3", b"1234"),
            ("uint8", "x", b""),
            ("uint8", "-1,0", b""),
            ("float32", "1", 5),
            ("uint8", "9999999999,2", b"1"),
        ]
        for at, row in enumerate(rows):
            connection.execute("INSERT INTO vectors VALUES ('m', ?, ?, ?, ?)", (str(at), *row))
    connection.close()
    assert list(vectors.get("m", ["good", *map(str, range(len(rows)))])) == ["good"]


def test_a_folder_that_cannot_be_written_is_as_good_as_none(tmp_path: Path) -> None:
    vectors = FeatureCacheFile(tmp_path / "absent")
    vectors.put("m", {"a": np.ones(2, dtype=np.float32)})
    assert vectors.get("m", ["a"]) == {}
