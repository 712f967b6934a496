"""Packets: one by one, and as tables."""

from __future__ import annotations

import csv
import inspect
import io
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, List, Optional

import duckdb
import pandas
import polars
import pyarrow
import pytest
from conftest import ALL, PCAPS

import rdmawire

FIELDS = [
    *("bth.opcode", "bth.psn", "bth.p_key", "bth.se", "bth.mig_req", "bth.fecn", "bth.becn", "bth.ack_req"),
    *("deth.src_qp", "deth.q_key", "reth.va", "reth.r_key", "reth.dma_len", "aeth.syndrome", "aeth.msn", "immdt.data"),
    *("ieth.r_key", "atomiceth.va", "atomiceth.swap_data", "atomiceth.compare_data", "atomicacketh.original_data"),
    *("udp.src_port", "udp.dst_port"),
]
NAMES = {
    "frame": "frame.number",
    "time_ns": "frame.time_ns",
    "link_type": "frame.link_type",
    "length_bytes": "frame.len",
    "captured_bytes": "frame.cap_len",
    "tunnel_depth": "tunnel.depth",
    "dscp": "dscp",
    "dest_qp": "bth.dest_qp",
    **{field.replace(".", "_"): field for field in FIELDS},
}
"""Columns, and the command line's names."""


def value(text: str) -> Optional[int]:
    """A cell of the command line: a number, perhaps with its meaning behind it."""
    if text in ("", "-"):
        return None
    word = text.split(" ")[0]
    return {"true": 1, "false": 0}[word] if word in ("true", "false") else int(word, 0)


def plain(source: rdmawire.Packets) -> List[Any]:
    """The rows of a table, with times as numbers."""
    table = pyarrow.table(source)
    for at, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type):
            assert field.type == pyarrow.timestamp("ns", tz="UTC")
            table = table.set_column(at, field.name, table.column(at).cast(pyarrow.int64()))
    return table.to_pylist()


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_columns_are_those_of_the_command_line(path: Path, command: Callable[..., str]) -> None:
    told = list(csv.DictReader(io.StringIO(command("dissect", "--format", "csv", "--fields", ",".join(NAMES.values()), path))))
    table = plain(rdmawire.packets(path, fields=list(NAMES)))
    assert len(told) == len(table) > 0
    for row, other in zip(table, told):
        for column, name in NAMES.items():
            assert row[column] == value(other[name]), (row["frame"], column, other[name])


@pytest.mark.parametrize("name", ["opcode_zoo-A.pcap.zst", "cm_rping-A.pcap", "ipv6_clean-A.pcap.zst", "ud_clean-A.pcap.zst"])
def test_attributes_dictionaries_and_rows_agree(name: str) -> None:
    source = rdmawire.packets(PCAPS / name)
    rows = plain(source)
    count = 0
    for packet, row in zip(source, rows):
        assert packet.to_dict() == row
        assert {column.name: getattr(packet, column.name) for column in rdmawire.columns()} == row
        count += 1
    assert count == len(rows) > 0


