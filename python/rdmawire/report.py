"""The report of an analysis, as typed objects.

Made by tools/report_types.py from the JSON Schema of the report (`rdmawire explain schema`): do not edit it. Fields and words are
those of `rdmawire analyze --json`. Units stand in names. A figure that the capture cannot prove is `None`, and `why` of the object
that has it says why.
"""

from __future__ import annotations

from typing import Any, ClassVar, Dict, List, Literal, Mapping, Optional

from ._record import Record, ReportMethods


Confidence = Literal["certain", "likely", "possible"]
"""How sure a conclusion is. The surest is the least in order."""


Coverage = Literal["full", "capture_lossy", "partial_path", "one_way", "unknown"]
"""Whether the capture has all packets of a connection."""


Encapsulation = Literal["ib", "ib-grh", "rocev1", "rocev2-ipv4", "rocev2-ipv6", "unknown"]
"""What carries the InfiniBand transport packet. Tunnels around it do not count."""


IpId = Literal["counts_up", "constant", "varies", "unknown"]
"""How a sender numbers its IPv4 packets (the identification field)."""


KnownBy = Literal["file", "lldp", "unknown"]
"""How it is known what a link joins."""


Location = Literal["upstream", "downstream", "ack_path", "corrupt", "trimmed", "capture", "none", "unknown"]
"""Where a packet was lost."""


MtuBy = Literal["cm", "full_packets", "read_psns", "unknown"]
"""How the path MTU is known."""


Pacing = Literal["per_qp", "per_ip_pair", "per_port", "unknown"]
"""The scope in which a receiver keeps a distance between its congestion notifications (CNPs)."""


PairedBy = Literal["udp-port", "psn", "cm", "map", "unknown"]
"""How the two flows of a connection were found to belong together; the weakest evidence first."""


PauseEnd = Literal["xon", "expired", "capture_end", "unknown"]
"""How a pause ended."""


PriorityBy = Literal["map", "pcp", "dscp", "unknown"]
"""How a packet's priority is known."""


Reason = Literal["one_way", "partial_path", "capture_loss", "truncated", "midstream", "unpaired", "no_pfc_visibility", "unknown_speed", "not_requested", "uneven_clock", "coarse_times", "too_few", "not_ect", "no_topology", "unknown_direction", "one_link", "links_in_series", "memory_limit", "unknown"]
"""Why a figure is missing."""


RecoveryMode = Literal["go_back_n", "selective", "unknown"]
"""What a sender sends again after a loss."""


Service = Literal["RC", "UC", "RD", "UD", "CN", "XRC", "vendor", "unknown"]
"""The transport service of a flow."""


Severity = Literal["error", "warning", "note"]
"""How serious a finding is. The most serious is the least in order."""


Space = Literal["request", "response", "unknown"]
"""Which of the two PSN spaces of a flow."""


TimeCause = Literal["sending", "idle", "waiting", "paused", "throttled", "recovering", "not_ready", "receiver_slow", "responder_slow", "link_full", "unknown"]
"""What a sender's time went to."""


Trigger = Literal["nak", "timeout", "rnr", "implied_nak", "unknown"]
"""Why a sender sent packets again."""


Visibility = Literal["two_way", "requests_only", "responses_only", "one_way", "unknown"]
"""What the tap showed of a flow's connection."""


class Affected(Record):
    """A flow that a finding concerns."""

    count: List[int]
    """What the finding counts (packets, time-outs), at least and at most."""
    flow: int
    """Index into the list of flows."""
    time_lost_ns: Optional[int]
    """Time that the flow lost by it, in nanoseconds; `None` where that is not known."""


class Balance(Record):
    """How evenly the links of the capture carry traffic, taken as parallel: the planes of a fabric, the links of a
    bundle, the uplinks of a switch. Jain's index is 1 where all carry the same, and 1/n where one of n carries all.
    """

    jain_bytes: float
    """Jain's fairness index of their bytes: 0 to 1."""
    jain_flows: Optional[float]
    """Jain's fairness index of the flows that began on each: 0 to 1; `None` without flows."""
    links: int
    """How many links there are."""
    max_over_mean_bytes: float
    """The bytes of the busiest link over the mean."""
    max_over_mean_flows: Optional[float]
    """The most flows of a link over the mean."""


class BurstSender(Record):
    """Who sends in a microburst."""

    bytes: int
    """Its bytes on the wire, from the burst's first packet until the rate was low again."""
    flows: int
    """Its flows."""
    src: str
    """The sender's address."""


class Capture(Record):
    """What was read."""

    _nested: ClassVar[Mapping[str, str]] = {"learned": "Learned", "problems": "CaptureProblem"}
    bytes_captured: int
    """Bytes of the frames that are in the capture."""
    bytes_on_wire: int
    """Bytes that the frames had on the wire, as the capture says."""
    capture_drops: Optional[int]
    """Frames that the capturing system says it dropped; `None` where it does not say."""
    duration_ns: Optional[int]
    """Nanoseconds from `first_ns` to `last_ns`."""
    evicted_flows: int
    """Flows that left the table because there were too many."""
    files: List[str]
    """Names of the files, or of the network interface."""
    first_ns: Optional[int]
    """Time of the first frame in the capture's order, in nanoseconds since 1970-01-01 UTC."""
    flows_without_detail: int
    """Flows that gave up detail because all held more memory than they may."""
    last_ns: Optional[int]
    """Time of the latest frame, in nanoseconds since 1970-01-01 UTC."""
    learned: Learned
    """What was learned about senders, the network and the tap. Verdicts stand on it."""
    limitations: List[str]
    """What this capture can prove and what it cannot, a sentence each."""
    link_types: List[int]
    """Link types, by the numbers of tcpdump.org (LINKTYPE_)."""
    malformed_packets: int
    """Frames whose dissection found an error."""
    mirror_lost_packets: Optional[int]
    """Mirrored copies that are missing, by the sequence numbers in the mirror's headers; `None` where it has none."""
    packets: int
    """Frames read."""
    problems: List[CaptureProblem]
    """Places where files are damaged."""
    rdma_packets: int
    """Frames with a packet of the InfiniBand transport."""
    time_steps_back: int
    """How often time stepped back by more than 50 ns from one frame to the next."""
    timestamp_resolution_ns: Optional[int]
    """The step of the timestamps in nanoseconds."""
    truncated_packets: int
    """Frames of which the capture has only the first part."""


class CaptureProblem(Record):
    """Damage in a file."""

    file: str
    """The name of the file."""
    offset: int
    """Where: bytes from the start of the file, decompressed."""
    what: str
    """What is wrong."""


class Cause(Record):
    """What the flows of a finding have in common. Of the properties, those are known that name the cause: flows
    between two hosts have `src` and `dst`, flows to one host have `dst` only.
    """

    affected: List[int]
    """Flows with these properties that the finding concerns, and all flows with these properties."""
    between_ns: Optional[List[int]]
    """When it happened, where all happened at nearly one time: nanoseconds since 1970, first and last."""
    confidence: Confidence
    """How sure it is that the common property is no chance."""
    dscp: Optional[int]
    """DSCP, by which switches choose the queue."""
    dst: Optional[str]
    """Destination address."""
    others: List[int]
    """Flows without these properties that show the same, and all flows without these properties."""
    src: Optional[str]
    """Source address."""
    udp_src_port: Optional[int]
    """UDP source port, by which switches choose among equal paths."""
    vlan: Optional[int]
    """VLAN number."""


class CnpIntervals(Record):
    """Times from one CNP to the next one in the same scope, in nanoseconds."""

    _nested: ClassVar[Mapping[str, str]] = {"per_ip_pair": "Summary", "per_port": "Summary", "per_qp": "Summary"}
    per_ip_pair: Optional[Summary]
    """From one IP address to another."""
    per_port: Optional[Summary]
    """From one IP address."""
    per_qp: Optional[Summary]
    """For one queue pair."""


