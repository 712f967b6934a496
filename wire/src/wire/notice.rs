//! Attributes of all management classes: what a class can do, notices, and subscriptions to them (IBTA vol. 1, 13.4.8).

use core::net::Ipv6Addr;

use super::{CmTimeout, Hex8, Hex16, Hex32, Lid, NoticeType, Opaque, PKey, ProducerType, Qpn, TrapNumber};

header! {
    /// How a port manages a class (IBTA vol. 1, 13.4.8.1): what it can do, who has to be asked instead, where its traps go.
    ///
    /// ```text
    /// +---------------+---------------+-------------------------------+
    /// |  base_version | class_version |        capability_mask        |
    /// +---------------+---------------+---------------------+---------+
    /// |                   capability_mask2                  |resp_time|
    /// +-----------------------------------------------------+---------+
    /// |                    redirect_gid (128 bits)                    |
    /// +---------------+-------+---------------------------------------+
    /// |  redirect_tc  |redirec|              redirect_fl              |
    /// +---------------+-------+-------+-------------------------------+
    /// |          redirect_lid         |         redirect_p_key        |
    /// +---------------+---------------+-------------------------------+
    /// |    reserved   |                  redirect_qp                  |
    /// +---------------+-----------------------------------------------+
    /// |                         redirect_q_key                        |
    /// +---------------------------------------------------------------+
    /// |                      trap_gid (128 bits)                      |
    /// +---------------+-------+---------------------------------------+
    /// |    trap_tc    |trap_sl|                trap_fl                |
    /// +---------------+-------+-------+-------------------------------+
    /// |            trap_lid           |           trap_p_key          |
    /// +---------------+---------------+-------------------------------+
    /// |    trap_hl    |                    trap_qp                    |
    /// +---------------+-----------------------------------------------+
    /// |                           trap_q_key                          |
    /// +---------------------------------------------------------------+
    /// ```
    ClassPortInfo "ClassPortInfo", 72 bytes {
        /// Version of the datagrams that it knows.
        base_version with_base_version: 8 as u8 ["infiniband.classportinfo.baseversion"],
        /// Version of the class that it knows.
        class_version with_class_version: 8 as u8 ["infiniband.classportinfo.classversion"],
        /// What it can do.
        capability_mask with_capability_mask: 16 as Hex16 ["infiniband.classportinfo.capabilitymask"],
        /// What else it can do.
        capability_mask2 with_capability_mask2: 27 as Hex32 ["infiniband.classportinfo.capabilitymask2"],
        /// How long it takes to answer at most: 4.096 us · 2^n.
        resp_time_value with_resp_time_value: 5 as CmTimeout ["infiniband.classportinfo.resptimevalue"],
        /// Who has to be asked instead.
        redirect_gid with_redirect_gid: 128 as Ipv6Addr ["infiniband.classportinfo.redirectgid"],
        /// Traffic class to it.
        redirect_tc with_redirect_tc: 8 as Hex8 ["infiniband.classportinfo.redirecttc"],
        /// Service level to it.
        redirect_sl with_redirect_sl: 4 as u8 ["infiniband.classportinfo.redirectsl"],
        /// Flow label to it.
        redirect_fl with_redirect_fl: 20 as u32 ["infiniband.classportinfo.redirectfl"],
        /// Its LID; 0: there is none.
        redirect_lid with_redirect_lid: 16 as Lid ["infiniband.classportinfo.redirectlid"],
        /// Partition of it.
        redirect_p_key with_redirect_p_key: 16 as PKey ["infiniband.classportinfo.redirectpkey"],
        /// Reserved.
        reserved with_reserved: 8 as Hex8 ["infiniband.classportinfo.reserved"],
        /// Its queue pair.
        redirect_qp with_redirect_qp: 24 as Qpn ["infiniband.classportinfo.redirectqp"],
        /// Its Q_Key.
        redirect_q_key with_redirect_q_key: 32 as Hex32 ["infiniband.classportinfo.redirectqkey"],
        /// Where traps go.
        trap_gid with_trap_gid: 128 as Ipv6Addr ["infiniband.classportinfo.trapgid"],
        /// Traffic class of traps.
        trap_tc with_trap_tc: 8 as Hex8 ["infiniband.classportinfo.traptc"],
        /// Service level of traps.
        trap_sl with_trap_sl: 4 as u8 ["infiniband.classportinfo.trapsl"],
        /// Flow label of traps.
        trap_fl with_trap_fl: 20 as u32 ["infiniband.classportinfo.trapfl"],
        /// LID that traps go to.
        trap_lid with_trap_lid: 16 as Lid ["infiniband.classportinfo.traplid"],
        /// Partition of traps.
        trap_p_key with_trap_p_key: 16 as PKey ["infiniband.classportinfo.trappkey"],
        /// Hop limit of traps.
        trap_hl with_trap_hl: 8 as u8,
        /// Queue pair that traps go to.
        trap_qp with_trap_qp: 24 as Qpn ["infiniband.classportinfo.trapqp"],
        /// Q_Key of traps.
        trap_q_key with_trap_q_key: 32 as Hex32 ["infiniband.classportinfo.trapqkey"],
    }
}

