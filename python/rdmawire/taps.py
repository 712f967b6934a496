"""The captures of one tap, cut into files: analyzed as if they were one. Needs pyarrow.

The tap's files share their interfaces, may overlap in time, and are named in any order. The report is that of the capture before it was
cut. It is a stream: memory is bounded as in `analyze`, plus some batches of rows for each file that overlaps with others.

    report = rdmawire.taps.analyze_captures(["/captures/leaf1/00.pcap", "/captures/leaf1/01.pcap"])
    report = rdmawire.taps.analyze_index("/index/tap=leaf1")

Both are what `rdmawire.spark` runs in each of its tasks. They serve any other scheduler too: a tap is one call.

With `state_out` and `state_in`, the next hour goes on where the last one ended, and the report is that of one run over both. Both may
be the same file:

    state = rdmawire.taps.state_path("/states", "leaf1")
    report = rdmawire.taps.analyze_index("/index/tap=leaf1", state_in=state, state_out=state)

Files that the state has already are passed over: the index may have all hours, and a run that is repeated changes nothing.
"""

from __future__ import annotations

import heapq
import importlib
import json
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from . import _native
from ._analyze import _asked_of_rows
from ._state import PathLike, _Kept, state_path
from .report import Report

__all__ = ["analyze_captures", "analyze_index", "list_index", "state_path"]

ROWS = 1 << 13
"""Rows that are read at a time."""


class _Part(NamedTuple):
    """Rows of one capture, in its order."""

    begins_ns: int
    """No row of it is before this time."""
    read: Callable[[], Iterator[Any]]


def analyze_captures(
    captures: Iterable[PathLike],
    *,
    state_in: Union[PathLike, bytes, None] = None,
    state_out: Optional[PathLike] = None,
    **options: Any,
) -> Report:
    """Analyzes the captures of a tap. Each is read twice: the first time, frames are counted only.

    `state_in`, `state_out`: as in `rdmawire.analyze`, or URIs such as `s3://bucket/states/leaf1.state`. Captures that the state has
    already are passed over, by the number and the times of their frames, wherever they are now.

    Options are those of `rdmawire.analyze`, but for `filter` and `strict`.

    >>> import rdmawire.taps
    >>> rdmawire.taps.analyze_captures([CAPTURE]).capture.packets
    300
    """
    facts = {path: _native.file_facts(path) for path in [os.fspath(path) for path in captures]}
    kept = _Kept(state_in, state_out)
    kept.check()
    return Report(_of_captures(facts, _asked_of_rows(**options), kept))


def analyze_index(
    index: Union[PathLike, Sequence[str]],
    *,
    filesystem: Any = None,
    state_in: Union[PathLike, bytes, None] = None,
    state_out: Optional[PathLike] = None,
    **options: Any,
) -> Report:
    """Analyzes the rows that `rdmawire index` wrote of a tap: a directory such as `/index/tap=leaf1`, or its Parquet files.

    `filesystem`: one of `pyarrow.fs`; without it, a directory may be a URI, as `s3://bucket/index/tap=leaf1`. How many hours and buckets the
    index has does not matter.

    `state_in`, `state_out`: as in `rdmawire.analyze`; of `filesystem`, if it is given, unless they are URIs. Captures that the state has
    already are passed over.
    """
    kept = _Kept(state_in, state_out, filesystem)
    kept.check()
    filesystem, paths = list_index(index, filesystem)
    return Report(_of_index(paths, filesystem, _asked_of_rows(**options), kept))


def list_index(index: Union[PathLike, Sequence[str]], filesystem: Any = None) -> Tuple[Any, List[str]]:
    """The file system of an index, and its Parquet files."""
    fs = importlib.import_module("pyarrow.fs")
    if not isinstance(index, (str, os.PathLike)):
        return filesystem or fs.LocalFileSystem(), list(index)
    root = os.fspath(index)
    if filesystem is None:
        filesystem, root = fs.FileSystem.from_uri(root) if "://" in root else (fs.LocalFileSystem(), root)
    found = filesystem.get_file_info(fs.FileSelector(root, recursive=True))
    return filesystem, sorted(file.path for file in found if file.is_file and file.path.endswith(".parquet"))


