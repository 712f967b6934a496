//! When data of a command was on its way: READs were open, or packets of WRITEs were not acknowledged. Between them who answers took its time.

use crate::opcode::Operation;

/// A READ that is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    /// Its first request.
    pub(crate) since: i64,
    /// It repeats a request whose last response was not seen.
    pub(crate) was_open: bool,
}

/// The times of one command's data.
#[derive(Debug, Default)]
pub(crate) struct Moving {
    over: Vec<(i64, i64)>,
    /// From when, and to the last packet.
    now: Option<(i64, i64)>,
    /// The last packet of a WRITE, which nothing acknowledged yet.
    unacked: Option<u32>,
    /// READs without their last response.
    reads: u16,
}

impl Moving {
    /// A packet of this operation with data.
    pub(crate) fn data(&mut self, operation: Option<Operation>, time: i64, psn: u32) {
        match operation {
            Some(Operation::Write) => self.write(time, psn),
            _ => self.packet(time),
        }
    }

    /// A packet of data.
    fn packet(&mut self, time: i64) {
        self.now.get_or_insert((time, time)).1 = time;
    }

    /// A packet of a WRITE.
    fn write(&mut self, time: i64, psn: u32) {
        self.packet(time);
        self.unacked = Some(psn);
    }

    /// A READ request.
    pub(crate) fn read(&mut self, time: i64, Reading { since, was_open }: Reading) {
        self.packet(time);
        // One that is asked again was open all the time: who asked lacks its responses.
        self.now = self.now.map(|(from, to)| (from.min(since), to));
        self.reads = self.reads.saturating_add(u16::from(!was_open));
    }

    /// The last response to a READ that was open.
    pub(crate) fn read_ended(&mut self, time: i64) {
        self.reads = self.reads.saturating_sub(1);
        self.pause(time);
    }

    /// An acknowledgement covers this packet.
    pub(crate) fn acked(&mut self, psn: u32, time: i64) {
        if self.unacked == Some(psn) {
            self.unacked = None;
            self.pause(time);
        }
    }

    /// Nothing is on its way any more, if so.
    fn pause(&mut self, time: i64) {
        /// With more, what is between them counts, too.
        const MOST: usize = 256;
        if self.reads > 0 || self.unacked.is_some() {
            return;
        }
        let Some((from, _)) = self.now.take() else { return };
        let is_full = self.over.len() >= MOST;
        match self.over.last_mut() {
            Some(last) if is_full => last.1 = time,
            _ => self.over.push((from, time)),
        }
    }

    /// Whether there was any.
    pub(crate) fn is_some(&self) -> bool {
        self.now.is_some() || !self.over.is_empty()
    }

    /// When it was on its way.
    pub(crate) fn times(&self) -> impl Iterator<Item = (i64, i64)> {
        self.over.iter().copied().chain(self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_between_what_is_acknowledged() {
        let mut moving = Moving::default();
        [(10, 1), (11, 2)].iter().for_each(|&(time, psn)| moving.write(time, psn));
        // It covers the first packet alone.
        moving.acked(1, 12);
        moving.write(15, 3);
        moving.acked(3, 20);
        moving.read(50, Reading { since: 50, was_open: false });
        moving.read(52, Reading { since: 52, was_open: false });
        moving.read(53, Reading { since: 52, was_open: true });
        [55, 57].iter().for_each(|&time| moving.packet(time));
        moving.read_ended(57);
        moving.read_ended(60);
        moving.write(70, 9);
        assert_eq!(moving.times().collect::<Vec<_>>(), [(10, 20), (50, 60), (70, 70)]);
        // The last READ is asked again: it was open since its first request.
        moving.read(80, Reading { since: 52, was_open: false });
        moving.acked(9, 81);
        moving.read_ended(90);
        assert_eq!(moving.times().last(), Some((52, 90)));
    }
}
