//! What switches write into packets on their way: metadata per hop of an inband flow analyzer (IFA) and of P4's inband network telemetry (INT),
//! and the tag of congestion signaling (CSIG).

use super::{Ecn, EtherType, Hex8, Hex16, Show};

header! {
    /// Inband flow analyzer, between the IP header and UDP (draft-kumar-ippm-ifa, version 2). The metadata that switches add is behind UDP.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-------+---------------+---------------+---------------+
    /// |version|  GNS  |   protocol    |     flags     |  max length   |
    /// +-------+-------+---------------+---------------+---------------+
    /// ```
    Ifa "IFA", 4 bytes {
        /// 2.
        version with_version: 4 as u8,
        /// Namespace of the metadata.
        gns with_gns: 4 as u8,
        /// What follows: the IP header's protocol before.
        protocol with_protocol: 8 as super::IpProtocol,
        /// Flags.
        flags with_flags: 8 as Hex8,
        /// Most words of metadata.
        max_length with_max_length: 8 as u8,
    }
}

header! {
    /// Header of the metadata of an inband flow analyzer, behind UDP.
    ///
    /// ```text
    /// +---------------+---------------+---------------+---------------+
    /// |    request    |    action     |   hop limit   |    length     |
    /// +---------------+---------------+---------------+---------------+
    /// ```
    IfaMetadata "IFA metadata", 4 bytes {
        /// What is asked for.
        request with_request: 8 as Hex8,
        /// What is to be done.
        action with_action: 8 as Hex8,
        /// Hops that may add more.
        hop_limit with_hop_limit: 8 as u8,
        /// Words of four bytes that follow.
        length with_length: 8 as u8,
    }
}

number! {
    /// The speed of a port, as IFA has it.
    IfaSpeed(u8) as Show::Named(|v| ["10 Gbit/s", "25 Gbit/s", "40 Gbit/s", "50 Gbit/s", "100 Gbit/s", "200 Gbit/s", "400 Gbit/s"].get(v as usize).copied())
}

header! {
    /// Metadata of one hop of an inband flow analyzer: of namespace 15 with the local namespace 1, as Broadcom's switches write it. The last hop
    /// that wrote some stands first.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+---------------------------------------+---------------+
    /// |  LNS  |               device                  |      TTL      |
    /// +-------+---+-----------+-----------------------+---------------+
    /// | speed |con|   queue   |     seconds of the reception          |
    /// +-------+---+-----------+-------+-------------------------------+
    /// |          egress port          |         ingress port          |
    /// +-------------------------------+-------------------------------+
    /// |                  nanoseconds of the reception                 |
    /// +---------------------------------------------------------------+
    /// |                   residence time, nanoseconds                 |
    /// +---------------------------------------------------------------+
    /// |               bytes that the queue has sent                   |
    /// +-------------------------------+-------------------------------+
    /// |           reserved            |     depth of the queue        |
    /// +-------------------------------+-------------------------------+
    /// |                   cells left in the pool                      |
    /// +---------------------------------------------------------------+
    /// ```
    IfaHop "IFA hop", 32 bytes {
        /// Local namespace: 1 is this layout.
        lns with_lns: 4 as u8,
        /// The switch.
        device_id with_device_id: 20 as u32,
        /// The IP header's time to live there: it tells the order of hops.
        ttl with_ttl: 8 as u8,
        /// Speed of the egress port.
        speed with_speed: 4 as IfaSpeed,
        /// The ECN field as the switch sent it.
        congestion with_congestion: 2 as Ecn,
        /// The egress queue.
        queue with_queue: 6 as u8,
        /// When the switch received the packet: the last 20 bits of the seconds.
        rx_seconds with_rx_seconds: 20 as u32,
        /// The port by which it left.
        egress_port with_egress_port: 16 as u16,
        /// The port by which it came.
        ingress_port with_ingress_port: 16 as u16,
        /// When the switch received the packet: nanoseconds of the second.
        rx_nanoseconds with_rx_nanoseconds: 32 as u32,
        /// How long it was in the switch, in nanoseconds.
        residence_ns with_residence_ns: 32 as u32,
        /// Bytes that the egress queue has sent.
        tx_bytes with_tx_bytes: 32 as u32,
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// Depth of the egress queue, in cells of the switch's buffer.
        queue_depth with_queue_depth: 16 as u16,
        /// What the queue's pool has left, in cells.
        pool_available with_pool_available: 32 as u32,
    }
}

