//! The sections of a report beside its flows. Text and page walk one list, [`SECTIONS`](super::SECTIONS).

use std::io;

use super::{Head, View, text::Page, units::count};

/// A section: what it says, and what else is shown of it.
pub(super) struct Section {
    title: &'static str,
    says: fn(&Head) -> Vec<String>,
    /// Most sentences in text, and how others are called.
    most: (usize, fn(u64) -> String),
    below: fn(&View<'_>, &mut Page<'_>) -> io::Result<()>,
    pub(super) in_page: Option<InPage>,
}

/// What a page has of a section.
#[derive(Clone, Copy)]
pub(super) struct InPage {
    pub(super) title: &'static str,
    /// Name and caption of its table.
    pub(super) table: Option<(&'static str, &'static str)>,
    /// The table has all that the sentences say: they are shown if it is empty.
    pub(super) is_table_enough: bool,
}

impl Section {
    /// A section with this title, and what it says, a sentence each: where it says nothing, it is left out.
    pub(super) const fn new(title: &'static str, says: fn(&Head) -> Vec<String>) -> Section {
        let in_page = Some(InPage { title, table: None, is_table_enough: false });
        Section { title, says, most: (usize::MAX, count), below: |_, _| Ok(()), in_page }
    }

    /// Text has so many sentences at most. `others` says how many are left out.
    pub(super) const fn at_most(self, most: usize, others: fn(u64) -> String) -> Section {
        Section { most: (most, others), ..self }
    }

    /// What text has below the sentences.
    pub(super) const fn below(self, below: fn(&View<'_>, &mut Page<'_>) -> io::Result<()>) -> Section {
        Section { below, ..self }
    }

    /// It has no place among the sections of a page.
    pub(super) const fn only_in_text(self) -> Section {
        Section { in_page: None, ..self }
    }

    /// In a page, it has this title.
    pub(super) const fn titled(self, title: &'static str) -> Section {
        self.with(InPage { title, table: None, is_table_enough: false })
    }

    /// In a page, it has this table, with a caption, if there are rows.
    pub(super) const fn table(self, name: &'static str, caption: &'static str) -> Section {
        let title = match self.in_page {
            Some(InPage { title, .. }) => title,
            None => self.title,
        };
        self.with(InPage { title, table: Some((name, caption)), is_table_enough: false })
    }

    /// In a page, its table has all that the sentences say.
    pub(super) const fn table_instead(self, name: &'static str, caption: &'static str) -> Section {
        let Section { in_page: Some(InPage { title, .. }), .. } = self else { return self };
        self.with(InPage { title, table: Some((name, caption)), is_table_enough: true })
    }

    const fn with(self, in_page: InPage) -> Section {
        Section { in_page: Some(in_page), ..self }
    }

    /// What it says.
    pub(super) fn says(&self, head: &Head) -> Vec<String> {
        (self.says)(head)
    }

    /// Writes it as text.
    pub(super) fn write(&self, report: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
        let says = self.says(&report.head);
        let (most, others) = self.most;
        for (n, sentence) in says.iter().take(most).enumerate() {
            page.entry(if n == 0 { self.title } else { "" }, sentence)?;
        }
        if says.len() > most {
            page.line(&format!("  and {} (--json has them)", others((says.len() - most) as u64)))?;
        }
        (self.below)(report, page)
    }
}
