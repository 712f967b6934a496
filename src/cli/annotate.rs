//! `rdmawire annotate`: a copy of a capture, with comments on the frames that matter.

use std::{
    fs::File,
    io,
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::Args;

use super::{
    Outcome,
    input::{self, Joining, PartFiles, Progress, name_of, open_parts},
    output, say,
    signals::{STOP, end_on_signal, is_stopped},
    tracking::Tracking,
};
use rdmawire::{
    annotate::{Annotations, DEFAULT_MOST, MARK, Notes},
    capture::{self, Format, Series, Source, Temporary},
    grammar::print::several,
};

/// Copy a capture to pcapng, with comments on the frames that matter: what was retransmitted and why, what came late, twice or
/// corrupt, NAKs. Wireshark and `tshark -Y frame.comment` show them. The capture gets a comment with the findings.
///
/// Every frame stays bit for bit. Of pcapng, names of hosts, comments, interfaces and their drops, hardware and operating system, and
/// flags and other options of single frames are kept. A capture from standard input is first copied into a temporary file.
#[derive(Debug, Args)]
#[command(
    override_usage = "rdmawire annotate [OPTIONS] <INPUT>... <OUTPUT>",
    after_help = "Examples:
  rdmawire annotate x.pcap annotated.pcapng
  rdmawire annotate --hosts /etc/hosts --force x.pcap annotated.pcapng"
)]
pub(super) struct Annotate {
    /// The capture to read, or the parts of one: pcap, pcapng or ERF, also compressed; `-` is standard input. Behind them the capture
    /// to write: .pcapng, with .gz or .zst behind; `-` is standard output.
    // Options may stand between them, so that each is a value of its own here.
    #[arg(required = true, value_name = "INPUT|OUTPUT")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    joining: Joining,
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
    let text = input::text(path.as_ref()).map_err(|error| error.to_string())?;
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
        let Some((output, inputs)) = self.files.split_last().filter(|(_, inputs)| !inputs.is_empty()) else {
            bail!("annotate needs two names: the capture, and the copy with comments, which ends in .pcapng")
        };
        let name = output.file_name().unwrap_or_default().to_string_lossy();
        if output != Path::new("-") && Format::of_name(&name) != Some(Format::Pcapng) {
            bail!("{}: only pcapng has comments; give a name that ends in .pcapng", output.display());
        }
        end_on_signal(&STOP);
        let (parts, _spooled) = Spooled::all(self.joining.one(inputs)?)?;
        let mut reader = open_parts(&parts)?;
        let (ended, is_all) = self.tracking.follow_with(&mut reader, Notes::new(self.max_comments))?;
        check_stop(output)?;
        let annotations = Annotations::new(ended, self.tracking.options(1).dissect);
        let (frames, comments) = self.write(&parts, output, reader, annotations)?;
        if !self.quiet {
            let (frames, name) = (several(frames, "frame"), output.display());
            say(format_args!("wrote {name}: {frames}, comments on {comments} of them"));
        }
        Ok(if is_all { Outcome::Done } else { Outcome::Failed })
    }

    /// The second pass: copies frames with their comments. `known`: the reader of the first pass, at its end. Returns how many
    /// frames there are, and how many of them have a comment of ours.
    fn write(
        &self,
        parts: &[PathBuf],
        output: &Path,
        known: Series,
        mut annotations: Annotations,
    ) -> anyhow::Result<(u64, u64)> {
        let info = known.info();
        let mut comment = std::mem::take(&mut annotations.verdict);
        if !info.comment.is_empty() {
            comment = format!("{comment}\n\n{}", info.comment);
        }
        let mut names = info.names.clone();
        names.extend(self.hosts.iter().flat_map(|hosts| hosts.0.iter().cloned()));
        let (hardware, os) = (info.hardware.clone(), info.os.clone());
        let options =
            capture::Options { force: self.force, comment, hardware, os, names, ..Default::default() };
        let mut sink = output::create_capture(output, Format::Pcapng, &info.interfaces, options)?;
        let frames = info.frames;
        drop(known);
        let mut reader = open_parts(parts)?;
        let progress = Progress::new(reader.info());
        let (mut number, mut comments) = (0, 0);
        let read = input::each_with_reader(&mut reader, Some(progress), |n, record, reader| {
            let ours = annotations.comment(n, record);
            comments += u64::from(ours.is_some());
            let theirs: Vec<_> = reader.comments().filter(|comment| !comment.starts_with(MARK)).collect();
            let all: Vec<&str> =
                ours.as_deref().into_iter().chain(theirs.iter().map(AsRef::as_ref)).collect();
            let options: Vec<_> = reader.options().collect();
            sink.put_with_options(record, &all, &options)?;
            number = n;
            Ok(n < frames)
        })?;
        check_stop(output)?;
        read.all()?;
        if number < frames {
            bail!("{}: it became shorter while it was read", name_of(parts));
        }
        sink.keep_quietly()?;
        Ok((number, comments))
    }
}

/// A part of the copy would look like the whole.
fn check_stop(output: &Path) -> anyhow::Result<()> {
    match is_stopped() {
        true => bail!("ended by the user: {} was not written", output.display()),
        false => Ok(()),
    }
}

/// A stream that was copied into a temporary file, which is removed at the end.
pub(super) struct Spooled(Temporary);

impl Spooled {
    /// Files that can be read twice instead of these, and those of them that are copies of streams.
    pub(super) fn all(parts: PartFiles) -> anyhow::Result<(PartFiles, Vec<Spooled>)> {
        let (mut files, mut copies) = (Vec::new(), Vec::new());
        for path in parts {
            match Spooled::of(&path)? {
                Some(copy) => {
                    files.push(copy.0.path().to_owned());
                    copies.push(copy);
                }
                None => files.push(path),
            }
        }
        Ok((files, copies))
    }

    /// A copy of the stream at `path`; `None` if it is a file, which can be read twice.
    fn of(path: &Path) -> anyhow::Result<Option<Spooled>> {
        if !input::is_stream(path) {
            return Ok(None);
        }
        let beside = std::env::temp_dir().join("rdmawire");
        let (copy, mut file) = Temporary::beside(&beside, create_private)
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
        output::is_copy_of(spooled.0.path(), path);
        Ok(Some(spooled))
    }
}

/// A new file that nobody else can read.
fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
