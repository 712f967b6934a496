//! Whatever a text calls something, `explain` knows: labels of lines, of rows and of columns, as real outputs have them.

use std::collections::BTreeMap;

use crate::support::programs::{cli, printed};

/// The label of a line: `  Peer         QP 0x11`, `Pause       not known`.
fn line_label(line: &str) -> Option<&str> {
    let text = line.strip_prefix("  ").unwrap_or(line);
    let is_label = text.starts_with(|c: char| c.is_ascii_uppercase()) && !line.starts_with("   ");
    let (label, rest) = text.split_once("  ").filter(|_| is_label)?;
    let is_short = label.len() <= 14 && label.chars().all(|c| c.is_ascii_alphanumeric() || " _-".contains(c));
    (is_short && !rest.is_empty()).then_some(label)
}

/// The cells of a row of a table.
fn cells(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

/// Whether a line is the head of a table: several words, of which none has a value.
fn is_head(cells: &[&str]) -> bool {
    let is_word = |cell: &str| {
        let cell = cell.trim_start_matches("ACK ").trim_start_matches("p5").trim_start_matches("p9");
        cell.chars().all(|c| c.is_ascii_alphabetic() || " #/%-:".contains(c))
    };
    // The picture of a flow in text has crosses.
    let is_drawn = |cell: &&str| cell.chars().all(|c| "x ".contains(c));
    cells.len() > 2
        && !cells.iter().any(is_drawn)
        && cells.iter().all(|cell| is_word(cell) || ["p50", "p99", "delay p50"].contains(cell))
}

/// Collects the labels of a text, with a line that has each.
fn labels(text: &str, first_column: bool, all: &mut BTreeMap<String, String>) {
    let mut add = |label: &str, line: &str| {
        all.entry(label.to_owned()).or_insert_with(|| line.to_owned());
    };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(label) = line_label(line) {
            add(label, line);
        }
        let row = cells(line);
        if line.starts_with(' ')
            && is_head(&row)
            && row[0].starts_with(|c: char| c.is_ascii_lowercase() || c == '#')
        {
            row.iter().for_each(|label| add(label, line));
        } else if first_column && line.starts_with(' ') && row.len() > 1 {
            let label = row[0];
            let is_label = label.starts_with(|c: char| c.is_ascii_alphabetic() || c == '·');
            let is_number = |cell: &&str| cell.starts_with(|c: char| c.is_ascii_digit() || c == '?');
            if is_label && row[1..].iter().all(is_number) && !label.contains("DSCP ") {
                add(label, line);
            }
        }
    }
}

#[test]
fn all_labels_of_texts_are_explained() {
    let mut all = BTreeMap::new();
    // Some end with 1, as there are losses.
    let wide = |arguments: &[&str]| {
        let output = cli().args(arguments).env("COLUMNS", "250").output().unwrap();
        assert!(output.stderr.is_empty() && !output.stdout.is_empty(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let captures = [
        "loss1_rc_write-A",
        "loss1_rc_write-B",
        "loss1_rc_read-A",
        "rnr_late-A",
        "ecn_rc_write-A",
        "reorder5_rc_write-A",
        "corrupt_rc_write-B",
        "nccl_ring-A",
        "cm_rej-A",
        "nvme_basic-A",
        "multicast_ud-A",
        "loss1_uc_write-B",
        "srp_basic-A",
    ];
    for name in captures {
        let path = format!("pcaps/{name}.pcap.zst");
        labels(&wide(&["analyze", &path]), false, &mut all);
        let flows =
            if ["loss1_uc_write-B", "multicast_ud-A"].contains(&name) { &["0"][..] } else { &["0", "1"] };
        for flow in flows {
            labels(&wide(&["analyze", &path, "--flow", flow]), true, &mut all);
        }
    }
    for name in ["loss1_rc_write", "corrupt_rc_write", "dup1_rc_write", "reorder5_rc_write", "ecn_rc_write"] {
        let [a, b] = ["A", "B"].map(|tap| format!("pcaps/{name}-{tap}.pcap.zst"));
        labels(&wide(&["diff", &a, &b]), true, &mut all);
    }
    for (command, name) in [
        ("nvme", "nvme_basic-A"),
        ("commands", "nfs4_basic-A"),
        ("collectives", "nccl_ring-A"),
        ("connections", "cm_rej-A"),
        ("counters", "loss1_rc_write-A"),
    ] {
        labels(&wide(&[command, &format!("pcaps/{name}.pcap.zst")]), false, &mut all);
    }
    for known in [
        "took",
        "needless",
        "waited",
        "episode",
        "where",
        "resent from",
        "goodput before",
        "after",
        "twice",
        "lost resent",
        "damaged",
        "delivered",
        "gap to NAK",
        "packet to ACK",
        "PSNs never seen",
        "queueing: p50, p99, max",
        "Slow",
        "Peer",
        "its time",
        "predicted",
    ] {
        assert!(all.contains_key(known), "{known} is printed, and was not found: {:?}", all.keys());
    }
    let is_known = |label: &str| cli().args(["explain", label]).output().unwrap().status.success();
    let unknown: Vec<_> = all.iter().filter(|(label, _)| !is_known(label)).collect();
    assert!(
        all.len() > 100 && unknown.is_empty(),
        "{} labels, of which these are not explained: {unknown:#?}",
        all.len()
    );
}

/// What several outputs call by one name is explained for each of them.
#[test]
fn labels_are_explained_for_what_prints_them() {
    for (label, parts) in [
        ("queueing", &["a row of rdmawire diff", "What an endpoint of a collective waited for"][..]),
        ("Slow", &["a line of rdmawire analyze", "a word of the report"]),
        ("needless", &["a row of a flow's packets", "a column of episodes"]),
        ("· needless", &["a row of a flow's packets"]),
        ("not recorded after", &["a row of rdmawire diff"]),
        ("missed by the capture", &["a row of a flow's packets"]),
        ("lost on the ACK path", &["a row of a flow's packets"]),
        ("goodput before", &["a column of episodes"]),
    ] {
        let text = printed(cli().args(["explain", label]));
        parts.iter().for_each(|part| assert!(text.contains(part), "{label}: {part}: {text}"));
    }
}
