"""Results of the Python API: sentences to quote, tables, and a data frame of all numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from creval.reporting.output import CommandOutput, OutputTable, rich_table, split_to_width

if TYPE_CHECKING:
    import polars

T = TypeVar("T")
_WIDTH = 120  # columns of a result that is printed


@dataclass(frozen=True, repr=False)
class Result(Generic[T]):
    """Result of an API call. `value` is the object that the analysis returns, with all details.

    A notebook shows the sentences and tables as HTML; `print` shows them as text.
    """

    value: T
    output: CommandOutput
    records: Sequence[Mapping[str, Any]] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Findings as sentences to quote."""
        return tuple(self.output.sentences)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes needed to interpret the numbers."""
        return tuple(self.output.notes)

    @property
    def tables(self) -> tuple[OutputTable, ...]:
        return tuple(self.output.tables)

    def frame(self) -> polars.DataFrame:
        """Return all numbers as a polars frame, unrounded."""
        import polars

        return polars.DataFrame([flatten_record(one) for one in self.records], infer_schema_length=None)

    def to_json(self) -> dict[str, Any]:
        """Return what the command of the same name prints with `--json`."""
        return self.output.as_json()

    def __repr__(self) -> str:
        from rich.console import Console

        out = StringIO()
        console = Console(file=out, width=_WIDTH, highlight=False, markup=False, emoji=False)
        for sentence in self.sentences:
            console.print(sentence)
        for table in self.tables:
            for part in split_to_width(table, _WIDTH):
                console.print(rich_table(part))
        return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines())

    def _repr_html_(self) -> str:
        from creval.reporting.html.template import render_part

        return render_part("result.html", found=self.output)


def flatten_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a frame: nested values get joined names, intervals two columns.

    >>> flatten_record({"share": {"value": 0.5, "ends": (0.4, 0.6)}})
    {'share_value': 0.5, 'share_low': 0.4, 'share_high': 0.6}
    """
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}_{key}": one for key, one in flatten_record(value).items()}
        elif isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value)):
            stem = f"{name.removesuffix('ends').removesuffix('_')}_".lstrip("_")
            flat |= {f"{stem}low": value[0], f"{stem}high": value[1]}
        else:
            flat[name] = value
    return flat


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
