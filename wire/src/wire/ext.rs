//! The extended transport headers (IBTA vol. 1, 9.3), and the CNP's body.

use super::{EeContext, Hex8, Hex32, Qpn, RKey, Show, Srqn, Syndrome, VirtualAddress};

header! {
    /// Reliable datagram extended header (9.3.1).
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |   reserved    |                  EE-Context                   |
    /// +---------------+-----------------------------------------------+
    /// ```
    Rdeth "RDETH", 4 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// End-to-end context.
        ee_context with_ee_context: 24 as EeContext ["infiniband.rdeth.eecnxt"],
    }
}

header! {
    /// Datagram extended header (9.3.2).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             Q_Key                             |
    /// +---------------+-----------------------------------------------+
    /// |   reserved    |                    SrcQP                      |
    /// +---------------+-----------------------------------------------+
    /// ```
    Deth "DETH", 8 bytes {
        /// Queue key.
        q_key with_q_key: 32 as Hex32 ["infiniband.deth.q_key"],
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The sender's queue pair.
        src_qp with_src_qp: 24 as Qpn ["infiniband.deth.srcqp"],
    }
}

header! {
    /// Extended reliable connection header (annex A14): in requests only.
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |   reserved    |                    XRCSRQ                     |
    /// +---------------+-----------------------------------------------+
    /// ```
    Xrceth "XRCETH", 4 bytes {
        /// Reserved.
        reserved with_reserved: 8 as Hex8,
        /// The shared receive queue.
        xrc_srq with_xrc_srq: 24 as Srqn,
    }
}

number! {
    /// How much a FLUSH covers.
    FlushSelectivity(u8) as Show::Named(|v| match v { 0 => Some("memory range"), 1 => Some("memory region"), _ => None })
}

header! {
    /// FLUSH extended header (annex A19); it comes before the RETH.
    ///
    /// ```text
    /// +---------------------------------------------------+---+-------+
    /// |                     reserved                      |SEL|  PLT  |
    /// +---------------------------------------------------+---+-------+
    /// ```
    Feth "FETH", 4 bytes {
        /// Reserved.
        reserved with_reserved: 26 as Hex32,
        /// Selectivity: 0 the range of the RETH, 1 the whole region.
        sel with_sel: 2 as FlushSelectivity,
        /// Placement: bit 0 global visibility, bit 1 persistence.
        plt with_plt: 4 as Hex8,
    }
}

header! {
    /// RDMA extended header (9.3.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                   virtual address (64 bits)                   |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                             R_Key                             |
    /// +---------------------------------------------------------------+
    /// |                           DMA length                          |
    /// +---------------------------------------------------------------+
    /// ```
    Reth "RETH", 16 bytes {
        /// Virtual address.
        va with_va: 64 as VirtualAddress ["infiniband.reth.va"],
        /// Remote key.
        r_key with_r_key: 32 as RKey ["infiniband.reth.r_key"],
        /// Bytes of the whole message, at most 2^31.
        dma_len with_dma_len: 32 as u32 ["infiniband.reth.dmalen"],
    }
}

header! {
    /// Atomic extended header (9.3.4).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                   virtual address (64 bits)                   |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                             R_Key                             |
    /// +---------------------------------------------------------------+
    /// |                 swap or add data (64 bits)                    |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// |                   compare data (64 bits)                      |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    AtomicEth "AtomicETH", 28 bytes {
        /// Virtual address, a multiple of eight.
        va with_va: 64 as VirtualAddress ["infiniband.reth.va"],
        /// Remote key.
        r_key with_r_key: 32 as RKey ["infiniband.reth.r_key"],
        /// The value that is written by CmpSwap, or added by FetchAdd.
        swap_data with_swap_data: 64 as u64 ["infiniband.atomiceth.swapdt"],
        /// The value to compare with; FetchAdd ignores it.
        compare_data with_compare_data: 64 as u64 ["infiniband.atomiceth.cmpdt"],
    }
}

header! {
    /// ACK extended header (9.3.5).
    ///
    /// ```text
    /// +---------------+-----------------------------------------------+
    /// |   syndrome    |                     MSN                       |
    /// +---------------+-----------------------------------------------+
    /// ```
    Aeth "AETH", 4 bytes {
        /// ACK, RNR NAK or NAK.
        syndrome with_syndrome: 8 as Syndrome ["infiniband.aeth.syndrome"],
        /// Message sequence number: messages completed, modulo 2^24.
        msn with_msn: 24 as u32 ["infiniband.aeth.msn"],
    }
}

header! {
    /// Atomic ACK extended header (9.5.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |               original remote data (64 bits)                  |
    /// |                                                               |
    /// +---------------------------------------------------------------+
    /// ```
    AtomicAckEth "AtomicAckETH", 8 bytes {
        /// The value in the responder's memory before the operation.
        original_data with_original_data: 64 as u64 ["infiniband.atomicacketh.origremdt"],
    }
}

header! {
    /// Immediate data (9.3.6).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        immediate data                         |
    /// +---------------------------------------------------------------+
    /// ```
    ImmDt "ImmDt", 4 bytes {
        /// Four bytes for the receiver's completion.
        data with_data: 32 as Hex32 ["infiniband.immdt"],
    }
}

header! {
    /// Invalidate extended header (9.3.7).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             R_Key                             |
    /// +---------------------------------------------------------------+
    /// ```
    Ieth "IETH", 4 bytes {
        /// The key to invalidate.
        r_key with_r_key: 32 as RKey ["infiniband.ieth"],
    }
}

header! {
    /// Body of a congestion notification packet: sixteen reserved bytes (annex A17, 17.9.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                     reserved (16 bytes)                       |
    /// +---------------------------------------------------------------+
    /// ```
    Cnp "CNP", 16 bytes {
        /// Zero.
        reserved with_reserved: 128 as [u8; 16],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    bytes! { deth: Deth [0x11 0x22 0x33 0x44 0x00 0x00 0x01 0x2a]
        q_key with_q_key Hex32(0x1122_3344);
        src_qp with_src_qp Qpn(0x12a);
    }

    bytes! { xrceth: Xrceth [0x00 0x00 0x00 0x2f]
        xrc_srq with_xrc_srq Srqn(0x2f);
    }

    // 4096 bytes, to 0x7f1234567000.
    bytes! { reth: Reth [0x00 0x00 0x7f 0x12 0x34 0x56 0x70 0x00 0x00 0x00 0x1a 0x2b 0x00 0x00 0x10 0x00]
        va with_va VirtualAddress(0x7f12_3456_7000);
        r_key with_r_key RKey(0x1a2b);
        dma_len with_dma_len 4096;
    }

    bytes! { atomic_eth: AtomicEth [0x00 0x00 0x00 0x00 0x00 0x00 0x10 0x08 0x00 0x00 0x1a 0x2b
            0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x07 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x06]
        va with_va VirtualAddress(0x1008);
        r_key with_r_key RKey(0x1a2b);
        swap_data with_swap_data 7;
        compare_data with_compare_data 6;
    }

    // A NAK: a PSN is missing.
    bytes! { aeth: Aeth [0x60 0x00 0x00 0x05]
        syndrome with_syndrome Syndrome::PSN_SEQUENCE_ERROR;
        msn with_msn 5;
    }

    bytes! { imm_dt: ImmDt [0xde 0xad 0xbe 0xef]
        data with_data Hex32(0xdead_beef);
    }

    bytes! { feth: Feth [0x00 0x00 0x00 0x12]
        sel with_sel FlushSelectivity(1);
        plt with_plt Hex8(2);
    }
}
