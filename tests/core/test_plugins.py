from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from creval.core.errors import CrevalError
from creval.core.plugins import THIS_SESSION, Registry, adopt, create


class Shape:
    name: str
    model: str
    notes: list[str]


class Square(Shape):
    def __init__(self, spec: str, side: str) -> None:
        self.name, self.side = spec, side


class Circle(Shape):
    pass


@pytest.fixture
def shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[object]:
    (tmp_path / "text.md").write_text("a text")
    found: Registry[object] = Registry("test shape", {"path": "pathlib:Path", "text": tmp_path / "text.md"})
    entries = {
        "fine": EntryPoint("fine", "collections:Counter", found.group),
        "broken": EntryPoint("broken", "no_such_module:Thing", found.group),
    }
    monkeypatch.setattr(found, "_entry_points", entries, raising=False)
    return found


def test_names_of_all_origins_are_found(shapes: Registry[object]) -> None:
    assert shapes.group == "creval.shapes"
    shapes.decorator("own")(Circle)
    assert shapes.names() == ["path", "text", "fine", "broken", "own"]
    assert shapes.get("path") is Path
    assert shapes.get("text") == "a text"
    assert shapes.get("own") is Circle
    assert [shapes.origin(name) for name in ("path", "fine", "own")] == ["", "collections:Counter", THIS_SESSION]
    assert shapes.label("own") == "own (this session)"
    assert shapes.label("path") == "path"


def test_a_second_registration_replaces_the_first(shapes: Registry[object]) -> None:
    shapes.register("own", 1)
    shapes.register("own", 2)
    assert shapes.get("own") == 2
    shapes.register("fine", 3)
    assert shapes.get("fine") == 3


def test_errors_name_what_is_wrong(shapes: Registry[object]) -> None:
    with pytest.raises(CrevalError, match="creval already has a built-in test shape 'path'"):
        shapes.register("path", 1)
    with pytest.raises(CrevalError, match="no test shape 'fin'; did you mean 'fine'"):
        shapes.get("fin")
    with pytest.raises(CrevalError, match=r"test shape 'broken' \(no_such_module:Thing\) fails"):
        shapes.get("broken")


def test_objects_of_other_packages_are_completed() -> None:
    square = create(Shape, Square, "square:3", "3")
    assert isinstance(square, Square)
    assert (square.name, square.side, square.model, square.notes) == ("square:3", "3", "square:3", [])
    assert create(Shape, Circle, "circle", "").name == "circle"
    with pytest.raises(CrevalError, match="circle is not a creval Square"):
        adopt(Square, Circle(), "circle")
    with pytest.raises(CrevalError, match="bad fails: ZeroDivisionError"):
        create(Shape, lambda: 1 // 0, "bad")
