"""An analysis in several runs has the report of one, wherever it is cut, and whoever made the runs."""

from __future__ import annotations

import random
import struct
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List

import pyarrow.fs
import pytest
from conftest import CAPTURE, PCAPS
from test_rows import cut, index_of, rows_of, said, session, table

import rdmawire
from rdmawire import spark, taps

__all__ = ["session"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("loss1_rc_write-B-300.pcap", {}),
        ("loss1_rc_write-B-300.pcap", {"interval": "1ms", "icrc": False}),
        ("loss1_rc_write-B-300.pcap", {"filter": "frame.number >= 40 && bth.dest_qp == 0x11"}),
        ("ecn_rc_write-A.pcap.zst", {"speed": "100G"}),
        ("cm_rping-A.pcap", {}),
    ],
)
def test_two_runs_are_one(tmp_path: Path, name: str, options: Dict[str, Any]) -> None:
    whole = tmp_path / "whole.pcap"
    rdmawire.write(whole, list(rdmawire.packets(PCAPS / name))[:600])
    frames = rdmawire.analyze(whole).capture.packets
    expected = said(rdmawire.analyze(whole, **options))
    random.seed(name)
    for at in {0, 1, frames - 1, frames, *(random.randrange(frames) for _ in range(12))}:
        into = tmp_path / str(at)
        into.mkdir(exist_ok=True)
        first, second = cut(whole, into, [at])
        state = tmp_path / "state"
        rdmawire.analyze(first, state_out=state, **options)
        assert said(rdmawire.analyze(second, state_in=state, **options)) == expected, at
        assert said(rdmawire.analyze(second, state_in=state.read_bytes(), **options)) == expected, at
        state.unlink()


def without_links(told: Dict[str, Any]) -> Dict[str, Any]:
    """What does not hang on the links and parts: a list of sources are parts of one capture, or links of their own."""
    told["capture"]["parts"] = []
    why = {field: reason for field, reason in told["why"].items() if field != "balance"}
    return {**told, "links": [], "balance": None, "why": why}


def test_the_command_goes_on_where_python_ended_and_the_other_way_round(
    tmp_path: Path, command_json: Callable[..., Dict[str, Any]]
) -> None:
    first, second = cut(CAPTURE, tmp_path, [120])
    expected = without_links(rdmawire.analyze([first, second]).to_dict())
    state = tmp_path / "state"
    rdmawire.analyze(first, state_out=state)
    assert without_links(command_json("analyze", "--json", "--state-in", state, second)) == expected
    command_json("analyze", "--json", "--state-out", state, first)
    assert without_links(rdmawire.analyze(second, state_in=state, state_out=state).to_dict()) == expected
    # What is behind the last frame is a state too.
    third = command_json("analyze", "--json", "--state-in", state, first)
    assert third["capture"]["packets"] == expected["capture"]["packets"] + 120