header! {
    /// What happened (IBTA vol. 1, 13.4.8.2): in a trap, or where a port keeps it. The subnet administration adds the [`NoticeIssuer`].
    ///
    /// ```text
    /// +-+-------------+-----------------------------------------------+
    /// |i| notice_type |                 producer_type                 |
    /// +-+-------------+---------------+-------------------------------+
    /// |          trap_number          |           issuer_lid          |
    /// +-+-----------------------------+-------------------------------+
    /// |n|         notice_count        |          data_details         |
    /// +-+-----------------------------+-------------------------------+
    /// |                    data_details (432 bits)                    |
    /// +---------------------------------------------------------------+
    /// ```
    Notice "Notice", 64 bytes {
        /// The trap is one of InfiniBand's; else a manufacturer's own.
        is_generic with_is_generic: 1 as bool ["infiniband.notice.isgeneric"],
        /// How grave it is.
        notice_type with_notice_type: 7 as NoticeType ["infiniband.notice.type"],
        /// What issued it; where it is a manufacturer's own, the manufacturer.
        producer_type with_producer_type: 24 as ProducerType ["infiniband.notice.producertypevendorid"],
        /// What happened; where it is a manufacturer's own, the device.
        trap_number with_trap_number: 16 as TrapNumber ["infiniband.notice.trapnumberdeviceid"],
        /// The port that issued it.
        issuer_lid with_issuer_lid: 16 as Lid ["infiniband.notice.issuerlid"],
        /// It changes with each notice that is kept.
        notice_toggle with_notice_toggle: 1 as bool ["infiniband.notice.noticetoggle"],
        /// Notices that are kept.
        notice_count with_notice_count: 15 as u16 ["infiniband.notice.noticecount"],
        /// Details, as the trap has them.
        data_details with_data_details: 432 as Opaque<54> ["infiniband.notice.datadetails"],
    }
}

header! {
    /// The end of a notice as the subnet administration hands it on (IBTA vol. 1, 13.4.8.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                     issuer_gid (128 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    NoticeIssuer "Notice issuer", 16 bytes {
        /// The port that issued it.
        issuer_gid with_issuer_gid: 128 as Ipv6Addr,
    }
}

header! {
    /// A subscription to notices (IBTA vol. 1, 13.4.8.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                         gid (128 bits)                        |
    /// +-------------------------------+-------------------------------+
    /// |        lid_range_begin        |         lid_range_end         |
    /// +-------------------------------+---------------+---------------+
    /// |            reserved           |   is_generic  |   subscribe   |
    /// +-------------------------------+---------------+---------------+
    /// |          notice_type          |          trap_number          |
    /// +-------------------------------+---------------+-----+---------+
    /// |                      qpn                      |reser|resp_time|
    /// +---------------+-------------------------------+-----+---------+
    /// |   reserved3   |                 producer_type                 |
    /// +---------------+-----------------------------------------------+
    /// ```
    InformInfo "InformInfo", 36 bytes {
        /// Of this port; zero: of the LIDs.
        gid with_gid: 128 as Ipv6Addr ["infiniband.informinfo.gid"],
        /// Of the LIDs from here; 0xffff: of all.
        lid_range_begin with_lid_range_begin: 16 as Lid ["infiniband.informinfo.lidrangebegin"],
        /// Of the LIDs up to here.
        lid_range_end with_lid_range_end: 16 as Lid ["infiniband.informinfo.lidrangeend"],
        /// Reserved.
        reserved with_reserved: 16 as Hex16,
        /// 1: traps of InfiniBand; 0: a manufacturer's own.
        is_generic with_is_generic: 8 as u8 ["infiniband.informinfo.isgeneric"],
        /// 1: notices shall come; 0: no longer.
        subscribe with_subscribe: 8 as u8 ["infiniband.informinfo.subscribe"],
        /// How grave; 0xffff: all.
        notice_type with_notice_type: 16 as Hex16 ["infiniband.informinfo.type"],
        /// Which trap; 0xffff: all.
        trap_number with_trap_number: 16 as TrapNumber ["infiniband.informinfo.trapnumberdeviceid"],
        /// Queue pair that notices go to.
        qpn with_qpn: 24 as Qpn ["infiniband.informinfo.qpn"],
        /// Reserved.
        reserved2 with_reserved2: 3 as u8,
        /// How long the subscriber takes to answer: 4.096 us · 2^n.
        resp_time_value with_resp_time_value: 5 as CmTimeout ["infiniband.informinfo.resptimevalue"],
        /// Reserved.
        reserved3 with_reserved3: 8 as Hex8,
        /// Of which kind of nodes.
        producer_type with_producer_type: 24 as ProducerType ["infiniband.informinfo.producertypevendorid"],
    }
}
