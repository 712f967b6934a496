"""Frames as rows of headers: what Spark analyzes. The report is that of the frames, on one machine and in Spark."""

from __future__ import annotations

import importlib
import json
import random
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pyarrow
import pyarrow.parquet as parquet
import pytest
from conftest import ALL, CAPTURE, HAS_SPARK, PCAPS

import rdmawire
from rdmawire import _native, spark, taps
from rdmawire._analyze import _asked


def said(report: rdmawire.Report) -> Dict[str, Any]:
    """A report without the names of the files."""
    said = report.to_dict()
    said["capture"]["files"] = []
    return said


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_rows_have_the_report_of_the_frames(path: Path) -> None:
    assert taps.analyze_captures([path]).to_dict() == rdmawire.analyze(path).to_dict()


def cut(path: Path, into: Path, at: List[int]) -> List[Path]:
    """A capture as several files."""
    packets = list(rdmawire.packets(path))
    files = []
    for n, (start, end) in enumerate(zip([0, *at], [*at, len(packets)])):
        files.append(into / f"{n}.pcap")
        rdmawire.write(files[-1], packets[start:end])
    return files


def index_of(files: List[Path], into: Path, buckets: int) -> None:
    """What `rdmawire index` writes, but for the hours."""
    for file in files:
        rows = pyarrow.RecordBatchReader.from_stream(_native.Headers(file, "tap", _asked())).read_all()
        last = rows.slice(len(rows) - 1)
        frames = rows.slice(0, len(rows) - 1)
        pair = frames["pair"].to_numpy(zero_copy_only=False)
        for bucket in range(buckets + 1):
            wanted = [bucket == (buckets if value != value else int(value) % buckets) for value in pair]
            part = frames.filter(pyarrow.array(wanted, pyarrow.bool_()))
            if bucket == buckets:
                part = pyarrow.concat_tables([part, last])
            if len(part):
                directory = into / f"bucket={bucket}"
                directory.mkdir(parents=True, exist_ok=True)
                to = directory / f"{file.name}.parquet"
                parquet.write_table(part.drop_columns(["tap"]), to, row_group_size=500, compression="zstd")


@pytest.mark.parametrize("pieces", [1, 2, 7])
@pytest.mark.parametrize("buckets", [1, 3, 8])
@pytest.mark.parametrize("name", ["loss1_rc_write-B-300.pcap", "rnr_late-A.pcap.zst", "cm_udaddy-A.pcap.zst"])
def test_neither_cuts_nor_buckets_matter(tmp_path: Path, name: str, pieces: int, buckets: int) -> None:
    path = PCAPS / name
    random.seed(f"{name} {pieces} {buckets}")
    whole = tmp_path / "whole.pcap"
    packets = list(rdmawire.packets(path))[:3000]
    rdmawire.write(whole, packets)
    cuts = sorted(random.randrange(len(packets)) for _ in range(pieces - 1))
    files = cut(whole, tmp_path, cuts)
    random.shuffle(files)
    expected = said(rdmawire.analyze(whole))
    assert said(taps.analyze_captures(files)) == expected
    index_of(files, tmp_path / "index" / "tap=tap", buckets)
    assert said(taps.analyze_index(tmp_path / "index" / "tap=tap")) == expected


def test_an_index_without_its_facts_is_refused(tmp_path: Path) -> None:
    index_of([CAPTURE], tmp_path, 2)
    (tmp_path / "bucket=2" / f"{CAPTURE.name}.parquet").unlink()
    with pytest.raises(ValueError, match="no row 0 of any file"):
        taps.analyze_index(tmp_path)


def table(report: rdmawire.Report, name: str) -> List[Dict[str, Any]]:
    return [json.loads(row) for row in report._native.rows(name)]


def test_tables_have_the_rows_of_the_command_line(tmp_path: Path, command: Any) -> None:
    path = PCAPS / "loss1_rc_write-B.pcap.zst"
    command("analyze", "--ndjson", tmp_path / "t", path)
    report = rdmawire.analyze(path)
    for name in spark.TABLES:
        lines = (tmp_path / "t" / f"{name}.ndjson").read_text(encoding="utf-8").splitlines()
        assert table(report, name) == [json.loads(line) for line in lines]


def test_rows_of_a_tap_come_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    native = rdmawire.analyze(PCAPS / "loss1_rc_write-B.pcap.zst")._native
    rows = [(name, row) for name in spark.TABLES for row in native.rows(name)]
    monkeypatch.setattr(spark, "_MOST_CHARACTERS", 10_000)
    batches = list(spark._rows("tap", native))
    assert len(batches) > 10
    found = [(row["table"], row["row"]) for batch in batches for row in batch.to_pylist()]
    assert found == rows
    longest = max(len(row) for _, row in rows)
    assert all(sum(map(len, batch.column("row").to_pylist())) <= max(10_000, longest) for batch in batches)


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
        files = cut(path, into, cuts)
        captures += [(path.name, file) for file in files]
        index_of(files, tmp_path / "index" / f"tap={path.name}", pieces)
        # All in one file, by the same writer.
        whole = tmp_path / f"{path.name}.whole.pcap"
        rdmawire.write(whole, list(rdmawire.packets(path)))
        expected[path.name] = rdmawire.analyze(whole)
    random.shuffle(captures)
    rows = spark.index_captures(session, captures)
    ways = [
        spark.analyze_captures(session, captures),
        spark.analyze_index(session, tmp_path / "index"),
        spark.analyze_rows(rows),
    ]
    for results in ways:
        results.cache()
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
        assert first["requests_retransmits"] == 85
