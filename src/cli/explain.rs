//! `rdmawire explain`: headers, operation codes, syndromes, notes and findings, from the tables that are used.

mod sql;
mod tables;
mod words;

use std::{
    fmt::{Result as Written, Write as _},
    io::Write as _,
};

use anyhow::bail;
use clap::Args;
use serde_json::{Map, Value, json};

use super::Outcome;
use rdmawire::{
    analyze::{FINDINGS, FindingKind, Scope},
    dissect::Problem,
    filter::{ADDRESSES, Name, Pseudo, SHORT},
    gate::{Figure, Natural},
    grammar::{did_you_mean, nearest, print::several, units},
    opcode::{Direction, Opcode, PayloadRule, Position},
    report::{Renamed, SCHEMA},
    wire::{Bth, Field, Header, HeaderInfo, Kind, Show, Syndrome},
};
pub(super) use sql::views;

/// Explain anything that is printed: a header, a field, an operation code, a finding, a figure, a word of the report; or the language of filters or gates.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire explain bth.psn
  rdmawire explain loss.downstream
  rdmawire explain table flows --json")]
pub(super) struct Explain {
    /// Whatever an output prints: a header, a field, an operation code, a finding, a note, a figure, a table, a word or a field of the JSON;
    /// or a topic. Nothing lists all topics.
    #[arg(value_name = "NAME")]
    topic: Vec<String>,
    /// Of tables: names, types and meanings of the columns as JSON, to make a schema of another database.
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let text = self.text()?;
        std::io::stdout().lock().write_all(text.as_bytes())?;
        Ok(Outcome::Done)
    }

    fn text(&self) -> anyhow::Result<String> {
        let mut to = String::new();
        let words: Vec<&str> = self.topic.iter().map(String::as_str).collect();
        if self.json {
            tables_as_json(&words, &mut to)?;
            return Ok(to);
        }
        match words.as_slice() {
            [] => all(&mut to)?,
            ["opcode" | "opcodes"] => opcodes(&mut to)?,
            ["opcode", name @ ..] => opcode(&name.join(" "), &mut to)?,
            ["syndrome" | "syndromes"] => syndromes(0..=0x7f, &mut to)?,
            ["syndrome", value] => syndrome(value, &mut to)?,
            ["rnr"] => syndromes(0x20..=0x3f, &mut to)?,
            ["note" | "notes"] => notes(&mut to)?,
            ["note", id] => note(id, &mut to)?,
            ["finding" | "findings"] => findings(&mut to)?,
            ["finding", id] => finding(id, &mut to)?,
            ["filter" | "filters"] => filter(&mut to)?,
            ["gate" | "gates"] => gate(&mut to)?,
            ["schema"] => writeln!(to, "{:#}", rdmawire::report::schema())?,
            ["table" | "tables"] => tables(&mut to)?,
            #[cfg(feature = "parquet")]
            ["table" | "tables", "headers"] => headers(&mut to)?,
            ["table" | "tables", name] => table(name, &mut to)?,
            ["renamed"] => renamed(&mut to)?,
            ["sql", words @ ..] => sql::of(words, &mut to)?,
            ["qos"] => to.push_str(QOS),
            ["links"] => to.push_str(LINKS),
            [command @ ("nvme" | "commands" | "collectives" | "connections" | "fabric")] => {
                words::lists_of(command, &mut to)?
            }
            ["scenario" | "scenarios"] => to.push_str(rdmawire::sim::SCHEMA),
            names => {
                let name = names.join(" ");
                let is_old = formerly(&name, &mut to)?;
                match named(&name, &mut to) {
                    Err(_) if is_old => {}
                    found => found?,
                }
            }
        }
        Ok(to)
    }
}