def test_every_column_has_values_somewhere() -> None:
    tagged = rdmawire.craft("eth / vlan vid=7 pcp=3 / ipv4 / udp / bth opcode=rc-send-only-with-invalidate / ieth r_key=9 / payload 4")
    packet = rdmawire.Packet(tagged)
    assert (packet.vlan_vid, packet.vlan_pcp, packet.ieth_r_key) == (7, 3, 9)
    roce = "/ ipv4 / udp / bth opcode=rc-send-only / payload 4"
    lanes = rdmawire.Packet(rdmawire.craft("lrh sl=3 vl=1 / bth opcode=rc-send-only / payload 4"), link=247)
    assert (lanes.lrh_sl, lanes.lrh_vl, lanes.lrh_slid, lanes.lrh_dlid) == (3, 1, 1, 2)
    overlay = rdmawire.Packet(rdmawire.craft(f"eth / ipv4 dst=192.0.2.9 / udp / vxlan vni=7 / eth {roce}"))
    assert (overlay.outer_dst, overlay.vni, overlay.dst) == ("192.0.2.9", 7, "10.0.0.2")
    copy = rdmawire.Packet(
        rdmawire.craft(f"eth / ipv4 / gre has_sequence=true / gresequence sequence_number=9 / erspan3 session_id=5 / eth {roce}")
    )
    assert (copy.gre_sequence_number, copy.erspan_session_id, copy.erspan_timestamp) == (9, 5, 0)
    headers = {
        "reliability-sack": "seth entropy=3 / ccstate rcvd_bytes=3",
        "reliability-nack": "neth entropy=1",
        "reliability-probe-request": "peth probe_id=1",
        "rdma-write-only ts=true": "meth msn=1 / tseth tx_timestamp=5 / reth dma_len=4 / payload 4",
    }
    mrc = [rdmawire.Packet(rdmawire.craft(f"eth / ipv4 / udp / mrcbth opcode=mrc-{opcode} / {rest}")) for opcode, rest in headers.items()]
    assert (mrc[0].seth_entropy, mrc[3].tseth_tx_timestamp, mrc[3].reth_dma_len) == (3, 5, 4)
    contexts = ("pdsrequest spdcid=7 / sesstandard / payload 64", "pdsack / sesresponse", "pdsnack nack_code=2")
    uet = [rdmawire.Packet(rdmawire.craft(f"eth / ipv4 / udp / {rest}")) for rest in contexts]
    assert [one.uet_packet for one in uet] == ["RUD request", "ACK", "NACK"]
    assert (uet[0].uet_spdcid, uet[0].uet_operation, uet[1].uet_return_code) == (7, "write", "OK")
    hops = "ifahop device_id=7 residence_ns=900 queue_depth=5 / ifahop device_id=6 residence_ns=100"
    ifa = rdmawire.Packet(rdmawire.craft(f"eth / ipv4 / ifa / udp / ifametadata / {hops} / bth opcode=rc-send-only / payload 4"))
    assert (ifa.telemetry_hops, ifa.telemetry_delay_ns, ifa.telemetry_max_delay_device, ifa.telemetry_max_queue_depth) == (2, 1000, 7, 5)
    csig = rdmawire.Packet(rdmawire.craft(f"eth / csigtag signal=2 value=9 locator=3 {roce}"))
    assert (csig.csig_signal, csig.csig_value, csig.csig_locator) == (2, 9, 3)
    seen = {name for one in (packet, lanes, overlay, copy, ifa, csig, *mrc, *uet) for name, found in one.to_dict().items() if found is not None}
    missing = {column.name for column in rdmawire.columns()} - seen
    for path in ALL:
        if missing:
            table = pyarrow.table(rdmawire.packets(path, fields=sorted(missing)))
            missing -= {name for name in table.column_names if table[name].null_count < len(table)}
    assert not missing


@pytest.mark.parametrize("name", ["loss1_rc_write-B-300.pcap", "rnr_late-A.pcap.zst", "cm_rping-A.pcap"])
def test_rows_are_those_of_the_command_line(name: str, command: Callable[..., str]) -> None:
    path = PCAPS / name
    told = list(csv.DictReader(io.StringIO(command("packets", path))))
    capture, *analysis = [column.name for column in rdmawire.row_columns()]
    fields = [capture, *(column.name for column in rdmawire.columns()), *analysis]
    assert list(told[0]) == fields
    table = plain(rdmawire.packets(path, fields=fields))
    assert len(table) == len(told)
    for row, other in zip(table, told):
        text = {name: "" if value is None else str(value).lower() if isinstance(value, bool) else str(value) for name, value in row.items()}
        assert text == other
    assert {row["class"] for row in table} > {"new"} and {row["epoch"] for row in table} >= {0}


