//! The table of figures.

use std::borrow::Cow;

use super::{
    losses::{episodes, lost, on_network},
    otg,
    types::{Figure, Get, Natural, Unit},
    value::{Range, Value},
};
use crate::report::{
    ConnectionState, Coverage, Encapsulation, Flow, GiveUp, LossEpisodes, PairedBy, Reason, Service, Setup,
    SetupOutcome, Severity, Stream, Triggers, View, Visibility, order,
};

/// Rows: the names, the head of the column in tables, the unit, what many rows become, where the value is, what it means.
macro_rules! measures {
    ($($scope:ident { $($names:tt $(as $label:literal)? $unit:expr, $natural:ident, $get:expr, $doc:literal;)* })*) => {
        &[$($(Figure {
            names: &$names, label: label!($names $($label)?), unit: $unit, natural: Natural::$natural, get: Get::$scope($get), doc: $doc,
        },)*)*]
    };
}

/// The head of a column: by default the first name.
macro_rules! label {
    ([$name:literal $(, $other:literal)*]) => {
        $name
    };
    ($names:tt $label:literal) => {
        $label
    };
}

/// What tables show of flows, and rules do not know.
pub(super) const COLUMNS: &[Figure] = measures! {
    Flow {
        ["queue_pair"] as "QP" Unit::Text, Choice, |flow| Value::Word(flow.queue_pair().into()), "Queue pair that the packets go to, and its epoch.";
        ["trouble"] Unit::Count, Sum, |flow| Value::exact(order::trouble(flow)), "How much trouble the flow is in: stalls weigh most, then retransmitted and lost packets, then marks.";
        ["lost"] as "lost packets" Unit::Bounds, Sum, |flow| Value::bounds(flow.lost(), Reason::OneWay), "Packets lost on the network, at least and at most, at all places together: requests, and data of READs. A finding counts those of one place. A lost acknowledgement is a packet of the other direction: see losses.ack_path.";
        ["ambiguous"] Unit::Count, Sum, |flow| both(flow, |stream| stream.ambiguous), "Late or retransmitted: not known which.";
        ["rate"] Unit::Rate, Min, |flow| rate(flow, flow.wire_bytes), "Bits on the wire per second, from first to last packet.";
        ["connection"] Unit::Number, Choice, |flow| flow.connection.map_or(Value::Absent, exact), "Number of the connection.";
    }
};

