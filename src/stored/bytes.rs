//! The bytes that values are written to and read from.

use std::io::{self, Read, Write};

use super::Stored;

/// Bytes that are collected before they are passed on.
const BUFFER: usize = 64 << 10;

/// What values are written to. After an error it takes nothing more: [`end`](Sink::end) returns the error.
pub(crate) struct Sink<'a> {
    to: &'a mut dyn Write,
    buffer: Vec<u8>,
    written: io::Result<()>,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(to: &'a mut dyn Write) -> Sink<'a> {
        Sink { to, buffer: Vec::with_capacity(BUFFER), written: Ok(()) }
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        if self.buffer.len() == BUFFER {
            self.pass_on();
        }
        self.buffer.push(byte);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(BUFFER) {
            if self.buffer.len() + part.len() > BUFFER {
                self.pass_on();
            }
            self.buffer.extend_from_slice(part);
        }
    }

    /// Their number, and the bytes.
    pub(crate) fn counted(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes(bytes);
    }

    pub(crate) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    #[cold]
    fn pass_on(&mut self) {
        if self.written.is_ok() {
            self.written = self.to.write_all(&self.buffer);
        }
        self.buffer.clear();
    }

    /// # Errors
    /// The writer's first one.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.pass_on();
        self.written
    }
}

/// What is wrong with the bytes.
#[derive(Debug)]
pub(crate) enum Damage {
    /// They could not be read.
    Io(io::Error),
    /// They are not what they should be.
    Wrong(&'static str),
}

/// What values are read from. After damage, all its bytes are 0: [`end`](Spring::end) returns what was wrong.
pub(crate) struct Spring<'a> {
    from: &'a mut dyn Read,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    damage: Option<Damage>,
}

impl<'a> Spring<'a> {
    pub(crate) fn new(from: &'a mut dyn Read) -> Spring<'a> {
        Spring { from, buffer: vec![0; BUFFER], at: 0, end: 0, damage: None }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        if self.at == self.end {
            self.more();
        }
        self.at += 1;
        self.buffer[self.at - 1]
    }

    pub(crate) fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte();
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return number;
            }
        }
        self.damage("a number that is too large")
    }

    /// So many values, or as many as there are before damage.
    pub(crate) fn times<T>(
        &mut self,
        times: u64,
        restore: impl Fn(&mut Self) -> T,
    ) -> impl Iterator<Item = T> {
        (0..times).map_while(move |_| {
            let value = restore(self);
            self.damage.is_none().then_some(value)
        })
    }

    /// Something is wrong. Returns a value to go on with.
    #[cold]
    pub(crate) fn damage<T: Default>(&mut self, what: &'static str) -> T {
        self.broken(Damage::Wrong(what));
        T::default()
    }

    /// The first damage counts.
    fn broken(&mut self, damage: Damage) {
        self.damage.get_or_insert(damage);
        self.buffer.fill(0);
        (self.at, self.end) = (0, self.buffer.len());
    }

    #[cold]
    fn more(&mut self) {
        loop {
            match self.damage.is_none().then(|| self.from.read(&mut self.buffer)) {
                None | Some(Ok(0)) => return self.broken(Damage::Wrong(TOO_SHORT)),
                Some(Ok(len)) => {
                    (self.at, self.end) = (0, len);
                    return;
                }
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Some(Err(error)) => return self.broken(Damage::Io(error)),
            }
        }
    }

    /// All was read that is to be read.
    ///
    /// # Errors
    /// The first damage, or something is left.
    pub(crate) fn end(self) -> Result<(), Damage> {
        match self.damage {
            Some(damage) => Err(damage),
            None if self.at < self.end => Err(Damage::Wrong(TOO_LONG)),
            None => Ok(()),
        }
    }
}

pub(crate) const TOO_SHORT: &str = "it ends too early";
pub(crate) const TOO_LONG: &str = "it is longer than what it describes";

/// A value's bytes.
pub(crate) fn to_bytes(value: &impl Stored) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sink = Sink::new(&mut bytes);
    value.store(&mut sink);
    sink.end().expect("memory takes all");
    bytes
}

/// The value of these bytes.
///
/// # Errors
/// They are of no such value, too few or too many.
pub(crate) fn from_bytes<T: Stored>(mut bytes: &[u8]) -> Result<T, Damage> {
    let mut spring = Spring::new(&mut bytes);
    let value = T::restore(&mut spring);
    spring.end()?;
    match bytes.is_empty() {
        true => Ok(value),
        false => Err(Damage::Wrong(TOO_LONG)),
    }
}
