"""Packets a second beside scapy and dpkt, on one capture: `python python/tools/bench.py [x.pcap]`.

Each row is the best of three runs, in processor time: others may use the machine. All read the file from its page cache. scapy and dpkt read a part of it if they are slow: what
counts is packets a second. dpkt knows no RoCEv2: it reads Ethernet, IP and UDP, and the BTH is unpacked by `struct`.
"""

from __future__ import annotations

import itertools
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List, Tuple

import rdmawire

FIELDS = ["time_ns", "src", "dst", "bth_opcode", "dest_qp", "bth_psn"]
SLOW = 20_000
"""Packets for those that take more than 10 us for each."""


def busy(path: Path) -> Path:
    """A capture of 400,000 packets: one RDMA WRITE of 1 KiB packets after the other, an ACK after each sixteenth."""
    data = "eth / ipv4 src=10.0.0.1 dst=10.0.0.2 / udp / bth opcode=rc-write-middle dest_qp=0x11 psn={} / payload 1024"
    ack = "eth / ipv4 src=10.0.0.2 dst=10.0.0.1 / udp / bth opcode=rc-acknowledge dest_qp=0x12 psn={} / aeth syndrome=0x1f"

    def frames() -> Iterator[bytes]:
        for psn in itertools.count():
            yield rdmawire.craft(data.format(psn % (1 << 24)))
            if psn % 16 == 15:
                yield rdmawire.craft(ack.format(psn % (1 << 24)))

    rdmawire.write(path, itertools.islice(frames(), 400_000))
    return path


def by_scapy(path: Path) -> int:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP
    from scapy.utils import PcapReader

    count = 0
    with PcapReader(str(path)) as reader:
        for packet in itertools.islice(reader, SLOW):
            count += 1
            if BTH in packet:
                (float(packet.time), packet[IP].src, packet[IP].dst, packet[BTH].opcode, packet[BTH].dqpn, packet[BTH].psn)
    return count


def by_dpkt(path: Path) -> int:
    import dpkt

    count, bth = 0, struct.Struct("!BBHII")
    with open(path, "rb") as file:
        for ts, data in itertools.islice(dpkt.pcap.Reader(file), 5 * SLOW):
            count += 1
            ip = dpkt.ethernet.Ethernet(data).data
            udp: Any = ip.data
            if isinstance(udp, dpkt.udp.UDP) and udp.dport == 4791:
                opcode, _, _, qp, psn = bth.unpack_from(udp.data)
                (ts, ip.src, ip.dst, opcode, qp & 0xFFFFFF, psn & 0xFFFFFF)
    return count


def by_objects(path: Path) -> int:
    count = 0
    for packet in rdmawire.packets(path):
        count += 1
        (packet.time_ns, packet.src, packet.dst, packet.bth_opcode, packet.dest_qp, packet.bth_psn)
    return count


def by_columns(path: Path, fields: Any) -> int:
    import pyarrow

    return sum(len(batch) for batch in pyarrow.RecordBatchReader.from_stream(rdmawire.packets(path, fields=fields)))


def best(what: Callable[[], int], runs: int) -> float:
    """Packets a second of processor time."""
    rates = []
    for _ in range(runs):
        began = time.process_time()
        count = what()
        rates.append(count / (time.process_time() - began))
    return max(rates)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else busy(Path(directory) / "busy.pcap")
        rows: List[Tuple[str, Callable[[], int]]] = [
            ("scapy.contrib.roce, six fields", lambda: by_scapy(path)),
            ("dpkt and struct, six fields", lambda: by_dpkt(path)),
            ("rdmawire.packets, objects, six fields", lambda: by_objects(path)),
            ("rdmawire.packets, Arrow, six fields", lambda: by_columns(path, FIELDS)),
            ("rdmawire.packets, Arrow, six fields and ICRCs", lambda: by_columns(path, [*FIELDS, "icrc_state"])),
            ("rdmawire.packets, Arrow, all fields", lambda: by_columns(path, None)),
            ("rdmawire.analyze, ICRCs and all", lambda: rdmawire.analyze(path).capture.packets),
        ]
        print("| | packets a second and core |\n|---|---:|")
        for name, what in rows:
            print(f"| {name} | {best(what, 3):,.0f} |", flush=True)


if __name__ == "__main__":
    main()
