//! MAC control frames: PAUSE and priority flow control.

use super::{Hex8, Mac, Show};

number! {
    /// MAC control operation code.
    MacControlOpcode(u16) as Show::Named(|v| match v {
        1 => Some("PAUSE"), 2 => Some("GATE"), 3 => Some("REPORT"), 4 => Some("REGISTER_REQ"), 5 => Some("REGISTER"),
        6 => Some("REGISTER_ACK"), 0x0101 => Some("PFC"), _ => None,
    })
}

impl MacControlOpcode {
    /// Pause of all traffic (IEEE 802.3, annex 31B).
    pub const PAUSE: MacControlOpcode = MacControlOpcode(0x0001);
    /// Pause of single priorities (IEEE 802.1Qbb; IEEE 802.3, annex 31D).
    pub const PFC: MacControlOpcode = MacControlOpcode(0x0101);
}

header! {
    /// MAC control header (IEEE 802.3, 31.4).
    ///
    /// ```text
    /// +-------------------------------+
    /// |            opcode             |
    /// +-------------------------------+
    /// ```
    MacControl "MAC control", 2 bytes {
        /// PAUSE, PFC or another operation.
        opcode with_opcode: 16 as MacControlOpcode ["macc.opcode"],
    }
}

impl MacControl {
    /// The destination of all pause frames, which no bridge forwards (IEEE 802.3, annex 31B).
    pub const ADDRESS: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 1]);
}

/// Bit times of a pause quantum (IEEE 802.3, 31B.2).
pub const QUANTUM_BITS: u64 = 512;

/// How long so many pause quanta last on a link of this speed in bit/s, in nanoseconds.
pub fn quanta_ns(quanta: u16, speed_bps: u64) -> i64 {
    let bits_ns = quanta as u128 * QUANTUM_BITS as u128 * 1_000_000_000;
    i64::try_from(bits_ns / speed_bps.max(1) as u128).unwrap_or(i64::MAX)
}

header! {
    /// PAUSE (IEEE 802.3, annex 31B). A quantum is 512 bit times.
    ///
    /// ```text
    /// +-------------------------------+
    /// |     pause time in quanta      |
    /// +-------------------------------+
    /// ```
    Pause "PAUSE", 2 bytes {
        /// How long the receiver shall stop, in quanta; 0 ends a pause.
        pause_time with_pause_time: 16 as u16 ["macc.pause_time"],
    }
}

header! {
    /// Priority flow control (IEEE 802.3, annex 31D). A quantum is 512 bit times. A time of zero whose bit is set
    /// ends a pause.
    ///
    /// ```text
    ///  0                   1                   2                   3
    ///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
    /// +---------------+---------------+-------------------------------+
    /// |   reserved    | class enable  |            time 0             |
    /// +---------------+---------------+-------------------------------+
    /// |            time 1             |            time 2             |
    /// +-------------------------------+-------------------------------+
    /// |            time 3             |            time 4             |
    /// +-------------------------------+-------------------------------+
    /// |            time 5             |            time 6             |
    /// +-------------------------------+-------------------------------+
    /// |            time 7             |
    /// +-------------------------------+
    /// ```
    Pfc "PFC", 18 bytes {
        /// Zero.
        reserved with_reserved: 8 as Hex8,
        /// Bit i: time i is valid.
        class_enable with_class_enable: 8 as Hex8,
        /// Pause of priority 0 in quanta.
        time0 with_time0: 16 as u16 ["macc.cbfc.pause_time.c0"],
        /// Pause of priority 1 in quanta.
        time1 with_time1: 16 as u16 ["macc.cbfc.pause_time.c1"],
        /// Pause of priority 2 in quanta.
        time2 with_time2: 16 as u16 ["macc.cbfc.pause_time.c2"],
        /// Pause of priority 3 in quanta.
        time3 with_time3: 16 as u16 ["macc.cbfc.pause_time.c3"],
        /// Pause of priority 4 in quanta.
        time4 with_time4: 16 as u16 ["macc.cbfc.pause_time.c4"],
        /// Pause of priority 5 in quanta.
        time5 with_time5: 16 as u16 ["macc.cbfc.pause_time.c5"],
        /// Pause of priority 6 in quanta.
        time6 with_time6: 16 as u16 ["macc.cbfc.pause_time.c6"],
        /// Pause of priority 7 in quanta.
        time7 with_time7: 16 as u16 ["macc.cbfc.pause_time.c7"],
    }
}

impl Pfc {
    /// The pause of a priority in quanta; `None` where its bit is not set.
    #[inline]
    pub fn time(&self, priority: u8) -> Option<u16> {
        let at = 2 + 2 * priority as usize;
        let enabled = priority < 8 && self.class_enable().0 >> priority & 1 == 1;
        let bytes = self.bytes().get(at..at + 2).filter(|_| enabled)?;
        Some(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// This header with the bit of this priority set, and its pause in quanta.
    #[must_use]
    pub fn with_time(mut self, priority: u8, quanta: u16) -> Pfc {
        if priority < 8 {
            self = self.with_class_enable(Hex8(self.class_enable().0 | 1 << priority));
            super::Bits::set(quanta, &mut self.0, &Self::ROWS[2 + priority as usize]);
        }
        self
    }
}
