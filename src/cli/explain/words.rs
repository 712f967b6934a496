//! What `explain` finds by a name alone: findings, notes, operation codes, tables, and the words and fields of the report.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::{collectives, commands, fabric, list, nvme};
use super::{finding, note, opcode, syndromes, table, tables};
use rdmawire::{
    analyze::{Application, FindingKind},
    counters::{COUNTERS, Vendor},
    dissect::Problem,
    gate::Figure,
    grammar::print::plural,
    opcode::Opcode,
    report::{LABELS, Label, html, schema, text},
    wire::{Kind, Show},
};

/// Words of text that are no name of a figure, a field or a column.
const IN_TEXT: [(&str, &str); 17] = [
    (
        "on the wire",
        "bytes that a link is busy with: those of frames, with preamble, frame check sequence and inter-frame gap (IEEE 802.3).",
    ),
    ("of frames", "bytes from the first header to the end of the ICRC or VCRC, before the capture cut any."),
    (
        "by trouble",
        "the order of flows: stalls and NAKs weigh most, on the flow that they stall, then retransmitted and lost packets, then marks. See --sort.",
    ),
    ("before", "the rate of a flow until its first CNP, in the table of congestion: rate_before_bps."),
    (
        "after",
        "the rate of a flow from its first CNP to the last one, in the table of congestion: rate_after_bps.",
    ),
    (
        "signals",
        "what tells a receiver of one-sided traffic that data is there: atomics, WRITEs with immediate data, small WRITEs.",
    ),
    ("layer", "the headers of one protocol, and what they cost on the wire, in the table of overhead."),
    (
        "as captured",
        "the encapsulation that the packets have in the capture, beside others, in the table of overhead.",
    ),
    (
        "DSCP/PCP",
        "the DSCP of packets, and the priority of their VLAN tag: what decides in which queue they wait.",
    ),
    (
        "SL/VL",
        "the service level of packets, and the virtual lane of the link: what decides in which queue they wait.",
    ),
    (
        "events",
        "what happened in a part of the time, of a flow's picture in text: x retransmissions, ! NAKs, * marks or CNPs.",
    ),
    ("tap", "the place on the network where a capture was made."),
    ("ackreq", "the packet asks for an acknowledgement: bth.ack_req, the A bit of the BTH."),
    (
        "recovering from loss",
        "the former name of timeouts and retransmissions, of which not all are for losses.",
    ),
    ("RTO", "a retransmission timeout: see timeout."),
    (
        "repeated READ",
        "a READ request that came again, whole or from its middle: of its responses some were lost, or all came too late.",
    ),
    ("peer silent", "the finding peer.silent: a requester was answered before, and is not any more."),
];

/// Explains a name that is neither a header nor a field of one nor a figure. Returns false if nothing has it.
pub(super) fn of_other_tables(name: &str, to: &mut String) -> anyhow::Result<bool> {
    let is_note = || Problem::EXAMPLES.iter().any(|problem| name.ends_with(problem.id()));
    if let Some((words, about)) = IN_TEXT.iter().find(|(words, _)| words.eq_ignore_ascii_case(name)) {
        writeln!(to, "{words}: {about}")?;
    } else if FindingKind::by_id(name).is_some() {
        finding(name, to)?;
    } else if Opcode::from_name(name).is_some() {
        // Without a service, that of RC stands for all.
        opcode(name, to)?;
    } else if name.eq_ignore_ascii_case("nak") {
        syndromes(0x60..=0x64, to)?;
    } else if tables::all().any(|table| table.name == name) {
        table(name, to)?;
    } else {
        let (is_counter, is_in_report) = (of_hosts(name, to)?, in_report(name, to)?);
        let is_value = of_values(name, to)?;
        return Ok(is_counter
            || is_in_report
            || is_value
            || name.contains('.') && is_note() && note(name, to).is_ok());
    }
    Ok(true)
}