class Congestion(Record):
    """Marks and notifications over the whole capture."""

    _nested: ClassVar[Mapping[str, str]] = {"cnp_interval_ns": "CnpIntervals", "flows": "MarkedFlow"}
    _left_out: ClassVar[Mapping[str, Any]] = {"why": {}}
    becn_acks: int
    """ACKs of native InfiniBand with BECN: they notify as CNPs do."""
    ce_control_packets: int
    """Marked packets that are acknowledgements or CNPs."""
    ce_packets: int
    """Packets marked "congestion experienced" (CE)."""
    ce_ratio: Optional[float]
    """Marked data packets among ECN-capable data packets: 0 to 1."""
    ce_ratio_all: Optional[float]
    """Marked packets among all packets of the transport: 0 to 1."""
    cnp_interval_ns: CnpIntervals
    """Times between CNPs in nanoseconds."""
    cnps: int
    """Congestion notification packets (CNPs)."""
    cnps_for_losses: Optional[int]
    """CNPs near a NAK of the same addresses, without a mark in the millisecond before."""
    cnps_near_nak: int
    """CNPs within 5 µs of a NAK of the same flow."""
    cnps_unattributed: int
    """CNPs of which it is not known whose data they slow: nothing from the queue pair that they go to is in the
    capture, or nothing shows which of the flows it is.
    """
    cnps_unmarked: Optional[int]
    """CNPs with neither a mark in the millisecond before nor a NAK near: the flow was marked behind the tap."""
    cnps_without_becn: int
    """CNPs whose BECN bit is not set."""
    cnps_without_ce: int
    """CNPs to a sender of whose packets none was marked at the tap."""
    ect_packets: int
    """ECN-capable packets: ECT(0), ECT(1) or CE."""
    expected_cnps: Optional[int]
    """CNPs that receivers with such a limit send for the marks at the tap, and for NAKs, where they come with CNPs;
    with the shortest distance between two CNPs of a queue pair, where no limit shows.
    """
    flow_count: int
    """Flows that were marked, or notified."""
    flows: List[MarkedFlow]
    """These flows, most CNPs first: 1024 at most."""
    pacing: Optional[Pacing]
    """The widest scope in which CNPs keep a distance."""
    pacing_confidence: Optional[Confidence]
    """How sure that is: it is inferred from the distances."""
    pacing_interval_ns: Optional[int]
    """That distance in nanoseconds."""
    why: Dict[str, Reason]
    """Why figures are missing."""


class Connection(Record):
    """Two flows in opposite directions between two queue pairs."""

    _nested: ClassVar[Mapping[str, str]] = {"a": "End", "b": "End"}
    a: End
    """The end that sends the flow with more packets."""
    b: End
    """The other end."""
    completeness: int
    """What was seen of it, as bits: 1 REQ, 2 REP and 4 RTU of the connection manager, 8 requests, 16 responses, 32
    DREQ of the connection manager, 64 a NAK that ends the connection.
    """
    evidence_bits: int
    """How strong the evidence for that is: a wrong pair has a chance of one in 2 to this power."""
    flows: List[int]
    """The flow that `a` sends and the one that `b` sends, as indices into `Report::flows`."""
    id: int
    """Its number: its place in the list of connections."""
    paired_by: PairedBy
    """How the two flows were found to belong together."""
    visibility: Coverage
    """Whether the capture has all its packets."""


class Cost(Record):
    """What the headers of some packets cost."""

    _nested: ClassVar[Mapping[str, str]] = {"as_native_ib": "Price", "as_native_ib_grh": "Price", "as_rocev1": "Price", "as_rocev2_ipv4": "Price", "as_rocev2_ipv6": "Price", "header_bytes": "LayerBytes"}
    as_native_ib: Optional[Price]
    """The packets as native InfiniBand within a subnet."""
    as_native_ib_grh: Optional[Price]
    """The packets as native InfiniBand between subnets."""
    as_rocev1: Optional[Price]
    """The packets as RoCE version 1."""
    as_rocev2_ipv4: Optional[Price]
    """The packets as RoCEv2 over IPv4."""
    as_rocev2_ipv6: Optional[Price]
    """The packets as RoCEv2 over IPv6."""
    control_ratio: Optional[float]
    """Bytes of ACKs, CNPs and MAC control frames among the bytes on the wire: 0 to 1."""
    efficiency_ratio: Optional[float]
    """Payload among the bytes on the wire: 0 to 1."""
    header_bytes: LayerBytes
    """Bytes of all else."""
    l1_bytes: int
    """Bytes on the wire, with preamble, frame check sequence and inter-frame gap."""
    packets: int
    """Packets; recorded copies do not count."""
    payload_bytes: int
    """Bytes of RDMA payload."""
    retransmit_ratio: Optional[float]
    """Bytes of retransmissions among the bytes on the wire: 0 to 1."""


class CreditBin(Record):
    """Credits in a span of time."""

    least: int
    """The fewest blocks left after a link packet in it."""
    most: int
    """The most."""
    start_ns: int
    """When it begins, in nanoseconds since 1970-01-01 UTC."""


class CreditStall(Record):
    """A time without credits."""

    end_ns: int
    """When a link packet gave credits again, in nanoseconds since 1970-01-01 UTC; or the last one of the capture."""
    frame: int
    """The link packet that shows it, from 1."""
    is_over: bool
    """Whether it ended within the capture."""
    start_ns: int
    """When that came, in nanoseconds since 1970-01-01 UTC."""


class Credits(Record):
    """Credits of one end of a link on one virtual lane: how much it may still send. They are the limit (FCCL) that its
    peer gave minus what it has sent (FCTBS), modulo 4096, in blocks of 64 bytes: known whenever one of the two
    sends a link packet.
    """

    _nested: ClassVar[Mapping[str, str]] = {"over_time": "CreditBin", "stall_list": "CreditStall"}
    _left_out: ClassVar[Mapping[str, Any]] = {"why": {}}
    bin_ns: Optional[int]
    """How long a bin of `over_time` is, in nanoseconds."""
    blocks: int
    """Blocks that it sent, by its FCTBS: modulo 4096 between two link packets."""
    first_frame: int
    """Its first link packet, from 1."""
    init_packets: int
    """Those that set flow control up."""
    least: Optional[int]
    """The fewest blocks that it had left."""
    least_ns: Optional[int]
    """When that was first so, in nanoseconds since 1970-01-01 UTC."""
    link: str
    """The interface that captured its link packets."""
    longest_stall_ns: Optional[int]
    """The longest one, in nanoseconds."""
    mean: Optional[float]
    """The mean over time."""
    most: Optional[int]
    """The most blocks that it had left."""
    over_limit: Optional[int]
    """Link packets after which more was sent than the limit allows: it is no number of credits."""
    over_time: List[CreditBin]
    """Credits over time: bins that have a link packet of either end, 256 at most."""
    packets: int
    """Its link packets."""
    port: int
    """The capture port, as ERF has it."""
    stall_list: List[CreditStall]
    """The first 64 of these times."""
    stall_ratio: Optional[float]
    """These over the time in which credits are known: 0 to 1."""
    stalled_ns: Optional[int]
    """Nanoseconds of these, in sum."""
    stalls: Optional[int]
    """Times in which it had none left: it could send nothing."""
    vl: int
    """The virtual lane."""
    why: Dict[str, Reason]
    """Why figures are missing."""


class DcbxApplication(Record):
    """The priority of an application."""

    priorities: List[int]
    """Its priorities: one, but for CEE."""
    protocol: int
    """The protocol."""
    selector: int
    """What the protocol is: 1 an EtherType, 2 a port of TCP or SCTP, 3 of UDP or DCCP, 4 of any of these, 5 a DSCP."""


