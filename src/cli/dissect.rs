//! `rdmawire dissect`: frames as lines, trees, JSON or columns.

mod about;

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    path::PathBuf,
};

use anyhow::Context;
use clap::Args;

use super::{
    Outcome,
    arg::{self, Check, RocePorts},
    input::{self, Joining, Progress, name_of, open_parts},
    say,
    terminal::{self, Color},
    warn_of_damage,
};
use rdmawire::{
    capture::{self, Record, Source},
    dissect::{Dissection, dissect_with},
    filter::{Filter, FrameMeta},
    frame::{Clock, Columns, Frame, Json, Line, Names, Separator, Uppers, write_hex, write_tree},
    grammar::print::several,
    icrc::State,
    report::clean,
};

/// Show the frames of capture files.
///
/// Each frame is shown by itself: UDP on the port of RoCE is shown as RoCE, with a wrong ICRC where it is something else. Which of it is
/// none, `rdmawire analyze` says, which looks at the whole capture.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire dissect --filter 'aeth.nak' x.pcap
  rdmawire dissect --around 145 x.pcap
  rdmawire dissect --fields frame.number,src,dst,bth.psn,info x.pcap")]
pub(super) struct Dissect {
    /// Capture files: pcap, pcapng or ERF, also compressed with gzip or zstd; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    joining: Joining,
    /// Write one JSON object per frame; with --around and --flow also its flow, the remark, and which frame was asked for.
    #[arg(long)]
    json: bool,
    /// Show every field of every header, with its bits.
    #[arg(short = 'V', long, conflicts_with = "json")]
    verbose: bool,
    /// Show the bytes in hexadecimal below each frame.
    #[arg(short = 'x', long, conflicts_with_all = ["json", "fields"])]
    hex: bool,
    /// Write columns instead of lines. Names: those of filters, and src, dst, protocol, info, icrc.
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', conflicts_with_all = ["json", "verbose"])]
    fields: Vec<String>,
    /// The separator of columns.
    #[arg(long, value_enum, default_value_t, requires = "fields")]
    format: Separator,
    /// Leave out the line with the names of the columns.
    #[arg(long, requires = "fields")]
    no_header: bool,
    /// Show only frames that match: `bth.dest_qp == 0x11 && aeth.nak`; see `rdmawire explain filter`.
    #[arg(short, long, value_name = "EXPR")]
    filter: Option<String>,
    /// Which names fields have.
    #[arg(long, value_enum, default_value_t)]
    names: Names,
    /// Stop after this many frames were shown.
    #[arg(short = 'c', long, value_name = "N")]
    count: Option<u64>,
    /// Show this frame, and those before and after it of its connection, each with what the analysis says of it: whether it is a
    /// retransmission, of which frame and why; late; lost before; a NAK for which PSN.
    #[arg(long, value_name = "FRAME", value_parser = arg::positive::<u64>, conflicts_with_all = ["fields", "skip"])]
    around: Option<u64>,
    /// With --around: how many frames before it, and after it.
    #[arg(long, value_name = "N", default_value_t = 10, requires = "around")]
    context: usize,
    /// Show the frames of this flow's connection, each with what the analysis says of it. `rdmawire analyze` gives flows their numbers.
    #[arg(long, value_name = "N", conflicts_with_all = ["fields", "skip"])]
    flow: Option<usize>,
    /// Skip the first N frames of each file.
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip: u64,
    /// How times are written.
    #[arg(short, long, value_enum, default_value_t)]
    time: Clock,
    /// Whether to verify ICRCs.
    #[arg(long, value_enum, default_value_t)]
    icrc: Check,
    #[command(flatten)]
    roce: RocePorts,
    /// When to colour lines.
    #[arg(long, value_enum, default_value_t)]
    color: Color,
    /// Write each line immediately, not in blocks: for live captures in a pipe.
    #[arg(short, long)]
    line_buffered: bool,
}