/// Each explanation once: what several things have in common stands below their names. An entry is a line, and the indented lines below it.
pub(super) fn once(text: &str) -> String {
    let mut entries: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        let is_more = line.starts_with(' ') || line.is_empty();
        match entries.last_mut() {
            Some((_, about)) if is_more => about.push(line),
            _ => entries.push((vec![line], Vec::new())),
        }
    }
    let mut told: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for (name, about) in entries {
        match told.iter_mut().find(|(_, known)| *known == about && !about.is_empty()) {
            Some((names, _)) => {
                names.extend(name.into_iter().filter(|one| !names.contains(one)).collect::<Vec<_>>())
            }
            None => told.push((name, about)),
        }
    }
    told.into_iter().flat_map(|(names, about)| names.into_iter().chain(about)).fold(
        String::new(),
        |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        },
    )
}

/// Explains the counters of hosts with this name, also where it is one of several that are added up. Returns false if there is none.
pub(super) fn of_hosts(name: &str, to: &mut String) -> Result<bool, std::fmt::Error> {
    let mut found = false;
    for counter in COUNTERS {
        if counter.name == name || counter.name.split('+').any(|part| part == name) {
            found = true;
            writeln!(
                to,
                "{}, a counter of {}: {}",
                counter.name,
                counter.vendor.name(),
                counter.fact.name()
            )?;
        }
    }
    Ok(found)
}

/// Explains the fields of `rdmawire counters --json` with this name, the values that fields of headers have, and the names of applications:
/// reports have these as text. Returns false if nothing has it.
pub(super) fn of_values(name: &str, to: &mut String) -> Result<bool, std::fmt::Error> {
    let same = |text: &str| !text.is_empty() && plain(text).eq(plain(name));
    let mut found = false;
    for (field, about) in OF_COUNTERS.iter().filter(|(field, _)| same(field)) {
        found = true;
        writeln!(to, "{field}, a field of rdmawire counters\n  {about}")?;
    }
    if let Some(vendor) = Vendor::ALL.into_iter().find(|one| same(one.name())) {
        found = true;
        writeln!(
            to,
            "{}, whose names the counters of hosts have: see rdmawire counters --vendor",
            vendor.name()
        )?;
    }
    if let Some(application) = Application::ALL.into_iter().find(|one| same(one.name())) {
        found = true;
        writeln!(
            to,
            "{}, an application: what a queue pair is for, by its set-up or its messages",
            application.name()
        )?;
    }
    for info in Kind::ALL.iter().filter_map(|kind| kind.info()) {
        for field in info.fields {
            let Show::Named(named) = field.show else { continue };
            let last = if field.width >= 16 { 0xffff } else { (1u64 << field.width) - 1 };
            for value in (0..=last).filter(|value| named(*value).is_some_and(same)) {
                found = true;
                let layer = info.kind.layer();
                writeln!(to, "{name}, {value:#x} of {layer}.{}\n  {}", field.name, field.doc.trim())?;
            }
        }
    }
    Ok(found)
}

/// What `rdmawire counters --json` has beside counters.
const OF_COUNTERS: [(&str, &str); 4] = [
    ("hosts", "The hosts of the capture, each with what its counters must have grown by."),
    ("host", "The host's address."),
    ("is_at_tap", "Whether the capture was made at this host."),
    ("counters", "Its counters, by the names of its vendor."),
];

/// A list that a command prints: the command, the title, and the columns with their meanings.
type Listed = (&'static str, &'static str, Vec<(&'static str, &'static str)>);

