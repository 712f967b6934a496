"""Many captures on many machines: Apache Spark around the same analysis.

Captures become rows of headers, without payload, one task a file. The rows of a tap come together in the order of time, and
go through the analysis as a stream: what `analyze` says of the frames, it says of the rows. Needs pyspark and pyarrow.

    captures = [("leaf1-eth0", "/captures/leaf1/0001.pcap"), ("leaf1-eth0", "/captures/leaf1/0002.pcap")]
    results = rdmawire.spark.analyze_captures(spark, captures)
    results.table("findings").show()

With `buckets` more than one, the address pairs of a tap are spread over so many tasks. Flows, connections and episodes are
then the same, but for their numbers (`flow`, `connection`, `id`), which count in their bucket. What is of a whole tap is not
put together again: rows of the tables `captures`, `classes`, `intervals` and `findings` are of a bucket, whose number stands
beside them; frames without addresses, with all pauses, are in the last one. What is learned over all packets of a tap (whether ICRCs can be
trusted, lags of recorded copies, a coarse clock) is learned in each bucket.
"""

from __future__ import annotations

import importlib
import json
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _native
from ._analyze import _asked

HEADERS = (
    "tap string, file string, frame bigint, order_ns bigint, time_ns bigint, pair bigint, link_type bigint, interface bigint, "
    "length_bytes bigint, captured_bytes bigint, icrc_state bigint, header binary"
)
"""The schema of rows of headers. `rdmawire explain table headers` has what they mean, where it is built with Parquet."""
ROWS = "tap string, bucket bigint, table string, row string"

TABLES = ("captures", "flows", "connections", "episodes", "losses", "pauses", "marks", "classes", "intervals", "findings")

_TYPES = {
    "int64": "bigint",
    "uint64": "bigint",
    "float64": "double",
    "bool": "boolean",
    "list of uint64": "array<bigint>",
    "list of text": "array<string>",
}
"""Types of Spark. All others are text: JSON, where a value has parts."""

Captures = Union[Mapping[str, Sequence[Union[str, "os.PathLike[str]"]]], Sequence[Tuple[str, Union[str, "os.PathLike[str]"]]]]
"""Taps and their files: pairs, or a dictionary of lists. Every worker must be able to open the paths."""


def _functions() -> Any:
    return importlib.import_module("pyspark.sql.functions")


