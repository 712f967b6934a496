"""Tables of a report: rows, and columns for pandas, Polars, pyarrow and DuckDB."""

from __future__ import annotations

import json
from html import escape
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Union, overload

from . import _native
from ._errors import Error


class TableColumn(NamedTuple):
    """A column of a table."""

    name: str
    type: str
    """`int64`, `float64`, `bool`, `timestamp`, `text`, a list of these, or `JSON` for what has parts."""
    doc: str
    """What it means."""


class Table(Sequence[Dict[str, Any]]):
    """A table of a report: `rdmawire explain tables` lists them. A sequence of rows, each a dictionary.

    As columns, it is a stream of Arrow record batches by the PyCapsule interface, with times as timestamps: `pyarrow.table(table)`,
    `polars.DataFrame(table)`, DuckDB's `from table`, and `table.to_pandas()`. That needs pyarrow.
    """

    name: str
    """The name of the table."""

    def __init__(self, name: str, rows: List[str]) -> None:
        self.name = name
        self._text = rows

    @property
    def columns(self) -> List[TableColumn]:
        """Its columns."""
        return [TableColumn(*column) for column in _native.table_columns(self.name)]

    def __len__(self) -> int:
        return len(self._text)

    @overload
    def __getitem__(self, at: int) -> Dict[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> Table: ...
    def __getitem__(self, at: Union[int, slice]) -> Union[Dict[str, Any], Table]:
        if isinstance(at, slice):
            return Table(self.name, self._text[at])
        row: Dict[str, Any] = json.loads(self._text[at])
        return row

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return (json.loads(row) for row in self._text)

    def to_arrow(self) -> Any:
        """The table of pyarrow."""
        pyarrow = _pyarrow()
        rows = list(self)
        fields = [(name, _arrow_type(pyarrow, kind)) for name, kind, _ in self.columns]
        json_columns = {name for name, kind, _ in self.columns if kind == "JSON"}

        def value(row: Dict[str, Any], name: str) -> Any:
            value = row.get(name)
            return json.dumps(value) if name in json_columns and value is not None else value

        arrays = [pyarrow.array([value(row, name) for row in rows], type=kind) for name, kind in fields]
        return pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields))

    def to_pandas(self) -> Any:
        """The `DataFrame` of pandas."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        return html_table([column.name for column in self.columns], self, len(self))


def html_table(names: Sequence[str], rows: Sequence[Dict[str, Any]], count: int, most: int = 20) -> str:
    """Rows as HTML, the first ones of many; columns that are empty in all of them are left out."""
    shown = list(rows[:most])
    kept = [name for name in names if any(row.get(name) not in (None, [], {}, "") for row in shown)]

    def cell(value: Any) -> str:
        if value is None:
            return ""
        return escape(json.dumps(value) if isinstance(value, (dict, list)) else str(value))

    head = "".join(f"<th>{escape(name)}</th>" for name in kept)
    body = "".join("<tr>" + "".join(f"<td>{cell(row.get(name))}</td>" for name in kept) + "</tr>" for row in shown)
    more = f"<p>{len(shown)} of {count} rows</p>" if count > len(shown) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise Error("pyarrow is not installed: pip install 'rdmawire[arrow]'") from error
    return pyarrow


def _arrow_type(pyarrow: Any, kind: str) -> Any:
    if kind.startswith("list of "):
        return pyarrow.list_(_arrow_type(pyarrow, kind[len("list of ") :]))
    if kind == "timestamp":
        return pyarrow.timestamp("ns", tz="UTC")
    types = {"int64": pyarrow.int64(), "float64": pyarrow.float64(), "bool": pyarrow.bool_()}
    return types.get(kind, pyarrow.string())