def test_a_state_that_does_not_fit_is_refused(tmp_path: Path, command: Callable[..., str]) -> None:
    state, foreign = tmp_path / "state", tmp_path / "foreign"
    rdmawire.analyze(CAPTURE, state_out=state)
    foreign.write_text("no state")

    def refused(why: str, name: Path, **options: Any) -> None:
        with pytest.raises(rdmawire.Error, match=why) as raised:
            rdmawire.analyze(CAPTURE, **options)
        assert raised.value.file == str(name)

    refused("no such file", tmp_path / "none", state_in=tmp_path / "none")
    refused("not the state of an analysis", foreign, state_in=foreign)
    refused("the state was made with verify_icrc = true, and now it is false", state, state_in=state, icrc=False)
    refused("it exists, and is not the state of an analysis", foreign, state_out=foreign)
    assert foreign.read_text() == "no state"
    refused("no such directory", tmp_path / "none" / "state", state_out=tmp_path / "none" / "state")
    pictured = tmp_path / "pictured"
    command("analyze", "--flow", "0", "--state-out", pictured, CAPTURE)
    refused("it is for pictures", pictured, state_in=pictured)
    data = bytearray(state.read_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(rdmawire.Error, match="state_in: bytes: a damaged state"):
        rdmawire.analyze(CAPTURE, state_in=bytes(data))
    # A run that fails leaves the state as it is.
    before = state.read_bytes()
    with pytest.raises(rdmawire.Error):
        rdmawire.analyze(tmp_path / "none.pcap", state_in=state, state_out=state)
    assert state.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign", "pictured", "state"]


def hours_of(path: Path, into: Path, pieces: int) -> List[Path]:
    """Files in the order of time: of each hour, one."""
    into.mkdir(parents=True)
    frames = rdmawire.analyze(path).capture.packets
    return cut(path, into, sorted(random.randrange(1, frames) for _ in range(pieces - 1)))


@pytest.mark.parametrize("pieces", [2, 5])
@pytest.mark.parametrize("name", ["loss1_rc_write-B-300.pcap", "cm_rping-A.pcap", "ecn_rc_write-A.pcap.zst"])
def test_an_hour_goes_on_where_the_last_one_ended(tmp_path: Path, name: str, pieces: int) -> None:
    random.seed(name)
    files = hours_of(PCAPS / name, tmp_path / "files", pieces)
    index, state = tmp_path / "index" / "tap=a", tmp_path / "state"
    of_captures = of_index = None
    for hour, file in enumerate(files):
        index_of([file], index, 3)
        expected = taps.analyze_captures(files[: hour + 1]).to_dict()
        kept = {"state_in": state, "state_out": state} if hour else {"state_out": state}
        rows = tmp_path / "rows.state"
        rows_kept = {"state_in": rows, "state_out": rows} if hour else {"state_out": rows}
        # Once more: nothing is analyzed twice.
        for _ in range(2):
            of_captures = taps.analyze_captures([file], **kept)
            # The index has all hours so far.
            of_index = taps.analyze_index(index, **rows_kept)
            assert of_captures.to_dict() == expected, hour
            assert said(of_index) == said(of_captures), hour
            kept, rows_kept = {"state_in": state, "state_out": state}, {"state_in": rows, "state_out": rows}


def test_files_that_step_back_between_hours_are_in_the_order_of_one_run(tmp_path: Path) -> None:
    """Queues of a capture end a little after the next file begins, and two files of the next hour begin before."""
    frames = [rdmawire.Packet(packet.data, time_ns=i * 100_000) for i, packet in enumerate(rdmawire.packets(CAPTURE))]
    earlier = [rdmawire.Packet(p.data, time_ns=p.time_ns - 500_000) for p in frames[100:]]
    files = [tmp_path / f"{n}.pcap" for n in range(3)]
    for file, packets in zip(files, [frames[:100], earlier[0::2], earlier[1::2]]):
        rdmawire.write(file, packets)
    taps.analyze_captures(files[:1], state_out=tmp_path / "state")
    later = taps.analyze_captures(files[1:], state_in=tmp_path / "state")
    assert later.to_dict() == taps.analyze_captures(files).to_dict()


def test_the_command_goes_on_with_an_index(
    tmp_path: Path, command: Callable[..., str], command_json: Callable[..., Dict[str, Any]]
) -> None:
    if "  index " not in command("--help"):
        pytest.skip("skipped: the command line is built without Parquet")
    files = hours_of(CAPTURE, tmp_path / "files", 3)
    index, state = tmp_path / "index" / "tap=a", tmp_path / "state"
    for hour, file in enumerate(files):
        index_of([file], index, 2)
        expected = taps.analyze_index(index).to_dict()
        for _ in range(2):
            begin = ["--state-in", state] if state.exists() else []
            assert command_json("analyze", "--json", *begin, "--state-out", state, index) == expected, hour
    assert taps.analyze_index(index, state_in=state).to_dict() == expected


def test_states_are_in_other_file_systems_too(tmp_path: Path) -> None:
    first, second = cut(CAPTURE, tmp_path, [50])
    index_of([first], tmp_path / "index", 1)
    store = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    taps.analyze_index("index", filesystem=store, state_out="x.state")
    uri = f"file://{tmp_path}/x.state"
    assert taps.analyze_captures([second], state_in=uri, state_out=uri).capture.packets == 300
    (tmp_path / "x.state").write_text("something else")
    with pytest.raises(rdmawire.Error, match="it exists, and is not the state"):
        taps.analyze_index("index", filesystem=store, state_out="x.state")
    with pytest.raises(rdmawire.Error, match="no such file"):
        taps.analyze_index("index", filesystem=store, state_in="none.state")


def test_each_tap_has_a_file_of_its_own() -> None:
    names = ["leaf1", "leaf1/eth0", "leaf1%2Feth0", "leaf1_eth0", "..", "", "Blatt ü"]
    files = {taps.state_path("/states/", name) for name in names}
    assert len(files) == len(names)
    assert all(Path(file).parent == Path("/states") and file.endswith(".state") for file in files)


def test_rows_have_no_options_of_frames() -> None:
    with pytest.raises(TypeError, match="filter is for captures"):
        taps.analyze_captures([CAPTURE], filter="ip")
    with pytest.raises(TypeError, match="there is no option 'filtr': there are filter, icrc"):
        rdmawire.analyze(CAPTURE, filtr="ip")  # type: ignore[call-arg]


def test_spark_goes_on_hour_by_hour(session: Any, tmp_path: Path) -> None:
    random.seed(5)
    hours = 3
    names = {"a/eth0": CAPTURE, "b": PCAPS / "cm_rping-A.pcap", "late": PCAPS / "ecn_rc_write-A.pcap.zst"}
    files = {tap: hours_of(path, tmp_path / path.name, hours) for tap, path in names.items()}
    # It was not there in the first hour.
    files["late"] = [Path(), *hours_of(names["late"], tmp_path / "late", hours - 1)]
    index, states, rows = tmp_path / "index", tmp_path / "states", tmp_path / "rows"
    with pytest.raises(rdmawire.Error, match="no such directory"):
        spark.analyze_captures(session, {"b": files["b"]}, state_out=states)
    states.mkdir()
    rows.mkdir()
    for hour in range(hours):
        new = [(tap, every[hour]) for tap, every in files.items() if every[hour].name]
        for tap, file in new:
            index_of([file], index / f"tap={tap.replace('/', '_')}", 2)
        kept = {"state_in": states if hour else None, "state_out": states}
        of_captures = spark.analyze_captures(session, new, **kept)
        of_index = spark.analyze_index(session, index, state_in=rows if hour else None, state_out=rows)
        for tap, _ in new:
            so_far = [file for file in files[tap][: hour + 1] if file.name]
            report = taps.analyze_captures(so_far)
            # Each of these computes the results again.
            found = rows_of(of_captures, tap)
            of_rows = rows_of(of_index, tap.replace("/", "_"))
            for name in spark.TABLES:
                wanted = table(report, name)
                assert found[name] == wanted, (tap, hour, name)
                for row in [*wanted, *of_rows[name]]:
                    row["capture"], row["files"] = "", []
                assert of_rows[name] == wanted, (tap, hour, name)
    assert sorted(path.name for path in states.iterdir()) == ["a%2Feth0.state", "b.state", "late.state"]


def test_an_interface_with_another_name_is_told(tmp_path: Path) -> None:
    def capture(name: str) -> Path:
        path = tmp_path / f"{name}.pcapng"
        block = pcapng_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
        option = struct.pack("<HH", 2, len(name)) + name.encode().ljust(-(-len(name) // 4) * 4, b"\0") + bytes(4)
        path.write_bytes(block + pcapng_block(1, struct.pack("<HHI", 1, 0, 0) + option))
        return path

    def pcapng_block(kind: int, body: bytes) -> bytes:
        length = struct.pack("<I", len(body) + 12)
        return struct.pack("<I", kind) + length + body + length

    state = tmp_path / "state"
    rdmawire.analyze(capture("eth0"), state_out=state)
    with pytest.warns(UserWarning, match="interface 0 is eth1 here, and was eth0 in the captures before") as warned:
        rdmawire.analyze(capture("eth1"), state_in=state)
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rdmawire.analyze(capture("eth0"), state_in=state)