class DcbxPort(Record):
    """What a port says of its priorities: DCBX, in LLDP."""

    _nested: ClassVar[Mapping[str, str]] = {"applications": "DcbxApplication"}
    applications: List[DcbxApplication]
    """Priorities of applications."""
    bandwidth_percent: Optional[List[int]]
    """Per cent of the bandwidth that each traffic class gets."""
    congestion_notification: List[int]
    """Priorities with congestion notification (IEEE 802.1Qau)."""
    ets_willing: Optional[bool]
    """Whether it takes its neighbour's traffic classes instead."""
    first_frame: int
    """Its first frame, from 1."""
    frames: int
    """Its frames with DCBX."""
    is_cee: bool
    """Whether it is the DCBX of CEE, and not that of IEEE."""
    link: str
    """The interface that captured it."""
    pfc: Optional[List[int]]
    """Priorities with PFC; `None` where it does not say."""
    pfc_willing: Optional[bool]
    """Whether it takes its neighbour's PFC instead."""
    port: Optional[str]
    """The port's name, where it has one that is text."""
    sender: str
    """The port's Ethernet address."""
    traffic_classes: Optional[List[int]]
    """The traffic class of each priority; of CEE, its priority group."""


class Dcqcn(Record):
    """A model of the sender beside its measured rate: what DCQCN does with these CNPs, with sets of parameters that
    are published.
    """

    _nested: ClassVar[Mapping[str, str]] = {"models": "DcqcnModel"}
    best: str
    """The model that is nearest to the measured rate: a set of parameters, or "none", a sender that takes no notice."""
    cell_ns: int
    """How long a cell is, in nanoseconds."""
    error_ratio: float
    """How far it is off: the average difference of the rates over the average rate."""
    fits: bool
    """Whether it is off by 15 % at most. If not, the sender has other parameters, or another algorithm, or something
    else limits it.
    """
    measured_bps: List[int]
    """The measured rate in each cell, in bits per second on the wire."""
    model_bps: List[int]
    """The rate of the nearest model in each cell, in bits per second."""
    models: List[DcqcnModel]
    """All models, the nearest first."""
    start_bps: int
    """The rate in bits per second that the models have before the first CNP."""
    start_is_speed: bool
    """Whether that is the link's speed. Otherwise it is the rate that the flow had."""
    start_ns: int
    """When the first cell begins, in nanoseconds since 1970-01-01 UTC."""


class DcqcnModel(Record):
    """One model of a sender."""

    error_ratio: float
    """How far it is off: the average difference of the rates over the average measured rate."""
    mean_bps: int
    """Its rate on average, in bits per second."""
    name: str
    """The name of its parameters."""
    source: str
    """Where these are from."""


class End(Record):
    """One end of a connection."""

    addr: str
    """Its address, written as that of a flow."""
    qp: int
    """Its queue pair."""


class Episode(Record):
    """A loss or a timeout, and how the sender recovered from it."""

    _left_out: ClassVar[Mapping[str, Any]] = {"why": {}}
    confidence: Confidence
    """How sure that is."""
    first_retransmit_frame: int
    """The first frame sent again, from 1."""
    flow: int
    """The flow, as an index into `Report::flows`."""
    goodput_after_bps: Optional[int]
    """Bits per second of payload sent for the first time, over the same span after the episode; `None` where the flow
    stopped, or the next episode began, sooner.
    """
    goodput_before_bps: Optional[int]
    """Bits per second of payload sent for the first time, over ten round trips or somewhat more before the episode
    began. The silence before a timeout does not count.
    """
    location: Location
    """Where the packet was lost."""
    lost_psn: int
    """PSN of the first packet sent again."""
    nak_frame: Optional[int]
    """The frame with the NAK, from 1."""
    nak_generation_ns: Optional[int]
    """Nanoseconds from the packet after the gap to the NAK."""
    nak_reaction_ns: Optional[int]
    """Nanoseconds from the NAK to the first packet sent again."""
    needless_packets: int
    """Packets sent again that had arrived before."""
    original_frame: Optional[int]
    """The frame that sent this PSN for the first time, from 1; `None` where the tap did not see it."""
    recovered_ns: Optional[int]
    """Nanoseconds from the first packet sent again until all of it was acknowledged; `None` where that was not seen."""
    retransmission_ns: Optional[int]
    """Nanoseconds from the first transmission to the second."""
    retransmitted_bytes: int
    """Bytes of payload sent again."""
    retransmitted_packets: int
    """Packets sent again."""
    retries: int
    """How often in a row the sender went back to this PSN, with this time."""
    space: Space
    """The PSN space in which packets were sent again."""
    start_ns: int
    """When that was, in nanoseconds since 1970-01-01 UTC."""
    trigger: Trigger
    """Why packets were sent again."""
    why: Dict[str, Reason]
    """Why figures are missing."""


class Finding(Record):
    """A finding: one cause, and the flows that it affects."""

    _nested: ClassVar[Mapping[str, str]] = {"cause": "Cause", "flows": "Affected"}
    cause: Optional[Cause]
    """What the flows concerned have in common, and others do not; `None` where nothing stands out."""
    flow: Optional[int]
    """Index of the flow concerned into the list of flows; `None` where there is none, or more than one."""
    flow_count: int
    """Number of flows concerned."""
    flows: List[Affected]
    """The flows concerned, those that lost most time first. The list is cut: see `flow_count`."""
    frames: List[int]
    """Some of the frames that show it, counted from 1."""
    id: str
    """Its kind, which `rdmawire explain finding` explains: "loss.downstream"."""
    next: str
    """What to do next."""
    severity: Severity
    """How serious it is."""
    text: str
    """What was found, in one sentence."""
    time_lost_ns: Optional[int]
    """Time that these flows lost by it, in nanoseconds, added up over the flows; `None` where that is not known."""


class Flow(Record):
    """Packets from one address to one queue pair of another: one direction of one connection."""

    _nested: ClassVar[Mapping[str, str]] = {"icrc": "Icrc", "latency_ns": "Latencies", "messages": "Messages", "naks": "Naks", "psn": "Psns", "requests": "Stream", "responses": "Stream", "rnr": "Rnr", "timeouts": "Timeout"}
    _left_out: ClassVar[Mapping[str, Any]] = {"why": {}}
    acks: int
    """Packets that acknowledge: ACKs, and responses that carry an acknowledgement."""
    cnps: int
    """Congestion notification packets (CNPs) in this flow. They slow the opposite one."""
    connection: Optional[int]
    """The number of its connection: `Connection::id`."""
    dest_qp: int
    """The queue pair that the packets go to."""
    dscps: List[int]
    """DSCP values seen."""
    dst: str
    """Destination address, written as the source address is."""
    ecn_ce: int
    """Packets that are marked "congestion experienced" (CE)."""
    ecn_ect: int
    """Packets that are ECN-capable (ECT) and not marked."""
    encapsulation: Encapsulation
    """What carries the packets."""
    epoch: int
    """0, and one more each time that the queue pair was given to a new connection."""
    first_ns: int
    """Time of the first packet, in nanoseconds since 1970-01-01 UTC."""
    goodput_bytes: int
    """Bytes of RDMA payload sent for the first time."""
    icrc: Icrc
    """What became of the packets' ICRCs."""
    ip_id: IpId
    """How the sender numbers its IPv4 packets."""
    last_ns: int
    """Time of the latest packet, in nanoseconds since 1970-01-01 UTC."""
    latency_ns: Latencies
    """Latencies in nanoseconds."""
    messages: Messages
    """Messages that the requests carry."""
    naks: Naks
    """NAKs by their code."""
    opcodes: Dict[str, int]
    """Packets by the name of their operation code."""
    packets: int
    """Packets recorded, of whatever class."""
    paired_by: Optional[PairedBy]
    """How the opposite flow was found."""
    path_mtu: Optional[int]
    """Path MTU in bytes of payload."""
    path_mtu_by: Optional[MtuBy]
    """How the path MTU is known."""
    payload_bytes: int
    """Bytes of RDMA payload."""
    peer_qp: Optional[int]
    """The queue pair of the sender, where it is known."""
    psn: Psns
    """PSNs as they are on the wire."""
    recovery_mode: RecoveryMode
    """What the sender sends again after a loss."""
    requests: Stream
    """The PSN space of requests."""
    responses: Stream
    """The PSN space of responses: acknowledgements, data of READs, results of atomics."""
    rnr: Optional[Rnr]
    """What happened when the receiver was not ready; `None` where it always was."""
    rnr_naks: int
    """RNR NAKs: this flow's sender was not ready to receive."""
    service: Service
    """The transport service."""
    src: str
    """Source address: an IPv4 or IPv6 address, a GID, or a LID as "lid:0x0012"."""
    timeouts: List[Timeout]
    """Retransmission timeouts of the sender: the first ones."""
    ttls: List[int]
    """IPv4 times to live, or IPv6 hop limits, seen."""
    udp_src_ports: List[int]
    """UDP source ports seen."""
    visibility: Optional[Visibility]
    """What the tap showed of the flow's connection."""
    vlans: List[int]
    """VLAN identifiers seen, 32 at most, in the order in which they came; so are the three below."""
    why: Dict[str, Reason]
    """Why figures are missing."""
    wire_bytes: int
    """Bytes on the wire, with preamble, frame check sequence and inter-frame gap."""


