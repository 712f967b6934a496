//! Reports as JSON. A report of a million flows is gigabytes of text: several threads make its rows, and small pieces are joined
//! before they are written.

use std::{
    io::{self, Write},
    sync::mpsc::{Receiver, sync_channel},
    thread::{self, Scope},
};

use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeSeq},
};
use serde_json::value::{RawValue, to_raw_value};

use super::{
    Renderer, Rows, View,
    set::{SCHEMA, Set, Totals},
};

/// One JSON object on a line.
#[derive(Clone, Copy, Debug)]
pub struct Json {
    /// Threads that make rows.
    pub threads: usize,
}

impl Renderer for Json {
    fn render(&mut self, report: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        let threads = self.threads;
        let flows = Parallel { rows: report.flows.clone(), threads };
        let connections = Parallel { rows: report.connections.clone(), threads };
        let episodes = Parallel { rows: report.episodes.clone(), threads };
        write(out, &report.head.with_lists(flows, connections, episodes))?;
        writeln!(out)
    }
}

/// Writes a [`Set`] whose reports come one by one.
#[derive(Clone, Debug, Default)]
pub struct SetWriter {
    summaries: Vec<Totals>,
}

impl SetWriter {
    /// Writes the next report.
    ///
    /// # Errors
    /// What `out` fails with.
    pub fn put(&mut self, report: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self.summaries.is_empty() {
            true => write!(out, r#"{{"schema":"{SCHEMA}","reports":["#)?,
            false => write!(out, ",")?,
        }
        self.summaries.push(Totals::of(report));
        write(out, report)
    }

    /// Writes what comes after the last report; nothing if there was none.
    ///
    /// # Errors
    /// What `out` fails with.
    pub fn end(self, out: &mut dyn Write) -> io::Result<()> {
        if self.summaries.is_empty() {
            return Ok(());
        }
        let set = Set::of_summaries(self.summaries);
        write!(out, r#"],"summaries":"#)?;
        write(out, &set.summaries)?;
        write!(out, r#","total":"#)?;
        write(out, &set.total)?;
        write!(out, r#","verdict":"#)?;
        write(out, &set.verdict)?;
        writeln!(out, "}}")
    }
}

/// A value as JSON, with every control character escaped.
///
/// # Errors
/// What `out` fails with.
pub fn write<T: Serialize>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    let mut pieces = Pieces { text: Vec::with_capacity(2 * PIECE), out };
    value.serialize(&mut serde_json::Serializer::new(&mut pieces))?;
    pieces.hand_on()
}

/// Writes JSON text with every control character escaped.
///
/// # Errors
/// What `out` fails with.
pub(super) fn write_text(out: &mut dyn Write, text: &[u8]) -> io::Result<()> {
    // DEL is 7f, and the others are c2 80 to c2 9f: most texts have neither byte. Many are compared at once.
    let is_one = |byte| u8::from(byte == 0x7f) | u8::from(byte == 0xc2);
    match text.iter().fold(0, |any, &byte| any | is_one(byte)) {
        0 => out.write_all(text),
        _ => write_escaped(out, &String::from_utf8_lossy(text)),
    }
}

/// Rows that a thread makes in one turn.
const TURN: usize = 64;
/// Turns that each thread may be ahead of the writer.
const AHEAD: usize = 2;

/// Rows that several threads make, turn by turn.
struct Parallel<'a, T> {
    rows: Rows<'a, T>,
    threads: usize,
}

impl<T: Clone + Serialize> Parallel<'_, T> {
    /// Makes the rows of a turn.
    fn turn<E>(&self, turn: usize, mut each: impl FnMut(&T) -> Result<(), E>) -> Result<(), E> {
        (turn * TURN..(turn + 1) * TURN).map_while(|at| self.rows.row(at)).try_for_each(|row| each(&row))
    }

    /// Starts a thread that makes the turn `first`, and then every `threads`-th turn.
    fn make<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        first: usize,
    ) -> Receiver<serde_json::Result<Vec<Box<RawValue>>>> {
        let (sender, made) = sync_channel(AHEAD);
        scope.spawn(move || {
            for turn in (first..self.rows.len().div_ceil(TURN)).step_by(self.threads) {
                let mut rows = Vec::with_capacity(TURN);
                let made = self.turn(turn, |row| to_raw_value(row).map(|row| rows.push(row)));
                if sender.send(made.map(|()| rows)).is_err() {
                    return;
                }
            }
        });
        made
    }
}

impl<T: Clone + Serialize> Serialize for Parallel<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let turns = self.rows.len().div_ceil(TURN);
        if self.threads < 2 || turns < 2 {
            return self.rows.serialize(to);
        }
        let mut written = to.serialize_seq(Some(self.rows.len()))?;
        thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads.min(turns)).map(|first| self.make(scope, first)).collect();
            for turn in 0..turns {
                let Some(other) = (turn % self.threads).checked_sub(1).and_then(|at| others.get(at)) else {
                    self.turn(turn, |row| written.serialize_element(row))?;
                    continue;
                };
                let rows = other.recv().map_err(S::Error::custom)?.map_err(S::Error::custom)?;
                rows.iter().try_for_each(|row| written.serialize_element(row))?;
            }
            Ok(())
        })?;
        written.end()
    }
}

/// Text is written in pieces of this size.
const PIECE: usize = 1 << 16;

/// Writes text in large pieces, and escapes every control character. JSON requires that for ASCII only, but
/// terminals obey other control characters too. With a standard `BufWriter` every bracket would be a call.
struct Pieces<'a> {
    text: Vec<u8>,
    out: &'a mut dyn Write,
}

impl Pieces<'_> {
    #[cold]
    fn hand_on(&mut self) -> io::Result<()> {
        write_text(self.out, &self.text)?;
        self.text.clear();
        Ok(())
    }
}

impl Write for Pieces<'_> {
    #[inline]
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_all(text)?;
        Ok(text.len())
    }

    #[inline]
    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        self.text.extend_from_slice(text);
        if self.text.len() >= PIECE { self.hand_on() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hand_on()?;
        self.out.flush()
    }
}

/// Escapes control characters, which JSON text has in its strings only.
#[cold]
fn write_escaped(writer: &mut dyn Write, text: &str) -> io::Result<()> {
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| c.is_control()) {
        write!(writer, "{}\\u{:04x}", &rest[..at], c as u32)?;
        rest = &rest[at + c.len_utf8()..];
    }
    writer.write_all(rest.as_bytes())
}