class Results:
    """What an analysis found: a DataFrame for each table of `rdmawire explain tables`.

    `rows` has them all, as JSON; it is computed once for each action, unless it is cached or written: `results.cache()`.
    """

    rows: Any
    """tap, bucket, table, row."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def table(self, name: str) -> Any:
        """A table, with the columns `tap` and `bucket` before its own."""
        functions = _functions()
        columns = ", ".join(f"`{column}` {_TYPES.get(kind, 'string')}" for column, kind, _ in _native.table_columns(name))
        rows = self.rows.where(functions.col("table") == name)
        parsed = functions.from_json("row", columns).alias("row")
        return rows.select("tap", "bucket", parsed).select("tap", "bucket", "row.*")

    def cache(self) -> Results:
        """Keeps the rows, so that several tables need one analysis."""
        self.rows = self.rows.cache()
        return self


def index_captures(spark: Any, captures: Captures, **options: Any) -> Any:
    """Captures as rows of headers: a DataFrame with the columns of `HEADERS`, one task a file.

    Write it with `.write.partitionBy("tap").parquet(...)`, and later `analyze_rows` takes what was written: a tap can be
    analyzed again without its captures. Options are those of `rdmawire.analyze`; `roce_ports` and `icrc` matter here.
    """
    pairs = [(tap, file) for tap, files in captures.items() for file in files] if isinstance(captures, Mapping) else captures
    paths = [(str(tap), os.fspath(path)) for tap, path in pairs]
    asked = _asked(**options)

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for batch in batches:
            for row in batch.to_pylist():
                headers = _native.Headers(row["path"], row["tap"], asked)
                yield from pyarrow.RecordBatchReader.from_stream(headers)

    frame = spark.createDataFrame(paths, "tap string, path string")
    return frame.repartition(max(1, len(paths)), "path").mapInArrow(read, HEADERS)


def analyze_rows(rows: Any, *, buckets: int = 1, partitions: Optional[int] = None, **options: Any) -> Results:
    """Analyzes rows of headers, tap by tap. `partitions`: tasks, Spark's default if it is `None`.

    The facts of the files (their rows have the frame number 0) are collected first: one row a file.
    """
    if buckets < 1:
        raise ValueError("buckets: at least one")
    functions = _functions()
    asked = _asked(**options)
    files, bases = _facts(rows.where("frame = 0").select("tap", "header").collect())
    spark = rows.sparkSession
    base = spark.createDataFrame(bases, "tap string, file string, base bigint")
    frames = rows.where("frame > 0").join(functions.broadcast(base), ["tap", "file"])
    bucket = functions.lit(0) if buckets == 1 else functions.expr(f"coalesce(pair % {buckets}, {buckets})")
    frames = frames.withColumn("number", functions.expr("base + frame")).withColumn("bucket", bucket.cast("bigint"))
    wanted = ["tap", "bucket", "order_ns", "number", "time_ns", "link_type", "interface", "length_bytes", "captured_bytes"]
    frames = frames.select(*wanted, "icrc_state", "header")
    spread = frames.repartition("tap", "bucket") if partitions is None else frames.repartition(partitions, "tap", "bucket")

    def analyze(batches: Iterator[Any]) -> Iterator[Any]:
        return _analyze_sorted(batches, files, asked)

    return Results(spread.sortWithinPartitions("tap", "bucket", "order_ns", "number").mapInArrow(analyze, ROWS))


def analyze_captures(
    spark: Any, captures: Captures, *, buckets: int = 1, partitions: Optional[int] = None, **options: Any
) -> Results:
    """Analyzes the captures of many taps. Options are those of `rdmawire.analyze`, but for `filter` and `strict`.

    The captures are read twice: once for the facts of the files, once for their frames. Where that is too slow, write what
    `index_captures` gives, and pass it to `analyze_rows`.
    """
    rows = index_captures(spark, captures, **options)
    return analyze_rows(rows, buckets=buckets, partitions=partitions, **options)


def _facts(rows: Iterable[Any]) -> Tuple[Dict[str, List[str]], List[Tuple[str, str, int]]]:
    """The facts of each tap's files in their order, and how many frames are before each."""
    taps: Dict[str, List[Tuple[int, str, int, str]]] = {}
    for row in rows:
        text = bytes(row["header"]).decode("utf-8")
        facts = json.loads(text)
        taps.setdefault(row["tap"], []).append((facts["first_ns"] or 0, facts["file"], facts["frames"], text))
    bases = []
    for tap, files in taps.items():
        files.sort()
        before = 0
        for _, file, frames, _ in files:
            bases.append((tap, file, before))
            before += frames
    return {tap: [text for *_, text in files] for tap, files in taps.items()}, bases


def _analyze_sorted(batches: Iterable[Any], files: Mapping[str, List[str]], asked: Mapping[str, object]) -> Iterator[Any]:
    """Analyzes batches that are sorted by tap and bucket."""
    current: Optional[Tuple[str, int]] = None
    analysis: Optional[_native.RowAnalysis] = None
    for batch in batches:
        taps, buckets = batch.column("tap"), batch.column("bucket")
        start = 0
        while start < batch.num_rows:
            group = (taps[start].as_py(), buckets[start].as_py())
            end = _end(lambda at: (taps[at].as_py(), buckets[at].as_py()) == group, start, batch.num_rows)
            if group != current:
                if current is not None and analysis is not None:
                    yield _rows(current, analysis)
                current, analysis = group, _native.RowAnalysis(files.get(group[0], []), asked)
            if analysis is not None:
                analysis.push(batch.slice(start, end - start), "number")
            start = end
    if current is not None and analysis is not None:
        yield _rows(current, analysis)


def _end(is_of_group: Callable[[int], bool], start: int, end: int) -> int:
    """Where a group ends that begins at `start`: rows are sorted by group."""
    if is_of_group(end - 1):
        return end
    while end - start > 1:
        middle = (start + end) // 2
        if is_of_group(middle):
            start = middle
        else:
            end = middle
    return end


def _rows(group: Tuple[str, int], analysis: _native.RowAnalysis) -> Any:
    import pyarrow

    report = analysis.finish()
    rows = [(table, row) for table in TABLES for row in report.rows(table)]
    tap, bucket = group
    return pyarrow.RecordBatch.from_arrays(
        [
            pyarrow.array([tap] * len(rows), pyarrow.string()),
            pyarrow.array([bucket] * len(rows), pyarrow.int64()),
            pyarrow.array([table for table, _ in rows], pyarrow.string()),
            pyarrow.array([row for _, row in rows], pyarrow.string()),
        ],
        names=["tap", "bucket", "table", "row"],
    )
