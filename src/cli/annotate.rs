//! `rdmawire annotate`: a copy of a capture, with comments on the frames that matter.

use std::{
    fs::{self, File},
    io,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use anyhow::{Context, bail};
use clap::Args;

use super::{
    Outcome,
    input::{self, Progress, STOP},
    output, say,
    tracking::Tracking,
};
use rdmawire::{
    annotate::{Annotations, DEFAULT_MOST, MARK, Notes},
    capture::{self, Format, Reader, Sink, Source, make_beside},
    grammar::print::several,
};

/// Copy a capture to pcapng, with comments on the frames that matter: what was retransmitted and why, what came late, twice or
/// corrupt, NAKs. Wireshark and `tshark -Y frame.comment` show them. The capture gets a comment with the findings.
///
/// Every frame stays bit for bit. Of pcapng, names of hosts, comments, interfaces and their drops are kept; flags and other options
/// of single frames are not. A capture from standard input is first copied into a temporary file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire annotate x.pcap annotated.pcapng
  rdmawire annotate --hosts /etc/hosts --force x.pcap annotated.pcapng")]
pub(super) struct Annotate {
    /// The capture to read: pcap, pcapng or ERF, also compressed; `-` is standard input.
    input: PathBuf,
    /// The capture to write: .pcapng, with .gz or .zst behind; `-` is standard output.
    output: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    /// Names of hosts, in the form of /etc/hosts: lines with ADDRESS NAME. Wireshark shows them instead of addresses.
    #[arg(long, value_name = "FILE", value_parser = hosts)]
    hosts: Option<Hosts>,
    /// Comment on at most this number of frames. Each takes about 100 bytes of memory.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MOST)]
    max_comments: usize,
    #[command(flatten)]
    tracking: Tracking,
    /// Print no summary on standard error.
    #[arg(short, long)]
    quiet: bool,
}

/// The names of a file for --hosts.
#[derive(Clone, Debug)]
struct Hosts(Vec<(IpAddr, String)>);

fn hosts(path: &str) -> Result<Hosts, String> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut names = Vec::new();
    for (line, n) in text.lines().zip(1..) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(address) = words.next() else { continue };
        // An address of one host only has a zone.
        let plain = address.split('%').next().unwrap_or(address);
        let ip = plain.parse().map_err(|_| format!("line {n}: {address:?} is not an IP address"))?;
        let name = words.next().ok_or_else(|| format!("line {n}: no name after {address}"))?;
        names.push((ip, name.to_owned()));
    }
    Ok(Hosts(names))
}

impl Annotate {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let name = self.output.file_name().unwrap_or_default().to_string_lossy();
        if self.output != Path::new("-") && Format::of_name(&name) != Some(Format::Pcapng) {
            bail!("{}: only pcapng has comments; give a name that ends in .pcapng", self.output.display());
        }
        let spooled = Spooled::of(&self.input)?;
        let path = spooled.as_ref().map_or(&self.input, |spooled| &spooled.0);
        let mut reader = capture::open(path)?;
        let (ended, is_all) = self.tracking.follow_with(&mut reader, Notes::new(self.max_comments))?;
        let annotations = Annotations::new(ended, self.tracking.options(1).dissect);
        let (frames, comments) = self.write(path, reader, annotations)?;
        if !self.quiet {
            say(format_args!("{}, comments on {comments} of them", several(frames, "frame")));
        }
        Ok(if is_all { Outcome::Done } else { Outcome::Failed })
    }

    /// The second pass: copies frames with their comments. `known`: the reader of the first pass, at its end. Returns how many
    /// frames there are, and how many of them have a comment of ours.
    fn write(&self, path: &Path, known: Reader, mut annotations: Annotations) -> anyhow::Result<(u64, u64)> {
        let info = known.info();
        let mut comment = std::mem::take(&mut annotations.verdict);
        if !info.comment.is_empty() {
            comment = format!("{comment}\n\n{}", info.comment);
        }
        let mut names = info.names.clone();
        names.extend(self.hosts.iter().flat_map(|hosts| hosts.0.iter().cloned()));
        let options = capture::Options { force: self.force, comment, names, ..Default::default() };
        let mut sink = output::create_capture(&self.output, Format::Pcapng, &info.interfaces, options)?;
        let frames = info.frames;
        drop(known);
        let mut reader = capture::open(path)?;
        let progress = Progress::new(reader.info());
        let (mut number, mut comments) = (0, 0);
        let read = input::each_with_reader(&mut reader, Some(progress), |n, record, reader| {
            let ours = annotations.comment(n, record);
            comments += u64::from(ours.is_some());
            let theirs: Vec<_> = reader.comments().filter(|comment| !comment.starts_with(MARK)).collect();
            let all: Vec<&str> =
                ours.as_deref().into_iter().chain(theirs.iter().map(AsRef::as_ref)).collect();
            sink.put_with_comments(record, &all)?;
            number = n;
            Ok(n < frames)
        })?;
        read.all()?;
        if STOP.load(Ordering::Relaxed) {
            bail!("interrupted: {} was not written", self.output.display());
        }
        if number < frames {
            bail!("{}: it became shorter while it was read", path.display());
        }
        sink.finish()?;
        Ok((number, comments))
    }
}

/// A stream that was copied into a temporary file, which is removed at the end.
pub(super) struct Spooled(pub(super) PathBuf);

impl Spooled {
    /// A copy of the stream at `path`; `None` if it is a file, which can be read twice.
    pub(super) fn of(path: &Path) -> anyhow::Result<Option<Spooled>> {
        let is_stream = path == Path::new("-") || fs::metadata(path).is_ok_and(|known| !known.is_file());
        if !is_stream {
            return Ok(None);
        }
        let beside = std::env::temp_dir().join("rdmawire");
        let (copy, mut file) = make_beside(&beside, |path| File::create_new(path))
            .with_context(|| format!("creating a temporary file in {}", std::env::temp_dir().display()))?;
        let spooled = Spooled(copy);
        let from = || -> io::Result<_> {
            match path == Path::new("-") {
                true => Ok(input::Interruptible::new(io::stdin())),
                false => Ok(input::Interruptible::new(File::open(path)?)),
            }
        };
        let mut from = from().with_context(|| path.display().to_string())?;
        io::copy(&mut from, &mut file).with_context(|| format!("copying {}", path.display()))?;
        Ok(Some(spooled))
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