number! {
    /// What a CSIG tag tells (UEC).
    CsigSignal(u8) as Show::Named(|v| match v {
        0 => Some("least available bandwidth"), 1 => Some("least available bandwidth, relative"), 2 => Some("longest delay of a hop"),
        3 => Some("deepest queue, relative to the port's speed"), _ => None,
    })
}

header! {
    /// Compact tag of congestion signaling (CSIG; draft-ravi-ippm-csig, UEC 1.1), behind EtherType 0x9900: each switch puts its own value in the place of a
    /// less congested one. Operators may choose another EtherType.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-----+-+---------+-------------+-------------------------------+
    /// |  T  |D|    S    |     LM      |           EtherType           |
    /// +-----+-+---------+-------------+-------------------------------+
    /// ```
    CsigTag "CSIG", 4 bytes {
        /// What the value is.
        signal with_signal: 3 as CsigSignal,
        /// Switches leave it as it is: the packet was trimmed.
        no_update with_no_update: 1 as bool,
        /// The value, in steps that the operator defines.
        value with_value: 5 as u8,
        /// Locator metadata: which port has that value, as the operator numbers them.
        locator with_locator: 7 as u8,
        /// What follows.
        ether_type with_ether_type: 16 as EtherType,
    }
}

number! {
    /// The kind of INT.
    IntType(u8) as Show::Named(|v| match v { 1 => Some("INT-MD"), 2 => Some("destination"), 3 => Some("INT-MX"), _ => None })
}

header! {
    /// Shim of P4's inband network telemetry (INT 2.1, 5.6) behind UDP. No port is assigned: name it.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+---+---+---------------+-------------------------------+
    /// | type  |NPT|res|    length     |           original            |
    /// +-------+---+---+---------------+-------------------------------+
    /// ```
    IntShim "INT shim", 4 bytes {
        /// 1: metadata is stacked in the packet.
        int_type with_int_type: 4 as IntType,
        /// What `original` is: 1 is the destination port that UDP had.
        npt with_npt: 2 as u8,
        /// Reserved.
        reserved with_reserved: 2 as u8,
        /// Words of four bytes behind the shim that are of INT.
        length with_length: 8 as u8,
        /// The destination port that UDP had, or something else.
        original with_original: 16 as u16,
    }
}

header! {
    /// Header of inband network telemetry (INT 2.1, 5.8).
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +-------+-+-+-+-----------------------+---------+---------------+
    /// |version|D|E|M|       reserved        | hop ML  |hops remaining |
    /// +-------+-+-+-+-----------------------+---------+---------------+
    /// |         instructions          |            domain             |
    /// +-------------------------------+-------------------------------+
    /// |      domain instructions      |         domain flags          |
    /// +-------------------------------+-------------------------------+
    /// ```
    IntHeader "INT", 12 bytes {
        /// 2.
        version with_version: 4 as u8,
        /// The sink drops the packet.
        discard with_discard: 1 as bool,
        /// More hops than may write.
        exceeded with_exceeded: 1 as bool,
        /// A hop could not write: the packet would have been too long.
        mtu_exceeded with_mtu_exceeded: 1 as bool,
        /// Reserved.
        reserved with_reserved: 12 as Hex16,
        /// Words of four bytes that each hop writes.
        hop_length with_hop_length: 5 as u8,
        /// Hops that may write more.
        remaining_hops with_remaining_hops: 8 as u8,
        /// What each hop writes, from the first bit on: switch, ports, delay, queue, time of reception, time of sending, logical ports, use of the
        /// egress link, buffer.
        instructions with_instructions: 16 as Hex16,
        /// Whose further instructions follow; 0 has none.
        domain with_domain: 16 as Hex16,
        /// What each hop writes behind that, in this domain.
        domain_instructions with_domain_instructions: 16 as Hex16,
        /// Flags of the domain.
        domain_flags with_domain_flags: 16 as Hex16,
    }
}

