//! `rdmawire craft scenario.toml`: simulates a scenario. Writes its capture and the results expected of an analysis.

use std::{
    borrow::Borrow,
    fs,
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::{
    Outcome,
    arg::format_of,
    output::{self, Kind},
    say,
};
use rdmawire::{
    capture::{self, Interface, Record, Sink, Time},
    dissect::Link,
    sim::{
        self as scenario, Made, Run, Scenario,
        collective::{Collective, play},
        spray::{self, Spray},
    },
};

/// The longest scenario text that is read.
const LONGEST: u64 = 16 << 20;

/// Where a scenario's results go.
pub(super) struct Play<'a> {
    /// The scenario; `-` is standard input.
    pub(super) scenario: &'a Path,
    /// The capture. With several taps each has a file, with the tap's name before the extension.
    pub(super) output: Option<&'a Path>,
    /// The expected results as JSON, likewise; `-` is standard output.
    pub(super) expect: Option<&'a Path>,
    /// What the tapped links join.
    pub(super) links: Option<&'a Path>,
    /// Used instead of the scenario's seed.
    pub(super) seed: Option<u64>,
    /// Replace files that exist.
    pub(super) force: bool,
}

/// Whether `craft`'s argument names a scenario.
pub(super) fn is_scenario(text: &str) -> bool {
    text.ends_with(".toml") && !text.contains(" / ")
}

