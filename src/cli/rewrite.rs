//! `rdmawire rewrite`: copies a capture with other addresses, payload or encapsulation.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use clap::Args;

use super::{
    Outcome,
    arg::{edit, encapsulation, format_of, snaplen, within},
    input::{self, Progress},
    output,
    signals::{STOP, end_on_signal},
};
use rdmawire::{
    capture::{self, Format, Info, Interface, Record, Series, Source},
    craft::{
        Edit, Lengths, Trim,
        rewrite::{Plan, Rewriter},
    },
    dissect::Encapsulation,
    grammar::{
        print::{count, several},
        units,
    },
};

/// Rewrite a capture: other addresses, no payload, another encapsulation. Each frame in gives one frame out.
///
/// Right checksums and ICRCs are computed again; wrong ones stay as they were. What a pcapng says stays: of
/// interfaces names, speeds, clocks, filters, drops; hardware and operating system; of frames their flags (direction) and other options
/// but hashes; comments. With --anonymize, names become others, words are left out (hardware and operating system too), and of the
/// options of frames only flags stay.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire rewrite --anonymize --zero-payload x.pcap anonymous.pcap
  rdmawire rewrite --set ipv4.ttl=3 --to rocev2-ipv6 x.pcap ipv6.pcap")]
pub(super) struct Rewrite {
    /// The capture to read; `-` is standard input.
    input: PathBuf,
    /// The capture to write: .pcap, .pcapng or .erf, with .gz or .zst behind; `-` is pcap on standard output.
    output: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    /// Replace addresses, queue pairs, keys and virtual addresses, each by the same other one everywhere. Payload stays: see
    /// --zero-payload.
    #[arg(long)]
    anonymize: bool,
    /// The seed of the replacements. Captures of one network need one seed to still belong together.
    #[arg(long, default_value_t = 0, value_parser = units::integer)]
    seed: u64,
    /// Replace payload by zeros.
    #[arg(long)]
    zero_payload: bool,
    /// Keep at most this many bytes of each frame.
    #[arg(long, value_name = "BYTES", value_parser = snaplen)]
    snaplen: Option<u32>,
    /// Cut packets as a switch does that trims them instead of dropping them: to so many bytes, without frame check sequence.
    #[arg(long, value_name = "BYTES", value_parser = within(54..=u32::MAX))]
    trim: Option<u32>,
    /// The DSCP of packets that are trimmed.
    #[arg(long, requires = "trim", value_parser = within(0..=63u8))]
    dscp: Option<u8>,
    /// The lengths that are written anew in packets that are trimmed: ip, all (IP's and UDP's), none.
    #[arg(long, requires = "trim", value_name = "WHICH", value_parser = lengths, default_value = "ip")]
    trim_lengths: Lengths,
    /// Trim one in so many of the packets that are long enough.
    #[arg(long, requires = "trim", value_name = "N", default_value_t = 1, value_parser = within(1..=u64::MAX))]
    trim_every: u64,
    /// Put the transport into another encapsulation: rocev2-ipv4, rocev2-ipv6, rocev1, ib, ib-grh. Tunnels are removed. An
    /// IPv4 address becomes its mapped GID and back. LIDs and missing Ethernet addresses are made from the IP address; a
    /// missing IP address is 10.77 and the LID; of an IPv6 address that is not mapped, rocev2-ipv4 has the last four bytes. FECN becomes CE and back. Native packets without it become ECT(0), for any packet
    /// may be marked there, which is as if it were ECN-capable; `rewrite --set ipv4.ecn=0` over the result takes that away.
    #[arg(long, visible_alias = "encap", value_name = "NAME", value_parser = encapsulation)]
    to: Option<Encapsulation>,
    /// Change a field: ipv4.dst=10.0.0.9, bth.psn+=1000, ipv4[0].ttl=3 (in the outermost IPv4 header).
    #[arg(long, value_name = "FIELD=VALUE", value_parser = edit)]
    set: Vec<Edit>,
    /// Print no summary on standard error.
    #[arg(short, long)]
    quiet: bool,
}

fn lengths(text: &str) -> Result<Lengths, String> {
    let found = Lengths::ALL.into_iter().find(|lengths| lengths.name() == text);
    found.ok_or_else(|| "expected ip, all or none".to_owned())
}

