//! The clear-to-send element: what a receiver WRITEs into its sender's FIFO for each request. Its layout differs by version.

use crate::report::CtsLayout;

/// Elements of one slot, at most.
const MOST: usize = 8;
/// All fields of an element are in its first bytes.
const MOST_OF_FIELDS: usize = 48;
/// User space ends below this address, with five levels of page tables.
const LAST_ADDRESS: u64 = 1 << 57;
/// Nothing is mapped below.
const FIRST_ADDRESS: u64 = 1 << 12;
/// The largest size: it was an `int` in older versions.
const MOST_BYTES: u64 = 1 << 31;
/// No connection counts so far.
const MOST_INDEX: u64 = 1 << 40;

/// Where a layout has its fields, in bytes from the element's beginning.
struct Fields {
    layout: CtsLayout,
    bytes: usize,
    has_long_size: bool,
    rkeys: usize,
    rkey_count: usize,
    /// How many elements the slot has, in each of them.
    count: Option<usize>,
    index: usize,
    has_long_index: bool,
    /// A word that is 1.
    ready: Option<usize>,
}

/// The newest first.
const LAYOUTS: &[Fields] = &[
    Fields {
        layout: CtsLayout::Bytes48,
        bytes: 48,
        has_long_size: true,
        rkeys: 16,
        rkey_count: 4,
        count: Some(32),
        index: 40,
        has_long_index: true,
        ready: None,
    },
    Fields {
        layout: CtsLayout::FourKeys64,
        bytes: 64,
        has_long_size: true,
        rkeys: 16,
        rkey_count: 4,
        count: Some(32),
        index: 40,
        has_long_index: true,
        ready: None,
    },
    Fields {
        layout: CtsLayout::TwoKeys64,
        bytes: 64,
        has_long_size: false,
        rkeys: 12,
        rkey_count: 2,
        count: Some(20),
        index: 32,
        has_long_index: true,
        ready: None,
    },
    Fields {
        layout: CtsLayout::OneKey32,
        bytes: 32,
        has_long_size: false,
        rkeys: 12,
        rkey_count: 1,
        count: Some(16),
        index: 24,
        has_long_index: true,
        ready: None,
    },
    Fields {
        layout: CtsLayout::Sequence32,
        bytes: 32,
        has_long_size: false,
        rkeys: 16,
        rkey_count: 1,
        count: None,
        index: 12,
        has_long_index: false,
        ready: Some(20),
    },
];

/// A buffer that is ready.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct Element {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// Of each device; 0, or stale, where there is none.
    pub(crate) rkeys: [u32; 4],
}

impl Element {
    /// Whether a WRITE goes into this buffer.
    pub(crate) fn has(&self, va: u64, rkey: u32, len: u32) -> bool {
        let end = self.address.saturating_add(self.size);
        self.rkeys.contains(&rkey) && va >= self.address && va.saturating_add(len.into()) <= end
    }
}

/// The elements of one slot.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) layout: CtsLayout,
    /// The request's number, which counts up on a connection.
    pub(crate) index: u64,
    pub(crate) elements: Vec<Element>,
}

impl Slot {
    /// Reads what a WRITE of so many bytes carries; `None` if that can be no slot. The padding at its end may be missing: frames are often
    /// cut there.
    pub(crate) fn read(bytes: &[u8], payload: u32) -> Option<Slot> {
        // All layouts begin with the address. Of what is none, that mostly shows it.
        long(bytes, 0).filter(is_address)?;
        LAYOUTS.iter().find_map(|fields| fields.read(bytes, payload as usize))
    }

    /// Whether what was captured of a WRITE of so many bytes may be the beginning of a slot.
    pub(crate) fn may_begin(bytes: &[u8], payload: u32) -> bool {
        let is_none = |fields: &Fields| {
            let known = bytes.len() >= fields.bytes.min(MOST_OF_FIELDS);
            known && fields.read_first(bytes, payload as usize).is_none()
        };
        long(bytes, 0).is_none_or(|address| is_address(&address)) && !LAYOUTS.iter().all(is_none)
    }

    /// The distance of two slots in memory.
    pub(crate) fn stride(layout: CtsLayout) -> u64 {
        let bytes = element_bytes(layout).unwrap_or(0);
        match layout {
            CtsLayout::Sequence32 => bytes,
            _ => bytes * MOST as u64,
        }
    }
}

/// The length of an element.
pub(crate) fn element_bytes(layout: CtsLayout) -> Option<u64> {
    LAYOUTS.iter().find(|fields| fields.layout == layout).map(|fields| fields.bytes as u64)
}

/// Whether a WRITE of so many bytes may carry a slot.
#[inline(always)]
pub(crate) fn may_be(payload: u32) -> bool {
    (32..=(64 * MOST as u32)).contains(&payload) && payload.is_multiple_of(16)
}

impl Fields {
    fn read(&self, bytes: &[u8], payload: usize) -> Option<Slot> {
        let count = payload / self.bytes;
        if !payload.is_multiple_of(self.bytes) || !(1..=MOST).contains(&count) {
            return None;
        }
        let mut index = None;
        let mut elements = Vec::new();
        for at in 0..count {
            let element = bytes.get(at * self.bytes..)?;
            let here = self.index(element)?;
            if *index.get_or_insert(here) != here || !self.is_whole(element, count) {
                return None;
            }
            elements.push(self.element(element)?);
        }
        Some(Slot { layout: self.layout, index: index?, elements })
    }

    /// The first element of a slot.
    fn read_first(&self, bytes: &[u8], payload: usize) -> Option<Element> {
        let count = payload / self.bytes;
        let is_one = payload.is_multiple_of(self.bytes) && (1..=MOST).contains(&count);
        (is_one && self.index(bytes).is_some() && self.is_whole(bytes, count)).then(|| self.element(bytes))?
    }

    fn index(&self, element: &[u8]) -> Option<u64> {
        match self.has_long_index {
            true => long(element, self.index).filter(|index| (1..MOST_INDEX).contains(index)),
            false => word(element, self.index).map(u64::from),
        }
    }

    /// Whether it says that its slot has so many elements.
    fn is_whole(&self, element: &[u8], count: usize) -> bool {
        let is_count = |at| word(element, at) == Some(count as u32);
        let is_ready = |at| word(element, at) == Some(1);
        self.count.map_or(count == 1, is_count) && self.ready.is_none_or(is_ready)
    }

    fn element(&self, element: &[u8]) -> Option<Element> {
        let address = long(element, 0).filter(is_address)?;
        let size = match self.has_long_size {
            true => long(element, 8)?,
            false => word(element, 8)?.into(),
        };
        let mut rkeys = [0; 4];
        for (n, rkey) in rkeys.iter_mut().enumerate().take(self.rkey_count) {
            *rkey = word(element, self.rkeys + 4 * n)?;
        }
        (size < MOST_BYTES && rkeys != [0; 4]).then_some(Element { address, size, rkeys })
    }
}

fn is_address(address: &u64) -> bool {
    (FIRST_ADDRESS..LAST_ADDRESS).contains(address)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
