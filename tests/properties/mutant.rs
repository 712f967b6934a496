//! Mutants: each dissects without harm, and our parser makes of it what a correct one must.

use std::sync::LazyLock;

use rdmawire::{
    checksum,
    craft::{
        Packet,
        mutate::{Base, Handling, Mutant, mutations},
    },
    dissect::{Problem, Severity, dissect},
    icrc::{self, State},
    wire::*,
};

use super::dissect::invariants;

static BASES: LazyLock<Vec<Base>> = LazyLock::new(Base::all);

/// A fuzzer's input: the base (16 bits), then a mutation (16), or 0xffff and up to 16 times 16 bits that choose several.
pub fn mutated(data: &[u8]) {
    let mut words = data.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]) as usize);
    let (Some(base), Some(mutation)) = (words.next(), words.next()) else { return };
    let base = &BASES[base % BASES.len()];
    let mutant = match mutation {
        0xffff => {
            let several = 1 + words.next().unwrap_or(1) % 8;
            base.stacked(several, &mut |n| words.next().unwrap_or(0) % n.max(1))
        }
        n => {
            let all = mutations(base.packet());
            base.mutant(&all[n % all.len()])
        }
    };
    promise(&mutant);
}

/// What the mutant promises of a correct parser is true of ours.
pub fn promise(mutant: &Mutant) {
    let d = dissect(mutant.link, &mutant.frame, mutant.wire_len);
    invariants(&d);
    assert_eq!(Packet::from(&d).build(), mutant.frame, "{}", mutant.name());
    let what = || format!("{}: {}, and {d:?}", mutant.name(), mutant.verdict);
    let says = |id: &str| d.notes().iter().any(|note| note.id().to_string() == id);
    match mutant.verdict {
        Handling::Dissects => {
            assert!(d.severity() < Some(Severity::Error), "{}", what());
            assert!(!d.has(Kind::Bth) || icrc::verify(&d) == State::Good, "{}", what());
        }
        Handling::Truncated(kind) => {
            let ends = |note: &rdmawire::dissect::Note| {
                matches!(note.problem, Problem::Truncated { .. })
                    && (note.layer == kind || note.layer.layer() == kind.layer())
            };
            assert!(d.notes().iter().any(ends), "{}", what());
            assert_ne!(icrc::verify(&d), State::Good, "{}", what());
        }
        Handling::Length(kind) => assert!(says(&format!("{}.length", kind.layer())), "{}", what()),
        Handling::BadIcrc => assert_eq!(icrc::verify(&d), State::Bad, "{}", what()),
        Handling::Drop("ipv4.checksum") => {
            assert_ne!(d.get::<Ipv4>().map(|ip| checksum::internet(ip.bytes())), Some(0), "{}", what());
        }
        Handling::Drop("lrh.vcrc") => assert_eq!(icrc::verify_vcrc(&d), State::Bad, "{}", what()),
        Handling::Drop(id) => {
            assert!(matches!(id, "udp.checksum" | "bth.p_key") || says(id), "{}", what());
            // What is no RDMA has no ICRC.
            let state = if d.has(Kind::Bth) { State::Good } else { State::Unchecked };
            assert_eq!(icrc::verify(&d), state, "{}", what());
        }
        Handling::Cut => {
            assert!(d.is_cut(), "{}", what());
            assert_eq!(icrc::verify(&d), State::Unchecked, "{}", what());
        }
        Handling::Fragment => {
            assert!(d.is_fragment(), "{}", what());
            assert_ne!(icrc::verify(&d), State::Bad, "{}", what());
        }
        Handling::Unread(_) => {
            assert!(!d.has(Kind::Bth) && icrc::verify(&d) == State::Unchecked, "{}", what())
        }
        _ => {}
    }
}
