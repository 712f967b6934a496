//! What the data of commands is, where the command was seen that names its memory.

use std::{collections::HashMap, hash::RandomState};

use crate::{
    dissect::{Address, Dissection},
    opcode::{Operation, Shape},
    upper::kind_of_data,
    wire::{Bth, Header, Kind, NvmeSgl, NvmeSqe, Reth},
};

/// A connection's direction: the host that it goes to, and its queue pair.
pub(super) type End = (Address, u32);

/// The data that commands of NVMe wait for, by the memory that they name.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// By host, key and address.
    memory: HashMap<(Address, u32, u64), Kind, RandomState>,
    /// READ requests of such data, by who asked from its queue pair, and the first PSN.
    reads: HashMap<(End, u32), Kind, RandomState>,
}

impl Awaited {
    /// With so many, they are forgotten: nearly all of them are over.
    const MOST: usize = 1 << 12;

    /// A command of the host `from`. `is_admin`: of the admin queue, where that is known.
    pub(super) fn on_command(&mut self, sqe: &NvmeSqe, from: Address, is_admin: Option<bool>) {
        let is_keyed = matches!(sqe.sgl(), NvmeSgl(0x40 | 0x4f)) && sqe.length().0 > 0;
        let memory = (from, sqe.key().0.0, sqe.address().0.0);
        match kind_of_data(sqe, is_admin).filter(|_| is_keyed) {
            Some(kind) => {
                if self.memory.len() >= Self::MOST {
                    self.memory.clear();
                }
                self.memory.insert(memory, kind);
            }
            // The memory has another use now.
            None if is_keyed && !self.memory.is_empty() => drop(self.memory.remove(&memory)),
            None => {}
        }
    }

    /// The header that the data of this packet begins with. `opposite`: the other end of the connection that the packet goes to.
    pub(super) fn data(
        &mut self,
        d: &Dissection<'_>,
        shape: &Shape,
        opposite: impl FnOnce(End) -> Option<End>,
    ) -> Option<Kind> {
        if self.memory.is_empty() {
            return None;
        }
        let ([from, to], bth) = (d.addresses()?, d.get::<Bth>()?);
        let of = |address: Address| {
            let reth = d.get::<Reth>()?;
            self.memory.get(&(address, reth.r_key().0, reth.va().0)).copied()
        };
        match shape.operation? {
            Operation::Write if shape.begins => of(to),
            Operation::ReadRequest => {
                let kind = of(to)?;
                // The answer goes to the queue pair that asked.
                let asker = opposite((to, bth.dest_qp().0)).filter(|asker| asker.0 == from)?;
                if self.reads.len() >= Self::MOST {
                    self.reads.clear();
                }
                self.reads.insert((asker, bth.psn().0), kind);
                None
            }
            Operation::ReadResponse if shape.begins => {
                self.reads.get(&((to, bth.dest_qp().0), bth.psn().0)).copied()
            }
            _ => None,
        }
    }
}

/// The command that a message of NVMe begins with.
pub(super) fn command<'a>(d: &Dissection<'a>) -> Option<&'a NvmeSqe> {
    let opcode = d.opcode()?;
    let message = d.message(opcode);
    // A response has fewer bytes.
    NvmeSqe::view(message.bytes).map(|(sqe, _)| sqe)
}