def _of_captures(facts: Dict[str, str], asked: Dict[str, object], kept: _Kept) -> _native.NativeReport:
    """`facts`: of each path."""
    import pyarrow

    analysis = _native.RowAnalysis(asked, kept.load())
    facts = {path: known for path, known in facts.items() if not analysis.has(known)}

    def part(path: str) -> _Part:
        def read() -> Iterator[Any]:
            return iter(pyarrow.RecordBatchReader.from_stream(_native.Headers(path, "", asked)))

        return _Part(json.loads(facts[path])["first_ns"] or 0, read)

    places = _announced(analysis, facts.values())
    _feed(analysis, [part(path) for path in facts], places)
    return _ended(analysis, kept)


def _of_index(paths: Sequence[str], filesystem: Any, asked: Dict[str, object], kept: _Kept) -> _native.NativeReport:
    parquet: Any = importlib.import_module("pyarrow.parquet")
    analysis = _native.RowAnalysis(asked, kept.load())
    passed: Set[str] = set()
    facts: List[str] = []
    parts: List[Tuple[Optional[str], _Part]] = []

    def part(path: str, group: int, begins_ns: int) -> _Part:
        def read() -> Iterator[Any]:
            with parquet.ParquetFile(filesystem.open_input_file(path)) as file:
                for batch in file.iter_batches(ROWS, row_groups=[group]):
                    if passed and _file(batch) in passed:
                        return
                    yield batch

        return _Part(begins_ns, read)

    for path in paths:
        with parquet.ParquetFile(filesystem.open_input_file(path)) as file:
            columns = file.schema_arrow.names
            for group in range(file.metadata.num_row_groups):
                known = file.metadata.row_group(group)
                least = {name: known.column(columns.index(name)).statistics for name in ("frame", "order_ns", "file")}
                begins = least["order_ns"].min if least["order_ns"] is not None else -(1 << 63)
                if least["frame"] is None or least["frame"].min == 0:
                    rows = file.read_row_group(group, columns=["frame", "header"]).to_batches()
                    facts += [_facts(batch, at) for batch in rows for at in range(batch.num_rows) if batch["frame"][at].as_py() == 0]
                is_of_one = least["file"] is not None and least["file"].min == least["file"].max
                parts.append((least["file"].min if is_of_one else None, part(path, group, begins)))
    if not facts:
        raise ValueError("no row 0 of any file: is it an index, of rdmawire index?")
    passed.update(json.loads(text)["file"] for text in facts if analysis.has(text))
    places = _announced(analysis, [text for text in facts if json.loads(text)["file"] not in passed])
    _feed(analysis, [one for name, one in parts if name not in passed], places)
    return _ended(analysis, kept)


def _ended(analysis: _native.RowAnalysis, kept: _Kept) -> _native.NativeReport:
    report, state = analysis.finish(kept.is_saved)
    kept.save(state)
    return report


def _facts(batch: Any, at: int) -> str:
    return bytes(batch["header"][at].as_py()).decode("utf-8")


def in_order(facts: Iterable[str]) -> List[str]:
    """Facts of files in the order of the files."""

    def order(text: str) -> Tuple[int, str]:
        known = json.loads(text)
        return known["first_ns"] or 0, known["file"]

    return sorted(facts, key=order)


def _announced(analysis: _native.RowAnalysis, facts: Iterable[str]) -> Dict[str, int]:
    """Tells the analysis of the files. Returns their places in their order."""
    places = {}
    for at, text in enumerate(in_order(facts)):
        analysis.file(text)
        places[json.loads(text)["file"]] = at
    return places


def _feed(analysis: _native.RowAnalysis, parts: List[_Part], places: Dict[str, int]) -> None:
    """Passes batches on in the order of their first rows. A part is opened when its time comes."""
    later = sorted(parts, key=lambda part: part.begins_ns, reverse=True)
    heads: List[Tuple[int, int, int, int, Any, Iterator[Any]]] = []

    def advance(batches: Iterator[Any], number: int) -> None:
        batch: Optional[Any] = next((batch for batch in batches if batch.num_rows), None)
        if batch is not None:
            first = batch["order_ns"][0].as_py(), places.get(_file(batch), len(places)), batch["frame"][0].as_py()
            heapq.heappush(heads, (*first, number, batch, batches))

    while later or heads:
        while later and (not heads or later[-1].begins_ns <= heads[0][0]):
            advance(later.pop().read(), len(later))
        if heads:
            *_, number, batch, batches = heapq.heappop(heads)
            analysis.push(_file(batch), batch)
            advance(batches, number)


def _file(batch: Any) -> str:
    first, last = batch["file"][0].as_py(), batch["file"][-1].as_py()
    if first != last:
        raise ValueError(f"rows of several captures in one file: {first}, {last}; rdmawire index writes files of their own")
    return str(first)
