//! SMC-R.

use super::{Message, parts::Reader};
use crate::wire::*;

/// All control messages have so many bytes; those of version 2 that name memory or links may have more.
const LEN: usize = 44;

/// Whether it can only be SMC-R: the one length, which it says itself, a type that exists, and zeros in all that is reserved.
pub(super) fn is(message: Message<'_>) -> bool {
    let &[code, length, ..] = message.bytes else { return false };
    let code = SmcType(code);
    if code.is_v2() {
        return is_v2(message);
    }
    if length as usize != LEN || !message.has_len(LEN) || code.name().is_none() {
        return false;
    }
    if code == SmcType::CDC {
        return SmcCdc::view(message.bytes).is_some_and(|(cdc, _)| {
            cdc.reserved() == Hex16(0)
                && cdc.reserved1() == Hex16(0)
                && cdc.reserved2() == [0; 18]
                && cdc.producer_flags() == Hex8(0)
                && cdc.state_flags() == Hex8(0)
        });
    }
    let Some((llc, body)) = SmcLlc::view(message.bytes) else { return false };
    // From this byte on, all is zero.
    let zero = |from: usize| {
        let rest = message.bytes.get(from..LEN);
        llc.reserved() == Hex8(0) && rest.is_some_and(|rest| rest.iter().all(|&byte| byte == 0))
    };
    match body_of(code) {
        Kind::SmcConfirmLink => {
            zero(35) && SmcConfirmLink::view(body).is_some_and(|(of, _)| of.max_links() > 0)
        }
        Kind::SmcAddLink => zero(36),
        Kind::SmcDeleteLink => zero(9),
        Kind::SmcTestLink => zero(20),
        Kind::SmcConfirmRkey => {
            zero(43) && SmcConfirmRkey::view(body).is_some_and(|(of, _)| of.other_links() <= 2)
        }
        Kind::SmcDeleteRkey => zero(40) && SmcDeleteRkey::view(body).is_some_and(|(of, _)| of.count() <= 8),
        // Continuations have nothing by which they could be known.
        _ => false,
    }
}

/// Whether it can only be SMC-R version 2: messages that say all of what they are in 44 bytes. Others are known by their queue pair's.
fn is_v2(message: Message<'_>) -> bool {
    let Some((llc, _)) = SmcLlc2::view(message.bytes) else { return false };
    let zero =
        |from: usize| message.bytes.get(from..LEN).is_some_and(|rest| rest.iter().all(|&byte| byte == 0));
    let has_len = llc.length().bytes() as usize == LEN && message.has_len(LEN);
    has_len
        && match body_of(llc.message_type()) {
            Kind::SmcConfirmLink => {
                let body = SmcConfirmLink::view(&message.bytes[SmcLlc2::LEN..]);
                // Behind the most links, the most connections.
                zero(36) && body.is_some_and(|(of, _)| of.max_links() > 0)
            }
            Kind::SmcDeleteLink => zero(9),
            Kind::SmcTestLink => zero(20),
            _ => false,
        }
}

fn body_of(code: SmcType) -> Kind {
    match code.0 {
        0x21 => Kind::SmcConfirmLink,
        0x22 => Kind::SmcAddLink,
        0x24 => Kind::SmcDeleteLink,
        0x26 => Kind::SmcConfirmRkey,
        0x27 => Kind::SmcTestLink,
        1 => Kind::SmcConfirmLink,
        2 => Kind::SmcAddLink,
        4 => Kind::SmcDeleteLink,
        6 => Kind::SmcConfirmRkey,
        7 => Kind::SmcTestLink,
        9 => Kind::SmcDeleteRkey,
        _ => Kind::SmcOther,
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<()> {
    let code = SmcType(*reader.left().first()?);
    if code == SmcType::CDC {
        return reader.take::<SmcCdc>().map(|_| ());
    }
    let head = if code.is_v2() { Kind::SmcLlc2 } else { Kind::SmcLlc };
    reader.bytes(head, head.info()?.len)?;
    let body = body_of(code);
    reader.bytes(body, body.info()?.len).map(|_| ())
}
