//! The words of a report: each vocabulary is defined once, here. In JSON a term is its word.

use crate::{dissect, named, opcode};

/// A vocabulary: its terms, the word of each in JSON, the words in text where they are others, and what it means.
macro_rules! terms {
    ($($(#[doc = $about:literal])+ $name:ident { $($term:ident = $word:literal $($words:literal)?: $doc:literal,)+ })+) => {$(
        named! {
            $(#[doc = $about])+
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
            #[cfg_attr(feature = "state", derive(crate::stored::Stored))]
            #[non_exhaustive]
            #[repr(u8)]
            pub enum $name {
                $(#[doc = $doc] $term $word,)+
                /// The capture does not show it; or a newer version wrote a word that this one does not know.
                #[default]
                Unknown "unknown",
            }
        }

        vocabulary!($name, concat!($($about),+), &[
            $(($word, in_text!($word $($words)?), $doc),)+
            ("unknown", "unknown", "The capture does not show it; or a newer version wrote a word that this one does not know."),
        ]);

        impl $name {
            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $($name::$term => $doc,)+
                    $name::Unknown => "The capture does not show it.",
                }
            }

            /// The words for it in text.
            pub const fn words(self) -> &'static str {
                match self {
                    $($name::$term => in_text!($word $($words)?),)+
                    $name::Unknown => "unknown",
                }
            }

            fn of_word(word: &str) -> $name {
                $name::ALL.into_iter().find(|term| term.name() == word).unwrap_or($name::Unknown)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                let word = <std::borrow::Cow<'_, str> as serde::Deserialize>::deserialize(from)?;
                Ok($name::of_word(&word))
            }
        }
    )+};
}

macro_rules! in_text {
    ($word:literal) => {
        $word
    };
    ($word:literal $words:literal) => {
        $words
    };
}

