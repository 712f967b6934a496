"""Frames: dissecting, crafting, rewriting, and the packets of captures."""

from __future__ import annotations

import json
import os
from typing import (
    Any,
    Dict,
    Iterable,
    List,
    Literal,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from . import _native
from ._analyze import Duration, Source, _asked
from ._errors import Error
from ._native import Packet, Packets

Frame = Union[bytes, bytearray, memoryview, Packet]
"""A frame: its bytes, or a packet of a capture."""

FieldValue = Union[int, bool, str, bytes]
Recipe = Union[str, Mapping[str, Any], Sequence[Tuple[str, Any]]]
"""A recipe: its text, or headers and their fields."""


class Column(NamedTuple):
    """A column of packets."""

    name: str
    type: str
    """Its Arrow type."""
    doc: str
    """What it means."""


def columns() -> List[Column]:
    """All columns of packets, which are attributes of a `Packet` too.

    >>> import rdmawire
    >>> rdmawire.columns()[1]
    Column(name='time_ns', type='Timestamp(ns, "UTC")', doc='When it was captured: nanoseconds since 1970-01-01 UTC.')
    """
    return [Column(*column) for column in _native.columns()]


def row_columns() -> List[Column]:
    """Columns that only tables of packets have, by request: the capture, and what the analysis tells of a packet.

    >>> import rdmawire
    >>> [column.name for column in rdmawire.row_columns()]
    ['capture', 'space', 'class', 'uid', 'epoch', 'ack_rtt_ns', 'message_first_frame', 'peer_qp']
    """
    return [Column(*column) for column in _native.row_columns()]


def packets(
    source: Union[Source, Sequence[Source]],
    filter: Optional[str] = None,
    fields: Union[str, Sequence[str], None] = None,
    *,
    roce_ports: Optional[Sequence[int]] = None,
    decap: Optional[Mapping[int, str]] = None,
    batch_rows: int = 65536,
    strict: bool = False,
    order: Optional[str] = None,
    reorder_window: Optional[Duration] = None,
    ack_timeout: Optional[Duration] = None,
    qp_map: Union[str, "os.PathLike[str]", None] = None,
) -> Packets:
    """The packets of a capture, or of several, one after the other: to iterate over, or as a table.

    Iteration gives `Packet` objects, one at a time. As a table, it is a stream of Arrow record batches (of `batch_rows` rows) by the
    PyCapsule interface: pyarrow, pandas, Polars and DuckDB read it without copies. Either way the memory is bounded, however long the
    capture. `fields` names the columns of the table: `columns()`, which it has by default, and `row_columns()`. Those take an analysis.

    `decap` is that of `analyze`, and so are `order`, `reorder_window`, `ack_timeout` and `qp_map`, for the columns that take an analysis.

    A path or bytes can be read several times. A file object is read once. With `strict`, damage of the capture raises `Error`; else
    what can be read is read.

    >>> import rdmawire
    >>> for packet in rdmawire.packets(CAPTURE, filter="aeth.nak"):
    ...     print(packet.frame, packet.src, packet.bth_psn, packet.aeth_meaning)
    82 10.77.0.2 10462435 NAK, PSN sequence error
    >>> import pyarrow
    >>> table = pyarrow.table(rdmawire.packets(CAPTURE, fields=["time_ns", "src", "bth_psn"]))
    >>> table.num_rows, table.column_names
    (300, ['time_ns', 'src', 'bth_psn'])
    >>> classes = pyarrow.table(rdmawire.packets(CAPTURE, fields=["class"])).column("class").to_pylist()
    >>> classes.count("retransmission")
    85
    """
    return Packets(
        source,
        filter=filter,
        fields=None if fields is None else [fields] if isinstance(fields, str) else list(fields),
        batch_rows=batch_rows,
        strict=strict,
        asked=_asked(
            roce_ports=roce_ports,
            decap=decap,
            order=order,
            reorder_window=reorder_window,
            ack_timeout=ack_timeout,
            qp_map=qp_map,
        ),
    )


def _packet(frame: Frame, link: int) -> Packet:
    return frame if isinstance(frame, Packet) else Packet(bytes(frame), link=link)


def dissect(frame: Frame, *, link: int = 1) -> Dict[str, Any]:
    """All layers and fields of a frame, and notes on what is wrong: the object of `rdmawire dissect --json`.

    `link` is the frame's LINKTYPE: 1 Ethernet, 101 raw IP, 247 InfiniBand.

    >>> import rdmawire
    >>> frame = rdmawire.craft("eth / ipv4 / udp / bth opcode=rc-acknowledge psn=7 / aeth syndrome=0x60")
    >>> layers = rdmawire.dissect(frame)["layers"]
    >>> [layer["name"] for layer in layers]
    ['ethernet', 'ipv4', 'udp', 'bth', 'aeth']
    >>> layers[3]["psn"], layers[3]["opcode_name"]
    (7, 'RC Acknowledge')
    """
    tree: Dict[str, Any] = json.loads(_packet(frame, link)._json())
    return tree


def icrc(frame: Frame, *, link: int = 1) -> int:
    """The right ICRC of a frame. Its four bytes in the frame's order: `icrc(frame).to_bytes(4, "big")`.

    Raises `Error` where it is not known: the frame is cut, is a fragment, or has no BTH.

    >>> import rdmawire
    >>> frame = rdmawire.craft("eth / ipv4 / udp / bth opcode=rc-send-only / payload 'hello'")
    >>> rdmawire.icrc(frame).to_bytes(4, "big") == frame[-4:]
    True
    """
    right = _packet(frame, link).right_icrc
    if right is None:
        raise Error("the right ICRC is not known: the frame has no BTH, is cut, or is a fragment")
    return right


def verify_icrc(frame: Frame, *, link: int = 1) -> Literal["good", "bad", "trimmed", "unchecked"]:
    """Whether a frame's ICRC is right; `"trimmed"` where a switch cut the packet to its headers, `"unchecked"` where it cannot be checked,
    or there is none.

    >>> import rdmawire
    >>> frame = rdmawire.craft("eth / ipv4 / udp / bth opcode=rc-send-only / payload 'hello'")
    >>> rdmawire.verify_icrc(frame), rdmawire.verify_icrc(frame[:-1] + b"?")
    ('good', 'bad')
    """
    return _packet(frame, link).icrc_state or "unchecked"


def craft(recipe: Recipe, *, seed: int = 0) -> bytes:
    """The frame that a recipe describes, with lengths, checksums, pad and ICRC computed.

    A recipe is a text, as `rdmawire craft` takes it, or headers with their fields: a mapping, or pairs where a header comes twice.

    >>> import rdmawire
    >>> text = "eth / ipv4 src=10.0.0.1 dst=10.0.0.2 / udp / bth opcode=rc-send-only dest_qp=0x11 psn=7 / payload hex:c0ffee"
    >>> mapping = {
    ...     "eth": {},
    ...     "ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"},
    ...     "udp": {},
    ...     "bth": {"opcode": "rc-send-only", "dest_qp": 0x11, "psn": 7},
    ...     "payload": bytes.fromhex("c0ffee"),
    ... }
    >>> rdmawire.craft(text) == rdmawire.craft(mapping)
    True
    """
    return _native.craft(_recipe(recipe), seed)[0]


def craft_packet(recipe: Recipe, *, seed: int = 0) -> Packet:
    """`craft`, as a packet with the right link type.

    >>> import rdmawire
    >>> rdmawire.craft_packet("lrh / bth opcode=rc-acknowledge / aeth").link_type
    247
    """
    data, link = _native.craft(_recipe(recipe), seed)
    return Packet(data, link=link)


def _recipe(recipe: Recipe) -> str:
    if isinstance(recipe, str):
        return recipe
    items = recipe.items() if isinstance(recipe, Mapping) else recipe
    return " / ".join(_item(name, fields) for name, fields in items)


def _item(name: str, fields: Any) -> str:
    if fields is None or (isinstance(fields, Mapping) and not fields):
        return name
    if isinstance(fields, Mapping):
        return " ".join([name, *(f"{field}={_value(value)}" for field, value in fields.items())])
    return f"{name} {_value(fields)}"


def _value(value: FieldValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (bytes, bytearray)):
        return f"hex:{value.hex()}"
    return str(value)


def craft_scenario(
    scenario: Union[str, "os.PathLike[str]"],
    *,
    seed: Optional[int] = None,
    tap: Union[int, str] = 0,
    format: Literal["pcap", "pcap-us", "pcapng", "erf"] = "pcap",
) -> Tuple[bytes, Dict[str, Any]]:
    """Simulates a scenario: the bytes of a tap's capture, and what an analysis of it must find.

    The scenario is TOML, or the path of a file with it. `tap` is the number or the name of a tap, where there are several.

    >>> import rdmawire
    >>> capture, expected = rdmawire.craft_scenario(SCENARIOS / "loss-before-tap.toml")
    >>> report = rdmawire.analyze(capture)
    >>> report.capture.packets == expected["capture"]["packets"]
    True
    """
    if isinstance(scenario, os.PathLike) or ("\n" not in scenario and scenario.endswith(".toml")):
        with open(scenario, encoding="utf-8") as file:
            scenario = file.read()
    taps = _native.craft_scenario(scenario, seed, format)
    names = [name for name, _, _ in taps]
    if isinstance(tap, str):
        if tap not in names:
            raise Error(f"there is no tap {tap!r}: {', '.join(map(repr, names))}")
        tap = names.index(tap)
    if not 0 <= tap < len(taps):
        raise Error(f"there is no tap {tap}: there are {len(taps)}")
    _, capture, expected = taps[tap]
    return capture, json.loads(expected)


class Rewritten(NamedTuple):
    """How many frames were rewritten, and how."""

    frames: int
    """Frames in, and out."""
    unchanged: int
    """Frames that had nothing to rewrite."""
    bad_icrc: int
    """Frames with a wrong ICRC, which stays wrong."""
    not_converted: int
    """Frames that have no transport to put into another encapsulation."""
    missed_edits: int
    """Edits that found no header to change."""
    problems: int
    """Places where the source is damaged."""


def rewrite(
    source: Source,
    destination: Union[str, "os.PathLike[str]"],
    *,
    anonymize: bool = False,
    seed: int = 0,
    zero_payload: bool = False,
    snaplen: Optional[int] = None,
    to: Optional[Literal["rocev2-ipv4", "rocev2-ipv6", "rocev1", "ib", "ib-grh"]] = None,
    set: Union[str, Sequence[str]] = (),
    force: bool = False,
) -> Rewritten:
    """Copies a capture with other addresses, payload or encapsulation, as `rdmawire rewrite` does. Each frame in gives one out.

    `anonymize`: replace addresses, queue pairs, keys and virtual addresses, each by the same other one everywhere; `seed` decides
    which.
    `zero_payload`: replace payload by zeros.
    `snaplen`: keep at most so many bytes of each frame.
    `to`: put the transport into another encapsulation, without tunnels.
    `set`: change fields: `"ipv4.dst=10.0.0.9"`, `"bth.psn+=1000"`.
    `force`: replace the file if it exists.
    """
    counts = _native.rewrite(
        source,
        destination,
        anonymize=anonymize,
        seed=seed,
        zero_payload=zero_payload,
        snaplen=snaplen,
        to=to,
        set=[set] if isinstance(set, str) else list(set),
        force=force,
    )
    return Rewritten(**counts)


def write(
    destination: Union[str, "os.PathLike[str]"],
    frames: Iterable[Union[bytes, Packet]],
    *,
    link: int = 1,
    force: bool = False,
) -> int:
    """Writes frames into a capture: .pcap, .pcapng or .erf, with .gz or .zst behind. Returns how many.

    Packets keep their time and link type. Bytes have the link type `link`, and are a microsecond apart.
    """
    return _native.write(destination, frames, link, force)
