"""Frames as rows of headers: what Spark analyzes. The report is that of the frames, on one machine and in Spark."""

from __future__ import annotations

import importlib
import json
import random
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pyarrow
import pyarrow.compute as compute
import pytest
from conftest import ALL, CAPTURE, HAS_SPARK, PCAPS

import rdmawire
from rdmawire import _native, spark
from rdmawire._analyze import _asked


def headers(path: Path, tap: str = "tap") -> pyarrow.Table:
    return pyarrow.RecordBatchReader.from_stream(_native.Headers(path, tap, _asked())).read_all()


def report_of(files: List[Path]) -> Dict[str, Any]:
    """The report of files, from their rows."""
    tables = [headers(path) for path in files]
    facts, bases = spark._facts(row for table in tables for row in table.to_pylist() if row["frame"] == 0)
    base = {file: before for _, file, before in bases}
    analysis = _native.RowAnalysis(facts["tap"], _asked())
    for table in sorted(tables, key=lambda table: base[table["file"][0].as_py()]):
        frames = table.filter(compute.greater(table["frame"], pyarrow.scalar(0)))
        number = compute.add(frames["frame"], pyarrow.scalar(base[table["file"][0].as_py()]))
        for batch in frames.append_column("number", number).to_batches():
            analysis.push(batch, "number")
    report: Dict[str, Any] = json.loads(analysis.finish().json())
    return report


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_rows_have_the_report_of_the_frames(path: Path) -> None:
    assert report_of([path]) == rdmawire.analyze(path).to_dict()


def cut(path: Path, into: Path, at: List[int]) -> List[Path]:
    """A capture as several files."""
    packets = list(rdmawire.packets(path))
    files = []
    for n, (start, end) in enumerate(zip([0, *at], [*at, len(packets)])):
        files.append(into / f"{n}.pcap")
        rdmawire.write(files[-1], packets[start:end])
    return files


def table(report: rdmawire.Report, name: str) -> List[Dict[str, Any]]:
    return [json.loads(row) for row in report._native.rows(name)]


def test_tables_have_the_rows_of_the_command_line(tmp_path: Path, command: Any) -> None:
    path = PCAPS / "loss1_rc_write-B.pcap.zst"
    command("analyze", "--ndjson", tmp_path / "t", path)
    report = rdmawire.analyze(path)
    for name in spark.TABLES:
        lines = (tmp_path / "t" / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()
        assert table(report, name) == [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    if not HAS_SPARK:
        pytest.skip("skipped: pyspark or Java is not installed")
    sql = importlib.import_module("pyspark.sql")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "3").config("spark.driver.host", "127.0.0.1")
    session = builder.getOrCreate()
    yield session
    session.stop()


def rows_of(results: spark.Results, tap: str) -> Dict[str, List[Dict[str, Any]]]:
    found: Dict[str, List[Dict[str, Any]]] = {name: [] for name in spark.TABLES}
    for row in results.rows.collect():
        if row["tap"] == tap:
            found[row["table"]].append(json.loads(row["row"]))
    return found


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_spark_says_the_same(session: Any, tmp_path: Path, pieces: int) -> None:
    random.seed(pieces)
    captures = []
    expected = {}
    for path in [CAPTURE, PCAPS / "rnr_late-A.pcap.zst", PCAPS / "cm_rping-A.pcap", PCAPS / "ecn_rc_write-A.pcap.zst"]:
        into = tmp_path / path.name
        into.mkdir()
        frames = rdmawire.analyze(path).capture.packets
        cuts = sorted(random.randrange(frames) for _ in range(pieces - 1))
        captures += [(path.name, file) for file in cut(path, into, cuts)]
        # All in one file, by the same writer.
        whole = tmp_path / f"{path.name}.whole.pcap"
        rdmawire.write(whole, list(rdmawire.packets(path)))
        expected[path.name] = rdmawire.analyze(whole)
    random.shuffle(captures)
    results = spark.analyze_captures(session, captures).cache()
    for tap, report in expected.items():
        found = rows_of(results, tap)
        for name in spark.TABLES:
            wanted = table(report, name)
            for row in [*wanted, *found[name]]:
                # The names of the files differ, and what is damaged in them.
                row["capture"] = ""
                row["files"] = []
            assert found[name] == wanted, (tap, name)
    flows = results.table("flows")
    assert flows.count() == sum(len(report.flows) for report in expected.values())
    first = flows.where("tap = 'loss1_rc_write-B-300.pcap' and dst = '10.77.0.2'").collect()[0]
    assert (first["requests_retransmits"], first["bucket"]) == (85, 0)


@pytest.mark.parametrize("buckets", [3, 8])
def test_buckets_have_the_same_flows(session: Any, buckets: int) -> None:
    names = ["rnr_late-A.pcap.zst", "ecn_rc_write-A.pcap.zst", "cm_udaddy-A.pcap.zst"]
    results = spark.analyze_captures(session, {name: [PCAPS / name] for name in names}, buckets=buckets).cache()
    for name in names:
        wanted = {
            kind: [{**row, "capture": ""} for row in table(rdmawire.analyze(PCAPS / name), kind)]
            for kind in ("flows", "connections", "losses")
        }
        found = rows_of(results, name)
        for kind, rows in wanted.items():
            numbers = {"flow": 0, "connection": 0, "id": 0, "flows": []}
            said = [{**row, **{key: numbers[key] for key in numbers if key in row}, "capture": ""} for row in found[kind]]
            want = [{**row, **{key: numbers[key] for key in numbers if key in row}} for row in rows]
            order = lambda row: json.dumps(row, sort_keys=True)  # noqa: E731
            assert sorted(said, key=order) == sorted(want, key=order), (name, kind)