fn all(to: &mut String) -> Written {
    to.push_str("Headers, in wire order: rdmawire explain NAME\n");
    let mut layers: Vec<(&str, Vec<&str>)> = Vec::new();
    for info in Kind::ALL.iter().filter_map(|kind| kind.info()) {
        match layers.iter_mut().find(|(layer, _)| *layer == info.kind.layer()) {
            Some((_, labels)) => labels.push(info.label),
            None => layers.push((info.kind.layer(), vec![info.label])),
        }
    }
    for (layer, labels) in layers {
        writeln!(to, "  {layer:14} {}", labels.join(", "))?;
    }
    to.push_str(
        "\nAlso:\n\
         \x20 opcode [CODE|NAME]    operation codes\n\
         \x20 syndrome [VALUE]      what an AETH says: ACK, RNR NAK, NAK\n\
         \x20 rnr                   RNR timers\n\
         \x20 note [ID]             what dissection remarks\n\
         \x20 finding [ID]          what an analysis finds: what it means, what to do\n\
         \x20 filter                the language of --filter, and all names in it\n\
         \x20 gate, FIGURE          the rules of `check`, and all figures; one of them\n\
         \x20 qos                   the map of priorities that --qos takes\n\
         \x20 links                 the links that --links takes: who is at their ends\n\
         \x20 scenario              the schema of scenario files\n\
         \x20 connections, nvme, commands, collectives, fabric\n\
         \x20                       the columns of these commands\n\
         \x20 schema                the JSON Schema of `analyze --json`\n\
         \x20 table [NAME]          the tables that --csv, --ndjson and --parquet write, and their columns\n\
         \x20 renamed               names of fields and columns that changed with the schema\n\
         \x20 sql [csv|parquet]     views of the tables of `analyze` for DuckDB: `rdmawire explain sql > load.sql`\n\
         \x20 sql clickhouse        statements that make these tables in ClickHouse\n\
         \x20 sql FORM COMMAND      the same for the tables of diff, nvme, commands or fabric\n\
         \x20 HEADER.FIELD          a single field, by our name or Wireshark's\n",
    );
    Ok(())
}

fn tables(to: &mut String) -> Written {
    for (command, all) in tables::by_command() {
        writeln!(to, "Of {command}:")?;
        for table in all {
            writeln!(to, "  {:22} {:3} columns  {}", table.name, table.columns.len(), table.doc)?;
        }
    }
    Ok(())
}

/// A table, or all of them: columns in their order.
fn tables_as_json(words: &[&str], to: &mut String) -> anyhow::Result<()> {
    let column = |one: &tables::Column| json!({ "name": one.name, "type": one.kind.name(), "doc": one.doc });
    let of = |table: &tables::Table| -> Value { table.columns.iter().map(column).collect() };
    match words {
        ["table" | "tables"] => {
            let all: Map<String, Value> =
                tables::all().map(|table| (table.name.to_owned(), of(&table))).collect();
            writeln!(to, "{:#}", Value::from(all))?;
        }
        ["table" | "tables", name] => writeln!(to, "{:#}", of(&tables::named(name)?))?,
        _ => bail!("--json: only tables are explained so: rdmawire explain table flows --json"),
    }
    Ok(())
}

/// The columns of an index.
#[cfg(feature = "parquet")]
fn headers(to: &mut String) -> Written {
    writeln!(to, "headers: A frame without payload: what `rdmawire index` writes.")?;
    for field in rdmawire::packets::header_schema().fields() {
        let doc = field.metadata().get("doc").map_or("", String::as_str);
        writeln!(to, "  {}  ({})\n      {doc}", field.name(), field.data_type().to_string().to_lowercase())?;
    }
    Ok(())
}

/// The columns of a table.
fn table(name: &str, to: &mut String) -> anyhow::Result<()> {
    let table = tables::named(name)?;
    writeln!(to, "{name}: {}", table.doc)?;
    for tables::Column { name, kind, doc } in &table.columns {
        writeln!(to, "  {name}  ({})\n      {doc}", kind.name())?;
    }
    Ok(())
}

/// What had another name before.
fn renamed(to: &mut String) -> Written {
    writeln!(to, "What {SCHEMA} calls by another name than the schema before it:")?;
    Renamed::ALL.iter().try_for_each(|one| of_renamed(one, to))
}

/// What became of a name of the schema before. Returns whether it was one.
fn formerly(name: &str, to: &mut String) -> Result<bool, std::fmt::Error> {
    let last = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let is_old = |one: &&Renamed| {
        one.before == name || one.before.split(", ").any(|before| before == name || last(before) == name)
    };
    let mut is_known = false;
    for one in Renamed::ALL.iter().filter(is_old) {
        if !std::mem::replace(&mut is_known, true) {
            writeln!(to, "{name}: a name of the schema before {SCHEMA}")?;
        }
        of_renamed(one, to)?;
    }
    Ok(is_known)
}

fn of_renamed(&Renamed { before, now, about }: &Renamed, to: &mut String) -> Written {
    writeln!(to, "  {before} is now {now}\n      {about}")
}

