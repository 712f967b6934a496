//! How a completion says that it failed.

/// Declares the statuses: number, the name in libibverbs without `IBV_WC_`, and what `ibv_wc_status_str` says.
macro_rules! statuses {
    ($($number:literal $name:literal $says:literal;)+) => {
        const ALL: &[Status] = &[$(Status { number: $number, name: $name, says: $says },)+];
    };
}

/// The status of a completion (`enum ibv_wc_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its number: 12.
    pub number: u8,
    /// Its name without `IBV_WC_`: "RETRY_EXC_ERR".
    pub name: &'static str,
    /// What `ibv_wc_status_str` says: "transport retry counter exceeded".
    pub says: &'static str,
}

statuses! {
    1 "LOC_LEN_ERR" "local length error";
    2 "LOC_QP_OP_ERR" "local QP operation error";
    3 "LOC_EEC_OP_ERR" "local EE context operation error";
    4 "LOC_PROT_ERR" "local protection error";
    5 "WR_FLUSH_ERR" "Work Request Flushed Error";
    6 "MW_BIND_ERR" "memory management operation error";
    7 "BAD_RESP_ERR" "bad response error";
    8 "LOC_ACCESS_ERR" "local access error";
    9 "REM_INV_REQ_ERR" "remote invalid request error";
    10 "REM_ACCESS_ERR" "remote access error";
    11 "REM_OP_ERR" "remote operation error";
    12 "RETRY_EXC_ERR" "transport retry counter exceeded";
    13 "RNR_RETRY_EXC_ERR" "RNR retry counter exceeded";
    14 "LOC_RDD_VIOL_ERR" "local RDD violation error";
    15 "REM_INV_RD_REQ_ERR" "remote invalid RD request";
    16 "REM_ABORT_ERR" "aborted error";
    17 "INV_EECN_ERR" "invalid EE context number";
    18 "INV_EEC_STATE_ERR" "invalid EE context state";
    19 "FATAL_ERR" "fatal error";
    20 "RESP_TIMEOUT_ERR" "response timeout error";
    21 "GENERAL_ERR" "general error";
}

/// Other words for some: of UCX, of the kernel, of NVMe drivers.
const OTHERS: [(&str, u8); 4] = [
    ("rnr retry count exceeded", 13),
    ("transport retry count exceeded", 12),
    ("wr flushed", 5),
    ("remote operational error", 11),
];

impl Status {
    /// By its number.
    pub fn of_number(number: u64) -> Option<Status> {
        ALL.iter().copied().find(|status| u64::from(status.number) == number)
    }

    /// By its name, with or without `IBV_WC_`.
    pub fn of_name(name: &str) -> Option<Status> {
        let short = name.strip_prefix("IBV_WC_").unwrap_or(name);
        ALL.iter().copied().find(|status| status.name == short)
    }

    /// By the words for it within a text in lower case.
    pub(super) fn of_words(lower: &str) -> Option<Status> {
        let other = OTHERS.iter().find(|(words, _)| lower.contains(words));
        let named = || ALL.iter().copied().find(|status| lower.contains(&status.says.to_ascii_lowercase()));
        other.and_then(|&(_, number)| Status::of_number(number.into())).or_else(named)
    }

    /// The findings that explain it best, by how their ids begin.
    pub(super) fn explained_by(self) -> &'static [&'static str] {
        match self.number {
            12 => &["retries.", "loss.", "pause."],
            13 => &["rnr."],
            7 | 9..=11 => &["nak."],
            _ => &[],
        }
    }
}
