//! Chosen fields of frames as columns: tab-separated or CSV.

use std::fmt::{self, Write};

use super::{Frame, Info, Names, json, protocol, text, write_address};
use crate::{
    filter::{Context, FrameMeta, Name, Value},
    grammar::{did_you_mean, nearest},
    named,
    wire::Kind,
};

/// The separator of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Separator {
    /// A tab.
    #[default]
    #[cfg_attr(feature = "cli", value(name = "tsv"))]
    Tab,
    /// A comma; values that contain one are quoted (RFC 4180).
    #[cfg_attr(feature = "cli", value(name = "csv"))]
    Comma,
}

/// Columns of a table of frames.
#[derive(Clone, Debug)]
pub struct Columns {
    columns: Vec<(String, Column)>,
    separator: Separator,
}

#[derive(Clone, Debug)]
enum Column {
    Name(Name),
    Own(Own),
}

named! {
    /// Columns that are not names of filters.
    #[derive(Clone, Copy, Debug)]
    enum Own {
        Source "src",
        Destination "dst",
        Protocol "protocol",
        Info "info",
        Icrc "icrc",
        Epoch "frame.time_epoch",
    }
}

impl Columns {
    /// Columns by their names: every name that a filter knows, and `src`, `dst`, `protocol`, `info`, `icrc`.
    ///
    /// # Errors
    /// Says which name is not known, and which names are similar.
    pub fn parse<'a>(
        names: impl IntoIterator<Item = &'a str>,
        separator: Separator,
        of: Names,
    ) -> Result<Columns, String> {
        let mut columns = Vec::new();
        for name in names {
            let column = match Own::ALL.into_iter().find(|own| own.name() == name) {
                Some(own) => Column::Own(own),
                None => Column::Name(Name::parse(name).map_err(|_| {
                    let near = nearest(name, Name::all().chain(Own::ALL.map(|own| own.name().to_owned())));
                    let meant = did_you_mean(&near, "");
                    format!("there is no field named {name:?}{meant}")
                })?),
            };
            let title = match &column {
                Column::Name(name) if of == Names::Wireshark => {
                    name.wireshark().unwrap_or(name.as_str()).to_owned()
                }
                _ => name.to_owned(),
            };
            columns.push((title, column));
        }
        Ok(Columns { columns, separator })
    }

    /// Append the line with the names of the columns.
    pub fn head(&self, to: &mut String) {
        for (i, (title, _)) in self.columns.iter().enumerate() {
            self.between(i, to);
            to.push_str(title);
        }
        to.push('\n');
    }

    /// Append the frame's line. Several values of one name are separated by commas; a name without a value is empty.
    pub fn write(&self, frame: &Frame<'_>, to: &mut String) -> fmt::Result {
        let meta = FrameMeta { number: frame.number, time_ns: frame.time_ns, icrc: Some(frame.icrc) };
        let context = Context::new(frame.dissection, &meta);
        for (i, (_, column)) in self.columns.iter().enumerate() {
            self.between(i, to);
            let from = to.len();
            match column {
                Column::Own(own) => own.write(frame, to)?,
                Column::Name(name) => {
                    let mut result = Ok(());
                    name.any(&context, |value| {
                        if to.len() > from {
                            to.push(',');
                        }
                        result = write_value(&value, to);
                        result.is_err()
                    });
                    result?;
                }
            }
            self.quote(from, to);
        }
        to.push('\n');
        Ok(())
    }

    fn between(&self, i: usize, to: &mut String) {
        if i > 0 {
            to.push(if self.separator == Separator::Tab { '\t' } else { ',' });
        }
    }

    fn quote(&self, from: usize, to: &mut String) {
        if self.separator == Separator::Tab || !to.get(from..).is_some_and(|text| text.contains([',', '"'])) {
            return;
        }
        let text = to.split_off(from).replace('"', "\"\"");
        to.push('"');
        to.push_str(&text);
        to.push('"');
    }
}

impl Own {
    fn write(self, frame: &Frame<'_>, to: &mut String) -> fmt::Result {
        let d = frame.dissection;
        match self {
            Own::Source => write_address(d, 0, to),
            Own::Destination => write_address(d, 1, to),
            Own::Protocol => to.write_str(protocol(d)),
            Own::Info => Info::new(d, frame.icrc).write(to),
            Own::Icrc if !d.has(Kind::Bth) && !d.is_uet() => Ok(()),
            Own::Icrc if d.icrc().is_none() => to.write_str(json::state_without(frame).name()),
            Own::Icrc => to.write_str(frame.icrc.name()),
            Own::Epoch => text::seconds(to, frame.time_ns, 9),
        }
    }
}

fn write_value(value: &Value<'_>, to: &mut String) -> fmt::Result {
    match value {
        Value::Field(field, bytes) => json::value(field, bytes, "", to),
        Value::Number(n) => text::dec(to, *n),
        Value::Flag(set) => to.write_str(if *set { "true" } else { "false" }),
        Value::Note(note) => write!(to, "{}", note.id()),
    }
}