terms! {
    /// The lengths that a switch wrote anew when it trimmed a packet.
    TrimLengths {
        Ip = "ip": "IP's only.",
        None = "none": "None: all say how long the packet was.",
        All = "all": "IP's and UDP's: only the ICRC is missing.",
    }

    /// A path beside the others of its flow.
    PathState {
        Good = "good": "As the others.",
        Dead = "dead": "It carries nothing any more, or nearly all that is sent on it is lost.",
        Lossy = "lossy": "It loses at least four times as often as the others.",
        Trimming = "trimming": "Its packets are trimmed at least four times as often as those of the others.",
        Slow = "slow": "Its packets are overtaken by those of the others, at least four times as often, or they take more than twice as long from tap to tap or until they are answered.",
        Repeated = "repeated": "Its packets are retransmitted at least four times as often as those of the others. Whether they were lost or late, the capture does not tell: it has no answers, or none that prove it.",
        Congested = "congested": "Its packets are marked (CE) at least four times as often as those of the others.",
        Skipped = "skipped": "The receiver asked the sender not to use it any more.",
    }

    /// The transport service of a flow.
    Service {
        Rc = "RC": "Reliable connection.",
        Uc = "UC": "Unreliable connection.",
        Rd = "RD": "Reliable datagram.",
        Ud = "UD": "Unreliable datagram.",
        Cn = "CN": "Only congestion notification packets were seen: they belong to no service.",
        Xrc = "XRC": "Extended reliable connection.",
        Vendor = "vendor": "Operation codes 0xc0 to 0xff, which each manufacturer defines.",
        Mrc = "MRC": "Multipath reliable connection (OCP MRC).",
    }

    /// Delivery of requests of Ultra Ethernet.
    UetMode {
        Unordered = "unordered" "RUD": "Reliable unordered delivery (RUD).",
        Ordered = "ordered" "ROD": "Reliable ordered delivery (ROD).",
        Idempotent = "idempotent" "RUDI": "Reliable unordered delivery of idempotent operations (RUDI), without a context.",
        Unreliable = "unreliable" "UUD": "Unreliable unordered delivery (UUD), without a context.",
    }

    /// How far a context of Ultra Ethernet came.
    UetState {
        Opening = "opening": "Its sender has not been answered.",
        Open = "open": "The receiver has answered, or the sender knows the receiver's number.",
        Closing = "closing": "One side has asked to close it.",
        Closed = "closed": "The sender's command to close it was acknowledged.",
    }

    /// Packets of Ultra Ethernet that are counted.
    UetPackets {
        All = "all" "packets": "All of them.",
        Encrypted = "encrypted": "Encrypted ones (TSS): no more is known of them.",
        Rudi = "rudi" "of RUDI": "Requests and responses without a context (RUDI).",
        Uud = "uud" "of UUD": "Unreliable requests (UUD).",
        GoodCrc = "good_crc" "with a right CRC": "The CRC is there and right.",
        BadCrc = "bad_crc" "with a wrong CRC": "The CRC is wrong. Such packets are counted nowhere else. Known where the lengths say that a CRC is there.",
        Untracked = "untracked" "of contexts that are not followed": "Of contexts for which there was no room.",
    }

    /// What is counted of a context of Ultra Ethernet.
    UetCounted {
        Nack = "nack": "Negative acknowledgements with one code.",
        Operation = "operation": "Messages with one operation.",
        ReturnCode = "return_code": "Responses with one return code.",
    }

    /// How switches write into packets on their way.
    TelemetryForm {
        Ifa = "ifa" "IFA": "Inband flow analyzer.",
        Int = "int" "INT": "Inband network telemetry of P4.",
    }

    /// What carries the InfiniBand transport packet. Tunnels around it do not count.
    Encapsulation {
        Ib = "ib": "Native InfiniBand within a subnet: LRH.",
        IbGrh = "ib-grh": "Native InfiniBand between subnets: LRH and GRH.",
        RoceV1 = "rocev1": "RoCE version 1: Ethernet and GRH.",
        RoceV2Ipv4 = "rocev2-ipv4": "RoCEv2 over IPv4.",
        RoceV2Ipv6 = "rocev2-ipv6": "RoCEv2 over IPv6.",
    }

    /// How the two flows of a connection were found to belong together; the weakest evidence first.
    PairedBy {
        UdpPort = "udp-port" "UDP source port": "Linux computes the UDP source port from the two queue pair numbers; or both flows have one that no other flow of the two hosts has.",
        Psn = "psn" "acknowledged PSNs": "One flow acknowledges the PSNs that the other one sends.",
        Cm = "cm" "connection manager": "The connection manager's messages name both queue pairs.",
        Map = "map": "The user said so.",
    }

    /// What became of a connection that was asked for.
    SetupOutcome {
        Established = "established": "It was set up, and was not closed in the capture.",
        Closed = "closed": "It was set up, and closed.",
        Resolved = "resolved": "The service's queue pair for datagrams was told (SIDR).",
        Refused = "refused": "A side refused it (REJ, or a SIDR_REP without queue pair).",
        GaveUp = "gave_up" "gave up": "A side ended the attempt before it was complete: it sent a REJ with reason timeout.",
        Unanswered = "unanswered" "never answered": "The request was not answered.",
        Unconfirmed = "unconfirmed" "never confirmed": "It was accepted (REP), and the asking side was not heard of again.",
        Pending = "pending": "The capture ended while an answer could still come.",
    }

    /// A side of a connection that is set up.
    Side {
        Active = "active" "asking side": "The side that asked.",
        Passive = "passive" "asked side": "The side that was asked.",
    }

    /// How a connection was closed.
    Closing {
        Answered = "answered": "One side asked (DREQ), the other answered (DREP).",
        Crossed = "crossed": "Both sides asked (DREQ), neither knew of the other's.",
        Unanswered = "unanswered": "One side asked (DREQ), and no answer was seen.",
        Unsaid = "unsaid" "without a word": "Nothing was said: a host gave the queue pair to another connection.",
    }

    /// What the tap showed of a flow's connection.
    Visibility {
        TwoWay = "two_way" "both directions": "Packets of both directions.",
        RequestsOnly = "requests_only" "requests only": "This direction only, and it has requests only.",
        ResponsesOnly = "responses_only" "responses only": "This direction only, and it has responses only.",
        OneWay = "one_way" "this direction only": "This direction only; it has requests, and responses to requests that were not seen.",
    }

    /// Whether the capture has all packets of a connection.
    Coverage {
        Full = "full": "Every packet that was acknowledged was captured.",
        CaptureLossy = "capture_lossy" "capture lossy": "Packets were acknowledged that are not in the capture.",
        PartialPath = "partial_path" "partial path": "The tap is on one of several paths.",
        OneWay = "one_way" "one direction only": "Only one direction was captured.",
    }

    /// The class of a packet: every packet of the transport has exactly one.
    Class {
        Ambiguous = "ambiguous": "Late: either overtaken on its way to the tap, or retransmitted. The capture does not tell which.",
        BeforeStart = "before_start" "before start": "Before the first PSN seen, here or at a tap before this one: the capture began in the middle.",
        CaptureDuplicate = "capture_duplicate" "capture duplicate": "One transmission that was recorded twice, by what captures, or since the network duplicated it before the tap.",
        Corrupt = "corrupt": "Its ICRC, or its IP header's checksum, is wrong.",
        First = "first": "The first packet of the flow: nothing before it counts as missing.",
        LateOriginal = "late_original" "late original": "Out of order: overtaken on its way to the tap by a packet that was sent later.",
        New = "new": "It has the expected PSN.",
        NewAfterGap = "new_after_gap" "new after gap": "It has a PSN beyond the expected one: the PSNs between were not seen.",
        RepeatedAck = "repeated_ack" "repeated ACK": "It acknowledges what was acknowledged before.",
        ReusedPsn = "reused_psn" "reused PSN": "Its sender had used this PSN for another packet, of another operation or length.",
        Resync = "resync": "Its PSN is so far from the expected one that tracking restarts from it.",
        Retransmission = "retransmission": "Its sender had sent this PSN before.",
        Trimmed = "trimmed": "A switch cut it to its headers, instead of dropping it: there is no ICRC, and lengths say more than is there, or the payload is less than the headers say.",
        Unsequenced = "unsequenced": "It is in no PSN space that can be followed: datagrams, unknown operation codes.",
    }

    /// The evidence for the class of a retransmitted, late or twice recorded packet.
    Evidence {
        IpId = "ip_id" "IPv4 identifications": "The sender's IPv4 identifications: they give the order of sending, and tell one transmission from another.",
        SeenBefore = "seen_before" "seen before": "This PSN was recorded before.",
        Run = "run": "The packets around it: a sender that goes back retransmits a run of packets and continues; copies and late packets come between new ones.",
        RoundTrip = "round_trip" "round trip": "It came sooner than any answer can.",
        Nak = "nak": "A NAK asked for it, and it was acknowledged afterwards.",
        Timer = "timer": "It came so late that only a timeout explains it, or too soon for one.",
        Distance = "distance": "How many packets lie between it and the newest one. The capture has few of the packets, so that nothing better is known.",
        Lag = "copy_lag" "lag of copies": "The lag at which this capture records packets twice.",
        Vantage = "vantage": "It was recorded at another place: another interface, or another TTL.",
        Msn = "msn": "The message number of an acknowledgement, which only counts up.",
    }

    /// The order in which frames are analyzed.
    FrameOrder {
        Time = "time" "order of time": "That of their times: those that step back are put into their place.",
        File = "file" "order of the file": "That in which the file has them, whatever their times are.",
    }

    /// How a sender numbers its IPv4 packets (the identification field).
    IpId {
        CountsUp = "counts_up" "counts up": "It counts up, for the flow or over all packets of the sender.",
        Constant = "constant": "It never changes: it identifies nothing.",
        Varies = "varies": "It varies without an order: it tells one transmission from another, but not which came first.",
    }

    /// Why a sender retransmitted packets.
    Trigger {
        Nak = "nak" "NAK": "A NAK asked for this PSN.",
        Timeout = "timeout": "No acknowledgement came back until the sender's timer expired.",
        Rnr = "rnr" "RNR NAK": "The receiver had not been ready (RNR NAK).",
        ImpliedNak = "implied_nak" "implied NAK": "A response showed that an earlier one was lost.",
    }

    /// Why a requester gave up.
    GiveUp {
        Retries = "retries": "No answer came, as often as it tried: the application is told that the transport retry counter was exceeded.",
        Rnr = "rnr" "RNR NAKs": "The receiver was not ready, as often as it tried: the application is told that the RNR retry counter was exceeded.",
    }

    /// Whom the peer of a requester that gave up still sends to.
    StillSends {
        SameConnection = "same_connection" "on this connection": "On this connection, as far as the tap shows: its packets do not arrive, or those to it.",
        SameHost = "same_host" "to the same host": "To the same host, on other connections only: its queue pair, or its process, is gone.",
        OtherTraffic = "other_traffic" "other traffic": "Other traffic than RDMA: the host lives, and its queue pair, its process or RDMA on the path is gone.",
        OtherHosts = "other_hosts" "to other hosts": "To other hosts only: the path between the two is broken.",
        Nobody = "nobody" "to nobody": "To nobody in this capture, and it did so before: the host, or its link, is gone.",
    }

    /// What became of a connection, as far as the capture shows it.
    ConnectionState {
        SetUp = "set_up" "set up": "The connection manager set it up, and no data came.",
        Running = "running": "It was in use, or idle, until the capture ended.",
        GaveUp = "gave_up" "gave up": "One end tried again until its retry count was used up, and gave up.",
        Refused = "refused": "One end refused it: the connection manager (REJ), or a NAK that ends it.",
        Closed = "closed": "The connection manager ended it (DREQ).",
        Silent = "silent": "Requests were not answered, and the capture does not show whether the sender gave up.",
    }

    /// Where a packet was lost.
    Location {
        Upstream = "upstream" "before the tap": "Between its sender and the tap.",
        Downstream = "downstream" "after the tap": "Between the tap and its receiver.",
        AckPath = "ack_path" "ACK path": "It arrived; its acknowledgement was lost.",
        Corrupt = "corrupt": "It arrived with a wrong checksum or ICRC.",
        Trimmed = "trimmed": "A switch before the tap cut it to its headers, instead of dropping it.",
        Capture = "capture": "It passed the tap, and is not in the capture.",
        None = "none" "nothing lost": "No packet was lost: the receiver was not ready, or the packet was only late.",
    }

    /// Which of the two PSN spaces of a flow.
    Space {
        Request = "request": "Requests: the sender of the flow numbers them.",
        Response = "response": "Responses: they have the PSNs of the requests that they answer.",
    }

    /// What a sender retransmits after a loss.
    RecoveryMode {
        GoBackN = "go_back_n" "go-back-N": "The lost packet and all packets after it.",
        Selective = "selective": "Only the packets that were lost.",
    }

    /// How the path MTU is known.
    MtuBy {
        Cm = "cm" "connection manager": "From the connection manager's request.",
        FullPackets = "full_packets" "full packets": "From the payload of packets that must be full.",
        ReadPsns = "read_psns" "PSNs of READs": "From the number of PSNs that a READ took.",
    }

    /// The scope in which a receiver paces its congestion notifications (CNPs).
    Pacing {
        PerQp = "per_qp" "per queue pair": "Between CNPs for one queue pair.",
        PerIpPair = "per_ip_pair" "per IP pair": "Between CNPs from one IP address to another.",
        PerPort = "per_port" "per port": "Between all CNPs of one port.",
    }

    /// What became of a packet between two taps.
    Fate {
        Lost = "lost": "The second tap did not see it.",
        Corrupted = "corrupted": "It came with a wrong ICRC, and had a right one.",
        BadIpChecksum = "bad_ip_checksum" "bad IP checksum": "It came with a wrong checksum of the IP header alone, and had a right one.",
        Trimmed = "trimmed": "A switch cut its payload away.",
    }

    /// What traffic between two hosts is.
    TrafficKind {
        Data = "data": "WRITEs, SENDs and the data of READs.",
        ClearToSend = "clear_to_send" "clear to send": "Clear-to-send elements of collectives: a receiver asks for data.",
        ClearToSendAck = "clear_to_send_ack" "ACKs of clear to send": "ACKs and NAKs of clear-to-send elements.",
        Request = "request" "READs and atomics": "READ requests and atomics: they ask for data.",
        Ack = "ack" "ACKs": "ACKs, NAKs, and results of atomics.",
        Cnp = "cnp" "CNPs": "Congestion notifications.",
        Management = "management" "set-up": "Datagrams to queue pair 1: those of the connection manager, and other management.",
        Datagram = "datagram" "datagrams": "Other datagrams.",
    }

    /// How it is known which of two taps a packet passes first.
    OrderBy {
        Ttl = "ttl": "The TTL is lower at the second tap.",
        Delay = "delay": "The times of both directions: no packet arrives before it was sent.",
        Given = "given": "Assumed: the captures are in the order in which they were given.",
    }

    /// How a packet's priority is known.
    PriorityBy {
        Map = "map": "The user's map says it.",
        Pcp = "pcp": "It is that of the VLAN tag.",
        Dscp = "dscp": "A guess: an eighth of the DSCP, as adapters and switches have it if nobody changes it.",
    }

    /// How a pause ended.
    PauseEnd {
        Xon = "xon" "by XON": "A frame with zero quanta (XON) ended it.",
        Expired = "expired": "Its timer ran out.",
        CaptureEnd = "capture_end" "at the end of the capture": "The capture ended first.",
    }

    /// What is wrong with a pause frame.
    PauseFault {
        WrongAddress = "wrong_address" "with a wrong address": "It is not sent to 01:80:C2:00:00:01: a receiver ignores it, or a switch forwards it. It counts as no pause, but for 802.3x to the receiver's own address.",
        Short = "short" "too short": "It is shorter than 64 bytes with its checksum, or ends before its last timer.",
        SevenTimers = "seven_timers" "with seven timers": "It has seven timers instead of eight, and text in place of the last one.",
        ClassVector = "class_vector" "with a wrong class vector": "The reserved upper byte of its class vector is not zero.",
        SilentTimer = "silent_timer" "with a timer of no enabled class": "A timer is set whose class is not enabled: the timer or the vector is wrong.",
        Tagged = "tagged" "with a VLAN tag": "It has a VLAN tag: MAC control frames have none.",
        UnknownOpcode = "unknown_opcode" "with an unknown opcode": "It is a MAC control frame with an opcode that no standard has: PAUSE has 0x0001, PFC 0x0101.",
    }

    /// What a storage command does with data.
    DataDirection {
        None = "none": "Nothing, or what is not known.",
        Read = "read": "From the controller to the host.",
        Write = "write": "From the host to the controller.",
    }

    /// How the protocol of a connection's messages is known.
    ApplicationBy {
        Service = "service": "The service ID of its set-up.",
        PrivateData = "private_data" "private data": "The private data of its set-up.",
        Messages = "messages": "Messages that can be of no other protocol.",
    }

    /// How it is known what a link joins.
    KnownBy {
        File = "file": "The user said so.",
        Lldp = "lldp": "Both ends say so, by LLDP in the capture.",
    }

    /// What a burst was followed by.
    BurstEffect {
        Mark = "mark" "marks": "A packet to the receiver was marked (CE).",
        Cnp = "cnp" "CNPs": "The receiver sent a CNP.",
        Loss = "loss" "losses": "The receiver sent a NAK for a missing packet, or a packet to it was retransmitted.",
        Pause = "pause" "pauses": "A pause frame asked for a pause: on any link of the capture.",
    }

    /// What a sender's time went to.
    TimeCause {
        Sending = "sending": "Its packets followed each other.",
        Idle = "idle" "sender idle": "It had nothing to send: all was acknowledged, or no answer was needed, and the next message came later. Of a responder: no READ was outstanding.",
        Waiting = "waiting" "waiting for ACKs": "It waited for an acknowledgement: its window was used up. Of a responder: the requester asked late, and a READ takes a round trip.",
        Paused = "paused": "Its priority was paused and it was silent, or the acknowledgements that it waited for were paused.",
        Throttled = "throttled" "throttled after CNPs": "Extra sending time caused by CNPs: actual time minus the time the same bytes take at the rate before the first CNP.",
        Recovering = "recovering" "timeouts and retransmissions": "It waited for a timeout or reacted to a NAK, and retransmitted packets, whether these were lost or not.",
        NotReady = "not_ready" "receiver not ready": "The receiver was not ready (RNR NAK), and it waited to retransmit.",
        ReceiverSlow = "receiver_slow" "receiver slow": "Acknowledgements took much longer than the path does, and nothing on the path explains it.",
        ResponderSlow = "responder_slow" "responder slow": "The first data of READs took much longer than the path does, and nothing on the path explains it.",
        LinkFull = "link_full" "link full": "The link of its source or destination was full, and several flows shared it.",
    }

    /// How it is known that packets are of a collective.
    RecognizedBy {
        Data = "data" "the data's address and key": "Proved: data went to the address, with the key, that a clear-to-send element had.",
        Elements = "elements" "clear-to-send elements": "Looks like it: clear-to-send elements that count up, and no data of theirs in the capture.",
        Immediate = "immediate" "immediate data": "Looks like it: the immediate data of WRITEs is the size of what they carry, and no elements are in the capture.",
        Slots = "slots" "addresses of slots": "Looks like it: WRITEs as long as elements go to slots that follow each other, each before a message the other way that has immediate data; their fields, and the immediate data, were cut.",
    }

    /// The layout of clear-to-send elements. The names of NCCL's versions are those that have it.
    CtsLayout {
        Sequence32 = "32_sequence" "32 bytes, NCCL 2.8 to 2.11": "32 bytes with a sequence number and a ready flag: NCCL 2.8 to 2.11.",
        OneKey32 = "32" "32 bytes, NCCL 2.12 to 2.19": "32 bytes, one key: NCCL 2.12 to 2.19.",
        TwoKeys64 = "64_two_keys" "64 bytes with two keys, NCCL 2.20 to 2.23": "64 bytes, two keys: NCCL 2.20 to 2.23, RCCL of 2024.",
        FourKeys64 = "64_four_keys" "64 bytes with four keys, NCCL 2.24 to 2.29": "64 bytes, four keys: NCCL 2.24 to 2.29, and the plug-in of nccl-rdma-sharp-plugins.",
        Bytes48 = "48" "48 bytes, NCCL 2.30": "48 bytes: NCCL 2.30.",
    }

    /// The byte order of a size in immediate data.
    ImmediateOrder {
        Big = "big" "big-endian": "Network order: NCCL from 2.29.2 on.",
        Little = "little" "little-endian": "The host's order: NCCL before 2.29.2, RCCL.",
    }

    /// Who sends to whom in collectives.
    Topology {
        Ring = "ring" "a ring": "Each endpoint sends to one other, and all of them are one circle.",
        Tree = "tree" "a tree": "Endpoints send to each other along the branches of a tree.",
        AllToAll = "all_to_all" "all to all": "Each endpoint sends to each other one.",
        Chain = "chain" "a chain": "Each endpoint but the last sends to one other, and each but the first receives from one: a broadcast.",
        Pairs = "pairs": "Some endpoints send to some others.",
        Mixed = "mixed" "of several kinds": "Operations of several kinds: each has its own.",
    }

    /// Why an operation had to wait.
    CollectiveCause {
        HostLate = "host_late" "late": "The host itself was late: it asked for nothing, or sent nothing, and waited for nobody.",
        Paused = "paused" "its path was paused": "The sender was silent in a pause.",
        Recovering = "recovering" "its path lost packets": "Packets were lost, and retransmitted.",
        Throttled = "throttled" "throttled after CNPs": "The sender was slower than others after CNPs.",
        Slow = "slow" "slower than others": "The data took longer than that of other requests of this size: a slow adapter, or queues.",
        Hang = "hang" "hangs": "A request was not complete when the capture ended.",
    }

    /// What an endpoint of a collective waited for.
    WaitCause {
        Paused = "paused" "paused": "Its data was stopped by a pause.",
        Recovering = "recovering" "recovering": "A packet of its data, or of the element that asks for it, was lost and not sent again yet.",
        ReceiverSilent = "receiver_silent" "receiver silent": "The receiver answered nothing any more, to the end of the capture, though data was retransmitted to it.",
        SenderLate = "sender_late" "sender late": "It had asked for data, and the sender did not send.",
        ReceiverLate = "receiver_late" "receiver late": "It had data to send, as far as packets tell, and the receiver had not asked for it.",
        OneSideLate = "one_side_late" "one side late": "One side was late: without elements nobody knows which.",
        Throttled = "throttled" "throttled": "Its data came slower than the line rate after CNPs.",
        Queueing = "queueing" "queueing": "Its data came slower than the line rate without CNPs: queues, a shared link, or a slow adapter.",
        LineRate = "line_rate" "line rate": "Its data came as fast as the link is, and the round trip before that.",
        Transfer = "transfer" "transfer": "Its data came. How fast the link is, is not known.",
    }

    /// Why a figure is missing.
    Reason {
        OneWay = "one_way" "only one direction was captured": "Only one direction was captured.",
        PartialPath = "partial_path" "the tap is on one of several paths": "The tap is on one of several paths.",
        CaptureLoss = "capture_loss" "the capture lost packets": "The capture itself lost packets.",
        Truncated = "truncated" "frames were cut": "The capture has cut frames.",
        NoVcrc = "no_vcrc" "no packet was captured with its VCRC": "No packet was captured with its VCRC.",
        Midstream = "midstream" "the capture began or ended in the middle": "The capture began, or ended, in the middle.",
        Unpaired = "unpaired" "the opposite flow is not known": "The opposite flow is not known.",
        NoPfcVisibility = "no_pfc_visibility" "captures of this kind show no pause frames": "The capture has no pause frames at all: captures of this kind often cannot show them.",
        UnknownSpeed = "unknown_speed" "the link's speed is not known": "The speed of the link is not known.",
        NotRequested = "not_requested" "it was not asked for": "It was not asked for.",
        UnknownOrder = "unknown_order" "nothing tells which tap packets pass first": "Nothing tells which tap packets pass first: TTLs and times are the same at both, as in two copies of one capture.",
        UnevenClock = "uneven_clock" "times do not fit steady clocks": "Timestamps of the taps do not fit clocks that drift steadily: a clock was stepped, its rate changed, or repeated packets that nothing tells apart were taken for each other.",
        ClocksApart = "clocks_apart" "the clocks of the two directions are apart": "Answers are stamped before the packets that they answer: each direction has a clock of its own, and they are apart.",
        CoarseTimes = "coarse_times" "the capture's clock is too coarse": "The clock of the capture is too coarse for times so short.",
        TooFew = "too_few" "there are too few events to tell": "There are too few events to tell.",
        NotEct = "not_ect" "no data packet is ECN-capable": "No data packet is ECN-capable.",
        NoTopology = "no_topology" "nothing says what the links join: give --links, or capture LLDP": "Nothing says what the links join: neither --links nor LLDP in the capture.",
        UnknownDirection = "unknown_direction" "nothing says which end of the link sent a frame": "Nothing says which end of the link sent a frame: no host with a known address is at one.",
        BehindBottleneck = "behind_bottleneck" "the tap is behind the bottleneck": "The tap is behind the bottleneck: the queue there sets the rate at the tap, not the sender.",
        OtherLimit = "other_limit" "something else may limit its sender": "What else limits the sender, its application or its window, may hide a reaction: none is told from that.",
        OneLink = "one_link" "the capture has one link only": "The capture has one link only.",
        LinksInSeries = "links_in_series" "several of the links recorded the same packets": "Several of the links recorded the same packets: they follow each other on a path.",
        NoElements = "no_elements" "the clear-to-send elements were not captured": "The clear-to-send elements were not captured: only one direction is there, or frames were cut.",
        NoData = "no_data" "the data was not captured": "The data was not captured: it never came, or only one direction is there.",
        SeveralClasses = "several_classes" "its packets are in several classes": "Packets of a flow are in several traffic classes: nobody knows of which one the lost ones were.",
        SeveralConnections = "several_connections" "nothing tells of which connection answers are": "Several connections of the same hosts have like PSNs, and nothing tells of which one some answers are.",
        Filtered = "filtered" "a filter left frames out": "A filter left frames out, perhaps those that show it.",
        RecordedTwice = "recorded_twice" "some packets were recorded twice": "Some packets were recorded twice, others once.",
        MemoryLimit = "memory_limit" "detail was given up to save memory": "Detail was given up to stay within the memory limit.",
    }
}

impl From<opcode::Service> for Service {
    fn from(service: opcode::Service) -> Service {
        Service::of_word(service.name())
    }
}

impl From<dissect::Encapsulation> for Encapsulation {
    fn from(encapsulation: dissect::Encapsulation) -> Encapsulation {
        Encapsulation::of_word(encapsulation.name())
    }
}
