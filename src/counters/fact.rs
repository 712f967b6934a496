//! What adapters count, and what each manufacturer calls it.

use crate::named;

named! {
    /// Something that hosts count.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Fact {
        /// Packets of the transport that the host sent.
        Sent "packets sent",
        /// Packets of the transport that the host was handed, with a right ICRC, to a queue pair that works.
        Received "packets received",
        /// Requests that the responder had before.
        Duplicates "duplicate requests received",
        /// NAKs of PSN sequence errors that the responder sent: once for each gap.
        OutOfSequence "requests out of sequence, answered by a NAK",
        /// NAKs of PSN sequence errors that the requester received.
        SequenceNaks "sequence NAKs received",
        /// Those of them that acknowledge something new: Soft-RoCE counts no other.
        NewSequenceNaks "sequence NAKs received beyond the last acknowledgement",
        /// Acknowledgement timeouts of the requester.
        Timeouts "acknowledgement timeouts",
        /// Rewinds because a response showed that an earlier one is missing.
        ImpliedNaks "implied NAKs",
        /// Rewinds for any cause but RNR.
        Rewinds "retries begun",
        /// RNR NAKs sent.
        RnrSent "RNR NAKs sent",
        /// RNR NAKs received.
        RnrReceived "RNR NAKs received",
        /// SENDs completed by the requester.
        SendsDone "SENDs completed",
        /// Receive buffers completed: SENDs, WRITEs with immediate data.
        ReceivesDone "receives completed",
        /// Packets received with a wrong ICRC.
        BadIcrcs "wrong ICRCs received",
        /// Data packets received that are marked CE.
        Marked "marked data packets received",
        /// CNPs sent.
        CnpsSent "CNPs sent",
        /// CNPs received.
        CnpsReceived "CNPs received",
        /// CNPs sent for a loss, not for a mark.
        LossCnps "CNPs sent for losses",
        /// NAKs of an invalid request received.
        InvalidRequestNaks "NAKs of invalid requests received",
        /// NAKs of a remote access error received.
        AccessNaks "NAKs of access errors received",
        /// NAKs of a remote operational error received.
        OperationNaks "NAKs of operational errors received",
        /// RDMA WRITEs received.
        WriteRequests "WRITE requests received",
        /// RDMA READs received.
        ReadRequests "READ requests received",
        /// Atomics received.
        AtomicRequests "atomic requests received",
        /// Retransmitted packets.
        Resent "retransmitted packets",
        /// Retransmitted bytes of payload.
        ResentBytes "retransmitted bytes",
        /// Queue pairs that gave up after timeouts.
        Exhausted "retries exhausted",
        /// Queue pairs that gave up after RNR NAKs.
        RnrExhausted "RNR retries exhausted",
        /// Events inside the host.
        Local "local events",
    }
}

named! {
    /// Whose names the counters have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Vendor {
        /// NVIDIA ConnectX and BlueField: Linux's `mlx5_ib`.
        Mlx5 "mlx5",
        /// Broadcom: Linux's `bnxt_re`.
        BnxtRe "bnxt_re",
        /// Intel: Linux's `irdma`.
        Irdma "irdma",
        /// Amazon's Elastic Fabric Adapter: Linux's `efa`.
        Efa "efa",
        /// Soft-RoCE: Linux's `rdma_rxe`.
        Rxe "rxe",
    }
}

/// A counter as a host shows it. A name with `+` is the sum of several.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// Its name in sysfs, `ethtool -S` or `rdma statistic`.
    pub name: &'static str,
    /// Whose name it is.
    pub vendor: Vendor,
    /// What it counts.
    pub fact: Fact,
}

macro_rules! counters {
    ($($vendor:ident { $($name:literal $fact:ident,)* })*) => {
        /// The counters that are predicted. Names: Linux's drivers, and the manufacturers' documentation.
        pub const COUNTERS: &[Counter] =
            &[$($(Counter { name: $name, vendor: Vendor::$vendor, fact: Fact::$fact },)*)*];
    };
}

counters! {
    Mlx5 {
        "rdma_tx_packets" Sent,
        "rdma_rx_packets" Received,
        "duplicate_request" Duplicates,
        "out_of_sequence" OutOfSequence,
        "packet_seq_err" SequenceNaks,
        "local_ack_timeout_err+roce_adp_retrans" Timeouts,
        "implied_nak_seq_err" ImpliedNaks,
        "out_of_buffer" RnrSent,
        "rnr_nak_retry_err" RnrReceived,
        "rx_icrc_encapsulated" BadIcrcs,
        "np_ecn_marked_roce_packets" Marked,
        "np_cnp_sent" CnpsSent,
        "rp_cnp_handled+rp_cnp_ignored" CnpsReceived,
        "roce_slow_restart_cnps" LossCnps,
        "req_remote_invalid_request" InvalidRequestNaks,
        "req_remote_access_errors" AccessNaks,
        "rx_write_requests" WriteRequests,
        "rx_read_requests" ReadRequests,
        "rx_atomic_requests" AtomicRequests,
        "req_transport_retries_exceeded" Exhausted,
        "req_rnr_retries_exceeded" RnrExhausted,
    }
    BnxtRe {
        "tx_pkts" Sent,
        "rx_pkts" Received,
        "dup_req" Duplicates,
        "oos_drop_count" OutOfSequence,
        "seq_err_naks_rcvd" SequenceNaks,
        "to_retransmits" Timeouts,
        "missing_resp" ImpliedNaks,
        "rx_out_of_buffer" RnrSent,
        "rnr_naks_rcvd" RnrReceived,
        "rx_ecn_marked_pkts" Marked,
        "tx_cnp_pkts" CnpsSent,
        "rx_cnp_pkts" CnpsReceived,
        "remote_invalid_req_err" InvalidRequestNaks,
        "remote_access_err" AccessNaks,
        "remote_op_err" OperationNaks,
        "rx_write_req" WriteRequests,
        "rx_read_req" ReadRequests,
        "rx_atomic_req" AtomicRequests,
        "max_retry_exceeded" Exhausted,
    }
    Irdma {
        "RxECNMrkd" Marked,
        "cnpSent" CnpsSent,
        "cnpHandled+cnpIgnored" CnpsReceived,
    }
    Efa {
        "retrans_pkts" Resent,
        "retrans_bytes" ResentBytes,
        "retrans_timeout_events" Timeouts,
    }
    Rxe {
        "sent_pkts" Sent,
        "rcvd_pkts" Received,
        "duplicate_request" Duplicates,
        "out_of_seq_request" OutOfSequence,
        "rcvd_seq_err" NewSequenceNaks,
        "completer_retry_err" Rewinds,
        "send_rnr_err" RnrSent,
        "rcvd_rnr_err" RnrReceived,
        "rdma_sends" SendsDone,
        "rdma_recvs" ReceivesDone,
        "retry_exceeded_err" Exhausted,
        "retry_rnr_exceeded_err" RnrExhausted,
        "ack_deferred" Local,
        "send_err" Local,
        "link_downed" Local,
    }
}