header! {
    /// INT: the switch of a hop. The last hop that wrote some stands first.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                            switch                             |
    /// +---------------------------------------------------------------+
    /// ```
    IntNode "INT node", 4 bytes {
        /// The switch.
        node with_node: 32 as u32,
    }
}

header! {
    /// INT: the ports of a hop.
    ///
    /// ```text
    /// +-------------------------------+-------------------------------+
    /// |         ingress port          |          egress port          |
    /// +-------------------------------+-------------------------------+
    /// ```
    IntPorts "INT ports", 4 bytes {
        /// The port by which the packet came.
        ingress_port with_ingress_port: 16 as u16,
        /// The port by which it left.
        egress_port with_egress_port: 16 as u16,
    }
}

header! {
    /// INT: the delay of a hop.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             delay                             |
    /// +---------------------------------------------------------------+
    /// ```
    IntDelay "INT delay", 4 bytes {
        /// How long the packet was in the switch, as a rule in nanoseconds: the domain defines it.
        delay with_delay: 32 as u32,
    }
}

header! {
    /// INT: the queue of a hop.
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |     queue     |                     depth                     |
    /// +---------------+-----------------------------------------------+
    /// ```
    IntQueue "INT queue", 4 bytes {
        /// The queue.
        queue with_queue: 8 as u8,
        /// How much was in it, in units of the switch.
        queue_depth with_queue_depth: 24 as u32,
    }
}

header! {
    /// INT: when a hop received the packet.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                   time of reception (64 bits)                 |
    /// +---------------------------------------------------------------+
    /// ```
    IntIngressTime "INT ingress time", 8 bytes {
        /// When the packet came, in the clock of the switch.
        ingress_time with_ingress_time: 64 as u64,
    }
}

header! {
    /// INT: when a hop sent the packet.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                    time of sending (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// ```
    IntEgressTime "INT egress time", 8 bytes {
        /// When the packet left, in the clock of the switch.
        egress_time with_egress_time: 64 as u64,
    }
}

header! {
    /// INT: the logical ports of a hop.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                         ingress port                          |
    /// +---------------------------------------------------------------+
    /// |                          egress port                          |
    /// +---------------------------------------------------------------+
    /// ```
    IntLogicalPorts "INT logical ports", 8 bytes {
        /// The logical port by which the packet came.
        logical_ingress_port with_logical_ingress_port: 32 as u32,
        /// The logical port by which it left.
        logical_egress_port with_logical_egress_port: 32 as u32,
    }
}

header! {
    /// INT: how much the link of a hop was in use.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                              use                              |
    /// +---------------------------------------------------------------+
    /// ```
    IntUse "INT use", 4 bytes {
        /// How much of the egress link was in use, in units of the switch.
        link_use with_link_use: 32 as u32,
    }
}

header! {
    /// INT: the buffer of a hop.
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |    buffer     |                     depth                     |
    /// +---------------+-----------------------------------------------+
    /// ```
    IntBuffer "INT buffer", 4 bytes {
        /// The buffer.
        buffer with_buffer: 8 as u8,
        /// How much was in it, in units of the switch.
        buffer_depth with_buffer_depth: 24 as u32,
    }
}

impl IntHeader {
    /// What each hop writes, by the bits of its instructions from the first one on.
    pub const VALUES: [super::Kind; 9] = {
        use super::Kind;
        [
            Kind::IntNode,
            Kind::IntPorts,
            Kind::IntDelay,
            Kind::IntQueue,
            Kind::IntIngressTime,
            Kind::IntEgressTime,
            Kind::IntLogicalPorts,
            Kind::IntUse,
            Kind::IntBuffer,
        ]
    };

    /// The values that each hop writes, in their order.
    pub fn values(&self) -> impl Iterator<Item = super::Kind> + use<> {
        let instructions = self.instructions().0;
        (0..)
            .zip(Self::VALUES)
            .filter(move |(bit, _)| instructions << bit & 0x8000 != 0)
            .map(|(_, kind)| kind)
    }

    /// Whether it asks for something that is not known: its length is not known either.
    pub fn asks_for_others(&self) -> bool {
        self.instructions().0 & 0x007e != 0
    }
}