def test_a_scan_reads_what_a_query_needs(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = rdmawire.scan_packets(capture)
    every = [column.name for column in [*rdmawire.columns(), *rdmawire.row_columns()]]
    assert scan.collect().equals(polars.DataFrame(rdmawire.packets(capture, fields=every)))
    asked: List[Any] = []

    def packets(*of: Any, **options: Any) -> rdmawire.Packets:
        asked.append(options["fields"])
        return rdmawire.packets(*of, **options)

    monkeypatch.setattr("rdmawire._scan.packets", packets)
    again = polars.col("class") == "retransmission"
    sums = scan.filter(again).group_by("src").agg(polars.col("payload_bytes").sum()).collect()
    assert sums.rows() == [("10.77.0.1", 87040)]
    assert sorted(asked.pop()) == ["class", "payload_bytes", "src"]
    assert scan.select("frame").head(3).collect()["frame"].to_list() == [1, 2, 3]
    assert scan.select("frame").filter(polars.col("frame") > 5).head(2).collect()["frame"].to_list() == [6, 7]
    assert scan.select(polars.len()).collect().item() == 300
    assert rdmawire.scan_packets(capture, filter="aeth.nak").select("frame").collect().rows() == [(82,)]
    with capture.open("rb") as file, pytest.raises(TypeError, match="file object"):
        rdmawire.scan_packets(file)
    with pytest.raises(TypeError, match="no fields"):
        rdmawire.scan_packets(capture, fields=["src"])


def test_several_sources_follow_each_other(capture: Path) -> None:
    other = PCAPS / "cm_rping-A.pcap"
    table = pyarrow.table(rdmawire.packets([capture, other], fields=["capture", "frame", "class"]))
    frames = [len(list(rdmawire.packets(path))) for path in (capture, other)]
    assert table["capture"].to_pylist() == [str(capture)] * frames[0] + [str(other)] * frames[1]
    assert table["frame"].to_pylist() == [*range(1, frames[0] + 1), *range(1, frames[1] + 1)]
    assert [packet.frame for packet in rdmawire.packets((capture, other))] == table["frame"].to_pylist()
    with pytest.raises(rdmawire.Error, match="no source"):
        rdmawire.packets([])
    with pytest.raises(rdmawire.Error, match="one packet has no class, only a table"):
        next(iter(rdmawire.packets(capture))).to_dict(["class"])


def test_the_stub_has_every_column() -> None:
    stub = Path(inspect.getfile(rdmawire)).with_name("_native.pyi").read_text(encoding="utf-8")
    for column in rdmawire.columns():
        assert f"    def {column.name}(self) ->" in stub


def test_a_filter_chooses(capture: Path) -> None:
    naks = list(rdmawire.packets(capture, filter="aeth.nak"))
    assert [packet.frame for packet in naks] == [82]
    assert naks[0].matches("bth.psn == 10462435") and not naks[0].matches("reth")
    assert pyarrow.table(rdmawire.packets(capture, filter="aeth.nak", fields=["frame"])).to_pylist() == [{"frame": 82}]
    assert "PSN sequence error" in naks[0].info and "82" in repr(naks[0])


def rows(sql: str, source: rdmawire.Packets) -> List[Any]:
    """What DuckDB answers. It finds `source` by its name."""
    answer = duckdb.sql(sql)
    assert answer is not None and source is not None
    return answer.fetchall()


def test_consumers_take_it(capture: Path) -> None:
    source = rdmawire.packets(capture)
    table = pyarrow.table(source)
    doc = (table.schema.field("bth_psn").metadata or {})[b"doc"]
    assert doc.startswith(b"Packet sequence number")
    frame = polars.DataFrame(source)
    assert frame.shape == table.shape and frame["bth_psn"].to_list() == table["bth_psn"].to_pylist()
    data = pandas.DataFrame.from_arrow(source)  # type: ignore[attr-defined]  # its stubs do not know it yet
    assert data.shape == table.shape and data["bth_psn"].sum() == frame["bth_psn"].sum()
    found = rows("select src, count(*), max(bth_psn) from source group by src order by src", source)
    told = frame.group_by("src").agg(polars.len(), polars.col("bth_psn").max()).sort("src").rows()
    assert found == told
    assert rows("select count(*) from source where aeth_syndrome = 96", source) == [(1,)]


def test_batches_are_as_long_as_asked(capture: Path) -> None:
    reader = pyarrow.RecordBatchReader.from_stream(rdmawire.packets(capture, batch_rows=100))
    assert [len(batch) for batch in reader] == [100, 100, 100]
    reader = pyarrow.RecordBatchReader.from_stream(rdmawire.packets(capture, filter="frame.number <= 250", batch_rows=100))
    assert [len(batch) for batch in reader] == [100, 100, 50]
    with pytest.raises(rdmawire.Error, match="batch_rows"):
        rdmawire.packets(capture, batch_rows=0)


def test_a_stream_without_a_reader_is_released(capture: Path) -> None:
    for _ in range(100):
        rdmawire.packets(capture).__arrow_c_stream__()
        rdmawire.packets(capture).__arrow_c_schema__()
        iterator = iter(rdmawire.packets(PCAPS / "loss1_rc_write-A.pcap.zst"))
        next(iterator)


def test_a_file_object_is_read_once(capture: Path) -> None:
    with open(capture, "rb") as file:
        source = rdmawire.packets(file)
        assert sum(1 for _ in source) == 300
        with pytest.raises(rdmawire.Error, match="read already"):
            iter(source)
    source = rdmawire.packets(capture)
    assert [sum(1 for _ in source) for _ in range(2)] == [300, 300]


def test_a_compressed_file_object_is_read_by_another_thread() -> None:
    path = PCAPS / "loss1_rc_write-A.pcap.zst"
    expected = sum(1 for _ in rdmawire.packets(path))
    with open(path, "rb") as file:
        assert sum(1 for _ in rdmawire.packets(file)) == expected
    with open(path, "rb") as file:
        assert pyarrow.table(rdmawire.packets(file)).num_rows == expected
    with open(path, "rb") as file:
        source = rdmawire.packets(file, fields=["bth_psn"])
        assert polars.DataFrame(source).height == expected


def test_packets_are_values(capture: Path) -> None:
    first, second = list(rdmawire.packets(capture))[:2]
    again = next(iter(rdmawire.packets(capture)))
    assert first == again and hash(first) == hash(again) and first != second
    assert first != object()
    assert pickle.loads(pickle.dumps(second)) == second
    assert bytes(first) == first.data and len(first) == first.captured_bytes
    assert second.payload in second.data and len(second.payload) == second.payload_bytes == 1024
    assert "dest_qp" in second.tree()
    cut = rdmawire.Packet(second.data[:64], length=len(second))
    assert (cut.length_bytes, cut.captured_bytes, cut.icrc_state) == (len(second), 64, "unchecked")
    with pytest.raises(AttributeError, match="no attribute 'qp'"):
        getattr(first, "qp")


def test_other_ports_of_roce(capture: Path) -> None:
    assert all(packet.bth_psn is None for packet in rdmawire.packets(capture, roce_ports=[4790]))
    with pytest.raises(rdmawire.Error, match="one or two UDP ports"):
        rdmawire.packets(capture, roce_ports=[1, 2, 3])


MEMORY = """
import resource, sys, pyarrow, rdmawire
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
list(rdmawire.packets(sys.argv[2]))
pyarrow.table(rdmawire.packets(sys.argv[2]))
before, rows = used(), 0
for batch in pyarrow.RecordBatchReader.from_stream(rdmawire.packets(sys.argv[1], batch_rows=4096)):
    rows += len(batch)
for packet in rdmawire.packets(sys.argv[1]):
    rows += 1
rdmawire.analyze(sys.argv[1])
print(rows, used() - before)
"""


def test_memory_is_bounded(tmp_path: Path, capture: Path) -> None:
    path, frames = tmp_path / "long.pcap", 250_000
    frame = rdmawire.craft("eth / ipv4 / udp / bth opcode=rc-write-middle / payload 256")
    assert rdmawire.write(path, (frame for _ in range(frames))) == frames
    assert path.stat().st_size > 70_000_000
    done = subprocess.run([sys.executable, "-c", MEMORY, path, capture], capture_output=True, text=True, check=True)
    rows, grown = map(int, done.stdout.split())
    assert rows == 2 * frames
    # In KiB: far less than the file, and than its table.
    assert grown < 24 * 1024, grown


def test_one_field_and_the_schema(capture: Path) -> None:
    packets = rdmawire.packets(capture, fields="bth_psn")
    assert [name for name, _, _ in packets.schema] == ["bth_psn"]
    later = rdmawire.packets(capture, fields=["class", "uid"], reorder_window="1ms")
    assert [name for name, _, _ in later.schema] == ["class", "uid"]
    with pytest.raises(rdmawire.Error, match='"psm"'):
        rdmawire.packets(capture, fields="psm")