impl Dissect {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let filter = arg::filter(&self.filter)?;
        let columns = self.columns()?;
        let mut out = Out::new(self.line_buffered)?;
        if let Some(columns) = &columns
            && !self.no_header
        {
            columns.head(&mut out.text);
        }
        let style = match columns {
            Some(columns) => Style::Columns(columns),
            None if self.json => Style::Json(Json::new(self.names)),
            None if self.verbose => Style::Tree(self.names),
            None => Style::Line,
        };
        if self.around.is_some() || self.flow.is_some() {
            let is_whole = about::show(&self, &filter, &style, &mut out)?;
            out.flush()?;
            return Ok(if is_whole { Outcome::Done } else { Outcome::Failed });
        }
        let mut outcome = Outcome::Done;
        let mut left = self.count.unwrap_or(u64::MAX);
        let captures = self.joining.captures(&self.files)?;
        for parts in &captures {
            if left == 0 {
                break;
            }
            let name = (captures.len() > 1).then(|| name_of(parts));
            if let Some(name) = &name
                && matches!(style, Style::Line | Style::Tree(_))
            {
                out.text.push_str(&format!("==> {} <==\n", clean(name)));
            }
            if !self.file(parts, name.as_deref(), &filter, &style, &mut out, &mut left)? {
                outcome = Outcome::Failed;
            }
        }
        out.flush()?;
        Ok(outcome)
    }

    /// Shows one file. Returns false if it could not be read completely.
    fn file(
        &self,
        parts: &[PathBuf],
        file: Option<&str>,
        filter: &Option<Filter>,
        style: &Style,
        out: &mut Out,
        left: &mut u64,
    ) -> anyhow::Result<bool> {
        let mut reader = match open_parts(parts) {
            Ok(reader) => reader,
            Err(error) => return out.complain(&error),
        };
        let options = self.roce.options();
        let mut line = Line::new(self.time, self.color.is_on());
        // Only a pcap file states its resolution before the first frame.
        line.nanoseconds = reader.info().format != capture::Format::PcapMicros;
        // On a terminal, the lines themselves show it.
        let progress = (!io::stdout().is_terminal()).then(|| Progress::new(reader.info()));
        let mut uppers = Uppers::default();
        let read = input::each_while(&mut reader, progress, |number, record| {
            // Set-ups among frames that are left out say what later messages are.
            let d = uppers.know(dissect_with(options, record.link, record.frame, record.wire_len));
            if number <= self.skip {
                line.pass(record.time.0);
                return Ok(true);
            }
            if let Some(filter) = filter {
                let icrc = (self.icrc == Check::Off).then_some(State::Unchecked);
                if !filter.matches(&d, &FrameMeta { number, time_ns: record.time.0, icrc }) {
                    line.pass(record.time.0);
                    return Ok(true);
                }
            }
            self.draw(&mut Pen { style, line: &mut line, file }, number, record, &d, &mut out.text)?;
            *left -= 1;
            out.written()?;
            Ok(*left > 0)
        })?;
        if let Err(error) = read.all() {
            return out.complain(&error);
        }
        for info in reader.files().filter(|info| !info.problems.is_empty()) {
            out.flush()?;
            warn_of_damage(info);
            let more = info.problem_count.saturating_sub(info.problems.len() as u64);
            if more > 0 {
                say(format_args!("warning: {}: and {}", info.name, several(more, "more place")));
            }
        }
        Ok(true)
    }

    /// Draws one frame.
    fn draw(
        &self,
        pen: &mut Pen<'_>,
        number: u64,
        record: &Record<'_>,
        d: &Dissection<'_>,
        to: &mut String,
    ) -> fmt::Result {
        let mut frame = Frame::new(number, record.time.0, d);
        if self.icrc == Check::Verify {
            frame = frame.verified();
        }
        match pen.style {
            Style::Line => pen.line.write(&frame, to)?,
            Style::Tree(names) => write_tree(&frame, *names, to)?,
            Style::Json(json) => json.write(&frame, pen.file, to)?,
            Style::Columns(columns) => columns.write(&frame, to)?,
        }
        if self.hex {
            write_hex(record.frame, to)?;
        }
        if self.hex || self.verbose {
            to.push('\n');
        }
        Ok(())
    }

    fn columns(&self) -> anyhow::Result<Option<Columns>> {
        if self.fields.is_empty() {
            return Ok(None);
        }
        let names = self.fields.iter().map(|name| name.trim());
        let columns = Columns::parse(names, self.format, self.names);
        columns.map(Some).map_err(|error| anyhow::anyhow!("--fields: {error}"))
    }
}

/// How the frames of one file are written.
struct Pen<'a> {
    style: &'a Style,
    line: &'a mut Line,
    /// The file's name, where that is to be said.
    file: Option<&'a str>,
}

/// The form in which frames are written.
enum Style {
    Line,
    Tree(Names),
    Json(Json),
    Columns(Columns),
}

/// Standard output in blocks, or line by line.
struct Out {
    text: String,
    to: Box<dyn Write>,
    by_line: bool,
}

const BLOCK: usize = 1 << 16;

impl Out {
    fn new(by_line: bool) -> io::Result<Out> {
        let to = terminal::stdout()?;
        let by_line = by_line || to.is_terminal();
        Ok(Out { text: String::with_capacity(BLOCK + 4096), to: Box::new(to), by_line })
    }

    /// Called after each frame: writes the block if it is full.
    #[inline]
    fn written(&mut self) -> anyhow::Result<()> {
        if self.text.len() >= BLOCK || self.by_line { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.to
            .write_all(self.text.as_bytes())
            .and_then(|()| self.to.flush())
            .context("writing the output")?;
        self.text.clear();
        Ok(())
    }

    /// Prints an error after the frames before it. The next file follows.
    fn complain(&mut self, error: &capture::Error) -> anyhow::Result<bool> {
        self.flush()?;
        say(format_args!("{error}"));
        Ok(false)
    }
}
