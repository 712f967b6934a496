//! Several captures in a table.

use std::io::{self, Write};

use super::{Options, page::Page, some};
use crate::report::{
    set::{Set, Totals},
    units::count,
};

/// A row a capture, and their sums.
pub fn write_set(set: &Set, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let page = &mut Page::new(out, options);
    page.heading("All captures")?;
    type Column = (&'static str, fn(&Totals) -> u64);
    let columns: [Column; 11] = [
        ("packets", |t| t.packets),
        ("RDMA", |t| t.rdma_packets),
        ("flows", |t| t.flows),
        ("resent", |t| t.retransmits),
        ("late", |t| t.out_of_order),
        ("NAK", |t| t.naks),
        ("RNR", |t| t.rnr_naks),
        ("timeouts", |t| t.timeouts),
        ("CNP", |t| t.cnps),
        ("CE", |t| t.ce_packets),
        ("damage", |t| t.problems),
    ];
    let shown: Vec<&Column> =
        columns.iter().filter(|(name, of)| of(&set.total) > 0 || *name == "packets").collect();
    let mut head = vec!["file"];
    head.extend(shown.iter().map(|(name, _)| *name));
    let mut table = page.table(&head, &[0]);
    let mut row = |name: String, totals: &Totals| {
        let cells = shown.iter().map(|(name, of)| match *name {
            "packets" => count(of(totals)),
            _ => some(of(totals)),
        });
        table.row(std::iter::once(name).chain(cells.collect::<Vec<_>>()));
    };
    for totals in &set.summaries {
        row(totals.files.join(", "), totals);
    }
    row("together".to_owned(), &set.total);
    page.put_table(&table)
}
