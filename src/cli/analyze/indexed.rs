//! The analysis of an index: rows of headers instead of captures.

use std::{
    path::Path,
    sync::{Mutex, atomic::Ordering},
};

use anyhow::bail;

use super::{Analyze, Done, Printer};
use crate::cli::{
    input::{Progress, STOP},
    say,
};
use rdmawire::{
    analyze::{Analysis, Files},
    packets::IndexReader,
};

impl Analyze {
    /// Options that need frames.
    pub(super) fn check_index(&self, dir: &Path) -> anyhow::Result<()> {
        let dir = dir.display();
        match self {
            Analyze { merge: true, .. } => {
                bail!("{dir}: an index has all files of a tap, so there is nothing to --merge")
            }
            Analyze { every: Some(_), .. } => bail!("{dir}: --every is for captures, not for an index"),
            _ if self.tracking.filter()?.is_some() => {
                bail!("{dir}: --filter is for captures; an index has headers only")
            }
            _ => Ok(()),
        }
    }

    /// Analyzes the index of a tap. Returns what [`file`](Self::file) returns.
    pub(super) fn indexed(
        &self,
        dir: &Path,
        printer: &Mutex<Printer<'_>>,
    ) -> anyhow::Result<(Option<Done>, bool)> {
        let index = match IndexReader::open(dir) {
            Ok(index) => index,
            Err(error) => {
                say(format_args!("{}: {error}", dir.display()));
                return Ok((None, false));
            }
        };
        let name = index.names().join(",");
        let (done, is_all) = self.analyze(&name, printer, |analysis| feed(index, analysis))?;
        Ok((Some(done), is_all))
    }
}

/// Passes all rows to an analysis. Returns what is known of the files, and whether all of them could be read.
fn feed(mut index: IndexReader, analysis: &mut Analysis) -> (Files, bool) {
    // Where the analysis goes on from a state, the directory still has the files of earlier runs.
    let passed = index.pass_over(&analysis.files().names);
    if passed > 0 {
        let unseen = index.names().len();
        say(format_args!("the state has {passed} of the index's files; {unseen} are new"));
    }
    let mut progress = Progress::of_rows(index.rows());
    let (files, is_all) = index.analyze(analysis, |rows| {
        progress.show(rows);
        !STOP.load(Ordering::Relaxed)
    });
    progress.clear();
    for problem in &files.problems {
        say(format_args!("warning: {}: {}", problem.file, problem.what));
    }
    (files, is_all)
}