/// What rules may name.
pub(super) const FIGURES: &[Figure] = measures! {
    Flow {
        ["src"] as "from" Unit::Address, Choice, |flow| word(&flow.src), "Source address.";
        ["dst"] as "to" Unit::Address, Choice, |flow| word(&flow.dst), "Destination address.";
        ["dest_qp", "qp", "bth.dest_qp"] Unit::Number, Choice, |flow| exact(flow.dest_qp), "Destination queue pair.";
        ["service"] Unit::Words(|| words(&Service::ALL, Service::name)), Choice, |flow| word(flow.service.name()), "Transport service.";
        ["encapsulation"] Unit::Words(|| words(&Encapsulation::ALL, Encapsulation::name)), Choice, |flow| word(flow.encapsulation.name()), "What carries the packets.";
        ["visibility"] Unit::Words(|| words(&Visibility::ALL, Visibility::name)), Choice, |flow| word(flow.visibility.unwrap_or_default().name()), "What the tap showed of the connection.";
        ["dscp", "ip_dscp"] as "DSCP" Unit::Numbers, Choice, |flow| Value::several(&flow.dscps), "DSCPs of its packets. Of several, a rule needs one; for !=, all.";
        ["vni"] as "VNI" Unit::Numbers, Choice, |flow| Value::several(flow.vni.as_slice()), "Virtual network (VNI) of the VXLAN or GENEVE tunnel that its packets are in.";
        ["vlan"] Unit::Numbers, Choice, |flow| Value::several(&flow.vlans), "VLAN identifiers; of several as with dscp.";
        ["udp_src_port"] as "source port" Unit::Numbers, Choice, |flow| Value::several(&flow.udp_src_ports), "UDP source ports, by which switches choose a path; of several as with dscp.";
        ["ttl"] Unit::Numbers, Choice, |flow| Value::several(&flow.ttls), "Times to live; of several as with dscp.";
        ["sl"] as "service level" Unit::Numbers, Choice, |flow| Value::several(&flow.sls), "Service levels of native InfiniBand; of several as with dscp.";
        ["vl"] as "virtual lane" Unit::Numbers, Choice, |flow| Value::several(&flow.vls), "Virtual lanes of native InfiniBand; of several as with dscp.";
        ["p_key", "bth.p_key"] as "P_Key" Unit::Number, Choice, |flow| exact(flow.p_key.into()), "P_Key of its first packet, which names the partition: 0xffff is the default one.";
        ["path_mtu"] Unit::Bytes, Min, |flow| Value::given(flow.path_mtu.map(u64::from), &flow.why, "path_mtu"), "Path MTU.";
        ["packets"] Unit::Count, Sum, |flow| Value::exact(flow.packets), "Packets recorded.";
        ["wire_bytes"] as "bytes" Unit::Bytes, Sum, |flow| Value::exact(flow.wire_bytes), "Bytes on the wire, with preamble and gap.";
        ["payload_bytes"] Unit::Bytes, Sum, |flow| Value::exact(flow.payload_bytes), "Bytes of RDMA payload.";
        ["goodput_bytes"] as "goodput bytes" Unit::Bytes, Sum, |flow| Value::exact(flow.goodput_bytes), "Bytes of RDMA payload sent for the first time.";
        ["goodput"] Unit::Rate, Min, |flow| rate(flow, flow.goodput_bytes), "Payload sent for the first time, over the flow's time.";
        ["retransmits", "retransmissions", "resent"] as "resent" Unit::Count, Sum, |flow| late(flow, |stream| stream.retransmits), "Retransmitted packets.";
        ["out_of_order", "late"] as "late" Unit::Count, Sum, |flow| late(flow, |stream| stream.out_of_order), "Packets that arrived out of order.";
        ["retransmitted_bytes"] Unit::Bytes, Sum, |flow| both(flow, |stream| stream.retransmitted_bytes), "Retransmitted bytes of payload.";
        ["spurious"] Unit::Count, Sum, |flow| Value::given(flow.requests.spurious, &flow.requests.why, "spurious"), "Requests retransmitted after they had been acknowledged at the tap.";
        ["capture_duplicates"] as "copies" Unit::Count, Sum, |flow| both(flow, |stream| stream.capture_duplicates), "Packets recorded twice; CNPs apart, which have no PSN space.";
        ["gap_psns"] Unit::Count, Sum, |flow| both(flow, |stream| stream.gap_psns), "PSNs that were never seen.";
        ["timeouts"] Unit::Count, Sum, timeouts, "Retransmission timeouts.";
        ["loss_episodes"] as "episodes" Unit::Count, Sum, |flow| episodes(flow, LossEpisodes::total), "Losses that the capture shows, of requests and responses: each NAK, timeout, implied NAK or READ requested again for which packets were retransmitted.";
        ["loss_episodes.upstream"] Unit::Count, Sum, |flow| episodes(flow, |at| at.upstream), "Those before the tap.";
        ["loss_episodes.downstream"] Unit::Count, Sum, |flow| episodes(flow, |at| at.downstream), "Those after the tap.";
        ["loss_episodes.ack_path"] Unit::Count, Sum, |flow| episodes(flow, |at| at.ack_path), "Those of an acknowledgement.";
        ["loss_episodes.unknown"] Unit::Count, Sum, |flow| episodes(flow, |at| at.unknown), "Those whose place the capture does not show.";
        ["loss_episodes.certain"] Unit::Count, Sum, |flow| episodes(flow, |at| at.certain), "Those whose place is proved.";
        ["losses", "lost", "loss"] Unit::Count, Sum, |flow| on_network(&flow.requests), "Packets of requests lost on the network; without lost acknowledgements, which are losses.ack_path. How often some were lost is loss_episodes.";
        ["losses.upstream"] Unit::Count, Sum, |flow| lost(&flow.requests, "losses.upstream", |at| at.upstream), "Requests lost before the tap.";
        ["losses.downstream"] Unit::Count, Sum, |flow| lost(&flow.requests, "losses.downstream", |at| at.downstream), "Requests lost after the tap.";
        ["losses.ack_path"] Unit::Count, Sum, |flow| lost(&flow.requests, "losses.ack_path", |at| at.ack_path), "Requests whose acknowledgement was lost.";
        ["losses.corrupt"] Unit::Count, Sum, |flow| lost(&flow.requests, "losses.corrupt", |at| at.corrupt), "Requests with a wrong checksum or ICRC.";
        ["losses.trimmed"] Unit::Count, Sum, |flow| lost(&flow.requests, "losses.trimmed", |at| at.trimmed), "Requests that a switch before the tap cut to their headers.";
        ["losses.capture"] Unit::Count, Sum, |flow| lost(&flow.requests, "losses.capture", |at| at.capture), "Requests that passed the tap, and are not in the capture.";
        ["losses.unknown"] Unit::Count, Sum, |flow| lost(&flow.requests, "losses.unknown", |at| at.unknown), "Requests lost on the network beside these; the capture, which lost packets itself, does not show where.";
        ["response_losses"] Unit::Count, Sum, |flow| on_network(&flow.responses), "Packets of responses lost on the network. A lost acknowledgement leaves no trace.";
        ["retries.exhausted"] as "gave up" Unit::Count, Sum, |flow| gave_up(flow, GiveUp::Retries), "Queue pairs that gave up: no answer came, as often as they tried.";
        ["peer.silent"] Unit::Count, Sum, |flow| Value::exact(flow.unanswered_tries.is_some().into()), "Queue pairs whose peer answers no more, and that try more often than a retry count allows.";
        ["rnr.exhausted"] Unit::Count, Sum, |flow| gave_up(flow, GiveUp::Rnr), "Queue pairs that gave up: the receiver was not ready, as often as they tried.";
        ["reused_psns"] Unit::Count, Sum, |flow| both(flow, |stream| stream.reused_psns), "Packets whose PSN their sender had used for another packet.";
        ["acks"] Unit::Count, Sum, |flow| Value::exact(flow.acks), "Acknowledgements.";
        ["naks"] as "NAK" Unit::Count, Sum, |flow| Value::exact(flow.naks.total()), "NAKs of all codes.";
        ["naks.sequence"] Unit::Count, Sum, |flow| Value::exact(flow.naks.psn_sequence_error), "NAKs for a missing packet.";
        ["naks.fatal"] Unit::Count, Sum, |flow| Value::exact(flow.naks.fatal()), "NAKs that end a connection.";
        ["rnr_naks"] as "RNR" Unit::Count, Sum, |flow| Value::exact(flow.rnr_naks), "RNR NAKs: the receiver was not ready.";
        ["rnr.stalled"] Unit::Time, Sum, |flow| Value::exact(flow.rnr.map_or(0, |rnr| rnr.stalled_ns)), "Time from RNR NAKs to the retransmissions.";
        ["cnps", "cnp"] as "CNP" Unit::Count, Sum, |flow| Value::exact(flow.cnps), "Congestion notifications.";
        ["ce_packets", "ecn_ce", "ce", "fecn"] as "CE" Unit::Count, Sum, |flow| Value::exact(flow.ce_packets), "Packets marked \"congestion experienced\"; of native InfiniBand, by FECN.";
        ["becn_packets", "becn"] as "BECN" Unit::Count, Sum, |flow| Value::exact(flow.becn_packets), "Packets with BECN, CNPs apart.";
        ["ect_packets", "ect"] Unit::Count, Sum, |flow| Value::exact(flow.ect_packets), "ECN-capable packets, marked ones included.";
        ["icrc.bad"] as "bad ICRC" Unit::Count, Sum, |flow| Value::between(flow.icrc.bad, flow.icrc.bad + flow.icrc.unchecked), "Packets with a wrong ICRC; those not verified may have one.";
        ["vcrc.bad"] as "bad VCRC" Unit::Count, Sum, |flow| match flow.vcrc {
            Some(of) => Value::between(of.bad, flow.packets.saturating_sub(of.good)),
            None => Value::given(None, &flow.why, "vcrc"),
        }, "Packets of native InfiniBand with a wrong VCRC; those captured without one may have one.";
        ["messages"] Unit::Count, Sum, |flow| Value::exact(flow.messages.completed), "Messages seen from the first packet to the last.";
        ["messages.open"] Unit::Count, Sum, |flow| Value::exact(flow.messages.open), "Messages whose last packet was not seen.";
        ["messages.broken"] Unit::Count, Sum, |flow| Value::exact(flow.messages.broken), "Messages whose packets do not fit together.";
        ["reordering.ratio"] Unit::Ratio, Max, |flow| Value::Number(Range::exact(flow.requests.reordering.map_or(0.0, |late| late.ratio))), "Share of packets out of order among first transmissions.";
        ["reordering.packets"] Unit::Count, Max, |flow| Value::exact(flow.requests.reordering.map_or(0, |late| late.max_extent_packets)), "Reordering extent: most packets that overtook a single one.";
        ["reordering.late"] Unit::Time, Max, |flow| Value::exact(flow.requests.reordering.map_or(0, |late| late.max_late_ns)), "Longest time that a packet was late.";
    }
    Summary {
        ["messages.size"] as "message size" Unit::Bytes, Max, |flow| Ok(flow.messages.size_bytes), "Sizes of messages.";
        ["ack_rtt"] as "ACK" Unit::Time, Max, |flow| match flow.latency_ns.ack_rtt {
            None if flow.requests.packets > 0 && flow.latency_ns.message_completion.is_none() => flow.why.get("latency_ns").map_or(Ok(None), |why| Err(why.meaning())),
            known => Ok(known),
        }, "From a request to its acknowledgement.";
        ["message_completion"] as "message" Unit::Time, Max, |flow| Ok(flow.latency_ns.message_completion), "From the first packet of a message to its acknowledgement.";
        ["read_first"] Unit::Time, Max, |flow| Ok(flow.latency_ns.read_first), "From a READ request to its first response.";
        ["read_last"] Unit::Time, Max, |flow| Ok(flow.latency_ns.read_last), "From a READ request to its last response.";
        ["nak_generation"] Unit::Time, Max, |flow| Ok(flow.latency_ns.nak_generation), "From the packet after a gap to the NAK.";
        ["nak_reaction"] Unit::Time, Max, |flow| Ok(flow.latency_ns.nak_reaction), "From a NAK to the first retransmitted packet.";
    }
    Connection {
        ["connection.visibility"] Unit::Words(|| words(&Coverage::ALL, Coverage::name)), Choice, |one| word(one.visibility.name()), "Whether the capture has all its packets.";
        ["connection.state"] Unit::Words(|| words(&ConnectionState::ALL, ConnectionState::name)), Choice, |one| word(one.state.name()), "What became of it.";
        ["connection.paired_by"] Unit::Words(|| words(&PairedBy::ALL, PairedBy::name)), Choice, |one| word(one.paired_by.name()), "How its flows were found to belong together.";
        ["connection.evidence_bits"] Unit::Number, Min, |one| exact(one.evidence_bits), "How strong the evidence for that is.";
    }
    Pause {
        ["pause.link", "link"] Unit::Text, Choice, |pause| word(&pause.link), "The interface that captured the frames.";
        ["pause.sender", "sender"] Unit::Text, Choice, |pause| word(&pause.sender), "The sender's Ethernet address.";
        ["pause.priority", "priority"] Unit::Number, Choice, |pause| pause.priority.map_or(Value::several::<u8>(&[]), |one| Value::several(&[one])), "The priority; pauses of 802.3x have none.";
        ["pause.frames"] Unit::Count, Sum, |pause| Value::exact(pause.frames), "Pause frames.";
        ["pause.xoff"] Unit::Count, Sum, |pause| Value::exact(pause.xoff), "Frames that ask for a pause.";
        ["pause.pauses"] Unit::Count, Sum, |pause| Value::given(pause.intervals, &pause.why, "intervals"), "Pauses.";
        ["pause.paused"] Unit::Time, Max, |pause| Value::given(pause.paused_ns, &pause.why, "paused_ns"), "Time paused, in sum.";
        ["pause.longest"] Unit::Time, Max, |pause| Value::given(pause.longest_ns, &pause.why, "longest_ns"), "The longest pause.";
        ["pause.duty"] Unit::Ratio, Max, |pause| match pause.duty_ratio {
            Some(duty) => Value::Number(Range::exact(duty)),
            None => Value::given(None, &pause.why, "duty_ratio"),
        }, "The share of the capture's time that was paused.";
        ["pause.storms"] Unit::Count, Sum, |pause| Value::given(pause.storms.as_ref().map(|storms| storms.len() as u64), &pause.why, "storms"), "PFC storms: times in which the link was paused without a break.";
    }
    Capture {
        ["flows"] Unit::Count, Sum, |report| Value::exact(report.flows.len() as u64), "Flows.";
        ["connections"] Unit::Count, Sum, |report| Value::exact(report.connections.len() as u64), "Connections.";
        ["setups"] Unit::Count, Sum, |report| match report.head.setup_messages_unread {
            0 => Value::exact(report.head.setup_count),
            _ => Value::Number(Range { least: report.head.setup_count as f64, most: f64::INFINITY, why: Some("Messages of the connection manager are cut: record at least 330 bytes of each frame.") }),
        }, "Connections that the connection manager was asked for.";
        ["setups.refused"] Unit::Count, Sum, |report| setups(report, |setup| setup.outcome == SetupOutcome::Refused), "Those that were refused.";
        ["setups.failed"] Unit::Count, Sum, |report| setups(report, Setup::has_failed), "Those that came to nothing: refused, never answered or confirmed, given up.";
        ["setups.slowest"] Unit::Time, Max, |report| report.head.setups.iter().filter_map(|setup| setup.setup_ns).max().map_or(Value::Absent, Value::exact), "The longest set-up, from REQ to RTU.";
        ["capture.packets"] Unit::Count, Sum, |report| Value::exact(report.head.capture.packets), "Frames read.";
        ["capture.rdma_packets"] Unit::Count, Sum, |report| Value::exact(report.head.capture.rdma_packets), "Frames with a packet of the transport.";
        ["capture.malformed"] Unit::Count, Sum, |report| Value::exact(report.head.capture.malformed_packets), "Frames whose dissection found an error.";
        ["capture.corrupt_without_flow"] Unit::Count, Sum, |report| Value::exact(report.head.capture.corrupt_without_flow), "Packets with a wrong ICRC or IP checksum of queue pairs of which no intact packet came.";
        ["capture.answers_early"] Unit::Count, Sum, |report| Value::exact(report.head.capture.answers_early), "Answers that are stamped before the packets that they answer: by another clock.";
        ["capture.truncated"] Unit::Count, Sum, |report| Value::exact(report.head.capture.truncated_packets), "Frames that are cut.";
        ["capture.not_decoded"] Unit::Count, Sum, |report| Value::exact(report.head.capture.hidden_frames()), "Frames that were not decoded and may hold RDMA packets or pauses.";
        ["capture.encrypted"] Unit::Count, Sum, |report| Value::exact(report.head.capture.encrypted().map(|one| one.frames).sum()), "Frames that are encrypted (MACsec, IPsec, PSP): whether RDMA packets are in them is not known.";
        ["capture.fragmented"] Unit::Count, Sum, |report| Value::exact(report.head.capture.fragmented_packets), "RDMA packets that are in several IP fragments.";
        ["capture.problems"] Unit::Count, Sum, |report| Value::exact(report.head.capture.problems.len() as u64), "Places where files are damaged.";
        ["capture.drops"] Unit::Count, Sum, |report| told(report.head.capture.capture_drops), "Frames that the capturing system says it dropped.";
        ["capture.mirror_lost"] Unit::Count, Sum, |report| told(report.head.capture.mirror_lost_packets), "Mirrored copies that are missing.";
        ["capture.duration"] Unit::Time, Max, |report| told(report.head.capture.duration_ns), "From the first frame to the last.";
        ["findings.errors", "errors"] Unit::Count, Sum, |report| findings(report, Severity::Error), "Findings that are errors.";
        ["findings.warnings", "warnings"] Unit::Count, Sum, |report| findings(report, Severity::Warning), "Findings that are warnings.";
        ["congestion.ce_ratio", "ce_ratio"] Unit::Ratio, Max, |report| ratio(report.head.congestion.ce_ratio), "Marked data packets among ECN-capable ones.";
        ["overhead.efficiency", "efficiency"] Unit::Ratio, Min, |report| ratio(report.head.overhead.total.efficiency_ratio), "Payload among all bytes on the wire.";
        ["PFC0"] Unit::Count, Sum, otg::pfc::<0>, "Pause frames about priority 0.";
        ["PFC1"] Unit::Count, Sum, otg::pfc::<1>, "Pause frames about priority 1.";
        ["PFC2"] Unit::Count, Sum, otg::pfc::<2>, "Pause frames about priority 2.";
        ["PFC3"] Unit::Count, Sum, otg::pfc::<3>, "Pause frames about priority 3.";
        ["PFC4"] Unit::Count, Sum, otg::pfc::<4>, "Pause frames about priority 4.";
        ["PFC5"] Unit::Count, Sum, otg::pfc::<5>, "Pause frames about priority 5.";
        ["PFC6"] Unit::Count, Sum, otg::pfc::<6>, "Pause frames about priority 6.";
        ["PFC7"] Unit::Count, Sum, otg::pfc::<7>, "Pause frames about priority 7.";
    }
    Transfer {
        ["src_qp"] Unit::Number, Choice, |flow, _| flow.peer_qp.map_or(Value::Absent, exact), "The sender's queue pair.";
        ["src_ipv4"] Unit::Address, Choice, |flow, _| word(&flow.src), "Source address.";
        ["dest_ipv4"] Unit::Address, Choice, |flow, _| word(&flow.dst), "Destination address.";
        ["data_frames_tx"] Unit::Count, Sum, |flow, _| otg::sent(flow), "Requests sent: those at the tap, and those lost before it.";
        ["data_frames_rx"] Unit::Count, Sum, |flow, _| otg::received(flow), "Requests received: those at the tap without those lost behind it.";
        ["frame_delta"] Unit::Count, Sum, |flow, _| otg::delta(flow), "Requests sent and not received.";
        ["data_frames_retransmitted"] Unit::Count, Sum, |flow, _| Value::between(flow.requests.retransmits, flow.requests.retransmits + flow.requests.ambiguous), "Retransmitted requests.";
        ["frame_sequence_error"] Unit::Count, Sum, |_, peer| otg::naks(peer, |naks| naks.psn_sequence_error), "Times the receiver missed a PSN: its NAKs.";
        ["seq_err_pct"] Unit::Number, Max, otg::sequence_error_percent, "frame_sequence_error in percent of data_frames_rx.";
        ["message_tx"] Unit::Count, Sum, |flow, _| otg::messages_sent(flow), "Messages sent.";
        ["message_complete_rx"] Unit::Count, Sum, otg::messages_received, "Messages received in full.";
        ["message_fail"] Unit::Count, Sum, otg::messages_failed, "Messages that were refused or never arrived.";
        ["ecn_ce_rx"] Unit::Count, Sum, |flow, _| Value::exact(flow.ce_packets), "Marked packets, as the tap saw them.";
        ["cnp_tx"] Unit::Count, Sum, |_, peer| otg::cnps(peer), "Congestion notifications of the receiver, as the tap saw them.";
        ["cnp_rx"] Unit::Count, Sum, |_, peer| otg::cnps(peer), "Congestion notifications for the sender, as the tap saw them.";
        ["ack_tx"] Unit::Count, Sum, |_, peer| otg::answers_sent(peer, |peer| peer.acks), "Acknowledgements of the receiver.";
        ["ack_rx"] Unit::Count, Sum, |_, peer| otg::answers_received(peer, |peer| peer.acks), "Acknowledgements that reached the sender.";
        ["nak_tx"] Unit::Count, Sum, |_, peer| otg::naks(peer, |naks| naks.total()), "NAKs of the receiver.";
        ["nak_rx"] Unit::Count, Sum, |_, peer| otg::answers_received(peer, |peer| peer.naks.total()), "NAKs that reached the sender.";
        ["data_tx_rate"] Unit::Number, Min, |flow, _| otg::gbps(flow), "Payload of requests in Gbit/s, over the flow's time.";
        ["data_rx_rate"] Unit::Number, Min, |flow, _| otg::gbps(flow), "The same.";
        ["flow_completion_time"] Unit::Number, Max, |flow, _| Value::Number(Range::exact((flow.last_ns - flow.first_ns).max(0) as f64 / 1e6)), "The flow's time, in milliseconds.";
        ["avg_latency"] Unit::Number, Max, |_, _| Value::unknown(otg::NO_LATENCY), "One-way latency in nanoseconds: never known from one tap.";
        ["min_latency"] Unit::Number, Max, |_, _| Value::unknown(otg::NO_LATENCY), "The same.";
        ["max_latency"] Unit::Number, Max, |_, _| Value::unknown(otg::NO_LATENCY), "The same.";
    }
};

