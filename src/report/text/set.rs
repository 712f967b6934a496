//! Several captures in a table.

use std::io::{self, Write};

use super::{
    Options,
    page::{Page, Paint},
    some,
};
use crate::report::{
    set::{Set, Totals, names},
    units::count,
};

/// A row a capture, and their sums.
pub fn write_set(set: &Set, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page::new(out, options);
    page.heading("All captures")?;
    let names = names(&set.summaries);
    if let Some(verdict) = &set.verdict {
        let severity = verdict.headline.severity;
        let name = names.get(verdict.capture).map_or("", String::as_str);
        page.wrapped(severity.into(), &format!("  {severity:<7}  "), &format!("{name}: {}", verdict.text()))?;
        if let Some(next) = verdict.next() {
            page.wrapped(Paint::Plain, "           -> ", next)?;
        }
    }
    let is_shown = |(name, sum): &(&str, u64)| *name == "packets" || *sum > 0;
    let total = set.total.columns();
    let shown: Vec<usize> = (0..total.len()).filter(|&at| is_shown(&total[at])).collect();
    let head = std::iter::once("file").chain(shown.iter().map(|&at| total[at].0)).collect::<Vec<_>>();
    let mut table = page.table(&head, &[0]);
    let mut row = |name: String, totals: &Totals| {
        let columns = totals.columns();
        let cells = shown.iter().map(|&at| match columns[at] {
            ("packets", n) => count(n),
            (_, n) => some(n),
        });
        table.row(std::iter::once(name).chain(cells.collect::<Vec<_>>()));
    };
    for (totals, name) in set.summaries.iter().zip(names) {
        row(name, totals);
    }
    row("together".to_owned(), &set.total);
    page.put_table(table)
}
