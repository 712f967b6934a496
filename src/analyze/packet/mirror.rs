//! Copies that a mirror made.

use crate::{dissect::Dissection, wire::*};

/// A copy that a mirror made, identified by its sender, receiver and session.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(crate) struct MirrorCopy {
    pub(crate) key: (u128, u128, u16),
    pub(crate) number: u32,
}

impl MirrorCopy {
    /// What the outer headers say of a mirror's copy; `None` if no mirror numbers it. `at` gives the bytes from the outermost
    /// header of a kind on.
    pub(crate) fn of<'a>(at: impl Fn(Kind) -> Option<&'a [u8]>) -> Option<MirrorCopy> {
        let (sequence, _) = at(Kind::GreSequence).and_then(GreSequence::view)?;
        let (src, dst) = match (at(Kind::Ipv4).and_then(Ipv4::view), at(Kind::Ipv6).and_then(Ipv6::view)) {
            (Some((ip, _)), _) => (u32::from(ip.src()) as u128, u32::from(ip.dst()) as u128),
            (_, Some((ip, _))) => (u128::from(ip.src()), u128::from(ip.dst())),
            _ => return None,
        };
        let session = at(Kind::Erspan2).and_then(Erspan2::view).map(|(erspan, _)| erspan.session_id());
        let of_third = || at(Kind::Erspan3).and_then(Erspan3::view).map(|(erspan, _)| erspan.session_id());
        let session = session.or_else(of_third).unwrap_or(u16::MAX);
        Some(MirrorCopy { key: (src, dst, session), number: sequence.sequence_number() })
    }

    /// What a dissected frame says of it.
    #[cold]
    #[inline(never)]
    pub(crate) fn of_dissection(d: &Dissection<'_>) -> Option<MirrorCopy> {
        let layers = d.layers();
        MirrorCopy::of(|kind| {
            let layer = layers.iter().find(|layer| layer.kind == kind)?;
            d.frame().get(layer.at as usize..)
        })
    }
}
