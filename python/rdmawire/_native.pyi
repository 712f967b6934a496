"""The native part. Made by tools/native_stub.py: do not edit it."""

import os
from typing import Any, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, Union, final

from ._analyze import Source

__version__: str

@final
class Packet:
    """A frame with its place in its capture. Every column of `columns()` is an attribute; one that a frame does not have is `None`.

    `bytes(packet)` and `len(packet)` are of the captured bytes.

    >>> import rdmawire
    >>> packet = rdmawire.Packet(rdmawire.craft("eth / ipv4 / udp / bth opcode=rc-acknowledge psn=7 / aeth"))
    >>> packet.bth_psn, packet.opcode_name, packet.icrc_state, packet.reth_va
    (7, 'RC Acknowledge', 'good', None)
    """

    def __init__(
        self,
        data: Union[bytes, bytearray],
        *,
        link: int = 1,
        time_ns: int = 0,
        frame: int = 1,
        length: Optional[int] = None,
        interface: int = 0,
        roce_ports: Optional[Sequence[int]] = None,
    ) -> None: ...
    @property
    def data(self) -> bytes:
        """The captured bytes."""
    @property
    def payload(self) -> bytes:
        """The payload that was captured, without padding."""
    @property
    def info(self) -> str:
        """The packet in one line."""
    @property
    def notes(self) -> List[str]:
        """Ids of what is wrong with the packet, or worth knowing."""
    @property
    def right_icrc(self) -> Optional[int]:
        """The right ICRC, as its four bytes in their order; `None` where it is not known."""
    @property
    def frame(self) -> int:
        """Number of the frame in its capture, from 1."""
    @property
    def time_ns(self) -> int:
        """When it was captured: nanoseconds since 1970-01-01 UTC."""
    @property
    def interface(self) -> int:
        """The capture's interface, from 0."""
    @property
    def link_type(self) -> int:
        """LINKTYPE number of the frame: its first header."""
    @property
    def length_bytes(self) -> int:
        """Bytes the frame had on the wire."""
    @property
    def captured_bytes(self) -> int:
        """Bytes of it that were captured."""
    @property
    def tunnel_depth(self) -> int:
        """How many tunnels are around the packet. What follows is of the innermost packet."""
    @property
    def ethernet_src(self) -> Optional[str]:
        """Source address."""
    @property
    def ethernet_dst(self) -> Optional[str]:
        """Destination address."""
    @property
    def vlan_vid(self) -> Optional[int]:
        """VLAN identifier; 0 is a priority tag only."""
    @property
    def vlan_pcp(self) -> Optional[int]:
        """Priority code point: the class that PFC pauses where the port trusts it."""
    @property
    def src(self) -> Optional[str]:
        """Source address: an IP address, a GID, or lid:0x0001."""
    @property
    def dst(self) -> Optional[str]:
        """Destination address."""
    @property
    def dscp(self) -> Optional[int]:
        """Differentiated services code point of the IP header or GRH."""
    @property
    def ecn(self) -> Optional[int]:
        """Explicit congestion notification of the IP header or GRH: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE."""
    @property
    def ttl(self) -> Optional[int]:
        """Time to live, or hop limit."""
    @property
    def ipv4_id(self) -> Optional[int]:
        """Identification."""
    @property
    def udp_src_port(self) -> Optional[int]:
        """Source port."""
    @property
    def udp_dst_port(self) -> Optional[int]:
        """Destination port."""
    @property
    def encapsulation(self) -> Optional[str]:
        """How the transport is encapsulated: rocev2-ipv4, rocev2-ipv6, rocev1, ib, ib-grh. Empty if it is no RDMA
        packet."""
    @property
    def bth_opcode(self) -> Optional[int]:
        """The operation and the packet's place in the message; it decides which headers follow."""
    @property
    def opcode_name(self) -> Optional[str]:
        """Name of the operation code. Empty if it has none."""
    @property
    def bth_se(self) -> Optional[bool]:
        """Solicited event: the responder shall raise one."""
    @property
    def bth_mig_req(self) -> Optional[bool]:
        """MigReq: the path migration state is "migrated"."""
    @property
    def bth_fecn(self) -> Optional[bool]:
        """Forward congestion: the packet passed a congestion point."""
    @property
    def bth_becn(self) -> Optional[bool]:
        """Backward congestion: the receiver of this packet should slow down."""
    @property
    def bth_ack_req(self) -> Optional[bool]:
        """The requester asks for an acknowledgement of this packet."""
    @property
    def bth_p_key(self) -> Optional[int]:
        """Partition key."""
    @property
    def dest_qp(self) -> Optional[int]:
        """Destination queue pair, of the BTH: as in tables of a report."""
    @property
    def bth_psn(self) -> Optional[int]:
        """Packet sequence number, modulo 2^24."""
    @property
    def deth_src_qp(self) -> Optional[int]:
        """The sender's queue pair."""
    @property
    def deth_q_key(self) -> Optional[int]:
        """Queue key."""
    @property
    def reth_va(self) -> Optional[int]:
        """Virtual address."""
    @property
    def reth_r_key(self) -> Optional[int]:
        """Remote key."""
    @property
    def reth_dma_len(self) -> Optional[int]:
        """Bytes of the whole message, at most 2^31."""
    @property
    def aeth_syndrome(self) -> Optional[int]:
        """ACK, RNR NAK or NAK."""
    @property
    def aeth_meaning(self) -> Optional[str]:
        """What the syndrome says: ACK, RNR NAK, NAK and its reason."""
    @property
    def aeth_msn(self) -> Optional[int]:
        """Message sequence number: messages completed, modulo 2^24."""
    @property
    def immdt_data(self) -> Optional[int]:
        """Four bytes for the receiver's completion."""
    @property
    def ieth_r_key(self) -> Optional[int]:
        """The key to invalidate."""
    @property
    def atomiceth_va(self) -> Optional[int]:
        """Virtual address, a multiple of eight."""
    @property
    def atomiceth_r_key(self) -> Optional[int]:
        """Remote key."""
    @property
    def atomiceth_swap_data(self) -> Optional[int]:
        """The value that is written by CmpSwap, or added by FetchAdd."""
    @property
    def atomiceth_compare_data(self) -> Optional[int]:
        """The value to compare with; FetchAdd ignores it."""
    @property
    def atomicacketh_original_data(self) -> Optional[int]:
        """The value in the responder's memory before the operation."""
    @property
    def payload_bytes(self) -> Optional[int]:
        """Bytes of payload by the packet's length fields, without padding. Empty if it is no RDMA packet."""
    @property
    def icrc(self) -> Optional[int]:
        """The ICRC in the frame, as its four bytes in their order: what Wireshark shows."""
    @property
    def icrc_state(self) -> Optional[Literal["good", "bad", "unchecked", "trimmed"]]:
        """Whether the ICRC is right: good, bad, unchecked where the frame was cut or is a fragment, or trimmed where a
        switch cut the packet. Empty if it is no RDMA packet."""
    def to_dict(self, fields: Optional[Sequence[str]] = None) -> Dict[str, Union[int, str, bool, None]]:
        """Columns by their names: these, or all."""
    def matches(self, filter: str) -> bool:
        """Whether a filter is true for it, such as `"aeth.nak && bth.psn > 7"`."""
    def tree(self) -> str:
        """All layers and fields as text, one a line."""
    def _json(self) -> str: ...
    def __len__(self) -> int: ...
    def __bytes__(self) -> bytes: ...
    def __hash__(self) -> int: ...

