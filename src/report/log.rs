//! What logs of hosts say, beside what the capture shows.

use super::{
    clean,
    units::{count, several},
};

records! {
    /// An error in a log of a host, and the flows that it can be about.
    #[derive(Eq)]
    pub struct LogLine {
        /// The name of the log.
        pub log: String,
        /// The line's number, from 1.
        pub line: u64,
        /// The status of the completion, as in `enum ibv_wc_status`.
        pub status: Option<u8>,
        /// Its name there, without `IBV_WC_`.
        pub error: Option<String>,
        /// The end that wrote it, as far as the line names it: address and queue pair.
        pub local: Option<String>,
        /// The end that it is connected to, as far as the line names it.
        pub remote: Option<String>,
        /// Flows that it can be about: indices into the list of flows, 16 at most, the one that shows the cause first.
        pub flows: Vec<usize>,
        /// How many there are.
        pub flow_count: u64,
        /// The first of them, in words.
        pub flow: Option<String>,
        /// The finding that explains it best; `None` where nothing was found in these flows.
        pub finding: Option<String>,
        /// What that finding says.
        pub says: Option<String>,
        /// The line itself.
        pub text: String,
    }
}

impl LogLine {
    /// The error and its cause, in a sentence.
    pub fn sentence(&self) -> String {
        let error = match (&self.error, self.status) {
            (Some(error), Some(status)) => format!("{error} ({status})"),
            _ => "error".to_owned(),
        };
        if self.local.is_none() && self.remote.is_none() {
            return format!(
                "{}:{}: {error}: the line names neither a queue pair nor an address",
                clean(&self.log),
                self.line
            );
        }
        let ends = [&self.local, &self.remote].map(|end| end.as_deref().unwrap_or("?"));
        let place = format!("{}:{}: {error}, {} → {}", clean(&self.log), self.line, ends[0], ends[1]);
        let Some(flow) = &self.flow else {
            return format!("{place}: no flow of the capture has these ends");
        };
        let more = match self.flow_count.saturating_sub(1) {
            0 => String::new(),
            n => format!(" and {} more", count(n)),
        };
        let at = self.flows.first().map_or_else(String::new, |at| format!("#{at} "));
        match (&self.finding, &self.says) {
            (Some(finding), Some(says)) => {
                format!("{place}: flow {at}{flow}{more}: {}: {}", clean(finding), clean(says))
            }
            _ => format!(
                "{place}: flow {at}{flow}{more}: the capture shows no trouble of {}",
                several_flows(self.flow_count)
            ),
        }
    }
}

fn several_flows(n: u64) -> String {
    if n == 1 { "it".to_owned() } else { format!("these {}", several(n, "flow")) }
}
