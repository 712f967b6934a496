"""Makes rdmawire/_native.pyi, for the build (`backend.py`): packets have an attribute for each column."""

from __future__ import annotations

import textwrap
from typing import Any

TYPES = {"Utf8": "str", "Boolean": "bool"}
"""Of Arrow; all others are integers."""
ALWAYS = {"frame", "time_ns", "interface", "link_type", "length_bytes", "captured_bytes", "tunnel_depth"}
"""Columns that every packet has."""

HEAD = '''"""The native part. Made by the build: tools/native_stub.py."""

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
'''

TAIL = '''    def to_dict(self, fields: Optional[Sequence[str]] = None) -> Dict[str, Union[int, str, bool, None]]:
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
        batch_rows: int = 65536,
        strict: bool = False,
        asked: Optional[Mapping[str, object]] = None,
    ) -> None: ...
    @property
    def schema(self) -> List[Tuple[str, str, str]]:
        """Its columns as a table: name, Arrow type, and what it means."""
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
        """Damage of the capture so far: file offset, frames before it, id, text, and whether nothing after it can be read."""

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
    def has(self, facts: str) -> bool: ...
    def file(self, facts: str) -> Tuple[int, int]: ...
    def push(self, file: str, batch: object) -> None: ...
    def push_sorted(self, batch: object, number: str) -> None: ...
    def finish(self, is_saved: bool) -> Tuple[NativeReport, Optional[bytes]]: ...

def columns() -> List[Tuple[str, str, str]]: ...
def row_columns() -> List[Tuple[str, str, str]]: ...
def table_columns(name: str) -> List[Tuple[str, str, str]]: ...
def table_names() -> List[str]: ...
def analyze(
    sources: List[Source],
    asked: Mapping[str, object],
    state: Optional[Tuple[bytes, str]],
    is_saved: bool,
    is_separate: bool,
    logs: List[Tuple[str, bytes]],
) -> Tuple[NativeReport, Optional[bytes]]: ...
def messages(sources: List[Source], asked: Mapping[str, object]) -> List[str]: ...
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
'''


def made(native: Any) -> str:
    lines = []
    for name, arrow, doc in native.columns():
        kind = TYPES.get(arrow, "int")
        if name == "icrc_state":
            kind = 'Literal["good", "bad", "unchecked", "trimmed"]'
        kind = kind if name in ALWAYS else f"Optional[{kind}]"
        text = textwrap.wrap(f'"""{doc}"""', 112)
        lines += ["    @property", f"    def {name}(self) -> {kind}:", *(f"        {line}" for line in text)]
    return HEAD + "\n".join(lines) + "\n" + TAIL
