//! Where in the window a frame is.

use super::Time;
use crate::dissect::Link;

/// Where in an [`Input`](super::window::Input) a frame is, and what the file says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) time: Time,
    pub(super) link: Link,
    pub(super) interface: u16,
    pub(super) wire_len: u32,
    pub(super) at: usize,
    pub(super) len: usize,
}
