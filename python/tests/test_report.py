"""Reports: the same as those of the command line, whatever the source."""

from __future__ import annotations

import gzip
import importlib.util
import io
import json
import keyword
import pickle
import re
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict

import pytest
from conftest import ALL, PCAPS, ROOT

import rdmawire
from rdmawire._record import Record
from rdmawire.report import Cause

Command = Callable[..., Dict[str, Any]]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_a_report_is_that_of_the_command_line(path: Path, command_json: Command) -> None:
    assert rdmawire.analyze(path).to_dict() == command_json("analyze", "--json", path)


@pytest.mark.parametrize(
    ("options", "args"),
    [
        ({"filter": "bth.dest_qp == 0x11"}, ["--filter", "bth.dest_qp == 0x11"]),
        ({"interval": "10ms"}, ["--interval", "10ms"]),
        ({"interval": timedelta(milliseconds=10)}, ["--interval", "10ms"]),
        ({"interval": 10_000_000}, ["--interval", "10ms"]),
        ({"reorder_window": "5ms"}, ["--reorder-window", "5ms"]),
        ({"order": "file"}, ["--order", "file"]),
        ({"ack_timeout": 14}, ["--ack-timeout", "14"]),
        ({"ack_timeout": "67ms"}, ["--ack-timeout", "67ms"]),
        ({"speed": "400G", "storm": "cisco"}, ["--speed", "400G", "--storm", "cisco"]),
        ({"roce_ports": [4790]}, ["--roce-port", "4790"]),
        ({"decap": {4791: "ethernet", 8473: "vxlan"}}, ["--decap", "4791=ethernet,8473=vxlan"]),
        ({"icrc": False}, ["--icrc", "off"]),
        ({"max_flows": 1}, ["--max-flows", "1"]),
    ],
)
def test_options_are_those_of_the_command_line(
    capture: Path, options: Dict[str, Any], args: list[str], command_json: Command
) -> None:
    for path in (capture, PCAPS / "reorder5_rc_write-A.pcap.zst"):
        assert rdmawire.analyze(path, **options).to_dict() == command_json("analyze", "--json", *args, path)


def test_a_map_of_queue_pairs(capture: Path, tmp_path: Path, command_json: Command) -> None:
    mapped = tmp_path / "qps"
    mapped.write_text("# ends\n10.77.0.1,0x12,10.77.0.2,0x11\n")
    told = command_json("analyze", "--json", "--qp-map", mapped, capture)
    assert rdmawire.analyze(capture, qp_map=mapped).to_dict() == told
    mapped.write_text("10.77.0.1,0x12\n")
    with pytest.raises(rdmawire.Error, match="qp_map: line 1: expected ADDRESS,QP,ADDRESS,QP"):
        rdmawire.analyze(capture, qp_map=mapped)


def test_a_file_of_links(capture: Path, tmp_path: Path, command_json: Command) -> None:
    links = tmp_path / "links.toml"
    links.write_text('[[link]]\ntap = 0\na = { device = "s1" }\nb = { device = "s2" }\n')
    told = command_json("analyze", "--json", "--links", links, capture)
    assert rdmawire.analyze(capture, links=links).to_dict() == told
    links.write_text("[[link]]\ntap = 0\n")
    with pytest.raises(rdmawire.Error, match="links: line 1: missing field"):
        rdmawire.analyze(capture, links=links)


def test_a_map_of_priorities(capture: Path, tmp_path: Path, command_json: Command) -> None:
    qos = tmp_path / "qos.toml"
    qos.write_text("pfc = [3]\ncnp = 6\n[dscp]\n26 = 3\n")
    told = command_json("analyze", "--json", "--qos", qos, capture)
    assert told["qos"] != command_json("analyze", "--json", capture)["qos"]
    assert rdmawire.analyze(capture, qos=qos).to_dict() == told
    qos.write_text("pfc = [9]\n")
    with pytest.raises(rdmawire.Error, match="qos: pfc: 9 is no priority"):
        rdmawire.analyze(capture, qos=qos)