@final
class Packets:
    """The packets of captures, to iterate over, or as a table by the Arrow PyCapsule interface. See `packets`."""

    def __init__(
        self,
        source: Union[Source, Sequence[Source]],
        *,
        filter: Optional[str] = None,
        fields: Optional[Sequence[str]] = None,
        roce_ports: Optional[Sequence[int]] = None,
        batch_rows: int = 65536,
        strict: bool = False,
    ) -> None: ...
    def __iter__(self) -> PacketIterator: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...

@final
class PacketIterator(Iterator[Packet]):
    """Packets one by one."""

    def __iter__(self) -> PacketIterator: ...
    def __next__(self) -> Packet: ...
    @property
    def problems(self) -> List[Tuple[int, int, str, str, bool]]:
        """Damage of the capture so far: file offset, frames before it, id, text, and whether nothing behind it can be read."""

@final
class NativeReport:
    @staticmethod
    def from_json(text: str) -> NativeReport: ...
    def json(self) -> bytes: ...
    def find_flow(self, which: str) -> int: ...
    def check(
        self,
        name: str,
        rules: List[str],
        fail_if: List[str],
        toml: List[str],
        before: Optional[NativeReport],
        unknown_passes: bool,
    ) -> Tuple[str, str, bool]: ...

    def rows(self, name: str) -> List[str]: ...

@final
class Headers:
    """Frames without payload, as a stream of record batches by the Arrow PyCapsule interface. See `rdmawire.spark`."""

    def __init__(self, source: Source, tap: str, asked: Mapping[str, object]) -> None: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object: ...

@final
class RowAnalysis:
    """An analysis of frames without payload, in batches. See `rdmawire.spark`."""

    def __init__(self, asked: Mapping[str, object], state: Optional[Tuple[bytes, str]]) -> None: ...
    def files(self) -> List[str]: ...
    def file(self, facts: str) -> Tuple[int, int]: ...
    def push(self, file: str, batch: object) -> None: ...
    def push_sorted(self, batch: object, number: str) -> None: ...
    def finish(self, is_saved: bool) -> Tuple[NativeReport, Optional[bytes]]: ...

def columns() -> List[Tuple[str, str, str]]: ...
def row_columns() -> List[Tuple[str, str, str]]: ...
def table_columns(name: str) -> List[Tuple[str, str, str]]: ...
def analyze(
    sources: List[Source], asked: Mapping[str, object], state: Optional[Tuple[bytes, str]], is_saved: bool
) -> Tuple[NativeReport, Optional[bytes]]: ...
def is_state(begin: bytes) -> bool: ...
def file_facts(source: Source) -> str: ...
def report_schema() -> str: ...
def craft(text: str, seed: int) -> Tuple[bytes, int]: ...
def craft_scenario(text: str, seed: Optional[int], format: str) -> List[Tuple[str, bytes, str]]: ...
def rewrite(
    source: Source,
    destination: Union[str, "os.PathLike[str]"],
    *,
    anonymize: bool,
    seed: int,
    zero_payload: bool,
    snaplen: Optional[int],
    to: Optional[str],
    set: List[str],
    force: bool,
) -> Dict[str, int]: ...
def write(
    destination: Union[str, "os.PathLike[str]"], frames: Iterable[Union[bytes, Packet]], link: int, force: bool
) -> int: ...
