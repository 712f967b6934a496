"""Many captures on many machines: Apache Spark around the same analysis. Needs pyspark and pyarrow.

Each tap is analyzed in one task, which says what `analyze` says of the tap's capture before it was cut into files.

    captures = [("leaf1-eth0", "/captures/leaf1/0001.pcap"), ("leaf1-eth0", "/captures/leaf1/0002.pcap")]
    results = rdmawire.spark.analyze_captures(spark, captures)
    results.table("findings").show()

`analyze_captures` reads captures where they are. `analyze_index` reads what `rdmawire index` wrote of them: frames without payload, a
tenth of the bytes. `analyze_rows` takes such rows from any DataFrame, and lets Spark sort them.

With directories for `state_in` and `state_out`, the first two go on hour by hour: see docs/spark.md.
"""

from __future__ import annotations

import importlib
import json
import os
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _native, taps
from ._analyze import _asked, _asked_of_rows
from ._state import PathLike, _check_directories, _of_tap

HEADERS = (
    "tap string, file string, frame bigint, order_ns bigint, time_ns bigint, pair bigint, link_type bigint, interface bigint, "
    "length_bytes bigint, captured_bytes bigint, icrc_state bigint, header binary"
)
"""The schema of rows of headers. `rdmawire explain table headers` has what they mean, where it is built with Parquet."""
ROWS = "tap string, table string, row string"

TABLES = tuple(_native.table_names())
"""All of `rdmawire explain tables` but packets and messages."""

_TYPES = {
    "int64": "bigint",
    "timestamp": "bigint",
    "float64": "double",
    "bool": "boolean",
    "list of int64": "array<bigint>",
    "list of text": "array<string>",
}
"""Types of Spark. All others are text: JSON, where a value has parts. Times stay nanoseconds: those of Spark have microseconds."""

Captures = Union[Mapping[str, Sequence[PathLike]], Sequence[Tuple[str, PathLike]]]
"""Taps and their files: pairs, or a dictionary of lists. Every worker must be able to open the paths."""


def _functions() -> Any:
    return importlib.import_module("pyspark.sql.functions")