/// A header, a part of one, or a field.
fn named(name: &str, to: &mut String) -> anyhow::Result<()> {
    let plain = |s: &str| -> String {
        s.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let infos = || Kind::ALL.iter().filter_map(|kind| kind.info());
    let layer = match plain(name).as_str() {
        "eth" => "ethernet".to_owned(),
        "ip" => "ipv4".to_owned(),
        "pause" | "pfc" | "" => plain(name),
        plain => plain.to_owned(),
    };
    let mut found: Vec<_> = infos().filter(|info| plain(info.label) == layer).collect();
    if found.is_empty() {
        found = infos().filter(|info| plain(info.kind.layer()) == layer).collect();
    }
    if !found.is_empty() {
        for (i, info) in found.into_iter().enumerate() {
            if i > 0 {
                to.push('\n');
            }
            header(info, to)?;
        }
        return Ok(());
    }
    if let Some(pseudo) = Pseudo::ALL.iter().find(|pseudo| pseudo.name() == name) {
        writeln!(to, "{}:{}", pseudo.name(), pseudo.doc())?;
        return Ok(());
    }
    let fields: Vec<_> = infos()
        .flat_map(|info| info.fields.iter().map(move |field| (info, field)))
        .filter(|(info, field)| {
            field.wireshark == name
                || name.split_once('.') == Some((info.kind.layer(), field.name))
                || field.name == name
        })
        .collect();
    let is_field = !fields.is_empty();
    if is_field {
        for (info, field) in fields {
            let (first, last) = (field.bit, field.bit + field.width - 1);
            write!(to, "{}.{}: ", info.kind.layer(), field.name)?;
            match first == last {
                true => write!(to, "bit {first} of the {}", info.label)?,
                false => write!(to, "bits {first} to {last} of the {}", info.label)?,
            }
            writeln!(to, "\n {}", field.doc)?;
            if !field.wireshark.is_empty() {
                writeln!(to, "  Wireshark: {}", field.wireshark)?;
            }
            values(field, to)?;
        }
        if name.contains('.') {
            return Ok(());
        }
    }
    let mut of_words = String::new();
    let found = by_words(name, is_field, &mut of_words);
    to.push_str(&words::once(&of_words));
    found
}

/// What has this name beside headers and fields.
fn by_words(name: &str, is_field: bool, to: &mut String) -> anyhow::Result<()> {
    let addresses = ADDRESSES.iter().map(|&(short, _, of)| (short, of));
    if let Some((short, of)) = SHORT.into_iter().chain(addresses).find(|(short, _)| *short == name) {
        writeln!(to, "{short}, in filters: short for {of}")?;
    }
    let figure = Figure::by_name(name);
    if let Some(figure) = figure {
        of_figure(figure, to)?;
    }
    let is_head = words::of_heads(name, figure, to)?;
    if is_field || figure.is_some() {
        words::in_report(name, to)?;
        return Ok(());
    }
    if words::of_other_tables(name, to)? || is_head || words::of_columns(name, to)? {
        return Ok(());
    }
    let topics = [
        "opcode",
        "syndrome",
        "rnr",
        "note",
        "finding",
        "filter",
        "gate",
        "schema",
        "qos",
        "links",
        "scenario",
        "table",
        "renamed",
        "sql",
        "nvme",
        "commands",
        "collectives",
        "fabric",
        "connections",
    ]
    .map(str::to_owned);
    let figures = Figure::ALL.iter().map(|figure| figure.names[0].to_owned());
    let findings = FINDINGS.iter().map(|kind| kind.id.to_owned());
    let columns = words::columns().map(|(_, column, _)| column);
    let near = nearest(
        name,
        Name::all().chain(topics).chain(figures).chain(findings).chain(words::of_report()).chain(columns),
    );
    let or = did_you_mean(&near, "; `rdmawire explain` lists all there is");
    bail!("explain: nothing is named {name:?}{or}")
}

fn header(info: &HeaderInfo, to: &mut String) -> Written {
    writeln!(to, "{} ({}), {}", info.label, info.kind.layer(), several(info.len as u64, "byte"))?;
    for line in info.doc.lines().filter(|line| !line.trim_start().starts_with("```")) {
        writeln!(to, "{}", line.trim_end())?;
    }
    to.push('\n');
    let longest = |of: fn(&Field) -> &str, least| {
        info.fields.iter().map(|field| of(field).len()).max().unwrap_or(0).max(least)
    };
    let (name, wireshark) = (longest(|field| field.name, 5), longest(|field| field.wireshark, 9));
    writeln!(to, "  bit  bits  {:name$}  {:wireshark$}  meaning", "field", "Wireshark")?;
    for field in info.fields {
        let (bit, bits, doc) = (field.bit, field.width, field.doc.trim());
        writeln!(to, "{bit:5} {bits:5}  {:name$}  {:wireshark$}  {doc}", field.name, field.wireshark)?;
    }
    Ok(())
}

/// The values of a field that have names, if they are few.
fn values(field: &Field, to: &mut String) -> Written {
    let Show::Named(name) = field.show else { return Ok(()) };
    let last = if field.width >= 16 { 0xffff } else { (1u64 << field.width) - 1 };
    for value in 0..=last {
        if let Some(name) = name(value) {
            writeln!(to, "  {value:#06x}  {name}")?;
        }
    }
    Ok(())
}

fn opcodes(to: &mut String) -> Written {
    for &opcode in Opcode::ALL {
        let headers: Vec<_> = opcode.chain().iter().map(|kind| kind.label()).collect();
        writeln!(to, "{:#04x}  {:34} {}", opcode.code, opcode.name().unwrap_or(""), headers.join(", "))?;
    }
    Ok(())
}

fn opcode(name: &str, to: &mut String) -> anyhow::Result<()> {
    let Some(opcode) = Opcode::from_name(name) else {
        let names = Opcode::ALL.iter().filter_map(|op| op.ident()).map(cli_name);
        let near = nearest(&name.replace([' ', '_'], "-"), names);
        let or = did_you_mean(&near, "; `rdmawire explain opcode` lists all");
        bail!("explain: no operation code is named {name:?}{or}");
    };
    let service = opcode.service().name();
    let (Some(label), Some(ident)) = (opcode.name(), opcode.ident()) else {
        writeln!(
            to,
            "{:#04x}: not assigned; its upper three bits are those of service {service}",
            opcode.code
        )?;
        return Ok(());
    };
    writeln!(to, "{:#04x}  {label}  ({})", opcode.code, cli_name(ident))?;
    let reliable =
        if opcode.service().is_reliable() { "acknowledged and retransmitted" } else { "not acknowledged" };
    writeln!(to, "  service    {service}, {reliable}")?;
    let position = match opcode.position() {
        Position::First => "first packet of several",
        Position::Middle => "neither first nor last packet",
        Position::Last => "last packet of several",
        Position::Only => "the whole message",
    };
    writeln!(to, "  position   {position}")?;
    let direction = match (opcode.is_cnp(), opcode.direction()) {
        (true, _) => "from the receiver of marked packets to their sender; it has no PSN",
        (_, Direction::Request) => "request: numbered in the requester's PSN space",
        (_, Direction::Response) => "response: carries the PSNs of the request it answers",
    };
    writeln!(to, "  direction  {direction}")?;
    writeln!(to, "  headers    +0   {}, {} bytes", Bth::NAME, Bth::LEN)?;
    let mut at = Bth::LEN;
    for info in opcode.chain().iter().filter_map(|kind| kind.info()) {
        writeln!(to, "             +{at:<3} {}, {} bytes", info.label, info.len)?;
        at += info.len;
    }
    let payload = match opcode.payload_rule() {
        PayloadRule::Full => "exactly the path MTU",
        PayloadRule::Some => "one byte to the path MTU, padded to a multiple of four",
        PayloadRule::Any => "none to the path MTU, padded to a multiple of four",
        PayloadRule::None => "none",
        PayloadRule::Eight => "eight bytes",
    };
    writeln!(to, "  payload    +{at:<3} {payload}")?;
    Ok(())
}

fn cli_name(ident: &str) -> String {
    ident.to_ascii_lowercase().replace('_', "-")
}

fn syndrome(text: &str, to: &mut String) -> anyhow::Result<()> {
    let value = units::integer(text).ok().and_then(|value| u8::try_from(value).ok());
    let Some(value) = value else {
        bail!("explain: a syndrome is a number from 0 to 255, like 0x60; not {text:?}")
    };
    let syndrome = Syndrome(value);
    let (kind, code) = (value >> 5 & 3, value & 0x1f);
    writeln!(to, "{value:#04x}  {}", syndrome.meaning())?;
    let types = [
        "ACK, the value is a credit code",
        "RNR NAK, the value is a timer code",
        "reserved",
        "NAK, the value is its code",
    ];
    let reserved = if value & 0x80 != 0 { "set, against the rules" } else { "reserved" };
    writeln!(to, "  {}... ....  {reserved}", value >> 7)?;
    writeln!(to, "  .{kind:02b}. ....  type {kind}: {}", types[kind as usize & 3])?;
    writeln!(to, "  ...{} {:04b}  value {code}", code >> 4, code & 0xf)?;
    Ok(())
}

fn syndromes(range: std::ops::RangeInclusive<u8>, to: &mut String) -> Written {
    for value in range.filter(|value| !matches!(value >> 5, 2) && !(0x65..=0x7f).contains(value)) {
        writeln!(to, "{value:#04x}  {}", Syndrome(value).meaning())?;
    }
    Ok(())
}

fn notes(to: &mut String) -> Written {
    to.push_str("A note's id is the layer's name, a dot, and one of:\n");
    for problem in Problem::EXAMPLES {
        writeln!(to, "  {:10} {:8} {}", problem.id(), problem.severity().name(), problem.doc())?;
    }
    Ok(())
}

fn note(id: &str, to: &mut String) -> anyhow::Result<()> {
    let (layer, problem) = id.rsplit_once('.').unwrap_or(("", id));
    let Some(found) = Problem::EXAMPLES.iter().find(|example| example.id() == problem) else {
        let near = nearest(problem, Problem::EXAMPLES.iter().map(|example| example.id().to_owned()));
        let or = did_you_mean(&near, "; `rdmawire explain note` lists all");
        bail!("explain: no note has the id {id:?}{or}");
    };
    let kind = Kind::ALL.iter().find(|kind| kind.layer() == layer);
    if !layer.is_empty() && kind.is_none() {
        let near = nearest(layer, Kind::ALL.iter().map(|kind| kind.layer().to_owned()));
        bail!("explain: no layer is named {layer:?}{}", did_you_mean(&near, ""));
    }
    writeln!(to, "{id} ({})\n  {}", found.severity().name(), found.doc())?;
    if let Some(kind) = kind {
        writeln!(to, "  About: {}", kind.label())?;
    }
    Ok(())
}

fn findings(to: &mut String) -> Written {
    to.push_str("What an analysis finds, most serious first: rdmawire explain finding ID\n");
    for kind in FINDINGS {
        writeln!(to, "  {:23} {:8} {}", kind.id, kind.severity.name(), kind.doc)?;
    }
    Ok(())
}

fn finding(id: &str, to: &mut String) -> anyhow::Result<()> {
    let Some(kind) = FindingKind::by_id(id) else {
        let near = nearest(id, FINDINGS.iter().map(|kind| kind.id.to_owned()));
        let or = did_you_mean(&near, "; `rdmawire explain finding` lists all");
        bail!("explain: no finding has the id {id:?}{or}");
    };
    writeln!(to, "{} ({})\n  {}", kind.id, kind.severity.name(), kind.doc)?;
    let scope = match kind.scope {
        Scope::Capture => "the capture as a whole",
        Scope::FlowsInTrouble => {
            "flows in trouble: corrupt, lost, late, retransmitted, refused or marked packets"
        }
        _ => "every flow",
    };
    writeln!(to, "  Looked for in: {scope}")?;
    for need in kind.needs {
        writeln!(to, "  Needs: {}", need.doc())?;
    }
    writeln!(to, "  What to do: {}", kind.next)?;
    Ok(())
}

fn filter(to: &mut String) -> Written {
    to.push_str(
        "\
Which frames:
  reth                                    the frame has this header
  aeth.nak                                the flag is set
  deth.src_qp                             the frame has this field
  bth.psn >= 7                            == != < <= > >=, or eq ne lt le gt ge
  bth.opcode == rc-write-only             operation codes and other named values, by name or number
  bth.opcode in {rc-send-only, 6..0x0b}   values and ranges, both ends included
  ip.src == 10.0.0.0/8                    addresses, with or without a prefix
  note == bth.opcode                      a note by its id
  !icrc.good && (cnp || ecn == CE)        ! && ||, or not and or; parentheses

Each frame is judged by itself: UDP on the port of RoCE that is something else has a BTH, and a wrong ICRC, too.
A name that a frame has several times matches if any of them does; != asks that there is one and none is equal.
Wireshark's names are understood too: infiniband.bth.psn, ip.addr, udp.port.

Short for others:
",
    );
    let addresses = ADDRESSES.iter().map(|&(short, _, of)| (short, of));
    for (short, of) in SHORT.into_iter().chain(addresses) {
        writeln!(to, "  {short:20} {of}")?;
    }
    to.push_str("\nWorked out from the frame:\n");
    for pseudo in Pseudo::ALL {
        writeln!(to, "  {:20}{}", pseudo.name(), pseudo.doc())?;
    }
    to.push_str("\nFields:\n");
    for info in Kind::ALL.iter().filter_map(|kind| kind.info()) {
        for field in info.fields {
            let name = format!("{}.{}", info.kind.layer(), field.name);
            writeln!(to, "  {name:38} {}", field.doc.trim())?;
        }
    }
    Ok(())
}

fn gate(to: &mut String) -> Written {
    to.push_str(
        "\
A rule compares figures. A figure stands for all rows of its kind: flows, connections, pauses.
  retransmits == 0                        the sum, the largest or the smallest: see \"rows\" below
  max(ack_rtt.p99) < 10us                 sum, max, min, p50, p99 over the rows
  count(timeouts > 0) <= 3                how many rows
  any(ce > 0)  all(losses == 0)  none(…)  whether rows do; they may compare figures: ack_rx != ack_tx
  … where dscp in [26, 46]                only these rows: == != < <= > >=, in, not in, ranges 5..9
  && || !, or and or not; parentheses
  retransmits <= +5%  goodput >= -3%      of an earlier report: `rdmawire diff-report`

A capture may bound a figure only. Where the bounds do not decide, the rule is unknown; so it is where there is no such row.

",
    );
    let mut scope = None;
    for figure in Figure::ALL {
        if scope != Some(figure.scope()) {
            scope = Some(figure.scope());
            writeln!(to, "Of {}:", figure.scope().name())?;
        }
        let parts =
            if figure.parts().is_empty() { String::new() } else { format!(".{}", figure.parts().join("|")) };
        let names = format!("{}{parts}", figure.names.join(", "));
        writeln!(to, "  {names:27} {:6} {:11} {}", rows(figure), figure.unit.example(), figure.doc)?;
    }
    Ok(())
}

/// What many rows become where a rule does not say it.
fn rows(figure: &Figure) -> &'static str {
    match figure.natural {
        Natural::Sum => "sum",
        Natural::Max => "max",
        Natural::Min => "min",
        Natural::Choice => "choice",
    }
}

