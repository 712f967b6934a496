"""Extended transport headers as layers of scapy, which has BTH and AETH only. `to_scapy` binds them.

A layer follows the BTH by its operation code. What is behind the last header stays `Raw`.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Type

from scapy.contrib.roce import AETH, BTH
from scapy.fields import ByteField, IntField, LongField, X3BytesField, XIntField, XLongField
from scapy.packet import Packet


class _Extended(Packet):
    """A header behind the BTH."""

    def guess_payload_class(self, payload: bytes) -> Any:
        bth = self.underlayer
        seen: List[Any] = [type(self)]
        while bth is not None and not isinstance(bth, BTH):
            seen.insert(0, type(bth))
            bth = bth.underlayer
        chain = CHAINS.get(bth.opcode, []) if bth is not None else []
        following = chain[len(seen)] if chain[: len(seen)] == seen and len(chain) > len(seen) else None
        return following or Packet.guess_payload_class(self, payload)


class RETH(_Extended):
    """RDMA extended transport header."""

    name = "RETH"
    fields_desc = [XLongField("va", 0), XIntField("r_key", 0), IntField("dma_len", 0)]


class DETH(_Extended):
    """Datagram extended transport header."""

    name = "DETH"
    fields_desc = [XIntField("q_key", 0), ByteField("reserved", 0), X3BytesField("src_qp", 0)]


class AtomicETH(_Extended):
    """Atomic extended transport header."""

    name = "AtomicETH"
    fields_desc = [XLongField("va", 0), XIntField("r_key", 0), LongField("swap_data", 0), LongField("compare_data", 0)]


class AtomicAckETH(_Extended):
    """Atomic acknowledge extended transport header."""

    name = "AtomicAckETH"
    fields_desc = [LongField("original_data", 0)]


class ImmDt(_Extended):
    """Immediate data."""

    name = "ImmDt"
    fields_desc = [XIntField("data", 0)]


class IETH(_Extended):
    """Invalidate extended transport header."""

    name = "IETH"
    fields_desc = [XIntField("r_key", 0)]


CHAINS: Dict[int, List[Type[Any]]] = {}
"""The headers behind the BTH, by its operation code: those that scapy does not have itself."""

for _service in (0x00, 0x20):
    for _code in (0x03, 0x05):
        CHAINS[_service + _code] = [ImmDt]
    CHAINS[_service + 0x06] = [RETH]
    CHAINS[_service + 0x09] = [ImmDt]
    CHAINS[_service + 0x0A] = [RETH]
    CHAINS[_service + 0x0B] = [RETH, ImmDt]
for _code in (0x0D, 0x0F, 0x10):
    CHAINS[_code] = [AETH]
CHAINS[0x0C] = [RETH]
CHAINS[0x12] = [AETH, AtomicAckETH]
CHAINS[0x13] = [AtomicETH]
CHAINS[0x14] = [AtomicETH]
CHAINS[0x16] = [IETH]
CHAINS[0x17] = [IETH]
CHAINS[0x64] = [DETH]
CHAINS[0x65] = [DETH, ImmDt]


def _bind() -> None:
    bth_guess = BTH.guess_payload_class

    def behind_bth(self: Any, payload: bytes) -> Any:
        chain = CHAINS.get(self.opcode)
        return chain[0] if chain and payload else bth_guess(self, payload)

    def behind_aeth(self: Any, payload: bytes) -> Any:
        bth: Optional[Any] = self.underlayer
        chain = CHAINS.get(bth.opcode, []) if isinstance(bth, BTH) else []
        return chain[1] if len(chain) > 1 and chain[0] is AETH and payload else Packet.guess_payload_class(self, payload)

    BTH.guess_payload_class = behind_bth  # type: ignore[method-assign]
    AETH.guess_payload_class = behind_aeth  # type: ignore[method-assign]


_bind()
