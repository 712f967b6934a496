//! The analysis of an index: rows of headers instead of captures.

use std::{path::Path, sync::atomic::Ordering};

use super::run::{Input, Run};
use crate::cli::{
    input::{Progress, STOP, ended_after},
    say,
    signals::is_stopped,
};
use rdmawire::{
    analyze::{Analysis, Files},
    capture::Time,
    grammar::print::first_and_more,
    packets::IndexReader,
    report::CaptureProblem,
};

/// Opens the index of a tap; prints the error if that fails.
pub(super) fn open(dir: &Path) -> Option<IndexReader> {
    IndexReader::open(dir).inspect_err(|error| say(format_args!("{}: {error}", dir.display()))).ok()
}

impl Input for IndexReader {
    fn name(&self) -> String {
        let names = self.names();
        first_and_more(names.first().copied().unwrap_or_default(), names.len())
    }

    fn first_time(&self) -> Option<Time> {
        // Files that the state has are passed over.
        None
    }

    fn has_end(&self) -> bool {
        true
    }

    fn feed(mut self, _: &Run, analysis: &mut Analysis) -> (Files, bool) {
        // Where the analysis goes on from a state, the directory still has the files of earlier runs.
        let passed = self.pass_over(analysis.files());
        if passed > 0 {
            let unseen = self.names().len();
            say(format_args!("the state has {passed} of the index's files; {unseen} are new"));
        }
        let name = self.name();
        let mut progress = Progress::of_rows(self.rows());
        let (files, is_all) = self.analyze(analysis, |rows| {
            progress.show(rows);
            !STOP.load(Ordering::Relaxed)
        });
        progress.clear();
        if is_stopped() {
            say(format_args!("{name}: {}", ended_after(analysis.frames())));
            let problem = CaptureProblem::new(name, 0, ended_after(analysis.frames()));
            return (Files { problems: [files.problems, vec![problem]].concat(), ..files }, false);
        }
        for problem in &files.problems {
            say(format_args!("warning: {}: {}", problem.file, problem.what));
        }
        (files, is_all)
    }
}