class HostStorm(Record):
    """A host that stopped its link for more than 90 % of a long time, while nothing marked the traffic to it."""

    confidence: Confidence
    """Likely where traffic was ECN-capable, and so would have been marked."""
    duty_ratio: float
    """The share of this time that was paused: 0 to 1."""
    end_ns: int
    """When it ended, in nanoseconds since 1970-01-01 UTC."""
    frame: int
    """The frame that began it, from 1."""
    host: str
    """The host."""
    link: str
    """The interface that captured it."""
    priority: Optional[int]
    """The priority, 0 to 7; `None` for 802.3x, which stops all priorities."""
    start_ns: int
    """When it began, in nanoseconds since 1970-01-01 UTC."""


class Icrc(Record):
    """Packets by the state of their ICRC."""

    bad: int
    """It is wrong."""
    good: int
    """It is right."""
    unchecked: int
    """It was not verified: the frame is cut, or verification is off."""


class Incast(Record):
    """A time in which several senders together sent more to one receiver than its link carries: bins of 50 µs that
    follow each other.
    """

    bins: int
    """Bins of 50 µs with too much."""
    bytes: int
    """Bytes on the wire in these bins."""
    end_ns: int
    """When the last bin ends, in nanoseconds since 1970-01-01 UTC."""
    peak_bps: int
    """The rate in the fullest bin, in bits per second."""
    receiver: str
    """The receiver's address."""
    senders: int
    """Senders with packets in one bin, at most."""
    start_ns: int
    """When the first bin begins, in nanoseconds since 1970-01-01 UTC."""


class Interval(Record):
    """Traffic in a span of time. Its length is `Report::interval_ns`."""

    ce: int
    """Packets marked "congestion experienced" (CE)."""
    ce_ratio: Optional[float]
    """Marked packets among these: 0 to 1."""
    cnps: int
    """Congestion notification packets."""
    ect: int
    """ECN-capable packets, marked ones included."""
    goodput_bytes: int
    """Bytes of RDMA payload sent for the first time."""
    l1_bytes: int
    """Bytes on the wire, with preamble, frame check sequence and inter-frame gap."""
    naks: int
    """NAKs; RNR NAKs do not count."""
    out_of_order: int
    """Packets that came out of order."""
    packets: int
    """Frames of all kinds. Recorded copies do not count, here and below."""
    pause_frames: int
    """Pause frames: PFC and 802.3x."""
    payload_bytes: int
    """Bytes of RDMA payload."""
    retransmits: int
    """Retransmitted packets."""
    start_ns: int
    """When it begins, in nanoseconds since 1970-01-01 UTC."""


class Latencies(Record):
    """Latencies as the tap sees them, in nanoseconds. `None` where there was nothing to measure."""

    _nested: ClassVar[Mapping[str, str]] = {"ack_rtt": "Summary", "message_completion": "Summary", "nak_generation": "Summary", "nak_reaction": "Summary", "read_first": "Summary", "read_last": "Summary"}
    ack_rtt: Optional[Summary]
    """From a request packet to the acknowledgement that covers it."""
    message_completion: Optional[Summary]
    """From the first packet of a message to its acknowledgement."""
    nak_generation: Optional[Summary]
    """From the packet after a gap to the NAK for the gap."""
    nak_reaction: Optional[Summary]
    """From a NAK to the first packet sent again."""
    read_first: Optional[Summary]
    """From a READ request to its first response."""
    read_last: Optional[Summary]
    """From a READ request to its last response."""


class LayerBytes(Record):
    """Bytes of each layer but the payload, outermost first."""

    bth: int
    """Base transport header."""
    ethernet: int
    """Ethernet header."""
    extended: int
    """Extended transport headers."""
    fcs: int
    """Ethernet frame check sequence."""
    grh: int
    """Global route header."""
    icrc: int
    """Invariant CRC."""
    ip: int
    """IP header, options and extension headers included."""
    lrh: int
    """Local route header."""
    pad: int
    """Padding of the payload to a multiple of four bytes."""
    padding: int
    """Padding of short frames to Ethernet's minimum."""
    preamble_ifg: int
    """Ethernet preamble, start delimiter and inter-frame gap."""
    udp: int
    """UDP header."""
    vcrc: int
    """Variant CRC of native InfiniBand."""
    vlan: int
    """VLAN tags."""


class Learned(Record):
    """What was learned about senders, the network and the tap."""

    copy_lag_ns: Optional[List[int]]
    """Nanoseconds from a packet to its copy, shortest and longest; `None` where this capture does not record packets
    twice at one place.
    """
    ip_id: Dict[str, int]
    """Flows by how their senders number IPv4 packets."""
    one_in: Optional[int]
    """The capture has about one packet in so many: it samples, or the others take other paths. `None` where it has
    nearly all.
    """
    one_way_flows: List[int]
    """Flows of reliable services of which only one direction was captured, and all of them."""
    reordering_ns: int
    """The longest time that a packet came after the first one that overtook it, over all flows, in nanoseconds."""
    reordering_packets: int
    """The most packets that overtook a single one, over all flows."""


class LinkLoad(Record):
    """What one link, or tap, carried."""

    bytes: int
    """Their bytes, from the first header to the last one before the frame check sequence."""
    flows: int
    """Flows that had their first packet here."""
    frames: int
    """Frames of whatever kind."""
    link: str
    """The interface that captured it."""
    rate_bps: Optional[int]
    """Its bytes over the time of the capture, in bits per second; `None` where that has no length."""


class LinkPeaks(Record):
    """The highest rates to a receiver: of all its traffic, in bursts and out of them."""

    bursts: Optional[int]
    """Microbursts to it."""
    mean_bps: Optional[int]
    """Bits per second, from the first packet to the last one."""
    peak_100us_bps: Optional[int]
    """The highest rate over 100 µs, in bits per second."""
    peak_10us_bps: Optional[int]
    """The highest rate over 10 µs, in bits per second."""
    peak_1ms_bps: Optional[int]
    """The highest rate over a millisecond, in bits per second."""
    peak_ratio: Optional[float]
    """The highest rate over 10 µs, over the link's speed."""
    receiver: str
    """The receiver's address."""
    wire_bytes: int
    """Bytes on the wire to it."""


class LinuxPorts(Record):
    """Flows with one port whose peer is known, and how many of them have the port that Linux computes from the two
    queue pairs.
    """

    flows: int
    """Flows with one port whose peer is known."""
    matching: int
    """Those that have the computed port."""


class Losses(Record):
    """Packets lost, by place: at least so many, at most so many. `None` where the capture cannot show such losses."""

    ack_path: Optional[List[int]]
    """They arrived; their acknowledgement was lost."""
    capture: Optional[List[int]]
    """They passed the tap, and are not in the capture."""
    corrupt: Optional[List[int]]
    """They were at the tap with a wrong checksum or ICRC."""
    downstream: Optional[List[int]]
    """Between the tap and their receiver."""
    trimmed: Optional[List[int]]
    """Switches before the tap cut them to their headers, instead of dropping them."""
    upstream: Optional[List[int]]
    """Between their sender and the tap."""