fn words<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|&one| name(one)).collect()
}

fn word(text: &str) -> Value<'_> {
    Value::Word(Cow::Borrowed(text))
}

fn exact(number: u32) -> Value<'static> {
    Value::exact(number.into())
}

/// A figure that captures may leave untold.
fn told(number: Option<u64>) -> Value<'static> {
    number.map_or(Value::unknown("The capture does not say it."), Value::exact)
}

fn ratio(ratio: Option<f64>) -> Value<'static> {
    ratio.map_or(Value::Absent, |ratio| Value::Number(Range::exact(ratio)))
}

fn both(flow: &Flow, of: fn(&Stream) -> u64) -> Value<'static> {
    Value::exact(of(&flow.requests) + of(&flow.responses))
}

/// Late packets of a kind. Ambiguous ones may be of it, too.
fn late(flow: &Flow, of: fn(&Stream) -> u64) -> Value<'static> {
    let known = of(&flow.requests) + of(&flow.responses);
    Value::between(known, known + flow.requests.ambiguous + flow.responses.ambiguous)
}

/// An episode of unknown cause may be one of a timeout.
fn timeouts(flow: &Flow) -> Value<'static> {
    let Triggers { timeout, unknown, .. } = flow.requests.triggers;
    Value::between(timeout, timeout + unknown)
}

