//! What the labels of texts mean that are no names of figures, fields or columns: rows and heads of tables, and lines.

/// A label of a text.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// What is printed.
    pub name: &'static str,
    /// What it is: "a line of analyze".
    pub of: &'static str,
    /// What it means.
    pub about: &'static str,
}

macro_rules! labels {
    ($($of:literal { $($name:literal: $about:literal;)+ })+) => {
        /// The labels of texts, by what prints them.
        pub const LABELS: &[Label] = &[$($(Label { name: $name, of: $of, about: $about },)+)+];
    };
}

labels! {
    "a line of rdmawire analyze" {
        "Packets": "Packets of the capture that are not as they should be: malformed, cut, out of order, dropped by the capturing system.";
        "Not decoded": "Frames of protocols that are not read, and may hold RDMA packets: all counts are lower bounds.";
        "Other traffic": "Frames of protocols that are none of RDMA.";
        "Parts": "Files that were read as one capture.";
        "Clocks": "Captures whose clocks were set right, by packets that several have.";
        "Findings": "What stands out, the most serious first, and what to do next. See `rdmawire explain findings`.";
        "Flows": "One direction of one queue pair each. See --sort and --flow.";
        "Log": "What logs of hosts say at the same time: --log.";
        "Set-up": "Connections that were asked for, by messages of the connection manager, and what became of them. See rdmawire connections.";
        "Congestion": "Packets that can be marked, packets that were, and the notifications that answer them.";
        "Slow": "Flows that lost time, and what most of it went to: --flow has all of it.";
        "Collectives": "Requests and operations of NCCL's transport. See rdmawire collectives.";
        "One-sided": "Queue pairs that move data by WRITEs and READs, with no messages above them.";
        "Incast": "Several senders that sent to one receiver at a time.";
        "Microbursts": "Short times in which a link was nearly full.";
        "Credits": "Flow control of native InfiniBand links: when a link had none left.";
        "Classes": "Traffic by DSCP and priority, or by service level and virtual lane.";
        "Pairs": "Traffic from host to host, by class.";
        "DCBX": "What switches and adapters say of priorities, PFC and bandwidths, in LLDP.";
        "Pause": "Pauses of 802.3x and PFC, by link and priority.";
        "Pause tree": "Pauses that a device sent because it was paused itself, back to the first one.";
        "Overhead": "What headers, acknowledgements and the wire itself take of all bytes.";
        "Ports": "UDP source ports, by which switches spread flows over links.";
        "Paths": "Paths of flows that use several, and which of them are bad.";
        "MRC": "Connections of MRC, whose packets take many paths.";
        "UET": "Ultra Ethernet's contexts.";
        "Telemetry": "Delays and queues that switches wrote into packets.";
        "Trimmed": "Packets that switches cut to their headers.";
        "Links": "How evenly parallel links are loaded.";
        "Intervals": "The traffic by time: --interval.";
        "Damaged": "Places where a file is damaged.";
    }
    "a line of a flow, in rdmawire analyze --flow" {
        "Service": "Transport service of the queue pair, and how packets are carried.";
        "Peer": "The queue pair that sends the other direction, how that is known, and the connection that they are.";
        "Time": "From its first packet to its last.";
        "Traffic": "Packets and bytes, and the rates over its time: on the wire, and of payload sent for the first time.";
        "PSNs": "The first and the last packet sequence number.";
        "Path MTU": "The most payload of a packet, and how that is known.";
        "Recovery": "How losses are recovered: all packets from the lost one on, or only that.";
        "IPv4 ID": "How the IPv4 identification counts, by which transmissions are told from copies.";
        "VLANs": "VLANs of its packets.";
        "Source ports": "UDP source ports, the first ones.";
        "Service levels": "InfiniBand service levels.";
        "Virtual lanes": "Virtual lanes of native InfiniBand.";
        "Marks": "Packets that can be marked, those that were, and congestion notifications.";
        "Messages": "Messages that were seen as a whole, that are not over, and that lack packets; and their sizes.";
        "ACKs": "Acknowledgements, and NAKs by what they say.";
        "Retries": "How long the queue pair waits for an answer, and how often it tries again, where its set-up says so.";
        "Gave up": "The queue pair reported an error, as the capture shows it: what it tried, and for how long.";
        "Not answered": "How often the last packets were tried without an answer.";
        "Opcodes": "Packets by operation code.";
        "RNR": "Times in which the receiver was not ready.";
    }
    "a row of a flow's packets, in rdmawire analyze --flow" {
        "requests": "Packets of requests and responses are numbered apart: this column counts requests.";
        "responses": "Packets of requests and responses are numbered apart: this column counts responses, the data of READs.";
        "retransmits": "Packets whose PSN the sender had sent before.";
        "bytes": "Of retransmitted packets: bytes of their payload.";
        "needless": "Retransmitted packets that had arrived before: they were acknowledged at the tap, or the receiver had them.";
        "out of order": "First transmissions that were overtaken on their way to the tap by a packet sent later.";
        "capture duplicates": "Packets that are a second record of one transmission.";
        "ambiguous": "Late packets, either overtaken or retransmitted: the capture does not tell which.";
        "reused PSNs": "Packets whose PSN their sender had used for another packet: it does not conform.";
        "PSNs never seen": "PSNs between the first and the last of which no packet is in the capture.";
        "episodes": "How often packets were lost, whatever their number: a NAK, a timeout, an implied NAK or a repeated READ for which packets were retransmitted.";
        "before the tap": "Losses between the sender and the tap.";
        "after the tap": "Losses between the tap and the receiver.";
        "of an ACK": "The packets arrived, and their acknowledgement was lost, or came too late.";
        "not known where": "Losses of which the capture does not show the place.";
        "packets lost before the tap": "Between the sender and the tap; at least so many, at most so many.";
        "packets lost after the tap": "Between the tap and the receiver; at least so many, at most so many.";
        "lost on the ACK path": "Packets that arrived, and whose acknowledgement was lost: they were retransmitted for nothing.";
        "lost, place not known": "Packets that were lost on the network; the capture, which lacks packets itself, does not show where.";
        "corrupted": "Packets with a wrong checksum or ICRC.";
        "trimmed by switches": "Packets that switches before the tap cut to their headers, instead of dropping them.";
        "missed by the capture": "Packets that passed the tap, as acknowledgements prove, and are not in the capture.";
        "retransmitted after NAK": "Retransmissions that a NAK asked for.";
        "after timeout": "Retransmissions after the sender's timer had expired.";
        "after RNR": "Retransmissions to a receiver that had not been ready.";
        "after implied NAK": "Retransmissions after a response had shown that an earlier one was lost.";
        "after repeated READ": "Responses that were sent again because the READ was.";
        "for unknown reasons": "Retransmissions of which the capture does not show the cause.";
        "latest": "The time by which the latest packet out of order was late.";
    }
    "a row of latencies, in rdmawire analyze --flow" {
        "latency": "What the times of this row are from, and to.";
        "packet to ACK": "From a packet at the tap to the acknowledgement of it: what is behind the tap.";
        "message completion": "From the first packet of a message to its acknowledgement.";
        "READ to first response": "From a READ request to its first response.";
        "READ to last response": "From a READ request to its last response.";
        "gap to NAK": "From the packet that shows a gap to the NAK for it: how fast the receiver asks.";
        "NAK to retransmission": "From a NAK to the packet that it asks for: how fast the sender reacts.";
    }
    "a column of a flow, in rdmawire analyze --flow" {
        "class": "What the packets are: retransmitted, late, recorded twice; of requests or responses.";
        "evidence": "What shows it.";
        "time went to": "What the sender did, or waited for.";
        "share": "Part of the flow's time.";
        "confidence": "How sure it is: certain, likely, possible.";
        "timeout at frame": "The packet that was retransmitted when a timer expired.";
        "waited": "The time from the last sign of progress to that packet.";
        "nearest exponent": "The ACK timeout, 4.096 µs times a power of two, that is nearest to this time: its exponent.";
        "episode": "A recovery: one loss or timeout, and what was retransmitted for it. Of requests, or of responses.";
        "cause": "What made the sender retransmit.";
        "where": "Where packets were lost, and how sure that is.";
        "lost PSN": "The first packet that was lost, or taken for lost.";
        "NAK": "The frame of the NAK that asked for it.";
    }
    "a row of rdmawire diff" {
        "sent": "Packets at the first tap, without those that it recorded twice.";
        "delivered": "Packets of which the second tap saw the same bytes, apart from what routers change.";
        "lost": "Packets that the second tap did not see, and that no gap of its capture explains.";
        "corrupted": "Packets that came with a wrong ICRC, and had a right one.";
        "wrong IP checksum": "Packets that came with a wrong checksum of the IP header alone, and had a right one.";
        "trimmed": "Packets whose payload a switch cut away.";
        "duplicated": "Second and further copies at the second tap, made by the network or by its mirror.";
        "late": "Packets that came after one which passed the first tap later.";
        "newly marked CE": "Packets that were marked \"congestion experienced\" between the taps.";
        "DSCP changed": "Packets whose DSCP is another one at the second tap.";
        "TTL lower": "Packets whose TTL is lower at the second tap.";
        "not recorded after": "Packets that the second tap did not record: they were acknowledged, and never retransmitted, or a third tap saw them.";
        "not recorded before": "Packets that only the second tap has: the first one did not record them.";
        "recorded twice before": "Second and further copies at the first tap. They are not traffic.";
        "other capture not running": "Packets from before the second capture began, or after it ended.";
        "delay: min, p50, p99, max": "The time from the first tap to the second one: the shortest, the median, the one that 99 of 100 do not exceed, the longest.";
        "delay": "The time from the first tap to the second one, by clocks that packets of both directions set right.";
        "queueing: p50, p99, max": "The delay without the shortest one: what queues add. The offset of the clocks does not change it.";
        "queueing": "The delay without the shortest one: what queues add. The offset of the clocks does not change it.";
    }
    "a column of rdmawire diff" {
        "capture": "The file of a tap.";
        "first frame": "When the first frame was captured.";
        "clock tick": "The step in which the tap's times count.";
        "between taps": "The taps between which it was lost: their numbers in the list.";
        "packet": "The operation code.";
        "what became of it": "Lost, or damaged and how; and the frame as which it arrived.";
        "resent": "Packets at the first tap whose PSN had been sent before.";
        "lost resent": "Of the lost and the damaged packets, those that had been sent before.";
        "damaged": "Packets that came corrupted, with a wrong checksum, or trimmed.";
        "twice": "Second and further copies at the second tap.";
        "delay p50": "The median of the delay.";
    }
    "a column of rdmawire counters" {
        "counter": "Its name, as the vendor's tools print it; with +, the sum of several.";
        "predicted": "What it must have grown by: a number, or bounds where the capture cannot show it.";
        "why not exactly": "What the capture cannot show.";
        "counted": "What it grew by between the readings.";
        "where the difference comes from": "Why it is not what the capture shows itself: within the bounds it fits, outside of them it contradicts the capture.";
    }
}
