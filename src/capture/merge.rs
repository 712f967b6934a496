//! Several captures as one, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::place::Place;
use super::series::name_of;
use super::{ClockOffset, Error, Info, Interface, MAX_PROBLEMS, Reader, Record, Series, Source, Time};
use crate::dissect::Link;

/// Most frames that are held back to sort one file.
const HELD_FRAMES: usize = 4096;
/// Most bytes of frames that are held back for it.
const HELD_BYTES: usize = 8 << 20;
/// [`Info`] is updated after so many frames.
const REFRESH: u64 = 1024;

/// Several captures as one [`Source`], in the order of time. Frames with equal times come in the order of the files.
///
/// Interfaces get new numbers, in the order in which their frames come. A capture from several cores is often not sorted. So
/// frames are held for a window of time: one millisecond, or that of [`with_window`](Merge::with_window). The number of held
/// frames is bounded. A frame that is later than the window comes out of order. With a window of 0, nothing is copied.
#[derive(Debug)]
pub struct Merge {
    lanes: Vec<Lane>,
    /// Time and lane of each lane's next frame.
    heads: BinaryHeap<Reverse<(Time, usize)>>,
    /// The lane whose frame was given last; it must advance first.
    given: Option<usize>,
    started: bool,
    info: Info,
}

impl Merge {
    /// The window of time in which a capture is sorted, in nanoseconds.
    pub const WINDOW_NS: u64 = 1_000_000;

    /// Merges `readers`.
    pub fn new(readers: Vec<Reader>) -> Merge {
        Merge::with_window(readers, Merge::WINDOW_NS)
    }

    /// Merges `readers`; each is sorted within a window of `nanoseconds`.
    pub fn with_window(readers: Vec<Reader>, nanoseconds: u64) -> Merge {
        Merge::of(readers.into_iter().map(Series::from), nanoseconds)
    }

    /// Merges captures that may be in several files each; each is sorted within a window of `nanoseconds`.
    pub fn of(captures: impl IntoIterator<Item = Series>, nanoseconds: u64) -> Merge {
        let lanes: Vec<Lane> = captures.into_iter().map(|capture| Lane::new(capture, nanoseconds)).collect();
        let name = name_of(lanes.iter().flat_map(|lane| lane.capture.names()));
        let format = lanes.first().map(|lane| lane.capture.info().format).unwrap_or_default();
        let info = Info { name, format, ..Info::default() };
        let mut merge = Merge { lanes, heads: BinaryHeap::new(), given: None, started: false, info };
        merge.refresh();
        merge
    }

    /// The captures themselves, each with its own [`Info`].
    pub fn captures(&self) -> impl Iterator<Item = &Series> {
        self.lanes.iter().map(|lane| &lane.capture)
    }

    /// Sets the clock of a capture right: what it shows too much is subtracted from its times. Before the first frame is read.
    pub fn set_clock(&mut self, capture: usize, offset: ClockOffset) {
        if let Some(lane) = self.lanes.get_mut(capture) {
            lane.clock = Some(offset);
            lane.capture.set_clock(offset);
        }
        self.lanes.iter_mut().for_each(|lane| lane.capture.watch_step());
    }

    /// Nothing ties the clock of a capture to that of the first one.
    pub fn set_untied(&mut self, capture: usize) {
        if let Some(lane) = self.lanes.get_mut(capture) {
            lane.capture.set_untied();
        }
    }

    /// Index of the capture whose frame was given last.
    pub fn file(&self) -> Option<usize> {
        self.given
    }

    /// Puts a lane's next frame into the heap, if it has one.
    fn advance(&mut self, lane: usize) -> Result<(), Error> {
        match self.lanes[lane].advance()? {
            Some(time) => self.heads.push(Reverse((time, lane))),
            None => self.refresh(),
        }
        Ok(())
    }

    /// Updates [`Info`].
    #[cold]
    fn refresh(&mut self) {
        let Info { interfaces, problems, problem_count, skipped, bytes_read, total_bytes, .. } =
            &mut self.info;
        (*problem_count, *skipped, *bytes_read, *total_bytes) = (0, 0, 0, Some(0));
        problems.clear();
        for Lane { capture, interfaces: numbers, .. } in &self.lanes {
            let info = capture.info();
            *problem_count += info.problem_count;
            *skipped += info.skipped;
            *bytes_read += info.bytes_read;
            *total_bytes = total_bytes.zip(info.total_bytes).map(|(one, other)| one + other);
            // Damage that ends a file is always kept: there is at most one for each file.
            let room = MAX_PROBLEMS.saturating_sub(problems.len());
            let some = info.problems.iter().enumerate().filter(|(at, damage)| *at < room || damage.fatal);
            problems.extend(some.map(|(_, damage)| damage.clone()));
            for (number, known) in numbers.iter().zip(&info.interfaces) {
                if let Some(interface) = number.and_then(|number| interfaces.get_mut(usize::from(number))) {
                    interface.drops = known.drops;
                }
            }
        }
    }

