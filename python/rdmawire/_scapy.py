"""To scapy and back. scapy is imported when it is needed."""

from __future__ import annotations

from typing import Any, Optional

from ._errors import Error
from ._frames import Frame, _packet
from ._native import Packet


def _scapy() -> Any:
    try:
        import scapy.layers.all  # noqa: F401  (the link types are registered by their layers)
        import scapy.contrib.roce  # noqa: F401  (RoCEv2 is bound to its UDP port)
        from scapy.config import conf

        from . import _scapy_layers  # noqa: F401  (extended headers behind the BTH)
    except ImportError as error:
        raise Error("scapy is not installed: pip install scapy") from error
    return conf


def to_scapy(frame: Frame, *, link: int = 1) -> Any:
    """The frame as a packet of scapy, with its time.

    scapy knows no native InfiniBand: such frames raise `Error`.

    >>> import rdmawire
    >>> frame = rdmawire.craft("eth / ipv4 dst=10.0.0.2 / udp / bth opcode=rc-acknowledge psn=7 / aeth")
    >>> packet = rdmawire.to_scapy(frame)
    >>> packet["BTH"].psn, packet["IP"].dst
    (7, '10.0.0.2')
    """
    conf = _scapy()
    from scapy.utils import EDecimal

    packet = _packet(frame, link)
    if not len(packet):
        raise Error("an empty frame is no packet")
    layer = conf.l2types.num2layer.get(packet.link_type)
    if layer is None:
        raise Error(f"scapy has no layer for frames of link type {packet.link_type}")
    try:
        made = layer(packet.data)
    except Exception as error:
        # scapy raises what comes up when a header is cut.
        raise Error(f"scapy cannot dissect this frame of {len(packet)} bytes: {error}") from error
    made.time = EDecimal(packet.time_ns) / 1_000_000_000
    made.wirelen = packet.length_bytes
    return made


def from_scapy(packet: Any, *, frame: int = 1, link: Optional[int] = None) -> Packet:
    """A packet of scapy as a `Packet`. scapy computes its lengths and checksums, and the ICRC if it is not set.

    >>> import rdmawire
    >>> frame = rdmawire.craft("eth / ipv4 / udp / bth opcode=rc-acknowledge psn=7 / aeth")
    >>> rdmawire.from_scapy(rdmawire.to_scapy(frame)).data == frame
    True
    """
    conf = _scapy()
    if link is None:
        link = conf.l2types.layer2num.get(type(packet))
        if link is None:
            raise Error(f"{type(packet).__name__} is no first layer of a frame: give its link type, link=")
    data = bytes(packet)
    # What a frame that was cut has lost: `to_scapy` and scapy's readers say its length on the wire.
    was_cut = packet.wirelen is not None and packet.original
    missing = max(0, packet.wirelen - len(packet.original)) if was_cut else 0
    return Packet(data, link=link, time_ns=_ns(packet.time), frame=frame, length=len(data) + missing)


def _ns(time: Any) -> int:
    """Nanoseconds of a time in seconds: exact of scapy's `EDecimal`, and of a `float` as near as that comes."""
    return int(round(time * 1_000_000_000))