class MarkedFlow(Record):
    """A flow that was marked, or whose sender was notified."""

    _nested: ClassVar[Mapping[str, str]] = {"ce_to_cnp_ns": "Summary", "cnp_interval_ns": "Summary", "dcqcn": "Dcqcn"}
    _left_out: ClassVar[Mapping[str, Any]] = {"why": {}}
    ce_packets: int
    """Marked data packets."""
    ce_ratio: Optional[float]
    """Marked data packets among ECN-capable ones: 0 to 1."""
    ce_to_cnp_ns: Optional[Summary]
    """Times from a mark, which the receiver's limit let through, to its CNP, in nanoseconds: at the tap."""
    cnp_frames: List[int]
    """The frames of its first CNPs."""
    cnp_interval_ns: Optional[Summary]
    """Times between its CNPs in nanoseconds."""
    cnps: int
    """CNPs for it."""
    cnps_for_losses: Optional[int]
    """CNPs near a NAK of the same addresses, without a mark in the millisecond before."""
    cnps_for_marks: Optional[int]
    """CNPs within a millisecond of a mark."""
    cnps_unmarked: Optional[int]
    """CNPs with neither: it was marked behind the tap."""
    cnps_with_data: bool
    """Whether its CNPs have the DSCP and the priority of its data."""
    dcqcn: Optional[Dcqcn]
    """DCQCN's reaction point, replayed with its CNPs: a model. Of the 16 flows with most CNPs."""
    dest_qp: Optional[int]
    """The queue pair that the data goes to."""
    dst: str
    """Destination address of the data: CNPs come from there."""
    ect_packets: int
    """ECN-capable data packets, marked ones included."""
    expected_cnps: Optional[int]
    """CNPs that a receiver with the capture's limit sends for its marks, and for its NAKs, where they come with CNPs.
    """
    flow: Optional[int]
    """The flow of the data, as an index into `Report::flows`."""
    keeps_rate: Optional[bool]
    """Whether the sender keeps its rate although it gets CNPs: it ignores them, or something else keeps it slower than
    they do.
    """
    not_ect_packets: int
    """Data packets that are not ECN-capable: switches drop them where they would mark others."""
    rate_after_bps: Optional[int]
    """Bits per second on the wire from the first CNP to the last one."""
    rate_before_bps: Optional[int]
    """Bits per second on the wire until the first CNP."""
    reaction_ratio: Optional[float]
    """The median over these CNPs: rate in the 48 µs after a CNP over the rate in the 48 µs before it; 64 µs where
    flows are slow.
    """
    reactions: int
    """CNPs of which the rate before and after is known: those in the first quarter of a second after the capture's
    first CNP.
    """
    src: str
    """Source address of the data: CNPs go there."""
    src_qp: Optional[int]
    """The queue pair that the CNPs go to."""
    why: Dict[str, Reason]
    """Why figures are missing."""


class Messages(Record):
    """Messages of a flow's requests."""

    _nested: ClassVar[Mapping[str, str]] = {"size_bytes": "Summary"}
    broken: int
    """Messages whose packets do not fit together."""
    completed: int
    """Messages seen from the first packet to the last."""
    open: int
    """Messages whose last packet was not seen."""
    size_bytes: Optional[Summary]
    """Sizes of completed messages in bytes."""


class Microburst(Record):
    """A microburst. Rates are of bytes on the wire."""

    _nested: ClassVar[Mapping[str, str]] = {"largest_senders": "BurstSender"}
    _left_out: ClassVar[Mapping[str, Any]] = {"followed_by": {}}
    bytes: int
    """Its bytes on the wire."""
    duration_ns: int
    """From its first packet to its last one, in nanoseconds."""
    flows: int
    """Flows that had packets in it."""
    followed_by: Dict[str, int]
    """How many marked packets, CNPs, losses and pause frames were in it, or within 100 µs after it."""
    largest_senders: List[BurstSender]
    """The addresses that sent most: 8 at most."""
    mean_bps: int
    """The mean of the receiver's second, in bits per second."""
    peak_100us_bps: int
    """The highest rate over 100 µs that end in it, in bits per second."""
    peak_10us_bps: int
    """The highest rate over 10 µs, in bits per second."""
    peak_1ms_bps: int
    """The highest rate over a millisecond that ends in it, in bits per second."""
    peak_ratio: Optional[float]
    """The highest rate over 10 µs, over the link's speed. Where the tap is before the receiver's link, it may be above
    1.
    """
    receiver: str
    """The receiver's address."""
    senders: int
    """Addresses that sent these."""
    start_ns: int
    """Its first packet, in nanoseconds since 1970-01-01 UTC."""


class Microbursts(Record):
    """Microbursts: the link of a receiver is busy for a millisecond at most, in a second in which it is not. A burst
    begins when the rate over 10 µs reaches half of the link's speed, and ends when it falls below. It is a
    microburst if the mean of its second, or of what the capture has of that, is below a quarter of the speed. The
    receiver is the destination address of the packets.
    """

    _nested: ClassVar[Mapping[str, str]] = {"bursts": "Microburst", "receivers": "LinkPeaks"}
    _left_out: ClassVar[Mapping[str, Any]] = {"followed_by": {}, "why": {}}
    bursts: List[Microburst]
    """The largest microbursts, most bytes first: 256 at most."""
    count: Optional[int]
    """How many there are."""
    followed: Optional[int]
    """How many of them had a mark, CNP, loss or pause in them or within 100 µs after them."""
    followed_by: Dict[str, int]
    """How many of them had each of these."""
    other_bursts: Optional[int]
    """Bursts that last longer, or are in seconds with a higher mean: these are no microbursts."""
    receiver_count: int
    """How many addresses received something."""
    receivers: List[LinkPeaks]
    """The highest rates to each receiver, most bytes first: 256 at most."""
    speed_bps: Optional[int]
    """The speed of the links, in bits per second, where they have one."""
    threshold_bps: Optional[int]
    """The rate at which a link is busy, in bits per second."""
    why: Dict[str, Reason]
    """Why figures are missing."""


class Naks(Record):
    """NAKs by their code."""

    invalid_rd_request: int
    """Code 4: the request of a reliable datagram is against the rules."""
    invalid_request: int
    """Code 1: the request is against the rules; the connection ends."""
    psn_sequence_error: int
    """Code 0: a packet is missing; the sender goes back to it."""
    remote_access_error: int
    """Code 2: the remote key, address or right does not fit; the connection ends."""
    remote_operational_error: int
    """Code 3: the responder could not carry the request out; the connection ends."""


class Operations(Record):
    """Packets by what they do."""

    acks: int
    """ACKs and NAKs."""
    atomics: int
    """Atomics, and their results."""
    cnps: int
    """Congestion notification packets (CNPs)."""
    others: int
    """All others."""
    read_requests: int
    """READ requests."""
    read_responses: int
    """READ responses."""
    sends: int
    """SEND, with or without immediate data."""
    writes: int
    """RDMA WRITE, with or without immediate data."""


class Overhead(Record):
    """What headers cost over the whole capture."""

    _nested: ClassVar[Mapping[str, str]] = {"encapsulations": "*Cost", "total": "Cost"}
    encapsulations: Dict[str, Cost]
    """Packets by what carries them."""
    total: Cost
    """All packets of the transport."""