    /// The merge's number for a lane's interface.
    #[cold]
    fn number(&mut self, lane: usize, interface: u16) -> u16 {
        // Interfaces beyond the 16 bits of a record share the last number.
        let number = self.info.interfaces.len().min(usize::from(u16::MAX)) as u16;
        let Lane { capture, interfaces, .. } = &mut self.lanes[lane];
        let at = usize::from(interface);
        if interfaces.len() <= at {
            interfaces.resize(at + 1, None);
        }
        interfaces[at] = Some(number);
        if usize::from(number) == self.info.interfaces.len() {
            let known = capture.interface(at).cloned().unwrap_or_default();
            // Captures of several machines: each interface says what it is in.
            let known = match capture.files().next() {
                Some(first) => known.of_section((&first.hardware, &first.os), &self.info),
                None => known,
            };
            let file = capture.files().next().map(|info| info.name.clone());
            self.info.interfaces.push(Interface { file, ..known });
        }
        number
    }
}

impl Source for Merge {
    fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        if !self.started {
            for lane in 0..self.lanes.len() {
                self.advance(lane)?;
            }
            self.started = true;
        } else if let Some(lane) = self.given.take() {
            self.advance(lane)?;
        }
        let Some(Reverse((_, lane))) = self.heads.pop() else { return Ok(None) };
        self.given = Some(lane);
        self.info.frames += 1;
        if self.info.frames.is_multiple_of(REFRESH) {
            self.refresh();
        }
        let interface = self.lanes[lane].interface();
        let number = match self.lanes[lane].interfaces.get(usize::from(interface)) {
            Some(&Some(number)) => number,
            _ => self.number(lane, interface),
        };
        Ok(self.lanes[lane].record().map(|record| Record { interface: number, ..record }))
    }

    fn info(&self) -> &Info {
        &self.info
    }
}

/// One capture of a merge.
#[derive(Debug)]
struct Lane {
    capture: Series,
    window: i64,
    /// What its clock shows too much.
    clock: Option<ClockOffset>,
    head: Head,
    held: BinaryHeap<Reverse<Held>>,
    held_bytes: usize,
    newest: Time,
    count: u64,
    over: bool,
    /// Buffers to be used again.
    spare: Vec<Vec<u8>>,
    /// The capture's interface -> its number in the merge.
    interfaces: Vec<Option<u16>>,
}

/// A lane's next frame.
#[derive(Debug)]
enum Head {
    None,
    /// In the reader's buffer.
    Place(Place),
    Held(Held),
}

/// A frame held, with its record.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    time: Time,
    /// Its number in the file: frames with equal times keep their order.
    number: u64,
    link: Link,
    interface: u16,
    wire_len: u32,
    frame: Vec<u8>,
}

impl Lane {
    fn new(capture: Series, window: u64) -> Lane {
        Lane {
            capture,
            window: i64::try_from(window).unwrap_or(i64::MAX),
            clock: None,
            head: Head::None,
            held: BinaryHeap::new(),
            held_bytes: 0,
            newest: Time(i64::MIN),
            count: 0,
            over: false,
            spare: Vec::new(),
            interfaces: Vec::new(),
        }
    }

    /// Goes to the next frame and gives its time.
    fn advance(&mut self) -> Result<Option<Time>, Error> {
        if let Head::Held(held) = std::mem::replace(&mut self.head, Head::None) {
            self.spare.push(held.frame);
        }
        if self.window == 0 {
            let place = self.capture.advance()?;
            let place = place.map(|place| self.right(place));
            return Ok(place.map(|place| {
                self.head = Head::Place(place);
                place.time
            }));
        }
        while !self.over && !self.is_ready() {
            match self.capture.advance()? {
                Some(place) => {
                    let place = self.right(place);
                    self.hold(place);
                }
                None => self.over = true,
            }
        }
        Ok(self.held.pop().map(|Reverse(held)| {
            let time = held.time;
            self.held_bytes -= held.frame.len();
            self.head = Head::Held(held);
            time
        }))
    }

    /// With the time by a clock that is right.
    fn right(&mut self, place: Place) -> Place {
        self.capture.see_time(place.time);
        let ahead = self.clock.map_or(0, |clock| clock.at(place.time.0));
        Place { time: Time(place.time.0.saturating_sub(ahead)), ..place }
    }

    /// Whether the earliest held frame can be delivered: no earlier one may follow, or the bound is reached.
    fn is_ready(&self) -> bool {
        self.held.peek().is_some_and(|Reverse(first)| {
            self.newest.0.saturating_sub(first.time.0) >= self.window
                || self.held.len() >= HELD_FRAMES
                || self.held_bytes >= HELD_BYTES
        })
    }

    fn hold(&mut self, place: Place) {
        let Record { time, link, interface, wire_len, frame: bytes } = self.capture.record(place);
        let mut frame = self.spare.pop().unwrap_or_default();
        // A very long frame must not leave a long buffer behind.
        if frame.capacity() > 1 << 16 && bytes.len() <= 1 << 16 {
            frame = Vec::new();
        }
        frame.clear();
        frame.extend_from_slice(bytes);
        self.held_bytes += frame.len();
        self.newest = self.newest.max(time);
        self.count += 1;
        self.held.push(Reverse(Held { time, number: self.count, link, interface, wire_len, frame }));
    }

    fn interface(&self) -> u16 {
        match &self.head {
            Head::None => 0,
            Head::Place(place) => place.interface,
            Head::Held(held) => held.interface,
        }
    }

    fn record(&self) -> Option<Record<'_>> {
        match &self.head {
            Head::None => None,
            Head::Place(place) => Some(self.capture.record(*place)),
            &Head::Held(Held { time, link, interface, wire_len, ref frame, .. }) => {
                Some(Record { time, link, interface, wire_len, frame })
            }
        }
    }
}
