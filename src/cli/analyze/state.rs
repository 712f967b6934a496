//! `analyze --state-in` and `--state-out`: one analysis in several runs.

use std::{
    fs::File,
    io::{self, BufReader},
    path::Path,
};

use anyhow::{Context as _, anyhow, bail};

use super::Analyze;
use rdmawire::{
    analyze::{Analysis, Ended, Files, StateError, is_state, metric::timeline::Timeline},
    capture::WholeFile,
};

impl Analyze {
    /// Finds out what is wrong with the files before the long work.
    pub(super) fn check_states(&self) -> anyhow::Result<()> {
        let flag = match (&self.state_in, &self.state_out) {
            (Some(_), _) => "--state-in",
            (None, Some(_)) => "--state-out",
            (None, None) => return Ok(()),
        };
        if self.messages {
            bail!("{flag}: a state file has no messages: --messages needs all captures in one run");
        }
        if !self.is_one() {
            bail!("{flag}: a state file belongs to one trace: use --merge to join several files");
        }
        self.state_out.as_deref().map_or(Ok(()), |path| begin_to_write(path).map(drop))
    }

    /// An analysis without frames, or one that goes on; with what pictures need, where they are asked for.
    pub(super) fn begin(&self) -> anyhow::Result<Analysis> {
        let Some(path) = &self.state_in else {
            return Ok(match self.has_pictures() {
                true => Analysis::with(self.options(), self.timeline()),
                false => Analysis::new(self.options()),
            });
        };
        let named = || format!("--state-in: {}", path.display());
        let file = BufReader::new(File::open(path).with_context(named)?);
        let resumed = match self.has_pictures() {
            true => Analysis::resume_with::<Timeline>(self.options(), file),
            false => Analysis::resume(self.options(), file),
        };
        resumed.map_err(|error| match error {
            StateError::Metric { .. } if self.has_pictures() => anyhow!(
                "{}: it has nothing for pictures: the earlier run was without --html, --perfetto and --flow",
                named()
            ),
            StateError::Metric { .. } => anyhow!(
                "{}: it is for pictures: give --html, --perfetto or --flow, as the earlier run did",
                named()
            ),
            error => anyhow!("{}: {error}", named()),
        })
    }

    /// Ends an analysis, after its state is written.
    pub(super) fn end(&self, mut analysis: Analysis, files: Files) -> anyhow::Result<Ended> {
        analysis.add_files(files);
        if let Some(path) = &self.state_out {
            let mut file = begin_to_write(path)?;
            let saved = match self.has_pictures() {
                true => analysis.save_with::<Timeline>(&mut file),
                false => analysis.save(&mut file),
            };
            saved.and_then(|()| file.keep()).with_context(|| format!("--state-out: {}", path.display()))?;
        }
        Ok(analysis.end())
    }
}

/// Replaces a state, but no other file: a capture's name may stand there by mistake.
fn begin_to_write(path: &Path) -> anyhow::Result<WholeFile> {
    let named = || format!("--state-out: {}", path.display());
    let replaced = std::fs::metadata(path).ok().filter(|known| known.is_file() && known.len() > 0);
    if replaced.is_some() && !is_state(File::open(path).with_context(named)?) {
        bail!("{}: it exists, and is not the state of an analysis", named());
    }
    WholeFile::create(path, true).map_err(|error: io::Error| anyhow!("{}: {error}", named()))
}