class Pause(Record):
    """Pauses that one sender asked for at one priority."""

    _nested: ClassVar[Mapping[str, str]] = {"effect": "PauseEffect", "ledger": "PauseInterval", "storms": "Storm", "violations": "PauseViolations"}
    _left_out: ClassVar[Mapping[str, Any]] = {"why": {}}
    after_marks: Optional[int]
    """How many of them began within a millisecond after a mark (CE) or a CNP, of any flow in the capture: the network
    was congested first, as with incast. A receiver that is slow by itself pauses without that. `None` where nothing
    is ECN-capable.
    """
    duty_ratio: Optional[float]
    """The share of the capture's time that was paused: 0 to 1."""
    effect: Optional[PauseEffect]
    """What it did to flows of this priority on this link; `None` without the link's speed."""
    ended: Dict[str, int]
    """How many pauses ended how."""
    first_frame: int
    """The first frame about this priority, from 1."""
    frames: int
    """Pause frames about this priority."""
    intervals: Optional[int]
    """How many pauses there were."""
    ledger: List[PauseInterval]
    """The pauses one by one, by time: the first 256 of each sender and priority at most."""
    link: str
    """The interface that captured the frames."""
    longest_ns: Optional[int]
    """The longest pause in nanoseconds."""
    paused_ns: Optional[int]
    """Nanoseconds paused, in sum."""
    priority: Optional[int]
    """The priority, 0 to 7; `None` for 802.3x, which stops all priorities."""
    quanta: int
    """Pause quanta asked for, in sum: 512 bit times each."""
    refreshes: int
    """Frames that prolong a pause."""
    sender: str
    """The sender's Ethernet address."""
    storms: Optional[List[Storm]]
    """Times in which the sender paused the link without a break."""
    stray_xon: int
    """Frames that end a pause while there was none."""
    violations: Optional[PauseViolations]
    """Frames of this priority that the paused end sent although it was paused; `None` where the link's speed is not
    known, or which end sent a frame: that needs `--links` with a host's address at one end.
    """
    why: Dict[str, Reason]
    """Why figures are missing."""
    xoff: int
    """Frames that ask for a pause."""
    xon: int
    """Frames that end a pause."""


class PauseCulprit(Record):
    """A device at which pauses began."""

    _nested: ClassVar[Mapping[str, str]] = {"flows": "PauseVictim"}
    caused_ns: int
    """The time of the pauses that it caused elsewhere, in nanoseconds, in sum."""
    caused_pauses: int
    """Pauses that it caused elsewhere."""
    chain: List[str]
    """The longest chain of devices, from it to the last victim."""
    confidence: Confidence
    """Likely where it is a host, or where other links of it were captured and did not pause it. Otherwise it may have
    been paused on a link that the capture does not have.
    """
    device: str
    """The device."""
    direct: List[str]
    """Direct victims: the devices that it paused."""
    end_ns: int
    """When the last one ended, in nanoseconds since 1970-01-01 UTC."""
    flow_count: int
    """How many."""
    flows: List[PauseVictim]
    """Flows that these pauses stopped, those that were stopped longest first; the first 64. A flow is seen where it
    comes first: at the tap next to its sender.
    """
    frame: int
    """The frame that began its first pause, from 1."""
    indirect: List[str]
    """Indirect victims: devices that were paused because others were."""
    is_host: Optional[bool]
    """Whether it is a host; `None` where nothing says so."""
    is_in_deadlock: bool
    """It is in a circle of `deadlocks` too: which of these devices began is another question than which one is at
    fault.
    """
    paused_ns: int
    """Their time in nanoseconds, in sum over its links."""
    pauses: int
    """Pauses that it asked for while it was not paused itself."""
    priority: Optional[int]
    """The priority, 0 to 7; `None` for 802.3x, which stops all priorities."""
    start_ns: int
    """When the first one began, in nanoseconds since 1970-01-01 UTC."""


class PauseDeadlock(Record):
    """A circle of devices each of which waits for the next one: a suspected deadlock."""

    all_paused_ns: int
    """For how long all were paused at once, in nanoseconds, in sum."""
    began_by: str
    """The device whose pause was the first one of the circle."""
    confidence: Confidence
    """Likely where that is longer than a watchdog waits. That each buffer holds packets for the next device is not
    seen.
    """
    devices: List[str]
    """The devices: each was paused by the next one, and the last one by the first."""
    end_ns: int
    """When they were so last, in nanoseconds since 1970-01-01 UTC."""
    longest_ns: int
    """The longest of these times, in nanoseconds."""
    priority: Optional[int]
    """The priority, 0 to 7; `None` for 802.3x, which stops all priorities."""
    start_ns: int
    """When all were paused at once first, in nanoseconds since 1970-01-01 UTC."""
    times: int
    """How often all were paused at once."""


class PauseEdge(Record):
    """Pauses that a device asked for while it was paused itself: `cause` paused `device`, so `device` paused `paused`.
    """

    cause: str
    """Who paused the device."""
    cause_frame: int
    """The frame that began its cause, from 1."""
    cause_link: str
    """The interface that captured the pauses of `cause`."""
    confidence: Confidence
    """Likely where most of them began within 100 µs of their cause."""
    delay_least_ns: int
    """From the beginning of the cause to that of the pause, in nanoseconds: the shortest."""
    delay_most_ns: int
    """The longest."""
    device: str
    """The device that was paused, and passed it on."""
    end_ns: int
    """When the last one ended, in nanoseconds since 1970-01-01 UTC."""
    frame: int
    """The frame that began the first one, from 1."""
    link: str
    """The interface that captured those of `device`."""
    paused: str
    """Whom the device paused in turn."""
    paused_ns: int
    """Their time in nanoseconds, in sum."""
    pauses: int
    """Pauses of `device` so caused."""
    priority: Optional[int]
    """The priority, 0 to 7; `None` for 802.3x, which stops all priorities."""
    start_ns: int
    """When the first one began, in nanoseconds since 1970-01-01 UTC."""


class PauseEffect(Record):
    """What pauses did to flows: those whose requests were silent during most of them."""

    effective_ns: int
    """Nanoseconds of the pauses in which these flows were silent: the one that was so longest."""
    flows: int
    """Flows that were silent in them. Their sender stopped, or their acknowledgements did."""
    messages_spanning: int
    """Messages that had begun before a pause and were not acknowledged before its end, each time."""
    messages_stopped: int
    """Messages whose sending stopped in the middle, each time that it did."""
    retransmits: int
    """Packets sent again after these."""
    timeouts: int
    """Retransmission timeouts, where the sender waited for the most part in a pause."""


class PauseInterval(Record):
    """One pause."""

    end: PauseEnd
    """How it ended."""
    end_ns: int
    """When it ended, in nanoseconds since 1970-01-01 UTC."""
    frame: int
    """The number of the frame that began it."""
    frames: int
    """Frames that asked for it, the first one included."""
    start_ns: int
    """When it began, in nanoseconds since 1970-01-01 UTC."""


class PauseLink(Record):
    """A link, and what it joins."""

    a: str
    """One device."""
    a_port: Optional[str]
    """Its port."""
    b: str
    """The other one."""
    b_port: Optional[str]
    """Its port."""
    by: KnownBy
    """How that is known."""
    interfaces: List[str]
    """The interfaces that captured it."""


class PauseSender(Record):
    """A sender of pauses."""

    link: str
    """The interface that captured it."""
    sender: str
    """Its Ethernet address."""


class PauseTree(Record):
    """Who paused whom: pauses that others caused, and where they began. A device that is paused cannot send on, its
    buffers fill, and it pauses those that send to it.
    """

    _nested: ClassVar[Mapping[str, str]] = {"culprits": "PauseCulprit", "deadlocks": "PauseDeadlock", "edges": "PauseEdge", "host_storms": "HostStorm", "links": "PauseLink", "unplaced": "PauseSender"}
    _left_out: ClassVar[Mapping[str, Any]] = {"why": {}}
    culprits: List[PauseCulprit]
    """Devices that sent pauses and were not paused themselves, most time first: by device and priority; the first
    1024.
    """
    deadlocks: List[PauseDeadlock]
    """Circles of devices each of which waited for the next one, the longest first; the first 64."""
    edges: List[PauseEdge]
    """Pauses that were caused by pauses of the next link, most time first: by cause, the device that passed it on, and
    whom it paused; the first 1024.
    """
    host_storms: List[HostStorm]
    """Hosts that stopped their link although nothing says that the network was full: the host is the trouble."""
    links: List[PauseLink]
    """The links of the capture whose ends are known."""
    pauses_not_kept: int
    """Pauses that are left out here because there were too many: the first 131072 of a capture are kept."""
    taps_not_seen: List[str]
    """Taps that the user named, of which the capture has no frame."""
    unplaced: List[PauseSender]
    """Senders of pauses of which nothing says at which end of a link they are."""
    why: Dict[str, Reason]
    """Why figures are missing."""