/// The lists that commands print.
fn lists() -> Vec<Listed> {
    let of = |command, lists: &[(&'static str, &[list::Column])]| {
        let columns = |columns: &[list::Column]| columns.iter().map(|one| (one.head, one.about)).collect();
        lists.iter().map(|(title, all)| (command, *title, columns(all))).collect::<Vec<_>>()
    };
    let mut all = vec![("connections", "Set-ups", text::setup_columns().collect())];
    all.extend(of("nvme", &nvme::LISTS));
    all.extend(of("commands", &commands::LISTS));
    all.extend(of("collectives", &collectives::LISTS));
    all.extend(of("fabric", &fabric::LISTS));
    all
}

/// Explains the lists that a command prints.
pub(super) fn lists_of(command: &str, to: &mut String) -> std::fmt::Result {
    for (_, title, columns) in lists().into_iter().filter(|(of, ..)| *of == command) {
        writeln!(to, "{title}, of rdmawire {command}:")?;
        columns.iter().try_for_each(|(head, about)| writeln!(to, "  {head}\n      {about}"))?;
    }
    in_report(command, to).map(|_| ())
}

/// Explains the columns of lists with this head: figures of flows, but for this one, which is explained by its name; and those that other
/// commands print. Returns false if there is none.
pub(super) fn of_heads(
    name: &str,
    explained: Option<&Figure>,
    to: &mut String,
) -> Result<bool, std::fmt::Error> {
    let mut found = false;
    let is_other = |figure: &&Figure| explained.is_none_or(|explained| explained.names != figure.names);
    // "ACK p99" is a part of what is called "ACK".
    let parts = ["min", "p50", "p99", "max"];
    let of_part =
        name.rsplit_once(' ').filter(|(_, part)| parts.contains(part)).map_or(name, |(label, _)| label);
    for figure in Figure::by_label(of_part).filter(is_other) {
        found = true;
        writeln!(to, "{}, a column of flows: {}\n  {}", figure.label, figure.names[0], figure.doc)?;
    }
    let label = name.trim_start_matches("· ");
    for Label { name, of, about } in LABELS.iter().filter(|one| one.name.eq_ignore_ascii_case(label)) {
        found = true;
        writeln!(to, "{name}, {of}\n  {about}")?;
    }
    for (title, [head, about]) in
        html::columns().into_iter().filter(|(_, [head, _])| head.eq_ignore_ascii_case(name))
    {
        found = true;
        writeln!(to, "{head}, a column of {title}\n  {about}")?;
    }
    for (command, title, columns) in lists() {
        for (head, about) in columns.into_iter().filter(|(head, _)| head.eq_ignore_ascii_case(name)) {
            found = true;
            writeln!(to, "{head}, a column of {title} in rdmawire {command}\n  {about}")?;
        }
    }
    Ok(found)
}

/// Explains the columns of tables with this name: `aeth_msn`, `ack_rtt_p99_ns`. Tables that say the same of one are named together. Returns
/// false if there is none.
pub(super) fn of_columns(name: &str, to: &mut String) -> Result<bool, std::fmt::Error> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for (table, _, doc) in columns().filter(|(_, column, _)| column == name) {
        match found.iter_mut().find(|(known, _)| *known == doc) {
            Some((_, tables)) => tables.push(table),
            None => found.push((doc, vec![table])),
        }
    }
    for (doc, tables) in &found {
        let word = plural(tables.len() as u64, "table");
        writeln!(to, "{name}, a column of the {word} {}\n  {doc}", tables.join(", "))?;
    }
    Ok(!found.is_empty())
}

/// The columns of all tables: the table, the name, and what it means.
pub(super) fn columns() -> impl Iterator<Item = (&'static str, String, String)> {
    tables::all().flat_map(|table| table.columns.into_iter().map(move |one| (table.name, one.name, one.doc)))
}

