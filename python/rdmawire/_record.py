"""Objects over the dictionaries of JSON."""

from __future__ import annotations

import json
from copy import copy
from html import escape
from keyword import iskeyword
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, ClassVar, Dict, Mapping, Optional, Union

from ._errors import Error
from ._native import NativeReport
from ._tables import Table, html_table

if TYPE_CHECKING:
    from .report import Flow, Report


class Record:
    """An object of a report. Its fields are attributes; `to_dict` gives them as they are in JSON.

    A field with the name of a keyword of Python has `_` behind it: `cause.with_` is `with` in JSON.
    """

    _classes: ClassVar[Dict[str, type[Record]]] = {}
    _nested: ClassVar[Mapping[str, str]] = {}
    _left_out: ClassVar[Mapping[str, Any]] = {}
    _data: Dict[str, Any]

    def __init__(self, data: Dict[str, Any]) -> None:
        self._data = data

    def __init_subclass__(cls) -> None:
        Record._classes[cls.__name__] = cls

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            field = name[:-1] if name.endswith("_") and iskeyword(name[:-1]) else name
            try:
                value = self._data[field]
            except KeyError:
                if field not in self._left_out:
                    raise AttributeError(f"a {type(self).__name__} has no {name!r}") from None
                value = copy(self._left_out[field])
            record = self._nested.get(field)
            if record is not None:
                value = _wrapped(value, record)
            self.__dict__[name] = value
            return value

    def to_dict(self) -> Dict[str, Any]:
        """The fields as in the JSON report."""
        return self._data

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *map(_attribute, self._data)]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Record) and self._data == other._data

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> Dict[str, Any]:
        return {"_data": self._data}

    def __repr__(self) -> str:
        def short(value: Any) -> str:
            if isinstance(value, (dict, list)) and len(value) > 2:
                return "{…}" if isinstance(value, dict) else f"[{len(value)} …]"
            return repr(value)

        fields = ", ".join(f"{_attribute(name)}={short(value)}" for name, value in self._data.items())
        return f"{type(self).__name__}({fields})"


def _attribute(field: str) -> str:
    return f"{field}_" if iskeyword(field) else field


def _wrapped(value: Any, record: str) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_wrapped(one, record) for one in value]
    if record.startswith("*"):
        return {name: _wrapped(one, record[1:]) for name, one in value.items()}
    return Record._classes[record](value)


class ReportMethods(Record):
    """What a report can do beside having fields."""

    _native: NativeReport

    def __init__(self, native: NativeReport) -> None:
        super().__init__(json.loads(native.json()))
        self._native = native

    def __reduce__(self) -> Any:
        return (_report_of_json, (self.to_json(),))

    def to_json(self) -> str:
        """The report as one line of JSON, which `rdmawire check` and `Report.load` read."""
        return self._native.json().decode().rstrip("\n")

    @classmethod
    def load(cls, path: Union[str, PathLike[str]]) -> Report:
        """A report from a file that `rdmawire analyze --json` or `to_json` made."""
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            return _report_of_json(text)
        except Error as error:
            raise Error(f"{fspath(path)}: {error}", file=fspath(path)) from None

    def flow(self, which: Union[int, str]) -> Flow:
        """One flow: its number in the list, or `"SOURCE,DESTINATION,QP"`."""
        number = self._native.find_flow(str(which))
        flow: Flow = self._as_report().flows[number]
        return flow

    def table(self, name: str) -> Table:
        """A table of the report, such as `"flows"` or `"losses"`: `rdmawire explain tables` lists them.

        >>> import rdmawire
        >>> report = rdmawire.analyze(CAPTURE)
        >>> [(row["place"], row["space"], row["least"]) for row in report.table("losses")][0]
        ('upstream', 'request', 1)
        >>> report.table("flows").to_pandas()["ect_packets"].sum() == sum(flow.ect_packets for flow in report.flows)
        True
        """
        return Table(name, self._native.rows(name))

    def _repr_html_(self) -> str:
        report = self._as_report()
        columns = ["src", "dst", "dest_qp", "service", "packets", "wire_bytes", "retransmits", "out_of_order", "naks", "cnps"]
        flows = [
            {
                **{name: flow.to_dict().get(name) for name in ("src", "dst", "service", "packets", "wire_bytes", "cnps")},
                "dest_qp": f"{flow.dest_qp:#x}",
                "retransmits": flow.requests.retransmits + flow.responses.retransmits,
                "out_of_order": flow.requests.out_of_order + flow.responses.out_of_order,
                "naks": flow.naks.psn_sequence_error,
            }
            for flow in report.flows[:20]
        ]
        findings = [{"severity": one.severity, "finding": one.text, "next": one.next} for one in report.findings]
        return (
            f"<p>{escape(repr(self))}</p>"
            + html_table(["severity", "finding", "next"], findings, len(findings))
            + html_table(columns, flows, len(report.flows))
        )

    def _as_report(self) -> Report:
        from .report import Report

        assert isinstance(self, Report)
        return self

    def __repr__(self) -> str:
        report = self._as_report()
        files = ", ".join(report.capture.files) or "?"
        counts = [(report.capture.packets, "packet"), (len(report.flows), "flow"), (len(report.findings), "finding")]
        said = ", ".join(f"{n} {name}" if n == 1 else f"{n} {name}s" for n, name in counts)
        return f"<Report of {files}: {said}>"


def _report_of_json(text: str) -> Report:
    from .report import Report

    return Report(NativeReport.from_json(text))
