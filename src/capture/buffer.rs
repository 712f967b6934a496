//! Shared bytes of a capture.

use std::{ops::Deref, sync::Arc};

use super::Record;

/// Bytes of a capture. They do not change while a clone exists: the source then reads into another buffer. So frames can go to
/// another thread without a copy.
#[derive(Clone, Debug)]
pub struct Buffer(Arc<Vec<u8>>);

impl Buffer {
    pub(super) fn new(len: usize) -> Buffer {
        Buffer(Arc::new(vec![0; len]))
    }

    /// The bytes, for writing; `None` if there is a clone.
    pub(super) fn alone(&mut self) -> Option<&mut Vec<u8>> {
        Arc::get_mut(&mut self.0)
    }

    /// Whether both are the same buffer, not only equal bytes.
    #[inline]
    pub fn is(&self, other: &Buffer) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A frame, and the buffer that holds its bytes.
#[derive(Clone, Copy, Debug)]
pub struct SharedRecord<'a> {
    /// The frame.
    pub record: Record<'a>,
    /// The buffer, and where the frame begins in it; `None` if the source does not share.
    pub place: Option<(&'a Buffer, usize)>,
}
