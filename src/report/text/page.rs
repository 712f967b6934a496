//! Output of text. All text goes through here, so that no name from a capture can control the terminal.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};

use super::Options;
use crate::{
    in_order::InOrder,
    report::{Severity, clean},
};

/// How text is painted, where the terminal has colours.
#[derive(Clone, Copy)]
pub(super) enum Paint {
    Plain,
    Heading,
    Error,
    Warning,
    Note,
}

impl Paint {
    fn code(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Heading => Some("1"),
            Paint::Error => Some("1;31"),
            Paint::Warning => Some("33"),
            Paint::Note => Some("36"),
        }
    }
}

impl From<Severity> for Paint {
    fn from(severity: Severity) -> Paint {
        match severity {
            Severity::Error => Paint::Error,
            Severity::Warning => Paint::Warning,
            _ => Paint::Note,
        }
    }
}

/// Where lines of text go.
pub(in crate::report) struct Page<'a> {
    out: &'a mut dyn Write,
    pub(super) width: usize,
    colour: bool,
}

impl Page<'_> {
    pub(super) fn new<'a>(out: &'a mut dyn Write, options: &Options) -> Page<'a> {
        Page { out, width: options.width.clamp(40, 400), colour: options.colour }
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    pub(super) fn heading(&mut self, text: &str) -> io::Result<()> {
        self.put(Paint::Heading, text, "")
    }

    /// Text under a title, or, without one, more of the text before.
    pub(in crate::report) fn entry(&mut self, title: &str, text: &str) -> io::Result<()> {
        self.wrapped(Paint::Heading, &format!("{title:<12}"), text)
    }

    /// A line, however long.
    pub(in crate::report) fn line(&mut self, text: &str) -> io::Result<()> {
        self.put(Paint::Plain, "", text)
    }

    /// Text in lines of the terminal's width, the first behind `lead`, which is painted, the others behind blanks.
    pub(super) fn wrapped(&mut self, paint: Paint, lead: &str, text: &str) -> io::Result<()> {
        let lead_width = lead.chars().count();
        let room = self.width.saturating_sub(lead_width).max(20);
        let blanks = " ".repeat(lead_width);
        let mut all = lines(&clean(text), room).into_iter();
        self.put(paint, lead, &all.next().unwrap_or_default())?;
        all.try_for_each(|line| self.put(Paint::Plain, &blanks, &line))
    }

    /// An empty table: columns by their heads, those in `left` aligned to the left.
    pub(super) fn table(&self, head: &[&str], left: &[usize]) -> Table {
        let mut table = comfy_table::Table::new();
        table.load_preset(presets::NOTHING);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(self.width.min(u16::MAX as usize) as u16);
        table.set_header(head.iter().copied());
        for (n, column) in table.column_iter_mut().enumerate() {
            column.set_padding((if n == 0 { 2 } else { 1 }, if n + 1 == head.len() { 0 } else { 1 }));
            if !left.contains(&n) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let longest = head.iter().map(|head| longest_word(head)).collect();
        Table { table, longest }
    }

    pub(super) fn put_table(&mut self, mut table: Table) -> io::Result<()> {
        table.keep_words_whole(self.width);
        table.table.lines().try_for_each(|line| self.line(&with_spaces(&line)))
    }

    fn put(&mut self, paint: Paint, lead: &str, text: &str) -> io::Result<()> {
        let (lead, text) = (clean(lead), clean(text));
        match paint.code().filter(|_| self.colour) {
            None => writeln!(self.out, "{}", format!("{lead}{text}").trim_end()),
            Some(code) => {
                let word = lead.trim();
                let (before, after) = lead.split_once(word).unwrap_or(("", ""));
                let line = format!("{before}\x1b[{code}m{word}\x1b[0m{after}{text}");
                writeln!(self.out, "{}", line.trim_end())
            }
        }
    }
}

pub(super) struct Table {
    table: comfy_table::Table,
    /// By column: characters of its longest word.
    longest: Vec<usize>,
}

impl Table {
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item: AsRef<str>>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| held_together(&clean(cell.as_ref()))).collect();
        for (longest, cell) in self.longest.iter_mut().zip(&cells) {
            *longest = (*longest).max(longest_word(cell));
        }
        self.table.add_row(cells);
    }

    /// An address or a number that is broken in two cannot be read: cells are broken between words, but for the longest words where not all
    /// of them fit beside each other.
    fn keep_words_whole(&mut self, width: usize) {
        // As the padding that each column gets.
        let last = self.longest.len().saturating_sub(1);
        let padding = |at: usize| if at == 0 { 2 } else { 1 } + usize::from(at != last);
        let mut order: Vec<usize> = (0..self.longest.len()).collect();
        order.order_by_key(|&at| self.longest[at]);
        // The least that is left to a column whose words may be broken.
        const LEAST: usize = 8;
        let mut room = width;
        for (nth, at) in order.into_iter().enumerate() {
            let needs = self.longest[at] + padding(at);
            let others = LEAST * (self.longest.len() - nth - 1);
            if needs + others > room {
                break;
            }
            room -= needs;
            let Some(column) = self.table.column_mut(at) else { continue };
            let least = needs.try_into().unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        }
    }
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0)
}

/// A text whose numbers and units a table does not part: no-break spaces are between them, which [`with_spaces`] takes back.
pub fn held_together(text: &str) -> String {
    let mut held = String::with_capacity(text.len());
    for (n, word) in text.split(' ').enumerate() {
        let is_unit = is_unit(word) && held.ends_with(|c: char| c.is_ascii_digit());
        if n > 0 {
            held.push(if is_unit { '\u{a0}' } else { ' ' });
        }
        held.push_str(word);
    }
    held
}

/// Lines of a table, with plain spaces.
pub fn with_spaces(line: &str) -> String {
    line.replace('\u{a0}', " ")
}

/// A text in lines of this many characters; a longer word has a line of its own, and a number and its unit are one word.
pub fn lines(text: &str, room: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in words(text) {
        match all.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => all.push(word),
        }
    }
    all
}

/// Whether a word, with what stands behind it, is a unit.
fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 19] = [
        "%", "ns", "µs", "ms", "s", "min", "h", "d", "ppm", "B", "kB", "MB", "GB", "TB", "bit/s", "kbit/s",
        "Mbit/s", "Gbit/s", "Tbit/s",
    ];
    UNITS.contains(&word.trim_end_matches([',', ';', ':', '.', ')']))
}

/// The words of a text, each number with its unit.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(number) if is_unit(word) && number.ends_with(|c: char| c.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}