impl Play<'_> {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        if self.output.is_none() && self.expect.is_none() {
            bail!("a scenario needs --output FILE, or --expect FILE");
        }
        output::will_read(self.scenario);
        let name = self.scenario.display();
        let mut text = String::new();
        let read = match self.scenario == Path::new("-") {
            true => io::stdin().take(LONGEST).read_to_string(&mut text),
            false => fs::File::open(self.scenario).and_then(|f| f.take(LONGEST).read_to_string(&mut text)),
        };
        read.with_context(|| name.to_string())?;
        if Collective::is(&text) {
            return self.collective(&text);
        }
        if Spray::is(&text) {
            return self.spray(&text);
        }
        let mut scenario = Scenario::parse(&text).with_context(|| name.to_string())?;
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        let run = scenario::run(&scenario).with_context(|| name.to_string())?;
        for (event, n) in run.scenario.event.iter().zip(1..).filter(|(_, n)| !run.struck[n - 1]) {
            let what = format!("{:?}", event.action).to_lowercase();
            say(format_args!("warning: {name}: event {n} ({what}) strikes no packet"));
        }
        let taps = || 0..run.captures.len();
        let of_taps = |path: Option<&Path>| -> Vec<PathBuf> {
            path.map_or_else(Vec::new, |path| taps().map(|tap| file_of(path, &run, tap)).collect())
        };
        let (captures, expected) = (of_taps(self.output), of_taps(self.expect));
        let merged = self.expect.and_then(|path| Some((named(path, scenario::MERGED), run.expect_merged()?)));
        let links = self.links.map(|path| anyhow::Ok((path, self.links_of(&run)?))).transpose()?;
        let more = merged.iter().map(|(path, _)| path.clone()).chain(self.links.map(PathBuf::from));
        self.check(captures.iter().chain(&expected).cloned().chain(more))?;
        for tap in taps() {
            if let Some(path) = captures.get(tap) {
                self.capture(&run, tap, path)?;
            }
            if let Some(path) = expected.get(tap) {
                self.expected(&run, tap, path)?;
            }
        }
        if let Some((path, merged)) = merged {
            self.text(&format!("{merged:#}\n"), &path)?;
        }
        if let Some((path, links)) = links {
            self.text(&links, path)?;
        }
        Ok(Outcome::Done)
    }

    /// A scenario of a collective: a capture for each tapped host, and one truth.
    fn collective(&self, text: &str) -> anyhow::Result<Outcome> {
        let name = self.scenario.display();
        if self.links.is_some() {
            bail!("--links: hosts around one switch have no links to write: leave --links away");
        }
        let mut scenario = Collective::parse(text).with_context(|| name.to_string())?;
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        let played = play(&scenario).with_context(|| name.to_string())?;
        let ranks = scenario.tapped();
        let file_of = |output: &Path, rank| match ranks.len() {
            1 => output.to_path_buf(),
            _ => named(output, &format!("rank{rank}")),
        };
        let captures: Vec<_> = match self.output {
            Some(output) => ranks.iter().map(|&rank| (rank, file_of(output, rank))).collect(),
            None => Vec::new(),
        };
        self.check(captures.iter().map(|(_, path)| path.clone()).chain(self.expect.map(PathBuf::from)))?;
        for (rank, path) in captures {
            self.made(played.interface(rank), played.frames(rank), &path)?;
        }
        if let Some(expect) = self.expect {
            self.text(&format!("{}\n", serde_json::to_string_pretty(&played.truth)?), expect)?;
        }
        Ok(Outcome::Done)
    }

    /// A scenario of Ultra Ethernet or MRC: one capture, and the truth about each context.
    fn spray(&self, text: &str) -> anyhow::Result<Outcome> {
        let name = self.scenario.display();
        if self.links.is_some() {
            bail!("--links: a scenario with one tap has no links to write: leave --links away");
        }
        let mut scenario = Spray::parse(text).with_context(|| name.to_string())?;
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        let played = spray::play(&scenario).with_context(|| name.to_string())?;
        self.check([self.output, self.expect].into_iter().flatten().map(PathBuf::from))?;
        if let Some(output) = self.output {
            self.made(played.interface(), played.frames(), output)?;
        }
        if let Some(expect) = self.expect {
            self.text(&format!("{}\n", serde_json::to_string_pretty(&played.truth)?), expect)?;
        }
        Ok(Outcome::Done)
    }

    /// Refuses what cannot be written, before anything is.
    fn check(&self, outputs: impl Iterator<Item = PathBuf>) -> anyhow::Result<()> {
        output::check(&outputs.collect::<Vec<_>>(), Kind::Other, self.force)
    }

    fn made(
        &self,
        interface: Interface,
        frames: impl IntoIterator<Item = impl Borrow<Made>>,
        path: &Path,
    ) -> anyhow::Result<()> {
        let options = capture::Options { force: self.force, ..capture::Options::default() };
        let mut writer = output::create_capture(path, format_of(path)?, &[interface], options)?;
        for frame in frames {
            let Made { time_ns, wire_len, bytes: frame } = frame.borrow();
            let (time, link, wire_len) = (Time(*time_ns), Link::ETHERNET, *wire_len);
            writer.put(&Record { time, link, interface: 0, wire_len, frame })?;
        }
        writer.keep()
    }

    fn capture(&self, run: &Run, tap: usize, path: &Path) -> anyhow::Result<()> {
        let options = capture::Options { force: self.force, ..capture::Options::default() };
        let mut writer = output::create_capture(path, format_of(path)?, &[run.interface(tap)], options)?;
        let mut frames = run.frames(tap);
        while let Some(frame) = frames.next() {
            let scenario::Frame { time_ns, link, wire_len, bytes } = frame;
            writer.put(&Record { time: Time(time_ns), link, interface: 0, wire_len, frame: bytes })?;
        }
        writer.keep()
    }

    /// Taps are named by their interfaces, or by their files, where these do not name an interface.
    fn links_of(&self, run: &Run) -> anyhow::Result<String> {
        if run.captures.iter().all(|capture| capture.tap.ends.is_none()) {
            bail!(
                "--links: no tap of the scenario has `ends`, so there are no links to write: leave --links away"
            );
        }
        let Some(output) = self.output.filter(|&output| output != Path::new("-")) else {
            return Ok(run.links());
        };
        if format_of(output)? == capture::Format::Pcapng {
            return Ok(run.links());
        }
        let file =
            |tap| file_of(output, run, tap).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(run.links_of(file))
    }

    fn expected(&self, run: &Run, tap: usize, path: &Path) -> anyhow::Result<()> {
        if path == Path::new("-") {
            return Ok(run.write_expect(tap, io::BufWriter::new(io::stdout().lock()))?);
        }
        let mut file = output::create(path, Kind::Other, self.force)?;
        run.write_expect(tap, io::BufWriter::new(&mut file))?;
        Ok(file.keep()?)
    }

    fn text(&self, text: &str, path: &Path) -> anyhow::Result<()> {
        if path == Path::new("-") {
            io::stdout().lock().write_all(text.as_bytes())?;
            return Ok(());
        }
        output::write(path, Kind::Other, self.force, text.as_bytes())
    }
}

/// The file of a tap: the given name, and with several taps the tap's name or number in it.
fn file_of(path: &Path, run: &Run, tap: usize) -> PathBuf {
    if run.captures.len() == 1 || path == Path::new("-") {
        return path.to_path_buf();
    }
    let name = match run.captures[tap].tap.name.as_str() {
        "" => (tap + 1).to_string(),
        name => name.to_owned(),
    };
    named(path, &name)
}

/// The file with a name before its extension.
fn named(path: &Path, name: &str) -> PathBuf {
    if path == Path::new("-") {
        return path.to_path_buf();
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, extension) = file.split_once('.').unwrap_or((&file, ""));
    let dot = if extension.is_empty() { "" } else { "." };
    path.with_file_name(format!("{stem}-{name}{dot}{extension}"))
}