class Results:
    """What an analysis found: a DataFrame for each table of `rdmawire explain tables`.

    `rows` has them all, as JSON; it is computed once for each action, unless it is cached or written: `results.cache()`.
    """

    rows: Any
    """tap, table, row."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def table(self, name: str) -> Any:
        """A table, with the column `tap` before its own."""
        functions = _functions()
        columns = ", ".join(f"`{column}` {_TYPES.get(kind, 'string')}" for column, kind, _ in _native.table_columns(name))
        rows = self.rows.where(functions.col("table") == name)
        parsed = functions.from_json("row", columns).alias("row")
        return rows.select("tap", parsed).select("tap", "row.*")

    def cache(self) -> Results:
        """Keeps the rows, so that several tables need one analysis."""
        self.rows = self.rows.cache()
        return self


def analyze_captures(
    spark: Any,
    captures: Captures,
    *,
    state_in: Optional[PathLike] = None,
    state_out: Optional[PathLike] = None,
    **options: Any,
) -> Results:
    """Analyzes the captures of many taps, each in one task. Options are those of `rdmawire.analyze`, but for `filter` and `strict`.

    Captures are read twice: their frames are counted first, one task a file, at the time of the call.

    `state_in`, `state_out`: directories with a state for each tap, that all workers can read and write; URIs too. They may be the same one.
    Taps go on from their states; a tap without one begins anew. Captures that a state has already are passed over. States are written
    when the results are computed.
    """
    pairs, asked = _pairs(captures), _asked_of_rows(**options)
    _check_directories(state_in, state_out, None)

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        for at in _numbers(batches):
            tap, path = pairs[at]
            yield _batch({"tap": [tap], "path": [path], "facts": [_native.file_facts(path)]})

    counted: Dict[str, Dict[str, str]] = {}
    for row in _tasks(spark, len(pairs)).mapInArrow(count, "tap string, path string, facts string").collect():
        counted.setdefault(row["tap"], {})[row["path"]] = row["facts"]
    files = sorted(counted.items())

    def analyze(batches: Iterator[Any]) -> Iterator[Any]:
        for at in _numbers(batches):
            tap, facts = files[at]
            yield from _rows(tap, taps._of_captures(facts, asked, _of_tap(state_in, state_out, tap, None)))

    return Results(_tasks(spark, len(files)).mapInArrow(analyze, ROWS))


def analyze_index(
    spark: Any,
    index: PathLike,
    *,
    filesystem: Any = None,
    state_in: Optional[PathLike] = None,
    state_out: Optional[PathLike] = None,
    **options: Any,
) -> Results:
    """Analyzes a directory that `rdmawire index` wrote, each tap in one task. Nothing is shuffled.

    Every worker must be able to read the directory. `filesystem`: one of `pyarrow.fs`; without it, `index` may be a URI. Options are those of
    `rdmawire.analyze`, but for `filter` and `strict`.

    `state_in`, `state_out`: as in `analyze_captures`; of `filesystem`, if it is given, unless they are URIs.
    """
    asked, states = _asked_of_rows(**options), filesystem
    _check_directories(state_in, state_out, states)
    filesystem, paths = taps.list_index(index, filesystem)
    of_taps: Dict[str, List[str]] = {}
    for path in paths:
        names = [part[4:] for part in path.split("/") if part.startswith("tap=")]
        of_taps.setdefault(names[0] if names else "", []).append(path)
    files = sorted(of_taps.items())

    def analyze(batches: Iterator[Any]) -> Iterator[Any]:
        for at in _numbers(batches):
            tap, paths = files[at]
            yield from _rows(tap, taps._of_index(paths, filesystem, asked, _of_tap(state_in, state_out, tap, states)))

    return Results(_tasks(spark, len(files)).mapInArrow(analyze, ROWS))


def index_captures(spark: Any, captures: Captures, **options: Any) -> Any:
    """Captures as rows of headers: a DataFrame with the columns of `HEADERS`, one task a file.

    Write it with `.write.partitionBy("tap").parquet(...)`, and later `analyze_rows` takes what was written: a tap can be
    analyzed again without its captures. Options are those of `rdmawire.analyze`; `roce_ports` and `icrc` matter here.
    """
    pairs, asked = _pairs(captures), _asked(**options)

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for at in _numbers(batches):
            tap, path = pairs[at]
            yield from pyarrow.RecordBatchReader.from_stream(_native.Headers(path, tap, asked))

    return _tasks(spark, len(pairs)).mapInArrow(read, HEADERS)


def analyze_rows(rows: Any, *, partitions: Optional[int] = None, **options: Any) -> Results:
    """Analyzes rows of headers, each tap in one task. `partitions`: tasks, Spark's default if it is `None`.

    The facts of the files (their rows have the frame number 0) are collected first: one row a file. Spark sorts all rows of a tap:
    `analyze_index` does without.
    """
    functions = _functions()
    asked = _asked_of_rows(**options)
    files: Dict[str, List[str]] = {}
    for row in rows.where("frame = 0").select("tap", "header").collect():
        files.setdefault(row["tap"], []).append(bytes(row["header"]).decode("utf-8"))
    files = {tap: taps.in_order(facts) for tap, facts in files.items()}
    places = [(tap, *place) for tap, facts in files.items() for place in _places(facts, asked)]
    place = rows.sparkSession.createDataFrame(places, "tap string, file string, base bigint, begins_ns bigint")
    frames = rows.where("frame > 0").join(functions.broadcast(place), ["tap", "file"])
    frames = frames.withColumn("number", functions.expr("base + frame"))
    frames = frames.withColumn("order_ns", functions.expr("greatest(order_ns, begins_ns)"))
    wanted = ["tap", "order_ns", "number", "time_ns", "link_type", "interface", "length_bytes", "captured_bytes", "icrc_state", "header"]
    frames = frames.select(*wanted)
    spread = frames.repartition("tap") if partitions is None else frames.repartition(partitions, "tap")

    def analyze(batches: Iterator[Any]) -> Iterator[Any]:
        return _analyze_sorted(batches, files, asked)

    return Results(spread.sortWithinPartitions("tap", "order_ns", "number").mapInArrow(analyze, ROWS))


def _pairs(captures: Captures) -> List[Tuple[str, str]]:
    pairs = [(tap, file) for tap, files in captures.items() for file in files] if isinstance(captures, Mapping) else captures
    return [(str(tap), os.fspath(path)) for tap, path in pairs]


def _tasks(spark: Any, number: int) -> Any:
    """So many tasks: a DataFrame with a row for each, in a partition of its own."""
    return spark.range(0, number, 1, max(1, number))


def _numbers(batches: Iterator[Any]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _places(facts: Sequence[str], asked: Dict[str, object]) -> Iterator[Tuple[str, int, int]]:
    """Of each file in its order: its name, the frames before it, and the time that its rows are not before."""
    analysis = _native.RowAnalysis(asked, None)
    for text in facts:
        yield (json.loads(text)["file"], *analysis.file(text))


def _analyze_sorted(batches: Iterable[Any], files: Mapping[str, List[str]], asked: Dict[str, object]) -> Iterator[Any]:
    """Analyzes batches that are sorted by tap."""
    current: Optional[str] = None
    analysis: Optional[_native.RowAnalysis] = None
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            tap = batch.column("tap")[start].as_py()
            end = _end(batch.column("tap"), tap, start)
            if tap != current:
                if current is not None and analysis is not None:
                    yield from _rows(current, analysis.finish(False)[0])
                current, analysis = tap, _native.RowAnalysis(asked, None)
                for facts in files.get(tap, []):
                    analysis.file(facts)
            if analysis is not None:
                analysis.push_sorted(batch.slice(start, end - start), "number")
            start = end
    if current is not None and analysis is not None:
        yield from _rows(current, analysis.finish(False)[0])


def _end(taps_of_rows: Any, tap: str, start: int) -> int:
    """Where the rows of a tap end that begin at `start`: rows are sorted by tap."""
    end = len(taps_of_rows)
    if taps_of_rows[end - 1].as_py() == tap:
        return end
    while end - start > 1:
        middle = (start + end) // 2
        if taps_of_rows[middle].as_py() == tap:
            start = middle
        else:
            end = middle
    return end


_MOST_CHARACTERS = 1 << 24
"""Of the rows of one record batch. A column of text in Arrow ends at 2 GiB, which 470,000 flows have."""


def _rows(tap: str, report: _native.NativeReport) -> Iterator[Any]:
    """The rows of all tables, in record batches."""
    tables: List[str] = []
    rows: List[str] = []
    characters = 0
    for table in TABLES:
        for row in report.rows(table):
            if rows and characters + len(row) > _MOST_CHARACTERS:
                yield _batch({"tap": [tap] * len(rows), "table": tables, "row": rows})
                tables, rows, characters = [], [], 0
            tables.append(table)
            rows.append(row)
            characters += len(row)
    yield _batch({"tap": [tap] * len(rows), "table": tables, "row": rows})


def _batch(columns: Dict[str, List[str]]) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict({name: pyarrow.array(values, pyarrow.string()) for name, values in columns.items()})
