//! Management datagrams: the common header.

use super::{Hex16, Hex32, Show, TransactionId};

number! {
    /// Management class (IBTA vol. 1, 13.4.4).
    MgmtClass(u8) as Show::Named(|v| Some(match v {
        0x01 => "SubnMgt", 0x81 => "SubnMgt directed route", 0x03 => "SubnAdm", 0x04 => "PerfMgt", 0x05 => "BM", 0x06 => "DevMgt",
        0x07 => "CommMgt", 0x08 => "SNMP", 0x09..=0x0f => "vendor", 0x10 => "DevAdm", 0x11 => "BootMgt", 0x12 => "BIS",
        0x21 => "CongestionControl", 0x13..=0x2f => "application", 0x30..=0x4f => "vendor with OUI", _ => return None,
    }))
}

impl MgmtClass {
    /// Subnet management, routed by LID.
    pub const SUBN_LID: MgmtClass = MgmtClass(0x01);
    /// Subnet management, directed route.
    pub const SUBN_DIRECTED: MgmtClass = MgmtClass(0x81);
    /// Subnet administration.
    pub const SUBN_ADM: MgmtClass = MgmtClass(0x03);
    /// Performance management.
    pub const PERF: MgmtClass = MgmtClass(0x04);
    /// Baseboard management.
    pub const BM: MgmtClass = MgmtClass(0x05);
    /// Device management.
    pub const DEV_MGT: MgmtClass = MgmtClass(0x06);
    /// Communication management.
    pub const CM: MgmtClass = MgmtClass(0x07);
    /// Congestion control.
    pub const CONGESTION: MgmtClass = MgmtClass(0x21);
}

number! {
    /// Method of a management datagram (IBTA vol. 1, 13.4.5).
    MadMethod(u8) as Show::Named(|v| Some(match v {
        0x01 => "Get", 0x02 => "Set", 0x81 => "GetResp", 0x03 => "Send", 0x05 => "Trap", 0x06 => "Report", 0x86 => "ReportResp",
        0x07 => "TrapRepress", 0x12 => "GetTable", 0x92 => "GetTableResp", 0x13 => "GetTraceTable", 0x14 => "GetMulti",
        0x94 => "GetMultiResp", 0x15 => "Delete", 0x95 => "DeleteResp", _ => return None,
    }))
}

impl MadMethod {
    /// A question.
    pub const GET: MadMethod = MadMethod(0x01);
    /// A change.
    pub const SET: MadMethod = MadMethod(0x02);
    /// A message that has no answer of this class.
    pub const SEND: MadMethod = MadMethod(0x03);
    /// Something happened.
    pub const TRAP: MadMethod = MadMethod(0x05);
    /// The answer to a question or a change.
    pub const GET_RESP: MadMethod = MadMethod(0x81);
    /// A question for a table.
    pub const GET_TABLE: MadMethod = MadMethod(0x12);
    /// A table.
    pub const GET_TABLE_RESP: MadMethod = MadMethod(0x92);

    /// Whether it is an answer.
    pub const fn is_response(self) -> bool {
        self.0 & 0x80 != 0
    }
}

header! {
    /// Common management datagram header (IBTA vol. 1, 13.4.3).
    ///
    /// ```text
    /// +---------------+---------------+---------------+---------------+
    /// |  BaseVersion  |   MgmtClass   | ClassVersion  |    Method     |
    /// +---------------+---------------+---------------+---------------+
    /// |            Status             |        ClassSpecific          |
    /// +-------------------------------+-------------------------------+
    /// |                    TransactionID (64 bits)                    |
    /// |                                                               |
    /// +-------------------------------+-------------------------------+
    /// |          AttributeID          |           reserved            |
    /// +-------------------------------+-------------------------------+
    /// |                       AttributeModifier                       |
    /// +---------------------------------------------------------------+
    /// ```
    Mad "MAD", 24 bytes {
        /// 1; 0x80 on Omni-Path.
        base_version with_base_version: 8 as u8 ["infiniband.mad.baseversion"],
        /// Management class.
        mgmt_class with_mgmt_class: 8 as MgmtClass ["infiniband.mad.mgmtclass"],
        /// Class version.
        class_version with_class_version: 8 as u8 ["infiniband.mad.classversion"],
        /// Method; bit 7 marks a response.
        method with_method: 8 as MadMethod ["infiniband.mad.method"],
        /// Status; bit 15 is the direction in directed-route SMPs.
        status with_status: 16 as Hex16 ["infiniband.mad.status"],
        /// Hop pointer and hop count in directed-route SMPs.
        class_specific with_class_specific: 16 as Hex16 ["infiniband.mad.classspecific"],
        /// Transaction identifier; a response has that of its request.
        transaction_id with_transaction_id: 64 as TransactionId ["infiniband.mad.transactionid"],
        /// The attribute or message.
        attribute_id with_attribute_id: 16 as Hex16 ["infiniband.mad.attributeid"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// The part of the attribute.
        attribute_modifier with_attribute_modifier: 32 as Hex32 ["infiniband.mad.attributemodifier"],
    }
}

header! {
    /// Common header of a subnet management packet with a directed route (IBTA vol. 1, 14.2.1.2): it says how far the packet has come.
    ///
    /// ```text
    /// +---------------+---------------+---------------+---------------+
    /// |  base_version |   mgmt_class  | class_version |     method    |
    /// +-+-------------+---------------+---------------+---------------+
    /// |d|            status           |  hop_pointer  |   hop_count   |
    /// +-+-----------------------------+---------------+---------------+
    /// |                    transaction_id (64 bits)                   |
    /// +-------------------------------+-------------------------------+
    /// |          attribute_id         |            reserved           |
    /// +-------------------------------+-------------------------------+
    /// |                       attribute_modifier                      |
    /// +---------------------------------------------------------------+
    /// ```
    MadDirected "MAD directed route", 24 bytes {
        /// 1.
        base_version with_base_version: 8 as u8 ["infiniband.mad.baseversion"],
        /// Management class.
        mgmt_class with_mgmt_class: 8 as MgmtClass ["infiniband.mad.mgmtclass"],
        /// Class version.
        class_version with_class_version: 8 as u8 ["infiniband.mad.classversion"],
        /// Method; bit 7 marks a response.
        method with_method: 8 as MadMethod ["infiniband.mad.method"],
        /// It returns.
        d with_d: 1 as bool,
        /// Status.
        status with_status: 15 as Hex16,
        /// The hop that it is at.
        hop_pointer with_hop_pointer: 8 as u8 ["infiniband.smpdirected.hoppointer"],
        /// Hops of the directed route.
        hop_count with_hop_count: 8 as u8 ["infiniband.smpdirected.hopcount"],
        /// Transaction identifier; a response has that of its request.
        transaction_id with_transaction_id: 64 as TransactionId ["infiniband.mad.transactionid"],
        /// The attribute.
        attribute_id with_attribute_id: 16 as Hex16 ["infiniband.mad.attributeid"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// The part of the attribute.
        attribute_modifier with_attribute_modifier: 32 as Hex32 ["infiniband.mad.attributemodifier"],
    }
}
