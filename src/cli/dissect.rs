//! `rdmawire dissect`: frames as lines, trees, JSON or columns.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use anyhow::Context;
use clap::Args;

use super::{
    Outcome,
    arg::{self, Check, RocePorts},
    input::{self, Progress},
    say,
    terminal::{self, Color},
    warn_of_damage,
};
use rdmawire::{
    capture::{self, Source},
    dissect::dissect_with,
    filter::{Filter, FrameMeta},
    frame::{Clock, Columns, Frame, Json, Line, Names, Separator, write_hex, write_tree},
    grammar::print::several,
    icrc::State,
};

/// Show the frames of capture files.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire dissect --filter 'aeth.nak' x.pcap
  rdmawire dissect --fields frame.number,src,dst,bth.psn,info x.pcap")]
pub(super) struct Dissect {
    /// Capture files: pcap, pcapng or ERF, also compressed with gzip or zstd; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write one JSON object per frame.
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
        let mut outcome = Outcome::Done;
        let mut left = self.count.unwrap_or(u64::MAX);
        for path in &self.files {
            if left == 0 {
                break;
            }
            if self.files.len() > 1 && matches!(style, Style::Line | Style::Tree(_)) {
                out.text.push_str(&format!("==> {} <==\n", super::plain(&path.display().to_string())));
            }
            if !self.file(path, &filter, &style, &mut out, &mut left)? {
                outcome = Outcome::Failed;
            }
        }
        out.flush()?;
        Ok(outcome)
    }

    /// Shows one file. Returns false if it could not be read completely.
    fn file(
        &self,
        path: &Path,
        filter: &Option<Filter>,
        style: &Style,
        out: &mut Out,
        left: &mut u64,
    ) -> anyhow::Result<bool> {
        let mut reader = match capture::open(path) {
            Ok(reader) => reader,
            Err(error) => return out.complain(&error),
        };
        let options = self.roce.options();
        let mut line = Line::new(self.time, self.color.is_on());
        // Only a pcap file states its resolution before the first frame.
        line.nanoseconds = reader.info().format != capture::Format::PcapMicros;
        let file = (self.files.len() > 1).then(|| path.display().to_string());
        // On a terminal, the lines themselves show it.
        let progress = (!io::stdout().is_terminal()).then(|| Progress::new(reader.info()));
        let read = input::each_while(&mut reader, progress, |number, record| {
            if number <= self.skip {
                line.pass(record.time.0);
                return Ok(true);
            }
            let d = dissect_with(options, record.link, record.frame, record.wire_len);
            if let Some(filter) = filter {
                let icrc = (self.icrc == Check::Off).then_some(State::Unchecked);
                if !filter.matches(&d, &FrameMeta { number, time_ns: record.time.0, icrc }) {
                    line.pass(record.time.0);
                    return Ok(true);
                }
            }
            let mut frame = Frame::new(number, record.time.0, &d);
            if self.icrc == Check::Verify {
                frame = frame.verified();
            }
            match style {
                Style::Line => line.write(&frame, &mut out.text)?,
                Style::Tree(names) => write_tree(&frame, *names, &mut out.text)?,
                Style::Json(json) => json.write(&frame, file.as_deref(), &mut out.text)?,
                Style::Columns(columns) => columns.write(&frame, &mut out.text)?,
            }
            if self.hex {
                write_hex(record.frame, &mut out.text)?;
            }
            if self.hex || self.verbose {
                out.text.push('\n');
            }
            *left -= 1;
            out.written()?;
            Ok(*left > 0)
        })?;
        if let Err(error) = read.all() {
            return out.complain(&error);
        }
        let info = reader.info();
        if !info.problems.is_empty() {
            out.flush()?;
            warn_of_damage(info);
            let more = info.problem_count.saturating_sub(info.problems.len() as u64);
            if more > 0 {
                say(format_args!("warning: {}: and {}", info.name, several(more, "more place")));
            }
        }
        Ok(true)
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
