//! The rows of captures, one after the other.
//!
//! A row is written when the class of its packet is known: a late packet's shows after others came. At most
//! [`Packets::MOST_WAITING`] rows wait; those that would wait longer have no class.
//!
//! ```no_run
//! use rdmawire::{analyze::Options, capture::{self, Source}, packets::{Format, Packets}};
//!
//! let mut source = capture::open("x.pcap".as_ref())?;
//! let mut packets = Packets::new(std::fs::File::create("packets.csv")?, Format::Csv)?;
//! packets.begin("x.pcap", Options::default());
//! while let Some(record) = source.next()? {
//!     packets.push(&record)?;
//! }
//! packets.finish()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{cell::RefCell, collections::VecDeque, io, rc::Rc, sync::Arc};

use super::{COLUMNS, Cell, Format, Row, sink::Sink};
use crate::{
    analyze::{Analysis, Class, Options, Space, metric::classes::Classes},
    capture::Record,
};

/// What the analysis says of a frame.
type Told = (u64, Option<Space>, Class);

/// Takes it.
type Tell = Box<dyn FnMut(u64, Option<Space>, Class)>;

/// Writes packets as rows.
pub struct Packets<W: io::Write + Send> {
    sink: Sink<W>,
    capture: Arc<str>,
    options: Options,
    analysis: Option<Analysis<Classes<Tell>>>,
    told: Rc<RefCell<Vec<Told>>>,
    waiting: VecDeque<Waiting>,
    frames: u64,
}

/// A row whose class may not be known yet.
struct Waiting {
    number: u64,
    capture: Arc<str>,
    cells: Box<[Cell]>,
    told: Option<(Option<Space>, Class)>,
}

impl<W: io::Write + Send> Packets<W> {
    /// Rows that wait for the class of their packet, or of one before.
    pub const MOST_WAITING: usize = 1 << 14;

    /// Starts a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: W, format: Format) -> io::Result<Packets<W>> {
        Ok(Packets {
            sink: Sink::new(file, format)?,
            capture: Arc::from(""),
            options: Options::default(),
            analysis: None,
            told: Rc::default(),
            waiting: VecDeque::new(),
            frames: 0,
        })
    }

    /// Begins with another capture.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(&mut self, capture: &str, options: Options) -> io::Result<()> {
        self.end_capture()?;
        let told = self.told.clone();
        let tell: Tell = Box::new(move |number, space, class| told.borrow_mut().push((number, space, class)));
        self.analysis = Some(Analysis::with(options.clone(), Classes(tell)));
        (self.capture, self.options, self.frames) = (Arc::from(capture), options, 0);
        Ok(())
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, record: &Record<'_>) -> io::Result<()> {
        self.frames += 1;
        let (d, icrc) = self.options.examine(record);
        let row = Row { number: self.frames, record, d: &d, icrc: Some(icrc) };
        let cells = COLUMNS.iter().map(|column| column.value(&row)).collect();
        let capture = self.capture.clone();
        self.waiting.push_back(Waiting { number: self.frames, capture, cells, told: None });
        if let Some(analysis) = &mut self.analysis {
            analysis.push_dissected(record, &d, icrc);
        }
        self.write(Packets::<W>::MOST_WAITING)
    }

    /// Passes over a frame. The analysis does not see it.
    pub fn pass_over(&mut self) {
        self.frames += 1;
        if let Some(analysis) = &mut self.analysis {
            analysis.pass_over();
        }
    }

    /// Writes rows until only so many wait that may.
    fn write(&mut self, most: usize) -> io::Result<()> {
        let first = self.waiting.front().map_or(u64::MAX, |row| row.number);
        for (number, space, class) in self.told.borrow_mut().drain(..) {
            let found = (number >= first)
                .then(|| self.waiting.binary_search_by_key(&number, |row| row.number).ok())
                .flatten();
            if let Some(row) = found.and_then(|at| self.waiting.get_mut(at)) {
                row.told = Some((space, class));
            }
        }
        while let Some(row) = self.waiting.front() {
            if row.told.is_none() && self.waiting.len() <= most {
                break;
            }
            let word = |word: Option<&'static str>| word.map_or(Cell::Empty, Cell::Word);
            let space = row.told.and_then(|(space, _)| space).map(|space| match space {
                Space::Request => "request",
                Space::Response => "response",
            });
            let told = [word(space), word(row.told.map(|(_, class)| class.name()))];
            self.sink.put(&row.capture, &row.cells, told)?;
            self.waiting.pop_front();
        }
        Ok(())
    }

    fn end_capture(&mut self) -> io::Result<()> {
        if let Some(analysis) = self.analysis.take() {
            // What was open is decided now.
            drop(analysis.end());
        }
        self.write(0)
    }

    /// Completes the file, and gives it back.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_capture()?;
        self.sink.finish()
    }
}