/// Whether a requester gave up for this reason: 0 or 1.
fn gave_up(flow: &Flow, by: GiveUp) -> Value<'static> {
    Value::exact(flow.gave_up.is_some_and(|gave_up| gave_up.by == by).into())
}

/// Bytes over the flow's time.
fn rate(flow: &Flow, bytes: u64) -> Value<'static> {
    match (bytes, flow.last_ns.saturating_sub(flow.first_ns)) {
        (0, _) | (_, ..=0) => Value::Absent,
        (bytes, ns) => Value::Number(Range::exact(bytes as f64 * 8e9 / ns as f64)),
    }
}

fn findings(report: &View<'_>, severity: Severity) -> Value<'static> {
    Value::exact(report.head.findings.iter().filter(|finding| finding.severity == severity).count() as u64)
}

/// Set-ups of a kind. Of those that are not listed, any may be one; and of those that have no outcome yet, or of which nothing could be read.
fn setups(report: &View<'_>, is_one: impl Fn(&Setup) -> bool) -> Value<'static> {
    let head = &report.head;
    let count = head.setups.iter().filter(|setup| is_one(setup)).count() as u64;
    let is_open = |setup: &&Setup| matches!(setup.outcome, SetupOutcome::Pending | SetupOutcome::Unknown);
    let open = head.setups.iter().filter(is_open).count() as u64;
    let most = count + open + head.setup_count.saturating_sub(head.setups.len() as u64);
    let range = |most: f64, why| Value::Number(Range { least: count as f64, most, why: Some(why) });
    match (head.setup_messages_unread, open) {
        (0, 0) => Value::between(count, most),
        (0, _) => range(
            most as f64,
            "The capture does not show what became of some set-ups: an answer could still come.",
        ),
        _ => range(
            f64::INFINITY,
            "Messages of the connection manager are cut: record at least 330 bytes of each frame.",
        ),
    }
}