/// A figure by itself.
fn of_figure(figure: &Figure, to: &mut String) -> Written {
    writeln!(to, "{}, of {}", figure.names.join(", "), figure.scope().name())?;
    writeln!(to, "  {}", figure.doc)?;
    writeln!(to, "  Values: {}", figure.unit.example())?;
    if !figure.parts().is_empty() {
        writeln!(to, "  Parts: {}", figure.parts().join(", "))?;
    }
    writeln!(to, "  Of several rows: {}", rows(figure))?;
    writeln!(to, "  In a rule: {}", figure.example())
}

/// What `explain qos` prints.
const QOS: &str = "\
A map of priorities is a TOML file: analyze --qos map.toml. Everything may be left out.

trust = \"dscp\"    # the field that gives the priority: \"dscp\", or \"pcp\" (of frames with a VLAN tag)
pfc = [3]         # the priorities with PFC
cnp = 6           # the priority of CNPs
ack = 3           # the priority of ACKs, where it is not that of the data
[dscp]            # priorities of DSCPs; others: DSCP / 8
26 = 3
[pcp]             # priorities of PCPs; others: the PCP itself
4 = 3

With it, findings tell which traffic is in the wrong class: see `rdmawire explain finding class.no_pfc`, class.several, class.disagree, class.cnp,
class.ack.
";

/// What `explain links` prints.
const LINKS: &str = "\
The links that were captured are a TOML file: analyze --links links.toml, with several interfaces in one file, or several files and --merge.

[[link]]                # a link; there are as many of these tables as links
tap = \"eth2\"            # the interface that captured it: its name, its number, or its file (leaf1.pcap, or leaf1);
                        # a list, as [\"rx0\", \"tx0\"], where each direction has its own
a = { device = \"leaf1\", port = \"Ethernet4\", mac = \"02:00:00:00:01:04\" }
b = { device = \"gpu7\" }  # port may be left out; so may the mac of one end: frames that the other end did not send are from this one
[device.gpu7]           # devices that are not listed are switches
kind = \"host\"           # \"host\" or \"switch\": a host propagates no pause
address = \"10.0.0.7\"    # of a host, or a list

mac is the source address of the pause frames of that end, or a list of such. LLDP in the capture names the ends of the links that the
file does not have, and their addresses.

With it, the report tells who paused whom (pause_tree, and the table pause_tree): from a victim back to the device at which it began.
See `rdmawire explain finding pause.culprit`, pause.deadlock, pause.host_storm.
";
