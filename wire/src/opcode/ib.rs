//! InfiniBand's operation codes, which RoCE has too.
//!
//! InfiniBand Architecture Specification vol. 1, 9.2.1 and table 38 (codes), annex A17 (CNP); FLUSH and ATOMIC WRITE
//! as Linux's Soft-RoCE has them. tshark 4.0 knows neither 0x81, 0x1c nor 0x1d, and dissects no header of XRC.

use super::{Service, opcodes};
use crate::wire::{Bth, Kind};

pub(super) const BTH: Kind = Kind::Bth;

/// All packets with one code have the same headers.
pub(super) const FORMS: &[&[Kind]] = &[&[]];

#[inline(always)]
pub(super) fn form(_: &Bth) -> usize {
    0
}

/// The upper three bits of a code.
#[inline(always)]
pub(super) const fn service(code: u8) -> Service {
    match code >> 5 {
        0 => Service::Rc,
        1 => Service::Uc,
        2 => Service::Rd,
        3 => Service::Ud,
        4 => Service::Cn,
        5 => Service::Xrc,
        _ => Service::Vendor,
    }
}

opcodes! {
    Ib
    0x00 RC_SEND_FIRST "RC SEND First" Rc Send First Request [] Full;
    0x01 RC_SEND_MIDDLE "RC SEND Middle" Rc Send Middle Request [] Full;
    0x02 RC_SEND_LAST "RC SEND Last" Rc Send Last Request [] Some;
    0x03 RC_SEND_LAST_WITH_IMMEDIATE "RC SEND Last with Immediate" Rc Send Last Request [ImmDt] Some;
    0x04 RC_SEND_ONLY "RC SEND Only" Rc Send Only Request [] Any;
    0x05 RC_SEND_ONLY_WITH_IMMEDIATE "RC SEND Only with Immediate" Rc Send Only Request [ImmDt] Any;
    0x06 RC_WRITE_FIRST "RC RDMA WRITE First" Rc Write First Request [Reth] Full;
    0x07 RC_WRITE_MIDDLE "RC RDMA WRITE Middle" Rc Write Middle Request [] Full;
    0x08 RC_WRITE_LAST "RC RDMA WRITE Last" Rc Write Last Request [] Some;
    0x09 RC_WRITE_LAST_WITH_IMMEDIATE "RC RDMA WRITE Last with Immediate" Rc Write Last Request [ImmDt] Some;
    0x0a RC_WRITE_ONLY "RC RDMA WRITE Only" Rc Write Only Request [Reth] Any;
    0x0b RC_WRITE_ONLY_WITH_IMMEDIATE "RC RDMA WRITE Only with Immediate" Rc Write Only Request [Reth, ImmDt] Any;
    0x0c RC_READ_REQUEST "RC RDMA READ Request" Rc ReadRequest Only Request [Reth] None;
    0x0d RC_READ_RESPONSE_FIRST "RC RDMA READ response First" Rc ReadResponse First Response [Aeth] Full;
    0x0e RC_READ_RESPONSE_MIDDLE "RC RDMA READ response Middle" Rc ReadResponse Middle Response [] Full;
    0x0f RC_READ_RESPONSE_LAST "RC RDMA READ response Last" Rc ReadResponse Last Response [Aeth] Some;
    0x10 RC_READ_RESPONSE_ONLY "RC RDMA READ response Only" Rc ReadResponse Only Response [Aeth] Any;
    0x11 RC_ACKNOWLEDGE "RC Acknowledge" Rc Acknowledge Only Response [Aeth] None;
    0x12 RC_ATOMIC_ACKNOWLEDGE "RC ATOMIC Acknowledge" Rc AtomicAcknowledge Only Response [Aeth, AtomicAckEth] None;
    0x13 RC_COMPARE_SWAP "RC CmpSwap" Rc CompareSwap Only Request [AtomicEth] None;
    0x14 RC_FETCH_ADD "RC FetchAdd" Rc FetchAdd Only Request [AtomicEth] None;
    0x16 RC_SEND_LAST_WITH_INVALIDATE "RC SEND Last with Invalidate" Rc Send Last Request [Ieth] Some;
    0x17 RC_SEND_ONLY_WITH_INVALIDATE "RC SEND Only with Invalidate" Rc Send Only Request [Ieth] Any;
    0x1c RC_FLUSH "RC FLUSH" Rc Flush Only Request [Feth, Reth] None;
    0x1d RC_ATOMIC_WRITE "RC ATOMIC WRITE" Rc AtomicWrite Only Request [Reth] Eight;
    0x20 UC_SEND_FIRST "UC SEND First" Uc Send First Request [] Full;
    0x21 UC_SEND_MIDDLE "UC SEND Middle" Uc Send Middle Request [] Full;
    0x22 UC_SEND_LAST "UC SEND Last" Uc Send Last Request [] Some;
    0x23 UC_SEND_LAST_WITH_IMMEDIATE "UC SEND Last with Immediate" Uc Send Last Request [ImmDt] Some;
    0x24 UC_SEND_ONLY "UC SEND Only" Uc Send Only Request [] Any;
    0x25 UC_SEND_ONLY_WITH_IMMEDIATE "UC SEND Only with Immediate" Uc Send Only Request [ImmDt] Any;
    0x26 UC_WRITE_FIRST "UC RDMA WRITE First" Uc Write First Request [Reth] Full;
    0x27 UC_WRITE_MIDDLE "UC RDMA WRITE Middle" Uc Write Middle Request [] Full;
    0x28 UC_WRITE_LAST "UC RDMA WRITE Last" Uc Write Last Request [] Some;
    0x29 UC_WRITE_LAST_WITH_IMMEDIATE "UC RDMA WRITE Last with Immediate" Uc Write Last Request [ImmDt] Some;
    0x2a UC_WRITE_ONLY "UC RDMA WRITE Only" Uc Write Only Request [Reth] Any;
    0x2b UC_WRITE_ONLY_WITH_IMMEDIATE "UC RDMA WRITE Only with Immediate" Uc Write Only Request [Reth, ImmDt] Any;
    0x40 RD_SEND_FIRST "RD SEND First" Rd Send First Request [Rdeth, Deth] Full;
    0x41 RD_SEND_MIDDLE "RD SEND Middle" Rd Send Middle Request [Rdeth, Deth] Full;
    0x42 RD_SEND_LAST "RD SEND Last" Rd Send Last Request [Rdeth, Deth] Some;
    0x43 RD_SEND_LAST_WITH_IMMEDIATE "RD SEND Last with Immediate" Rd Send Last Request [Rdeth, Deth, ImmDt] Some;
    0x44 RD_SEND_ONLY "RD SEND Only" Rd Send Only Request [Rdeth, Deth] Any;
    0x45 RD_SEND_ONLY_WITH_IMMEDIATE "RD SEND Only with Immediate" Rd Send Only Request [Rdeth, Deth, ImmDt] Any;
    0x46 RD_WRITE_FIRST "RD RDMA WRITE First" Rd Write First Request [Rdeth, Deth, Reth] Full;
    0x47 RD_WRITE_MIDDLE "RD RDMA WRITE Middle" Rd Write Middle Request [Rdeth, Deth] Full;
    0x48 RD_WRITE_LAST "RD RDMA WRITE Last" Rd Write Last Request [Rdeth, Deth] Some;
    0x49 RD_WRITE_LAST_WITH_IMMEDIATE "RD RDMA WRITE Last with Immediate" Rd Write Last Request [Rdeth, Deth, ImmDt] Some;
    0x4a RD_WRITE_ONLY "RD RDMA WRITE Only" Rd Write Only Request [Rdeth, Deth, Reth] Any;
    0x4b RD_WRITE_ONLY_WITH_IMMEDIATE "RD RDMA WRITE Only with Immediate" Rd Write Only Request [Rdeth, Deth, Reth, ImmDt] Any;
    0x4c RD_READ_REQUEST "RD RDMA READ Request" Rd ReadRequest Only Request [Rdeth, Deth, Reth] None;
    0x4d RD_READ_RESPONSE_FIRST "RD RDMA READ response First" Rd ReadResponse First Response [Rdeth, Aeth] Full;
    0x4e RD_READ_RESPONSE_MIDDLE "RD RDMA READ response Middle" Rd ReadResponse Middle Response [Rdeth] Full;
    0x4f RD_READ_RESPONSE_LAST "RD RDMA READ response Last" Rd ReadResponse Last Response [Rdeth, Aeth] Some;
    0x50 RD_READ_RESPONSE_ONLY "RD RDMA READ response Only" Rd ReadResponse Only Response [Rdeth, Aeth] Any;
    0x51 RD_ACKNOWLEDGE "RD Acknowledge" Rd Acknowledge Only Response [Rdeth, Aeth] None;
    0x52 RD_ATOMIC_ACKNOWLEDGE "RD ATOMIC Acknowledge" Rd AtomicAcknowledge Only Response [Rdeth, Aeth, AtomicAckEth] None;
    0x53 RD_COMPARE_SWAP "RD CmpSwap" Rd CompareSwap Only Request [Rdeth, Deth, AtomicEth] None;
    0x54 RD_FETCH_ADD "RD FetchAdd" Rd FetchAdd Only Request [Rdeth, Deth, AtomicEth] None;
    0x55 RD_RESYNC "RD RESYNC" Rd Resync Only Request [Rdeth, Deth] None;
    0x5c RD_FLUSH "RD FLUSH" Rd Flush Only Request [Rdeth, Feth, Reth] None;
    0x64 UD_SEND_ONLY "UD SEND Only" Ud Send Only Request [Deth] Any;
    0x65 UD_SEND_ONLY_WITH_IMMEDIATE "UD SEND Only with Immediate" Ud Send Only Request [Deth, ImmDt] Any;
    0x80 CN "CN" Cn Cnp Only Response [Cnp] None;
    0x81 CNP "CNP" Cn Cnp Only Response [Cnp] None;
    0xa0 XRC_SEND_FIRST "XRC SEND First" Xrc Send First Request [Xrceth] Full;
    0xa1 XRC_SEND_MIDDLE "XRC SEND Middle" Xrc Send Middle Request [Xrceth] Full;
    0xa2 XRC_SEND_LAST "XRC SEND Last" Xrc Send Last Request [Xrceth] Some;
    0xa3 XRC_SEND_LAST_WITH_IMMEDIATE "XRC SEND Last with Immediate" Xrc Send Last Request [Xrceth, ImmDt] Some;
    0xa4 XRC_SEND_ONLY "XRC SEND Only" Xrc Send Only Request [Xrceth] Any;
    0xa5 XRC_SEND_ONLY_WITH_IMMEDIATE "XRC SEND Only with Immediate" Xrc Send Only Request [Xrceth, ImmDt] Any;
    0xa6 XRC_WRITE_FIRST "XRC RDMA WRITE First" Xrc Write First Request [Xrceth, Reth] Full;
    0xa7 XRC_WRITE_MIDDLE "XRC RDMA WRITE Middle" Xrc Write Middle Request [Xrceth] Full;
    0xa8 XRC_WRITE_LAST "XRC RDMA WRITE Last" Xrc Write Last Request [Xrceth] Some;
    0xa9 XRC_WRITE_LAST_WITH_IMMEDIATE "XRC RDMA WRITE Last with Immediate" Xrc Write Last Request [Xrceth, ImmDt] Some;
    0xaa XRC_WRITE_ONLY "XRC RDMA WRITE Only" Xrc Write Only Request [Xrceth, Reth] Any;
    0xab XRC_WRITE_ONLY_WITH_IMMEDIATE "XRC RDMA WRITE Only with Immediate" Xrc Write Only Request [Xrceth, Reth, ImmDt] Any;
    0xac XRC_READ_REQUEST "XRC RDMA READ Request" Xrc ReadRequest Only Request [Xrceth, Reth] None;
    0xad XRC_READ_RESPONSE_FIRST "XRC RDMA READ response First" Xrc ReadResponse First Response [Aeth] Full;
    0xae XRC_READ_RESPONSE_MIDDLE "XRC RDMA READ response Middle" Xrc ReadResponse Middle Response [] Full;
    0xaf XRC_READ_RESPONSE_LAST "XRC RDMA READ response Last" Xrc ReadResponse Last Response [Aeth] Some;
    0xb0 XRC_READ_RESPONSE_ONLY "XRC RDMA READ response Only" Xrc ReadResponse Only Response [Aeth] Any;
    0xb1 XRC_ACKNOWLEDGE "XRC Acknowledge" Xrc Acknowledge Only Response [Aeth] None;
    0xb2 XRC_ATOMIC_ACKNOWLEDGE "XRC ATOMIC Acknowledge" Xrc AtomicAcknowledge Only Response [Aeth, AtomicAckEth] None;
    0xb3 XRC_COMPARE_SWAP "XRC CmpSwap" Xrc CompareSwap Only Request [Xrceth, AtomicEth] None;
    0xb4 XRC_FETCH_ADD "XRC FetchAdd" Xrc FetchAdd Only Request [Xrceth, AtomicEth] None;
    0xb6 XRC_SEND_LAST_WITH_INVALIDATE "XRC SEND Last with Invalidate" Xrc Send Last Request [Xrceth, Ieth] Some;
    0xb7 XRC_SEND_ONLY_WITH_INVALIDATE "XRC SEND Only with Invalidate" Xrc Send Only Request [Xrceth, Ieth] Any;
    0xbc XRC_FLUSH "XRC FLUSH" Xrc Flush Only Request [Xrceth, Feth, Reth] None;
}
