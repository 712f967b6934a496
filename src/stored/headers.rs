//! Values of headers and of dissection, which `rdmawire-wire` declares.

use super::{Sink, Spring, Stored};
use crate::{
    capture::Time,
    dissect::{Address, Encapsulation, Link, Numbers, Telemetry, Unread},
    icrc,
    opcode::{Direction, Opcode, Operation, Position, Service, Transport},
    upper::{Application, Protocol},
    wire::{Ecn, Guid, Mac, PathMtu, Psn, Qpn, RKey},
};

/// Structs, by their fields.
macro_rules! structs {
    ($($type:ident { $($field:tt)+ })+) => {$(
        impl Stored for $type {
            fn store(&self, to: &mut Sink<'_>) {
                $(self.$field.store(to);)+
            }

            fn restore(from: &mut Spring<'_>) -> $type {
                $type { $($field: Stored::restore(from)),+ }
            }
        }
    )+};
}

structs! {
    Opcode { transport code }
    Unread { of number }
    Link { 0 }
    Mac { 0 }
    Qpn { 0 }
    Psn { 0 }
    RKey { 0 }
    Guid { 0 }
    PathMtu { 0 }
    Ecn { 0 }
    Time { 0 }
}

/// Enums, by the place in the list of all.
macro_rules! enums {
    ($($type:ty: $all:expr;)+) => {$(
        impl Stored for $type {
            fn store(&self, to: &mut Sink<'_>) {
                to.byte(*self as u8);
            }

            fn restore(from: &mut Spring<'_>) -> $type {
                let (all, at) = ($all, usize::from(from.byte()));
                let no = concat!("no ", stringify!($type));
                all.get(at).copied().unwrap_or_else(|| { let () = from.damage(no); all[0] })
            }
        }
    )+};
}

enums! {
    icrc::State: icrc::State::ALL;
    Application: Application::ALL;
    Protocol: Protocol::ALL;
    Service: Service::ALL;
    Transport: Transport::ALL;
    Encapsulation: Encapsulation::ALL;
    Numbers: Numbers::ALL;
    Telemetry: Telemetry::ALL;
    Position: [Position::First, Position::Middle, Position::Last, Position::Only];
    Direction: [Direction::Request, Direction::Response];
    Operation: [
        Operation::Send, Operation::Write, Operation::ReadRequest, Operation::ReadResponse, Operation::Acknowledge,
        Operation::AtomicAcknowledge, Operation::CompareSwap, Operation::FetchAdd, Operation::Flush, Operation::AtomicWrite,
        Operation::Resync, Operation::Cnp, Operation::Sack, Operation::Nack, Operation::Probe, Operation::Endpoint,
    ];
}

impl Stored for Address {
    fn store(&self, to: &mut Sink<'_>) {
        match self {
            Address::Ip(ip) => (0u8, *ip).store(to),
            Address::Gid(gid) => (1u8, *gid).store(to),
            Address::Lid(lid) => (2u8, *lid).store(to),
        }
    }

    fn restore(from: &mut Spring<'_>) -> Address {
        match from.byte() {
            0 => Address::Ip(Stored::restore(from)),
            1 => Address::Gid(Stored::restore(from)),
            2 => Address::Lid(Stored::restore(from)),
            _ => Address::Lid(from.damage("no Address")),
        }
    }
}
