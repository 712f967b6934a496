//! Frame -> dissection -> packet -> the same bytes.

use rdmawire::craft::Packet;

use super::dissect::Input;

/// A fuzzer's input: that of [`Input`].
pub fn rebuilding(data: &[u8]) {
    let Some(input) = Input::new(data) else { return };
    // A packet is of the usual port.
    let d = rdmawire::dissect::dissect(input.link, input.frame, input.wire_len);
    let packet = Packet::from(&d);
    assert_eq!(packet.build(), input.frame, "{d:?} {packet:?}");
}