/// Explains the fields and words of the report with this name: `go_back_n`, `loss_count`, `requests.retransmits`. Returns false if there is none.
pub(super) fn in_report(name: &str, to: &mut String) -> Result<bool, std::fmt::Error> {
    let (record, field) = name.rsplit_once('.').map_or((None, name), |(record, field)| (Some(record), field));
    let same = |text: &str| plain(text).eq(plain(field));
    let mut found = false;
    for (document, schema) in documents() {
        for (of, definition) in definitions(&schema) {
            let is_asked = record.is_none_or(|record| is_of(&schema, &of, record));
            for (field, its) in definition["properties"].as_object().into_iter().flatten() {
                if is_asked && same(field) {
                    found = true;
                    writeln!(to, "{field}, a field of {document}: {of}\n  {}", text(its))?;
                    for (word, in_text, doc) in words_of(&schema, its) {
                        let word = in_text.map_or_else(|| word.to_owned(), |text| format!("{word} ({text})"));
                        writeln!(to, "  {word}: {doc}")?;
                    }
                }
            }
            for word in definition["oneOf"].as_array().into_iter().flatten() {
                let Some(name) = word["const"].as_str() else { continue };
                let in_text = word["title"].as_str();
                if record.is_none() && (same(name) || in_text.is_some_and(same)) {
                    found = true;
                    let name =
                        in_text.map_or_else(|| name.to_owned(), |in_text| format!("{in_text} ({name})"));
                    writeln!(to, "{name}, a word of {document}. {}\n  {}", text(&definition), text(word))?;
                }
            }
        }
    }
    Ok(found)
}

/// The forms of JSON whose fields have documentation, as schemas, and that they are of.
fn documents() -> [(&'static str, Value); 6] {
    [
        ("rdmawire diff", rdmawire::report::diff::schema()),
        ("rdmawire overhead", rdmawire::report::price::schema()),
        ("the report", schema()),
        ("rdmawire fabric", rdmawire::fabric::schema()),
        ("rdmawire nvme", rdmawire::nvme::schema()),
        ("rdmawire commands", rdmawire::commands::schema()),
    ]
}

/// The words that a field may have; none where its type is no vocabulary.
fn words_of<'a>(schema: &'a Value, its: &Value) -> Vec<(&'a str, Option<&'a str>, &'a str)> {
    let refers = |its: &Value| {
        let of = its["$ref"].as_str()?.strip_prefix("#/$defs/")?;
        schema["$defs"][of]["oneOf"].as_array()
    };
    let either = its["anyOf"].as_array().into_iter().flatten();
    let words = refers(its).or_else(|| either.chain([&its["items"]]).find_map(refers)).into_iter().flatten();
    words.filter_map(|word| Some((word["const"].as_str()?, word["title"].as_str(), text(word)))).collect()
}

/// The names of all fields and words of reports.
pub(super) fn of_report() -> impl Iterator<Item = String> {
    let all = documents().into_iter().flat_map(|(_, schema)| definitions(&schema));
    let names = all.flat_map(|(_, definition)| {
        let fields =
            definition["properties"].as_object().into_iter().flatten().map(|(field, _)| field.clone());
        let words = definition["oneOf"].as_array().into_iter().flatten();
        let words = words.filter_map(|word| word["const"].as_str().map(str::to_owned));
        fields.chain(words).collect::<Vec<_>>()
    });
    names.collect::<Vec<_>>().into_iter()
}

/// The report itself, and the types in it, each with its name.
fn definitions(schema: &Value) -> Vec<(String, Value)> {
    let types = schema["$defs"].as_object().into_iter().flatten();
    let types = types.map(|(name, definition)| (name.clone(), definition.clone()));
    std::iter::once(("Report".to_owned(), schema.clone())).chain(types).collect()
}

/// Whether a record may be named so: by its type, or by a field of this type.
fn is_of(schema: &Value, of: &str, record: &str) -> bool {
    let last = record.rsplit('.').next().unwrap_or(record);
    if plain(of).eq(plain(last)) {
        return true;
    }
    let points_to = |its: &Value| its.to_string().contains(&format!("#/$defs/{of}\""));
    definitions(schema).iter().any(|(_, definition)| {
        let fields = definition["properties"].as_object().into_iter().flatten();
        fields.into_iter().any(|(name, its)| plain(name).eq(plain(last)) && points_to(its))
    })
}

fn text(of: &Value) -> &str {
    of["description"].as_str().unwrap_or("")
}

/// Letters and digits, as names are compared: `go-back-n` is `go_back_n`.
fn plain(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase())
}
