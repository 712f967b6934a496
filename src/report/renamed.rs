//! What had another name in the schema before.

/// A name, what it is now, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Renamed {
    /// The name in `rdmawire.analysis/2`.
    pub before: &'static str,
    /// The name in [`SCHEMA`](super::SCHEMA).
    pub now: &'static str,
    /// Where it stands, and what else changed.
    pub about: &'static str,
}

macro_rules! renamed {
    ($($before:literal => $now:literal, $about:literal;)+) => {
        impl Renamed {
            /// All of them.
            pub const ALL: &'static [Renamed] = &[$(Renamed { before: $before, now: $now, about: $about },)+];
        }
    };
}

renamed! {
    "flows[].ecn_ect" => "flows[].ect_packets", "JSON, table and gates; marked packets are included, as everywhere";
    "flows[].ecn_ce" => "flows[].ce_packets", "JSON and table; gates know both names";
    "flows[].requests.out_of_order" => "flows[].requests.out_of_order, .retransmits_out_of_order", "JSON and table, responses too; the first is of late originals only, as in intervals and packets";
    "intervals[].l1_bytes" => "intervals[].wire_bytes", "JSON and table";
    "intervals[].ect" => "intervals[].ect_packets", "JSON and table";
    "intervals[].ce" => "intervals[].ce_packets", "JSON and table";
    "overhead.*.l1_bytes" => "overhead.*.wire_bytes", "JSON; `rdmawire overhead --json` too";
    "slow_flows[].cause" => "slow_flows[].verdict", "JSON; the table had this name";
    "findings[].cause.affected" => "findings[].cause.with", "JSON: an object with `affected` and `flows`; columns `cause_with_affected`, `cause_with_flows`";
    "findings[].cause.others" => "findings[].cause.without", "JSON: an object with `affected` and `flows`; columns `cause_without_affected`, `cause_without_flows`";
    "findings[].cause.between_ns" => "findings[].cause.first_ns, .last_ns", "JSON and table";
    "capture.learned.one_way_flows" => "capture.learned.one_way_flows, .reliable_flows", "JSON and table: two numbers instead of a pair";
    "latency_ns_ack_rtt_p50" => "latency_ack_rtt_p50_ns", "tables: the unit of a distribution stands at the end of its columns, and counts have none; so do `_min_ns`, `_p99_ns`, `_max_ns`, and other latencies";
    "latency_ns_ack_rtt_count" => "latency_ack_rtt_count", "tables: other distributions too";
    "messages_size_bytes_p50" => "messages_size_p50_bytes", "tables";
    "cnp_interval_ns_p50" => "cnp_interval_p50_ns", "tables; `ce_to_cnp`, `ack_rtt`, `rnr_asked`, `rnr_waited` too";
    "lost_a, lost_b" => "lost_least, lost_most", "table classes";
    "learned_copy_lag_ns_least" => "learned_copy_lag_least_ns", "table captures; `_most_ns` too";
    "requests, responses" => "request, response", "table losses, in the column `space`: as in other tables";
}
