//! `analyze --state-in` and `--state-out`: one analysis in several runs.

use std::{
    fs::File,
    io::BufReader,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;

use crate::cli::{
    output::{self, Kind, OutFile},
    say,
};
use rdmawire::analyze::{Analysis, Ended, Files, Options, StateError, metric::timeline::Timeline};

/// Where an analysis goes on from, and where its state is written.
#[derive(Debug, Args)]
pub(super) struct State {
    /// Go on from the state that an earlier run wrote: the report covers its captures too, as if they had been analyzed together.
    #[arg(long, value_name = "FILE")]
    state_in: Option<PathBuf>,
    /// Write the state after the last frame, for --state-in of the next run. It may be the same file.
    #[arg(long, value_name = "FILE")]
    state_out: Option<PathBuf>,
    /// The file of `state_out`, once it is begun.
    #[arg(skip)]
    file: Mutex<Option<OutFile>>,
}

impl State {
    /// Whether the analysis goes on from an earlier one.
    pub(super) fn goes_on(&self) -> bool {
        self.state_in.is_some()
    }

    /// Finds out what is wrong with the files before the long work.
    pub(super) fn check(&self, is_one: bool, has_messages: bool, force: bool) -> anyhow::Result<()> {
        let flag = match (&self.state_in, &self.state_out) {
            (Some(_), _) => "--state-in",
            (None, Some(_)) => "--state-out",
            (None, None) => return Ok(()),
        };
        if has_messages {
            bail!("{flag}: a state file has no messages: --messages needs all captures in one run");
        }
        if !is_one {
            bail!("{flag}: a state file belongs to one trace: use --merge to join several files");
        }
        if let Some(path) = &self.state_out {
            let file = output::create(path, Kind::State, force).context("--state-out")?;
            *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        }
        Ok(())
    }

    /// An analysis without frames, or one that goes on; with what pictures need, where they are asked for.
    pub(super) fn begin(&self, options: Options, timeline: Option<Timeline>) -> anyhow::Result<Analysis> {
        let has_pictures = timeline.is_some();
        let Some(path) = &self.state_in else {
            return Ok(match timeline {
                Some(timeline) => Analysis::with(options, timeline),
                None => Analysis::new(options),
            });
        };
        let named = || format!("--state-in: {}", path.display());
        let file = BufReader::new(File::open(path).with_context(named)?);
        let resumed = match has_pictures {
            true => Analysis::resume_with::<Timeline>(options, file),
            false => Analysis::resume(options, file),
        };
        resumed.map_err(|error| match error {
            StateError::Metric { .. } if has_pictures => anyhow!(
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

    /// Ends an analysis, after its state is written. A state with a part of a file is not: who reads the file again would count that part
    /// twice.
    pub(super) fn end(
        &self,
        mut analysis: Analysis,
        files: Files,
        has_pictures: bool,
        is_part: bool,
    ) -> anyhow::Result<Ended> {
        analysis.add_files(files);
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        if is_part && let (Some(_), Some(path)) = (&file, &self.state_out) {
            let path = path.display();
            say(format_args!(
                "ended by the user: --state-out: {path} was not written, so that the capture can be read again from its start"
            ));
        } else if let Some(mut file) = file {
            let saved = match has_pictures {
                true => analysis.save_with::<Timeline>(&mut file),
                false => analysis.save(&mut file),
            };
            saved.and_then(|()| file.keep()).context("--state-out")?;
        }
        Ok(analysis.end())
    }
}