class PauseVictim(Record):
    """A flow that was silent in pauses."""

    dest_qp: int
    """The queue pair that it goes to."""
    dst: str
    """Its destination address."""
    flow: int
    """The flow, as an index into `Report::flows`."""
    is_direct: bool
    """Whether the culprit's own pauses stopped it: it is a direct victim. Otherwise, pauses that these caused."""
    src: str
    """Its source address."""
    stopped_ns: int
    """For how long, in nanoseconds."""


class PauseViolations(Record):
    """Frames of a paused priority that came later than the paused end needs to stop: 2 µs and the time of one frame of
    9,216 bytes after the frame that asked for the pause.
    """

    first_frame: Optional[int]
    """The first one."""
    frames: int
    """How many, of the InfiniBand transport."""
    latest_ns: int
    """How long after the beginning of its pause the latest one came, in nanoseconds."""


class PortCollision(Record):
    """Flows that share addresses and source port, and so take the same path."""

    dst: str
    """Destination address."""
    flows: List[int]
    """The flows, as indices into `Report::flows`."""
    src: str
    """Source address."""
    udp_src_port: int
    """The source port that they share."""


class Ports(Record):
    """How flows spread over UDP source ports, by which switches choose among equal paths."""

    _nested: ClassVar[Mapping[str, str]] = {"collision_groups": "PortCollision", "linux_formula": "LinuxPorts", "sprayed_flows": "SprayedFlow"}
    collision_groups: List[PortCollision]
    """The first of these groups."""
    collisions: int
    """Groups of flows between the same addresses that share a source port."""
    effective_flows: float
    """2 to the entropy: so many flows of equal size would spread as well."""
    entropy_bits: float
    """Shannon entropy of the bytes by source port, in bits."""
    flow_entropy_bits: float
    """Shannon entropy of the bytes by flow, in bits: what a hash over the queue pair could reach."""
    flows: int
    """Flows that have UDP ports."""
    linux_formula: Optional[LinuxPorts]
    """Flows with the source port that Linux computes; `None` where no flow's peer is known."""
    ports: int
    """Different source ports."""
    several_ports: int
    """Flows with more than one source port."""
    sprayed: int
    """Flows whose packets alternate between source ports."""
    sprayed_flows: List[SprayedFlow]
    """The first of these flows."""


class Price(Record):
    """The packets in another encapsulation."""

    efficiency_ratio: Optional[float]
    """Payload among them: 0 to 1."""
    l1_bytes: int
    """Bytes on the wire."""


class Psns(Record):
    """PSNs as they are on the wire."""

    first: int
    """Of the first packet of the flow."""
    last: int
    """Of the last packet of the flow."""


class Qos(Record):
    """Classes that are not as they should be. Flows are indices into `Report::flows`: the first 256."""

    _nested: ClassVar[Mapping[str, str]] = {"dcbx": "DcbxPort", "rewritten": "Rewritten"}
    acks_elsewhere: List[int]
    """Flows whose ACKs are in another class than the data that they acknowledge, and not in that of the map."""
    acks_elsewhere_count: int
    """How many."""
    cnps_elsewhere: List[int]
    """Flows with CNPs in another priority than that of the map."""
    cnps_elsewhere_count: int
    """How many."""
    dcbx: List[DcbxPort]
    """What the ports of links say of their priorities: DCBX, the last of each port; 64 ports at most."""
    disagreeing: List[int]
    """Flows whose PCP and DSCP have different priorities, by the map."""
    disagreeing_count: int
    """How many."""
    map_from_dcbx: bool
    """Whether the map of priorities is from DCBX in the capture: the user gave none. Which pauses stopped which flows
    is by it too: by the last one. Where a port changed its map, flows whose priority changed with it count no pause
    before that.
    """
    map_given: bool
    """Whether the user gave a map of priorities."""
    rewritten: List[Rewritten]
    """Flows whose data has another DSCP at a later tap: a device between the taps rewrites it. The first 256."""
    rewritten_count: int
    """How many."""
    several_classes: List[int]
    """Connections whose data is in several classes: one flow of each."""
    several_classes_count: int
    """How many."""
    without_pfc: List[int]
    """Flows with data in a priority without PFC, by the map."""
    without_pfc_count: int
    """How many."""


class Reordering(Record):
    """How far packets were overtaken, in the terms of RFC 4737."""

    max_extent_packets: int
    """Most packets that overtook a single one."""
    max_late_ns: int
    """Longest time that a packet came after the first one that overtook it, in nanoseconds."""
    ratio: float
    """Overtaken packets among all packets sent for the first time: 0 to 1."""
    then_nak: int
    """Overtaken packets that the receiver took for lost and asked for with a NAK."""


class Rewritten(Record):
    """A flow whose DSCP changes on its way."""

    dscp: int
    """Its DSCP at the tap that recorded it first."""
    flow: int
    """The flow, as an index into `Report::flows`."""
    then: int
    """Its DSCP at a tap behind that."""


class Rnr(Record):
    """What happened when the receiver was not ready."""

    _nested: ClassVar[Mapping[str, str]] = {"asked_ns": "Summary", "waited_ns": "Summary"}
    asked_ns: Summary
    """How long the RNR NAKs asked to wait, in nanoseconds."""
    early_resends: int
    """How often the sender sent again too early."""
    stalled_ns: int
    """Nanoseconds from RNR NAKs to the packets sent again, in sum."""
    waited_ns: Optional[Summary]
    """How long the sender waited, in nanoseconds."""


class SlowFlow(Record):
    """A flow of requests that its sender sends for less than four fifths of its time: from the first packet to the
    last one, or to the last answer. Where most bytes are the data of READs, it is the flow of that data, from the
    first response to the last one. The shares add up to that time.
    """

    _nested: ClassVar[Mapping[str, str]] = {"shares": "TimeShare"}
    cause: Optional[TimeCause]
    """The verdict: the cause that takes at least half of the time in which it does not send; `None` if no cause does.
    """
    dest_qp: int
    """The queue pair that it goes to."""
    dst: str
    """Its destination address."""
    flow: int
    """The flow, as an index into `Report::flows`."""
    lasted_ns: int
    """Its time, in nanoseconds."""
    lost_ns: int
    """Nanoseconds lost to pauses, CNPs, losses, and peers that were not ready or slow."""
    rate_bps: int
    """These over its time, in bits per second."""
    shares: List[TimeShare]
    """What its time went to, the largest share first."""
    space: Space
    """Whether it is about its requests, or about the READ responses that it carries."""
    src: str
    """Its source address."""
    wire_bytes: int
    """Bytes of these on the wire, with preamble, frame check sequence and inter-frame gap."""


class SprayedFlow(Record):
    """A flow that takes several paths at once."""

    flow: int
    """The flow, as an index into `Report::flows`."""
    ports: int
    """Source ports that it has."""
    switches: int
    """How often a packet had another port than the one before it."""


class Storm(Record):
    """A pause storm: what a watchdog would have taken for one."""

    end_ns: int
    """When it ended, in nanoseconds since 1970-01-01 UTC."""
    fired_ns: int
    """When the watchdog would have fired, in nanoseconds since 1970-01-01 UTC."""
    frames: int
    """Pause frames in it."""
    restored_ns: Optional[int]
    """When it would have gone back, in nanoseconds since 1970-01-01 UTC; `None` if not within the capture."""
    start_ns: int
    """When it began, in nanoseconds since 1970-01-01 UTC."""


