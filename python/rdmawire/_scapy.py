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
    packet = _packet(frame, link)
    layer = conf.l2types.num2layer.get(packet.link_type)
    if layer is None:
        raise Error(f"scapy has no layer for frames of link type {packet.link_type}")
    made = layer(packet.data)
    made.time = packet.time_ns / 1_000_000_000
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
    return Packet(bytes(packet), link=link, time_ns=int(packet.time * 1_000_000_000), frame=frame)
