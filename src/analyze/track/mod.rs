//! The state machines of a flow: what each packet means on its connection.

pub(crate) mod class;
pub(crate) mod holes;
pub(crate) mod lazy;
pub(crate) mod order;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod ring;
pub(crate) mod sequence;
mod shadow;

pub use class::{Class, Trigger};