impl Rewrite {
    pub(super) fn run(mut self) -> anyhow::Result<Outcome> {
        let plan = Plan {
            anonymize: self.anonymize,
            edits: std::mem::take(&mut self.set),
            to: self.to,
            zero_payload: self.zero_payload,
            trim: self
                .trim
                .map(|bytes| (Trim { bytes, dscp: self.dscp, lengths: self.trim_lengths }, self.trim_every)),
            snaplen: self.snaplen,
            seed: self.seed,
        };
        let format = format_of(&self.output)?;
        let mut rewriter = Rewriter::new(plan);
        end_on_signal(&STOP);
        output::will_read(&self.input);
        let streamed = input::is_stream(&self.input);
        if self.anonymize && !streamed {
            let mut reader = capture::open(&self.input)?;
            let read = input::each(&mut reader, |_, record| {
                rewriter.learn(record);
                Ok(())
            })?;
            self.check_stop(&read)?;
            read.all()?;
        }
        let mut reader = Series::from(input::open(&self.input)?);
        let options = capture::Options { force: self.force, ..Default::default() };
        let mut sink = output::create_capture(&self.output, format, &[], options)?;
        let progress = Progress::new(reader.info());
        let read = input::each_with_reader(&mut reader, Some(progress), |number, record, reader| {
            if sink.lacks(reader.info()) {
                sink.describe(&rewriter.info(reader.info()));
            }
            let comments: Vec<_> = reader.comments().filter(|_| rewriter.keeps_comments()).collect();
            let comments: Vec<&str> = comments.iter().map(AsRef::as_ref).collect();
            let options: Vec<_> = reader.options().filter_map(|option| rewriter.option(option)).collect();
            let new = rewriter.rewrite(record).map_err(|error| anyhow!("frame {number}: {error}"))?;
            let Record { time, interface, .. } = *record;
            let new = Record { time, interface, link: new.link, wire_len: new.wire_len, frame: new.frame };
            sink.put_with_options(&new, &comments, &options)?;
            Ok(true)
        })?;
        self.check_stop(&read)?;
        read.all()?;
        sink.describe(&rewriter.info(reader.info()));
        sink.keep_quietly()?;
        let (counts, info) = (rewriter.counts(), reader.info());
        for problem in &info.problems {
            super::say(format_args!("{}: {problem}", self.input.display()));
        }
        if counts.frames != info.frames {
            bail!("{} read and {} written", several(info.frames, "frame"), counts.frames);
        }
        if !self.quiet {
            let name = self.output.display();
            let mut text =
                format!("wrote {name}: {} rewritten", several(counts.frames - counts.unchanged, "frame"));
            for (n, what) in [
                (counts.unchanged, "unchanged"),
                (counts.bad_icrc, "with a wrong ICRC, kept wrong"),
                (counts.not_converted, "with no transport to wrap"),
                (counts.trimmed, "trimmed"),
                (counts.cut, "cut"),
                (counts.missed_edits, "edits for a header that is not there"),
            ] {
                if n > 0 {
                    text.push_str(&format!(", {} {what}", count(n)));
                }
            }
            if self.anonymize && streamed {
                text.push_str("; UDP source ports were left, since a stream cannot be read twice");
            }
            super::say(format_args!("{text}"));
            if let Some(what) = not_kept(format, info) {
                super::say(format_args!("{name}: its format has no place for {what}; that of .pcapng has"));
            }
            if self.anonymize && !self.zero_payload {
                super::say(format_args!(
                    "payload stays as it was: what it says of addresses, keys and names is still there, and what reads it \
                     (`collectives`, `nvme`, `commands`) finds addresses and keys in it that headers no longer have; \
                     --zero-payload replaces it"
                ));
            }
        }
        Ok(if info.problem_count > 0 { Outcome::Failed } else { Outcome::Done })
    }

    /// A part of the copy would look like the whole.
    fn check_stop(&self, read: &input::FramesRead) -> anyhow::Result<()> {
        match read.is_stopped {
            true => bail!("{}: {} was not written", input::ended_after(read.frames), self.output.display()),
            false => Ok(()),
        }
    }
}

/// What a capture says of its interfaces that a file of another format than pcapng cannot say.
fn not_kept(format: Format, info: &Info) -> Option<String> {
    if format == Format::Pcapng {
        return None;
    }
    let any = |has: fn(&Interface) -> bool| info.interfaces.iter().any(has);
    let what = [
        (any(|interface| interface.name.is_some()), "names of interfaces"),
        (any(|interface| interface.speed_bps.is_some()), "their speeds"),
        (any(|interface| interface.drops.is_some_and(|drops| drops > 0)), "counters of lost frames"),
    ];
    let what: Vec<&str> = what.into_iter().filter(|(is_lost, _)| *is_lost).map(|(_, what)| what).collect();
    (!what.is_empty()).then(|| what.join(", "))
}