def test_options_of_the_command_line_are_options_here(command: Callable[..., str]) -> None:
    """Options of analyses, not of what is printed or written. Which files are one trace, and logs, are arguments of `analyze` alone."""
    names = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", command("analyze", "--help"), re.MULTILINE))
    output = {"merge", "json", "html", "flow", "perfetto", "top", "sort", "every", "threads", "csv", "ndjson", "parquet"}
    output |= {"separate", "log", "messages", "force", "color", "config", "help", "version"}
    states = {"state-in", "state-out"}
    here = {{"roce_ports": "roce-port"}.get(name, name.replace("_", "-")) for name in rdmawire.Options.__annotations__}
    assert names - output - states == here - {"strict"}


def test_several_sources_are_one_trace(command_json: Command) -> None:
    both = [PCAPS / "loss1_rc_read-A.pcap.zst", PCAPS / "loss1_rc_read-B.pcap.zst"]
    assert rdmawire.analyze(both).to_dict() == command_json("analyze", "--json", "--merge", *both)
    with pytest.raises(rdmawire.Error, match="no source"):
        rdmawire.analyze([])


def test_parts_of_one_capture(tmp_path: Path, capture: Path) -> None:
    frames = [(packet.data, packet.time_ns) for packet in rdmawire.packets(capture)]
    whole = rdmawire.analyze(capture)
    parts = [tmp_path / f"x-{part}.pcap" for part in (1, 2)]
    for path, some in zip(parts, (frames[:100], frames[100:])):
        rdmawire.write(path, [rdmawire.Packet(data, time_ns=time) for data, time in some])
    report = rdmawire.analyze(parts)
    assert report.capture.parts == [[str(path) for path in parts]]
    assert report.flows[0].requests.retransmits == whole.flows[0].requests.retransmits
    assert rdmawire.analyze(parts, separate=True).capture.parts == []


def test_a_log_leads_to_flows(tmp_path: Path, capture: Path, command_json: Command) -> None:
    log = tmp_path / "nccl.log"
    log.write_text("NET/IB: Got completion from peer 10.77.0.2<4000> with status=12 opcode=0 len=0 vendor err 129 (Send)\n")
    report = rdmawire.analyze(capture, log=log)
    assert report.to_dict() == command_json("analyze", "--json", "--log", log, capture)
    assert report.log is not None and report.log[0].status == 12
    log.write_text("all is well\n")
    with pytest.warns(UserWarning, match="no line tells of a completion that failed"):
        rdmawire.analyze(capture, log=[log])


def test_messages_are_those_of_the_command_line(tmp_path: Path, capture: Path, command: Callable[..., str]) -> None:
    command("analyze", "--messages", "--ndjson", tmp_path / "tables", capture)
    told = [json.loads(line) for line in (tmp_path / "tables" / "messages.ndjson").read_text().splitlines()]
    table = rdmawire.messages(capture)
    assert list(table) == told and [column.name for column in table.columns] == list(told[0])
    with pytest.raises(rdmawire.Error, match="rdmawire.messages"):
        rdmawire.analyze(capture).table("messages")


def test_sources_of_every_kind_give_one_report(capture: Path) -> None:
    data = capture.read_bytes()
    expected = rdmawire.analyze(capture).to_dict()
    expected["capture"]["files"] = []
    with open(capture, "rb") as file:
        for source in (
            str(capture),
            data,
            bytearray(data),
            memoryview(data),
            io.BytesIO(data),
            gzip.compress(data),
            io.BytesIO(gzip.compress(data)),
            file,
        ):
            told = rdmawire.analyze(source).to_dict()
            told["capture"]["files"] = []
            assert told == expected, source
    with open(capture, "rb") as file:
        assert rdmawire.analyze(file).capture.files == [str(capture)]


def compare(value: Any, raw: Any) -> int:
    """Objects have what JSON has. Returns how many there were."""
    if isinstance(value, Record):
        # A keyword has `_` behind it.
        known = {f"{name}_" if keyword.iskeyword(name) else name: name for name in raw}
        annotated = {name for name in type(value).__annotations__ if not name.startswith("_")}
        assert set(known) <= annotated, f"{type(value).__name__} has no {set(known) - annotated}"
        for name in annotated - set(known):
            assert getattr(value, name) in ({}, [], None), name
        return 1 + sum(compare(getattr(value, name), raw[field]) for name, field in known.items())
    if isinstance(raw, list):
        assert len(value) == len(raw)
        return sum(map(compare, value, raw))
    if isinstance(raw, dict):
        assert set(value) == set(raw)
        return sum(compare(value[name], raw[name]) for name in raw)
    assert value == raw and type(value) is type(raw)
    return 0


