//! A frame of LLDP as it is heard: who sent it, and its parts.

use crate::{
    analyze::model::Event,
    dissect::Layer,
    wire::{Ethernet, Kind, Mac},
};

/// A frame of LLDP.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard<'a> {
    pub(super) interface: u16,
    pub(super) sender: Mac,
    /// Its number.
    pub(super) frame: u64,
    layers: &'a [Layer],
    bytes: &'a [u8],
}

impl<'a> Heard<'a> {
    /// `None` without an Ethernet header. `layers`: those of the frame.
    pub(super) fn of(event: &Event<'a>, layers: &'a [Layer]) -> Option<Heard<'a>> {
        let d = event.packet;
        let sender = d.get::<Ethernet>()?.src();
        Some(Heard {
            interface: event.record.interface,
            sender,
            frame: event.number,
            layers,
            bytes: d.frame(),
        })
    }

    /// Its headers and values with their bytes, as far as these were captured.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Kind, &'a [u8])> + use<'a> {
        let bytes = self.bytes;
        let part = move |layer: &Layer| {
            Some((layer.kind, bytes.get(layer.at as usize..(layer.at + layer.len) as usize)?))
        };
        self.layers.iter().map_while(part)
    }
}
