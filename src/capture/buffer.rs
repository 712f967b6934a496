//! Bytes of a capture that others may hold on to.

use std::{ops::Deref, sync::Arc};

use super::Record;

/// Bytes of a capture that stay as they are for as long as anybody holds on to them: its source reads on elsewhere
/// meanwhile. So frames can be handed to another thread without being copied.
#[derive(Clone, Debug)]
pub struct Buffer(Arc<Vec<u8>>);

impl Buffer {
    pub(super) fn new(len: usize) -> Buffer {
        Buffer(Arc::new(vec![0; len]))
    }

    /// The bytes to be written to, unless somebody else holds on to them.
    pub(super) fn alone(&mut self) -> Option<&mut Vec<u8>> {
        Arc::get_mut(&mut self.0)
    }

    /// Whether both are the same bytes, not only equal ones.
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

/// A frame, and where its bytes are if they can be held on to.
#[derive(Clone, Copy, Debug)]
pub struct Lent<'a> {
    /// The frame.
    pub record: Record<'a>,
    /// What its bytes are a part of, and where they begin in it.
    pub place: Option<(&'a Buffer, usize)>,
}