class Stream(Record):
    """Packets of one PSN space in one direction."""

    _nested: ClassVar[Mapping[str, str]] = {"losses": "Losses", "reordering": "Reordering", "triggers": "Triggers"}
    _left_out: ClassVar[Mapping[str, Any]] = {"evidence": {}, "why": {}}
    ambiguous: int
    """Late packets, either overtaken or sent again: the capture does not tell which."""
    capture_duplicates: int
    """Packets that are a second record of one transmission."""
    classes: Dict[str, int]
    """Packets by class."""
    evidence: Dict[str, Dict[str, int]]
    """Packets that were retransmitted, late or recorded twice, by class and by the evidence for it."""
    gap_psns: int
    """PSNs between the first and the last that were never seen."""
    losses: Losses
    """Packets lost, by place."""
    out_of_order: int
    """Packets that were overtaken on their way to the tap by a packet sent later."""
    packets: int
    """Packets recorded, of whatever class."""
    reordering: Optional[Reordering]
    """How far packets were overtaken; `None` where none was."""
    retransmits: int
    """Packets whose PSN the sender had sent before."""
    retransmitted_bytes: int
    """Bytes of payload in retransmitted packets."""
    spurious: Optional[int]
    """Packets sent again after they had been acknowledged at the tap; `None` if the service has no acknowledgements."""
    triggers: Triggers
    """Retransmission episodes by cause."""
    why: Dict[str, Reason]
    """Why figures are missing."""


class Summary(Record):
    """A distribution. Its unit is that of the field that has it."""

    count: int
    """How many values there are."""
    max: int
    """The largest value."""
    min: int
    """The smallest value."""
    p50: int
    """The median."""
    p99: int
    """The 99th percentile."""


class TimeShare(Record):
    """A share of a flow's time."""

    cause: TimeCause
    """What it went to."""
    confidence: Confidence
    """How sure that is."""
    evidence: str
    """What it stands on."""
    frame: Optional[int]
    """The frame that ended the longest silence of this cause."""
    ns: int
    """Nanoseconds."""
    ratio: float
    """These over the flow's time: 0 to 1."""


class Timeout(Record):
    """A retransmission timeout."""

    frame: int
    """The first frame sent again: its number, from 1."""
    nearest_exponent: int
    """The exponent t for which 4.096 µs times 2^t is nearest to that."""
    waited_ns: int
    """Nanoseconds of silence before it."""


class TrafficClass(Record):
    """Packets of the transport with one DSCP and one priority, or, of native InfiniBand, one service level and virtual
    lane.
    """

    _nested: ClassVar[Mapping[str, str]] = {"ack_rtt_ns": "Summary", "operations": "Operations"}
    _left_out: ClassVar[Mapping[str, Any]] = {"why": {}}
    ack_rtt_ns: Optional[Summary]
    """From a request to its acknowledgement, in nanoseconds: of 4096 flows at most."""
    ce_packets: int
    """Marked packets (CE)."""
    ce_ratio: Optional[float]
    """Marked packets among ECN-capable ones: 0 to 1."""
    dscp: Optional[int]
    """DSCP; `None` without a network header."""
    ect_packets: int
    """ECN-capable packets, marked ones included."""
    flows: int
    """Flows all of whose data is in this class. The three figures below are theirs."""
    lost: Optional[List[int]]
    """Packets lost on the network: at least, at most."""
    naks: int
    """NAKs for missing packets that are in this class."""
    operations: Operations
    """Packets by what they do."""
    packets: int
    """Packets, without those that are corrupt or were recorded twice."""
    paused_ns: Optional[int]
    """Nanoseconds for which its priority was paused, in sum over links and senders."""
    pcp: Optional[int]
    """Priority code point of the VLAN tag; `None` without a tag."""
    pfc: Optional[bool]
    """Whether the priority has PFC, as the map says."""
    priority: Optional[int]
    """Its priority, 0 to 7."""
    priority_by: Optional[PriorityBy]
    """How that is known."""
    rate_bps: Optional[int]
    """Bits per second on the wire, from its first packet to its last."""
    retransmits: int
    """Packets sent again."""
    sl: Optional[int]
    """Service level of native InfiniBand."""
    vl: Optional[int]
    """Virtual lane of native InfiniBand."""
    why: Dict[str, Reason]
    """Why figures are missing."""
    wire_bytes: int
    """Bytes on the wire, with preamble, frame check sequence and inter-frame gap."""


class Triggers(Record):
    """Retransmission episodes by cause."""

    implied_nak: int
    """A response showed that an earlier one was lost."""
    nak: int
    """A NAK asked for the packet."""
    rnr: int
    """The receiver had not been ready."""
    timeout: int
    """The sender's timer expired."""
    unknown: int
    """The capture does not show the cause."""


class Report(ReportMethods):
    """The whole report. Its long lists are kept, or, in a `View`, made row by row."""

    _nested: ClassVar[Mapping[str, str]] = {"balance": "Balance", "capture": "Capture", "congestion": "Congestion", "connections": "Connection", "credits": "Credits", "episodes": "Episode", "findings": "Finding", "flows": "Flow", "incast": "Incast", "intervals": "Interval", "links": "LinkLoad", "microbursts": "Microbursts", "overhead": "Overhead", "pause": "Pause", "pause_tree": "PauseTree", "ports": "Ports", "qos": "Qos", "slow_flows": "SlowFlow", "traffic_classes": "TrafficClass"}
    _left_out: ClassVar[Mapping[str, Any]] = {"pause_faults": {}, "sections": {}, "why": {}}
    bad_lpcrcs: int
    """Link packets whose checksum (LPCRC) is wrong: they are not among the credits."""
    balance: Optional[Balance]
    """How evenly these carry traffic; `None` of a single link, and where links follow each other on a path."""
    capture: Capture
    """The capture: files and counts."""
    congestion: Congestion
    """Marks and notifications."""
    connections: List[Connection]
    """Pairs of flows."""
    credits: List[Credits]
    """Credits of native InfiniBand per end of a link and virtual lane, where the capture has link packets."""
    episodes: List[Episode]
    """Losses and timeouts one by one, by time."""
    findings: List[Finding]
    """Findings, most serious first."""
    flows: List[Flow]
    """Flows, most packets first."""
    incast: Optional[List[Incast]]
    """Times in which several senders sent more to one receiver than its link carries, by time: the first 1024; `None`
    without the link's speed.
    """
    interval_ns: Optional[int]
    """The length of an interval in nanoseconds: longer than asked for where there were too many."""
    intervals: Optional[List[Interval]]
    """Traffic over time, where it was asked for: intervals that had some."""
    links: List[LinkLoad]
    """What each link of the capture carried: the first 1024 interfaces, those that captured something."""
    microbursts: Microbursts
    """Bursts that are too short for a mean rate to show, and the highest rates to each receiver."""
    overhead: Overhead
    """What headers cost."""
    pause: Optional[List[Pause]]
    """Pauses per link, sender and priority, the longest first; `None` where the capture has no MAC control frame."""
    pause_faults: Dict[str, int]
    """Pause frames that are not as the standard has them, by what is wrong."""
    pause_tree: Optional[PauseTree]
    """Who paused whom, from victim to culprit; `None` where nothing says what the captured links join."""
    ports: Optional[Ports]
    """How flows spread over source ports; `None` where none has UDP."""
    qos: Qos
    """Classes that are not as they should be."""
    schema: str
    """`SCHEMA`."""
    sections: Dict[str, Any]
    """Sections of a user's own metrics, by their names."""
    slow_flow_count: int
    """How many flows are slow."""
    slow_flows: List[SlowFlow]
    """Flows that send for less than four fifths of their time, and what the rest went to, those that lost most to
    trouble first: 1024 at most.
    """
    traffic_classes: List[TrafficClass]
    """Traffic by class, most bytes first."""
    why: Dict[str, Reason]
    """Why figures are missing."""
