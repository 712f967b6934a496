//! A list with a title, as commands print several of.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

use super::terminal;
use rdmawire::report::{clean, text, units::count};

/// A column of such a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) head: &'static str,
    /// Whether it is aligned to the right.
    is_number: bool,
    /// What it means, for `explain`.
    pub(super) about: &'static str,
}

/// A column of words.
pub(super) const fn words(head: &'static str, about: &'static str) -> Column {
    Column { head, is_number: false, about }
}

/// A column of numbers.
pub(super) const fn number(head: &'static str, about: &'static str) -> Column {
    Column { head, is_number: true, about }
}

/// Blanks around a cell.
const PADDING: usize = 2;

/// Writes the first `top` rows, all if that is 0, and how many are left out. Where not all columns fit beside each other, those that do not
/// stand below, behind what names the rows: a number or an address that is broken in two cannot be read.
pub(super) fn write(
    out: &mut impl Write,
    title: &str,
    columns: &[Column],
    rows: impl ExactSizeIterator<Item = Vec<String>>,
    top: usize,
) -> io::Result<()> {
    let most = if top == 0 { usize::MAX } else { top };
    let left_out = rows.len().saturating_sub(most);
    // Names in packets may steer a terminal.
    let held = |row: Vec<String>| row.iter().map(|cell| text::held_together(&clean(cell))).collect();
    let rows: Vec<Vec<String>> = rows.take(most).map(held).collect();
    let width = terminal::width();
    let widths: Vec<Widths> = (0..columns.len())
        .map(|at| Widths::of(columns[at].head, rows.iter().filter_map(|row| row.get(at)), width))
        .collect();
    write!(out, "\n{title}")?;
    for group in groups(columns, &widths, width) {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(width.try_into().unwrap_or(u16::MAX));
        table.set_header(group.iter().map(|&at| columns[at].head));
        for row in &rows {
            table.add_row(group.iter().map(|&at| row.get(at).map_or("", String::as_str)));
        }
        for (column, &at) in table.column_iter_mut().zip(&group) {
            if columns[at].is_number {
                column.set_cell_alignment(CellAlignment::Right);
            }
            let least = (widths[at].word + PADDING).try_into().unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
        }
        write!(out, "\n{}", text::with_spaces(&table.trim_fmt()))?;
    }
    writeln!(out)?;
    if left_out > 0 {
        writeln!(out, "  and {} more (--top 0 shows all)", count(left_out as u64))?;
    }
    Ok(())
}

/// Writes a sentence in lines as wide as the terminal, the first behind `lead`, the others behind blanks.
pub(super) fn say(out: &mut impl Write, lead: &str, sentence: &str) -> io::Result<()> {
    let room = terminal::width().saturating_sub(lead.len()).max(20);
    let mut lines = text::lines(&clean(sentence), room).into_iter();
    writeln!(out, "{lead}{}", lines.next().unwrap_or_default())?;
    lines.try_for_each(|line| writeln!(out, "{:1$}{line}", "", lead.len()))
}

/// How wide a column is.
struct Widths {
    /// Its longest word.
    word: usize,
    /// What it should have at least.
    wanted: usize,
}

impl Widths {
    /// Of cells under a head. Words that are longer than a name of a host or an address, or than half of the terminal, may be broken.
    fn of<'a>(head: &'a str, cells: impl Iterator<Item = &'a String>, terminal: usize) -> Widths {
        const LONGEST_WORD: usize = 40;
        const SENTENCE: usize = 24;
        let (mut word, mut cell) = (0, 0);
        for text in cells.map(String::as_str).chain([head]) {
            let lengths = text.split(' ').map(|word| word.chars().count());
            word = word.max(lengths.max().unwrap_or(0));
            cell = cell.max(text.chars().count());
        }
        let word = word.min(LONGEST_WORD).min(terminal / 2);
        Widths { word, wanted: word.max(cell.min(SENTENCE)) }
    }
}

/// The columns that stand beside each other. All groups begin with those that name a row: up to the last one of words among the first three.
fn groups(columns: &[Column], widths: &[Widths], terminal: usize) -> Vec<Vec<usize>> {
    let needs = |at: usize| widths[at].wanted + PADDING;
    let names = columns.iter().take(3).rposition(|column| !column.is_number).map_or(1, |at| at + 1);
    let mut names: Vec<usize> = (0..names).collect();
    while names.len() > 1 && names.iter().map(|&at| needs(at)).sum::<usize>() > terminal / 2 {
        names.pop();
    }
    let mut groups = vec![names.clone()];
    for at in names.len()..columns.len() {
        let used: usize = groups.last().map_or(0, |group| group.iter().map(|&at| needs(at)).sum());
        match groups.last_mut() {
            Some(group) if group.len() == names.len() || used + needs(at) <= terminal => group.push(at),
            _ => groups.push([&names[..], &[at]].concat()),
        }
    }
    groups
}