def test_attributes_are_the_fields() -> None:
    scenario, _ = rdmawire.craft_scenario(ROOT / "examples" / "scenarios" / "pfc-storm.toml")
    reports = [rdmawire.analyze(path, interval="10ms") for path in ALL] + [rdmawire.analyze(scenario, speed="100G")]
    assert sum(compare(report, report.to_dict()) for report in reports) > 3000
    with pytest.raises(AttributeError, match="a Report has no 'flow_count'"):
        getattr(reports[0], "flow_count")


def test_a_keyword_has_an_underscore_behind_it() -> None:
    cause = Cause({"with": {"affected": 3, "flows": 4}, "without": {"affected": 0, "flows": 9}})
    assert (cause.with_.affected, cause.without.flows) == (3, 9)
    assert "with_" in dir(cause) and repr(cause).startswith("Cause(with_=") and cause.to_dict()["with"]["flows"] == 4
    with pytest.raises(AttributeError, match="a Cause has no 'class_'"):
        getattr(cause, "class_")


def test_a_report_is_kept_and_read_again(capture: Path, tmp_path: Path, command: Callable[..., str]) -> None:
    report = rdmawire.analyze(capture)
    assert report.to_json() + "\n" == command("analyze", "--json", capture)
    path = tmp_path / "report.json"
    path.write_text(report.to_json(), encoding="utf-8")
    assert rdmawire.Report.load(path) == report
    assert pickle.loads(pickle.dumps(report)) == report
    path.write_text("{")
    with pytest.raises(rdmawire.Error, match="this is no report") as raised:
        rdmawire.Report.load(path)
    assert raised.value.file == str(path)
    path.write_text('{"schema": "other/1"}')
    with pytest.raises(rdmawire.Error, match="its schema is"):
        rdmawire.Report.load(path)


def test_a_flow_by_its_ends(capture: Path) -> None:
    report = rdmawire.analyze(capture)
    assert report.flow(1) == report.flows[1]
    assert report.flow("10.77.0.1,10.77.0.2,0x11").requests.retransmits == 85
    with pytest.raises(rdmawire.Error):
        report.flow(2)


def tool(name: str) -> ModuleType:
    path = ROOT / "python" / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "file"), [("report_types", "report.py"), ("native_stub", "_native.pyi")])
def test_the_build_has_made_its_files(name: str, file: str) -> None:
    from rdmawire import _native

    kept = (Path(rdmawire.__file__).parent / file).read_text(encoding="utf-8")
    assert tool(name).made(_native) == kept


def test_the_schema_is_that_of_the_command_line(command_json: Command) -> None:
    from rdmawire import _native

    assert json.loads(_native.report_schema()) == command_json("explain", "schema")


def test_tables_have_the_rows_of_the_report(capture: Path) -> None:
    report = rdmawire.analyze(capture)
    flows = report.table("flows")
    assert len(flows) == len(report.flows)
    assert [row["uid"] for row in flows] == [flow.uid for flow in report.flows]
    assert {row["uid"] for row in report.table("losses")} <= {flow.uid for flow in report.flows}
    assert flows[0]["capture_id"] == report.capture.id
    assert [row["packets"] for row in flows[:1]] == [report.flows[0].packets]
    with pytest.raises(rdmawire.Error, match="no table is called"):
        report.table("flow")


def test_tables_are_arrow_with_signed_numbers_and_times(capture: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    report = rdmawire.analyze(capture)
    table = pyarrow.table(report.table("flows"))
    assert table.schema.field("packets").type == pyarrow.int64()
    assert table.schema.field("first_ns").type == pyarrow.timestamp("ns", tz="UTC")
    assert table.column("first_ns")[0].value == report.flows[0].first_ns
    for name in ("captures", "connections", "pauses", "slow", "findings"):
        assert pyarrow.table(report.table(name)).num_rows == len(report.table(name))


def test_notebooks_show_findings_and_flows(capture: Path) -> None:
    report = rdmawire.analyze(capture)
    text = report._repr_html_()
    assert "1 finding>" in repr(report) or len(report.findings) != 1
    assert "<table>" in text and report.flows[0].src in text and "QP 0x11" in text
    assert "<th>packets</th>" in report.table("flows")._repr_html_()
