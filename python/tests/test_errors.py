"""What goes wrong is an exception that says where, and a signal ends the work."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path


import polars
import pyarrow
import pytest
from conftest import PCAPS

import rdmawire


def test_no_such_file(tmp_path: Path) -> None:
    path = tmp_path / "none.pcap"
    for act in (rdmawire.analyze, lambda path: iter(rdmawire.packets(path)), lambda path: pyarrow.table(rdmawire.packets(path))):
        with pytest.raises(rdmawire.Error, match="no such file") as raised:
            act(path)
        assert (raised.value.file, raised.value.frame, raised.value.offset) == (str(path), None, None)


@pytest.mark.parametrize(
    ("data", "text"), [(b"", "is empty"), (b"#!/bin/sh\n" * 9, "<bytes>: "), (b"\x28\xb5\x2f\xfd" + b"?" * 60, "damaged")]
)
def test_no_capture(data: bytes, text: str) -> None:
    with pytest.raises(rdmawire.Error, match=text) as raised:
        rdmawire.analyze(data)
    assert raised.value.file == "<bytes>"


def test_no_source() -> None:
    for source in (7, None, [7], io.StringIO("text")):
        with pytest.raises(TypeError):
            rdmawire.packets(source).__iter__()  # type: ignore[arg-type]


def test_damage_is_told(capture: Path) -> None:
    data = capture.read_bytes()
    cut = data[: len(data) // 2]
    report = rdmawire.analyze(cut)
    problem = report.capture.problems[0]
    assert problem.offset > len(cut) - 1200 and "the file ends within a record" in problem.what
    walk = iter(rdmawire.packets(cut))
    count = sum(1 for _ in walk)
    assert [(offset, frames, name, is_fatal) for offset, frames, name, _, is_fatal in walk.problems] == [
        (problem.offset, count, "capture.cut_record", True)
    ]
    for act in (
        lambda: rdmawire.analyze(cut, strict=True),
        lambda: list(rdmawire.packets(cut, strict=True)),
    ):
        with pytest.raises(rdmawire.Error, match="the file ends within a record") as raised:
            act()
        assert (raised.value.file, raised.value.frame, raised.value.offset) == ("<bytes>", count + 1, problem.offset)
    with pytest.raises(Exception, match="the file ends within a record"):
        pyarrow.table(rdmawire.packets(cut, strict=True))
    # All frames before the damage come first.
    walk = iter(rdmawire.packets(cut, strict=True))
    assert sum(1 for _ in zip(range(count), walk)) == count


def test_wrong_arguments_say_where(capture: Path) -> None:
    with pytest.raises(rdmawire.Error, match="filter: column 13: .*did you mean bth.psn") as raised:
        rdmawire.analyze(capture, filter="aeth.nak && bth.psnn == 7")
    assert raised.value.offset == 12
    with pytest.raises(rdmawire.Error, match="filter: "):
        rdmawire.packets(capture, filter="bth.psn ==")
    with pytest.raises(rdmawire.Error, match='there is no column "qp"'):
        rdmawire.packets(capture, fields=["bth_psn", "qp"])
    with pytest.raises(rdmawire.Error, match="reorder_window: "):
        rdmawire.analyze(capture, reorder_window="50")
    with pytest.raises(rdmawire.Error, match="interval: "):
        rdmawire.analyze(capture, interval=0)
    with pytest.raises(rdmawire.Error, match="ack_timeout: an exponent from 1 to 31"):
        rdmawire.analyze(capture, ack_timeout=32)
    with pytest.raises(rdmawire.Error, match="decap: expected one of vxlan, vxlan-gpe"):
        rdmawire.analyze(capture, decap={8473: "vlan"})
    with pytest.raises(rdmawire.Error, match="decap: at most 4 ports"):
        rdmawire.analyze(capture, decap={0: "vxlan"})
    with pytest.raises(rdmawire.Error, match="order: expected time or file"):
        rdmawire.analyze(capture, order="size")
    with pytest.raises(rdmawire.Error, match="storm: expected sonic-broadcom"):
        rdmawire.analyze(capture, storm="sonic")
    with pytest.raises(TypeError):
        rdmawire.analyze(capture, windows=3)  # type: ignore[call-arg]


class Failing(io.RawIOBase):
    """Raises after some bytes."""

    def __init__(self, data: bytes, error: BaseException) -> None:
        self.data = io.BytesIO(data)
        self.error = error

    def read(self, size: int = -1) -> bytes:
        got = self.data.read(min(size, 1000))
        if not got:
            raise self.error
        return got


@pytest.mark.parametrize("path", [PCAPS / "loss1_rc_write-B-300.pcap", PCAPS / "loss1_rc_write-A.pcap.zst"], ids=["plain", "zstd"])
def test_what_a_file_raises_is_raised(path: Path) -> None:
    data = path.read_bytes()[:9000]
    for act in (rdmawire.analyze, lambda file: list(rdmawire.packets(file))):
        with pytest.raises(ZeroDivisionError, match="mine"):
            act(Failing(data, ZeroDivisionError("mine")))
    with pytest.raises(Exception, match="mine"):
        pyarrow.table(rdmawire.packets(Failing(data, ZeroDivisionError("mine"))))


def test_a_file_that_gives_too_much() -> None:
    class Odd(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return bytes(size + 1)

    with pytest.raises(TypeError, match="more bytes than"):
        rdmawire.analyze(Odd())


ENDLESS = """
import sys, rdmawire
data = open(sys.argv[1], "rb").read()

class Endless:
    # The capture, and its frames again and again.
    def __init__(self):
        self.at = 0
    def read(self, size):
        got = data[self.at:self.at + size]
        self.at = self.at + len(got) if self.at + len(got) < len(data) else 24
        return got

act = sys.argv[2]
print("ready", flush=True)
try:
    if act == "analyze":
        rdmawire.analyze(Endless())
    elif act == "packets":
        for _ in rdmawire.packets(Endless(), filter="frame.number == 0"):
            pass
    elif act == "arrow":
        import pyarrow
        for _ in pyarrow.RecordBatchReader.from_stream(rdmawire.packets(Endless(), filter="frame.number == 0")):
            pass
    elif act == "pipe":
        rdmawire.analyze(sys.argv[3])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("act", ["analyze", "packets", "arrow", "pipe"])
def test_ctrl_c_ends_it(act: str, tmp_path: Path, capture: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    args = [sys.executable, "-c", ENDLESS, str(capture), act, str(pipe)]
    with subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(1.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    # In the Arrow reader's loop, either its own exception or the interrupt comes first.
    assert out == "interrupted\n" or (act == "arrow" and "nterrupt" in err), (out, err)


def test_other_threads_go_on(tmp_path: Path) -> None:
    path = tmp_path / "long.pcap"
    frame = rdmawire.craft("eth / ipv4 / udp / bth opcode=rc-write-middle / payload 1024")
    rdmawire.write(path, (frame for _ in range(100_000)))
    turns: list[float] = []
    is_over = threading.Event()

    def count() -> None:
        while not is_over.is_set():
            turns.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    began = time.monotonic()
    rdmawire.analyze(path)
    polars.DataFrame(rdmawire.packets(path, fields=["bth_psn", "icrc_state"]))
    ended = time.monotonic()
    is_over.set()
    thread.join()
    during = [turn for turn in turns if began < turn < ended]
    longest = max(after - before for before, after in zip([began, *during], [*during, ended]))
    # With Python's lock held, there would be one wait as long as the work.
    assert len(during) > 10 and longest < (ended - began) / 2, (len(during), longest, ended - began)


