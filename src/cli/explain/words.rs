//! What `explain` finds by a name alone: findings, notes, operation codes, tables, and the words and fields of the report.

use std::fmt::Write as _;

use serde_json::Value;

use super::{finding, note, opcode, syndromes, table};
use rdmawire::{
    analyze::FindingKind,
    dissect::Problem,
    opcode::Opcode,
    report::{schema, table::Table},
};

/// Explains a name that is neither a header nor a field of one nor a figure. Returns false if nothing has it.
pub(super) fn of_other_tables(name: &str, to: &mut String) -> anyhow::Result<bool> {
    let is_note = || Problem::EXAMPLES.iter().any(|problem| name.ends_with(problem.id()));
    if FindingKind::by_id(name).is_some() {
        finding(name, to)?;
    } else if Opcode::from_name(name).is_some() {
        opcode(name, to)?;
    } else if name.eq_ignore_ascii_case("nak") {
        syndromes(0x60..=0x64, to)?;
    } else if Table::ALL.iter().any(|table| table.name() == name) {
        table(name, to)?;
    } else {
        return Ok(in_report(name, to)? || name.contains('.') && is_note() && note(name, to).is_ok());
    }
    Ok(true)
}

/// Explains the fields and words of the report with this name: `go_back_n`, `loss_count`, `requests.retransmits`. Returns false if there is none.
pub(super) fn in_report(name: &str, to: &mut String) -> Result<bool, std::fmt::Error> {
    let (record, field) = name.rsplit_once('.').map_or((None, name), |(record, field)| (Some(record), field));
    let same = |text: &str| plain(text).eq(plain(field));
    let mut found = false;
    for (of, definition) in definitions(&schema()) {
        let is_asked = record.is_none_or(|record| is_of(&of, record));
        for (field, its) in definition["properties"].as_object().into_iter().flatten() {
            if is_asked && same(field) {
                found = true;
                writeln!(to, "{field}, a field of the report: {of}\n  {}", text(its))?;
            }
        }
        for word in definition["oneOf"].as_array().into_iter().flatten() {
            let Some(name) = word["const"].as_str() else { continue };
            if record.is_none() && same(name) {
                found = true;
                writeln!(to, "{name}, a word of the report. {}\n  {}", text(&definition), text(word))?;
            }
        }
    }
    Ok(found)
}

/// The names of all fields and words of the report.
pub(super) fn of_report() -> impl Iterator<Item = String> {
    let names = definitions(&schema()).into_iter().flat_map(|(_, definition)| {
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
fn is_of(of: &str, record: &str) -> bool {
    let last = record.rsplit('.').next().unwrap_or(record);
    if plain(of).eq(plain(last)) {
        return true;
    }
    let points_to = |its: &Value| its.to_string().contains(&format!("#/$defs/{of}\""));
    definitions(&schema()).iter().any(|(_, definition)| {
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
