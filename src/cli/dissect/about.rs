//! `dissect --around FRAME` and `--flow N`: the frames of one connection, each with what the analysis says of it.

use std::{collections::VecDeque, mem, path::PathBuf};

use anyhow::bail;

use super::{Dissect, Out, Pen, Style};
use crate::cli::{
    annotate::Spooled,
    arg::Check,
    input::{self, Progress, describe, name_of, open_parts},
};
use rdmawire::{
    analyze::{Analysis, Options},
    annotate::{Annotations, DEFAULT_MOST, Notes, OwnedFrame},
    capture::{self, Source},
    dissect::dissect_with,
    filter::{Filter, FrameMeta},
    frame::{Line, Uppers},
    grammar::print::several,
    icrc::State,
};

/// What is shown.
struct Wanted {
    around: Option<u64>,
    /// A flow and its connection; `None`: all frames.
    of: Option<(usize, Option<u32>)>,
}

/// Shows the frames. Returns whether all of the file could be read.
pub(super) fn show(
    args: &Dissect,
    filter: &Option<Filter>,
    style: &Style,
    out: &mut Out,
) -> anyhow::Result<bool> {
    let (parts, _spooled) = Spooled::all(args.joining.one(&args.files)?)?;
    let (mut known, wanted, is_whole) = analyze(args, &parts)?;
    let mut reader = open_parts(&parts)?;
    let mut line = Line::new(args.time, args.color.is_on());
    line.nanoseconds = reader.info().format != capture::Format::PcapMicros;
    let mut left = args.count.unwrap_or(u64::MAX);
    // The frames before the one that is asked for, as they are drawn.
    let mut before: VecDeque<String> = VecDeque::new();
    let mut after = None;
    let progress = Progress::new(reader.info());
    let mut uppers = Uppers::default();
    let read = input::each_while(&mut reader, Some(progress), |number, record| {
        let is_asked = wanted.around == Some(number);
        let is_of =
            wanted.of.is_none_or(|of| known.flow(number, record).is_some_and(|flow| is_one(of, flow)));
        let d = uppers.know(dissect_with(args.roce.options(), record.link, record.frame, record.wire_len));
        let is_shown = is_asked
            || is_of
                && filter.as_ref().is_none_or(|filter| {
                    let icrc = (args.icrc == Check::Off).then_some(State::Unchecked);
                    filter.matches(&d, &FrameMeta { number, time_ns: record.time.0, icrc })
                });
        if !is_shown {
            line.pass(record.time.0);
            return Ok(true);
        }
        let mut text = String::new();
        args.draw(&mut Pen { style, line: &mut line, file: None }, number, record, &d, &mut text)?;
        let remark = known.remark(number, record);
        match (style, remark) {
            (Style::Json(_), remark) => {
                let flow = known.flow(number, record).map(|(flow, _)| flow);
                put_fields(&mut text, flow, remark.as_deref(), is_asked);
            }
            (_, Some(remark)) => put_remark(&mut text, &remark, is_asked),
            _ => {}
        }
        if wanted.around.is_some() && after.is_none() && !is_asked {
            before.push_back(text);
            if before.len() > args.context {
                before.pop_front();
            }
            return Ok(true);
        }
        for text in mem::take(&mut before).into_iter().chain([text]) {
            out.text.push_str(&text);
        }
        out.written()?;
        left -= 1;
        after = match after {
            _ if is_asked => Some(args.context),
            Some(more) => Some(more - 1),
            None => None,
        };
        Ok(left > 0 && after != Some(0))
    })?;
    if let Err(error) = read.all() {
        return out.complain(&error);
    }
    Ok(is_whole)
}

/// The first pass: what is known of the frames, and of which flow the wanted ones are.
fn analyze(args: &Dissect, parts: &[PathBuf]) -> anyhow::Result<(Annotations, Wanted, bool)> {
    let mut reader = open_parts(parts)?;
    let verify_icrc = args.icrc == Check::Verify;
    let options = Options { dissect: args.roce.options(), verify_icrc, ..Options::default() };
    let mut analysis = Analysis::with(options, Notes::every(DEFAULT_MOST));
    let mut asked = None;
    let read = input::each(&mut reader, |number, record| {
        if args.around == Some(number) {
            asked = Some(OwnedFrame::of(record));
        }
        analysis.push(record);
        Ok(())
    })?;
    let frames = read.frames;
    let is_whole = read.was_read_whole(&name_of(parts));
    let ended = analysis.end().from(describe([&reader].into_iter(), frames));
    let flows = ended.report().flows.iter().map(|flow| flow.connection).collect::<Vec<_>>();
    let known = Annotations::new(ended, args.roce.options());
    let of = match (args.flow, &asked, args.around) {
        (Some(flow), ..) => match flows.get(flow) {
            Some(&connection) => Some((flow, connection)),
            None => bail!(
                "--flow {flow}: {} has {}, numbered from 0",
                name_of(parts),
                several(flows.len() as u64, "flow")
            ),
        },
        (None, Some(frame), Some(around)) => known.flow(around, &frame.record()),
        (None, None, Some(around)) => {
            bail!("--around {around}: {} has {}", name_of(parts), several(frames, "frame"))
        }
        (None, _, None) => None,
    };
    Ok((known, Wanted { around: args.around, of }, is_whole))
}

/// Whether both are of one connection.
fn is_one((flow, connection): (usize, Option<u32>), (other, other_connection): (usize, Option<u32>)) -> bool {
    flow == other || connection.is_some() && connection == other_connection
}

/// Puts what is known of a frame at the end of its JSON object.
fn put_fields(text: &mut String, flow: Option<usize>, remark: Option<&str>, is_asked: bool) {
    let whole = text.trim_end();
    text.truncate(whole.strip_suffix('}').unwrap_or(whole).len());
    let (flow, remark) = (serde_json::json!(flow), serde_json::json!(remark));
    text.push_str(&format!(",\"flow\":{flow},\"remark\":{remark},\"asked\":{is_asked}}}\n"));
}

/// Puts a remark behind the first line of a frame.
fn put_remark(text: &mut String, remark: &str, is_asked: bool) {
    let at = text.find('\n').unwrap_or(text.len());
    let mark = if is_asked { "<==" } else { "<-" };
    text.insert_str(at, &format!("  {mark} {remark}"));
}
