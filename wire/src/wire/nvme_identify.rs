//! Identify Controller of NVMe (NVMe base specification 2.0, 5.17; NVMe over Fabrics 1.1, 4.1). Numbers are little-endian. Nothing in the data says what it
//! is: the command does that names its memory.

use super::{Hex8, Hex16, Hex32, Le, Opaque, Show, Text};

number! {
    /// What kind of controller it is (NVMe base specification 2.0, figure 275).
    NvmeControllerType(u8) as Show::Named(|v| Some(match v {
        1 => "I/O", 2 => "discovery", 3 => "administrative", _ => return None,
    }))
}

number! {
    /// Version of the specification: major, minor and tertiary number.
    NvmeVersion(u32) as Show::Decoded(|v, f| write!(f, "{}.{}.{}", v >> 16, v >> 8 & 0xff, v & 0xff))
}

header! {
    /// Identify Controller, the first 256 bytes (NVMe base specification 2.0, figure 275).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |              vid              |             ssvid             |
    /// +---------------------------------------------------------------+
    /// |                         sn (160 bits)                         |
    /// +---------------------------------------------------------------+
    /// |                         mn (320 bits)                         |
    /// +---------------------------------------------------------------+
    /// |                          fr (64 bits)                         |
    /// +---------------------------------------------------------------+
    /// |      rab      |                      ieee                     |
    /// +---------------------------------------------------------------+
    /// |      cmic     |      mdts     |             cntlid            |
    /// +---------------------------------------------------------------+
    /// |                              ver                              |
    /// +---------------------------------------------------------------+
    /// |                             rtd3r                             |
    /// +---------------------------------------------------------------+
    /// |                             rtd3e                             |
    /// +---------------------------------------------------------------+
    /// |                              oaes                             |
    /// +---------------------------------------------------------------+
    /// |                             ctratt                            |
    /// +---------------------------------------------------------------+
    /// |              rrls             |            reserved           |
    /// +---------------------------------------------------------------+
    /// |                       reserved (72 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                                               |   cntrltype   |
    /// +---------------------------------------------------------------+
    /// |                        fguid (128 bits)                       |
    /// +---------------------------------------------------------------+
    /// |             crdt1             |             crdt2             |
    /// +---------------------------------------------------------------+
    /// |             crdt3             |           reserved2           |
    /// +---------------------------------------------------------------+
    /// |                      reserved2 (952 bits)                     |
    /// +---------------------------------------------------------------+
    /// |               |     nvmsr     |      vwci     |      mec      |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeIdController "NVMe Identify Controller", 256 bytes {
        /// PCI vendor.
        vid with_vid: 16 as Le<Hex16> ["nvme.cmd.identify.ctrl.vid"],
        /// PCI vendor of the subsystem.
        ssvid with_ssvid: 16 as Le<Hex16> ["nvme.cmd.identify.ctrl.ssvid"],
        /// Serial number.
        sn with_sn: 160 as Text<20> ["nvme.cmd.identify.ctrl.sn"],
        /// Model.
        mn with_mn: 320 as Text<40> ["nvme.cmd.identify.ctrl.mn"],
        /// Firmware revision.
        fr with_fr: 64 as Text<8> ["nvme.cmd.identify.ctrl.fr"],
        /// Recommended arbitration burst, as a power of two.
        rab with_rab: 8 as u8 ["nvme.cmd.identify.ctrl.rab"],
        /// The vendor's OUI.
        ieee with_ieee: 24 as Le<Hex32> ["nvme.cmd.identify.ctrl.ieee"],
        /// Several ports in bit 0, several controllers in bit 1, SR-IOV in bit 2, ANA in bit 3.
        cmic with_cmic: 8 as Hex8 ["nvme.cmd.identify.ctrl.cmic"],
        /// The most data of a command, in pages of the least size, as a power of two; 0: no limit.
        mdts with_mdts: 8 as u8 ["nvme.cmd.identify.ctrl.mdts"],
        /// The controller.
        cntlid with_cntlid: 16 as Le<Hex16> ["nvme.cmd.identify.ctrl.cntlid"],
        /// Version of the specification.
        ver with_ver: 32 as Le<NvmeVersion> ["nvme.cmd.identify.ctrl.ver"],
        /// Microseconds to come back from D3.
        rtd3r with_rtd3r: 32 as Le<u32> ["nvme.cmd.identify.ctrl.rtd3r"],
        /// Microseconds to get into D3.
        rtd3e with_rtd3e: 32 as Le<u32> ["nvme.cmd.identify.ctrl.rtd3e"],
        /// Optional asynchronous events.
        oaes with_oaes: 32 as Le<Hex32> ["nvme.cmd.identify.ctrl.oaes"],
        /// Attributes: identifiers of hosts with 128 bits in bit 0, keep-alive by traffic in bit 6.
        ctratt with_ctratt: 32 as Le<Hex32> ["nvme.cmd.identify.ctrl.ctratt"],
        /// Read recovery levels.
        rrls with_rrls: 16 as Le<Hex16> ["nvme.cmd.identify.ctrl.rrls"],
        /// Reserved.
        reserved with_reserved: 72 as [u8; 9],
        /// Kind of controller; 0 before version 1.4.
        cntrltype with_cntrltype: 8 as NvmeControllerType ["nvme.cmd.identify.ctrl.cntrltype"],
        /// Identifier of the replaceable unit.
        fguid with_fguid: 128 as Opaque<16> ["nvme.cmd.identify.ctrl.fguid"],
        /// Delay before a retry, in 100 ms.
        crdt1 with_crdt1: 16 as Le<u16> ["nvme.cmd.identify.ctrl.crdt1"],
        /// Second delay, in 100 ms.
        crdt2 with_crdt2: 16 as Le<u16> ["nvme.cmd.identify.ctrl.crdt2"],
        /// Third delay, in 100 ms.
        crdt3 with_crdt3: 16 as Le<u16> ["nvme.cmd.identify.ctrl.crdt3"],
        /// Reserved.
        reserved2 with_reserved2: 952 as [u8; 119],
        /// Storage device in bit 0, enclosure in bit 1.
        nvmsr with_nvmsr: 8 as Hex8 ["nvme.cmd.identify.ctrl.mi.nvmsr"],
        /// Write cycles of vital product data.
        vwci with_vwci: 8 as Hex8 ["nvme.cmd.identify.ctrl.mi.vwci"],
        /// Management endpoints.
        mec with_mec: 8 as Hex8 ["nvme.cmd.identify.ctrl.mi.mec"],
    }
}

header! {
    /// What a controller can do: bytes 256 to 543 of Identify Controller (NVMe base specification 2.0, figure 275).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |              oacs             |      acl      |      aerl     |
    /// +---------------------------------------------------------------+
    /// |      frmw     |      lpa      |      elpe     |      npss     |
    /// +---------------------------------------------------------------+
    /// |     avscc     |     apsta     |             wctemp            |
    /// +---------------------------------------------------------------+
    /// |             cctemp            |              mtfa             |
    /// +---------------------------------------------------------------+
    /// |                             hmpre                             |
    /// +---------------------------------------------------------------+
    /// |                             hmmin                             |
    /// +---------------------------------------------------------------+
    /// |                       tnvmcap (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                     tnvmcap_high (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                       unvmcap (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                     unvmcap_high (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                             rpmbs                             |
    /// +---------------------------------------------------------------+
    /// |             edstt             |      dsto     |      fwug     |
    /// +---------------------------------------------------------------+
    /// |              kas              |             hctma             |
    /// +---------------------------------------------------------------+
    /// |             mntmt             |             mxtmt             |
    /// +---------------------------------------------------------------+
    /// |                            sanicap                            |
    /// +---------------------------------------------------------------+
    /// |                            hmminds                            |
    /// +---------------------------------------------------------------+
    /// |             hmmaxd            |           nsetidmax           |
    /// +---------------------------------------------------------------+
    /// |           endgidmax           |     anatt     |     anacap    |
    /// +---------------------------------------------------------------+
    /// |                           anagrpmax                           |
    /// +---------------------------------------------------------------+
    /// |                           nanagrpid                           |
    /// +---------------------------------------------------------------+
    /// |                              pels                             |
    /// +---------------------------------------------------------------+
    /// |             domain            |           reserved3           |
    /// +---------------------------------------------------------------+
    /// |                      reserved3 (80 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                        megcap (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                     megcap_high (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                     reserved4 (1024 bits)                     |
    /// +---------------------------------------------------------------+
    /// |      sqes     |      cqes     |             maxcmd            |
    /// +---------------------------------------------------------------+
    /// |                               nn                              |
    /// +---------------------------------------------------------------+
    /// |              oncs             |             fuses             |
    /// +---------------------------------------------------------------+
    /// |      fna      |      vwc      |              awun             |
    /// +---------------------------------------------------------------+
    /// |             awupf             |    icsvscc    |      nwpc     |
    /// +---------------------------------------------------------------+
    /// |              acwu             |              cdfs             |
    /// +---------------------------------------------------------------+
    /// |                              sgls                             |
    /// +---------------------------------------------------------------+
    /// |                              mnan                             |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeIdAbilities "NVMe Identify Controller abilities", 288 bytes {
        /// Optional admin commands.
        oacs with_oacs: 16 as Le<Hex16> ["nvme.cmd.identify.ctrl.oacs"],
        /// Aborts outstanding at once, less one.
        acl with_acl: 8 as u8 ["nvme.cmd.identify.ctrl.acl"],
        /// Asynchronous event requests outstanding at once, less one.
        aerl with_aerl: 8 as u8 ["nvme.cmd.identify.ctrl.aerl"],
        /// Updates of firmware.
        frmw with_frmw: 8 as Hex8 ["nvme.cmd.identify.ctrl.frmw"],
        /// What log pages there are.
        lpa with_lpa: 8 as Hex8 ["nvme.cmd.identify.ctrl.lpa"],
        /// Entries of the error log, less one.
        elpe with_elpe: 8 as u8 ["nvme.cmd.identify.ctrl.elpe"],
        /// Power states, less one.
        npss with_npss: 8 as u8 ["nvme.cmd.identify.ctrl.npss"],
        /// Format of the vendor's admin commands.
        avscc with_avscc: 8 as Hex8 ["nvme.cmd.identify.ctrl.avscc"],
        /// Changes power states by itself.
        apsta with_apsta: 8 as Hex8 ["nvme.cmd.identify.ctrl.apsta"],
        /// Temperature of a warning, in kelvins.
        wctemp with_wctemp: 16 as Le<u16> ["nvme.cmd.identify.ctrl.wctemp"],
        /// Critical temperature, in kelvins.
        cctemp with_cctemp: 16 as Le<u16> ["nvme.cmd.identify.ctrl.cctemp"],
        /// The longest time to activate firmware, in 100 ms.
        mtfa with_mtfa: 16 as Le<u16> ["nvme.cmd.identify.ctrl.mtfa"],
        /// Preferred host memory, in 4 KiB.
        hmpre with_hmpre: 32 as Le<u32> ["nvme.cmd.identify.ctrl.hmpre"],
        /// Least host memory, in 4 KiB.
        hmmin with_hmmin: 32 as Le<u32> ["nvme.cmd.identify.ctrl.hmmin"],
        /// Capacity in bytes, the lower half.
        tnvmcap with_tnvmcap: 64 as Le<u64>,
        /// The upper half.
        tnvmcap_high with_tnvmcap_high: 64 as Le<u64>,
        /// Capacity that no namespace has, the lower half.
        unvmcap with_unvmcap: 64 as Le<u64>,
        /// The upper half.
        unvmcap_high with_unvmcap_high: 64 as Le<u64>,
        /// Replay protected memory.
        rpmbs with_rpmbs: 32 as Le<Hex32> ["nvme.cmd.identify.ctrl.rpmbs"],
        /// Minutes of the extended self-test.
        edstt with_edstt: 16 as Le<u16> ["nvme.cmd.identify.ctrl.edstt"],
        /// Options of self-tests.
        dsto with_dsto: 8 as Hex8 ["nvme.cmd.identify.ctrl.dsto"],
        /// Granularity of firmware updates.
        fwug with_fwug: 8 as u8 ["nvme.cmd.identify.ctrl.fwug"],
        /// Granularity of the keep-alive timeout, in 100 ms; 0: no Keep Alive.
        kas with_kas: 16 as Le<u16> ["nvme.cmd.identify.ctrl.kas"],
        /// Thermal management by the host.
        hctma with_hctma: 16 as Le<Hex16> ["nvme.cmd.identify.ctrl.hctma"],
        /// Least temperature of it.
        mntmt with_mntmt: 16 as Le<u16> ["nvme.cmd.identify.ctrl.mntmt"],
        /// Highest temperature of it.
        mxtmt with_mxtmt: 16 as Le<u16> ["nvme.cmd.identify.ctrl.mxtmt"],
        /// How it sanitizes.
        sanicap with_sanicap: 32 as Le<Hex32> ["nvme.cmd.identify.ctrl.sanicap"],
        /// Least size of a piece of host memory, in 4 KiB.
        hmminds with_hmminds: 32 as Le<u32> ["nvme.cmd.identify.ctrl.hmmminds"],
        /// Pieces of host memory.
        hmmaxd with_hmmaxd: 16 as Le<u16> ["nvme.cmd.identify.ctrl.hmmaxd"],
        /// NVM sets.
        nsetidmax with_nsetidmax: 16 as Le<u16> ["nvme.cmd.identify.ctrl.nsetidmax"],
        /// Endurance groups.
        endgidmax with_endgidmax: 16 as Le<u16> ["nvme.cmd.identify.ctrl.endgidmax"],
        /// Seconds that a change of ANA may take.
        anatt with_anatt: 8 as u8 ["nvme.cmd.identify.ctrl.anatt"],
        /// ANA states that there are.
        anacap with_anacap: 8 as Hex8 ["nvme.cmd.identify.ctrl.anacap"],
        /// The highest ANA group.
        anagrpmax with_anagrpmax: 32 as Le<u32> ["nvme.cmd.identify.ctrl.anagrpmax"],
        /// ANA groups.
        nanagrpid with_nanagrpid: 32 as Le<u32> ["nvme.cmd.identify.ctrl.nanagrpid"],
        /// Size of the persistent event log, in 64 KiB.
        pels with_pels: 32 as Le<u32> ["nvme.cmd.identify.ctrl.pels"],
        /// Domain.
        domain with_domain: 16 as Le<u16>,
        /// Reserved.
        reserved3 with_reserved3: 80 as [u8; 10],
        /// Largest endurance group in bytes, the lower half.
        megcap with_megcap: 64 as Le<u64>,
        /// The upper half.
        megcap_high with_megcap_high: 64 as Le<u64>,
        /// Reserved.
        reserved4 with_reserved4: 1024 as [u8; 128],
        /// Sizes of submission queue entries, as powers of two: most and least.
        sqes with_sqes: 8 as Hex8 ["nvme.cmd.identify.ctrl.sqes"],
        /// Sizes of completion queue entries.
        cqes with_cqes: 8 as Hex8 ["nvme.cmd.identify.ctrl.cqes"],
        /// Commands outstanding at once on a queue.
        maxcmd with_maxcmd: 16 as Le<u16> ["nvme.cmd.identify.ctrl.maxcmd"],
        /// The highest namespace.
        nn with_nn: 32 as Le<u32> ["nvme.cmd.identify.ctrl.nn"],
        /// Optional commands of I/O queues.
        oncs with_oncs: 16 as Le<Hex16> ["nvme.cmd.identify.ctrl.oncs"],
        /// Fused commands.
        fuses with_fuses: 16 as Le<Hex16> ["nvme.cmd.identify.ctrl.fuses"],
        /// What Format does.
        fna with_fna: 8 as Hex8 ["nvme.cmd.identify.ctrl.fna"],
        /// Volatile write cache: there is one, in bit 0.
        vwc with_vwc: 8 as Hex8 ["nvme.cmd.identify.ctrl.vwc"],
        /// Blocks that are written at once, less one.
        awun with_awun: 16 as Le<u16> ["nvme.cmd.identify.ctrl.awun"],
        /// Blocks that are written at once whatever happens, less one.
        awupf with_awupf: 16 as Le<u16> ["nvme.cmd.identify.ctrl.awupf"],
        /// Format of the vendor's commands.
        icsvscc with_icsvscc: 8 as Hex8 ["nvme.cmd.identify.ctrl.nvscc"],
        /// Write protection.
        nwpc with_nwpc: 8 as Hex8 ["nvme.cmd.identify.ctrl.nwpc"],
        /// Blocks that are compared and written at once, less one.
        acwu with_acwu: 16 as Le<u16> ["nvme.cmd.identify.ctrl.acwu"],
        /// Formats of Copy.
        cdfs with_cdfs: 16 as Le<Hex16>,
        /// What SGLs it takes.
        sgls with_sgls: 32 as Le<Hex32> ["nvme.cmd.identify.ctrl.sgls"],
        /// Namespaces at most; 0: see nn.
        mnan with_mnan: 32 as Le<u32> ["nvme.cmd.identify.ctrl.mnan"],
    }
}

header! {
    /// Bytes 768 to 1,023 of Identify Controller (NVMe base specification 2.0, figure 275).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                       subnqn (2048 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeIdSubsystem "NVMe Identify Controller subsystem", 256 bytes {
        /// The subsystem's qualified name.
        subnqn with_subnqn: 2048 as Text<256> ["nvme.cmd.identify.ctrl.subnqn"],
    }
}

header! {
    /// What Fabrics adds: bytes 1,792 to 1,807 of Identify Controller (NVMe over Fabrics 1.1, 4.1).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             ioccsz                            |
    /// +---------------------------------------------------------------+
    /// |                             iorcsz                            |
    /// +---------------------------------------------------------------+
    /// |             icdoff            |     fcatt     |     msdbd     |
    /// +---------------------------------------------------------------+
    /// |              ofcs             |           reserved5           |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeIdFabrics "NVMe Identify Controller fabrics", 16 bytes {
        /// Size of a command capsule of an I/O queue, in 16 bytes.
        ioccsz with_ioccsz: 32 as Le<u32>,
        /// Size of a response capsule, in 16 bytes.
        iorcsz with_iorcsz: 32 as Le<u32>,
        /// Where data in the capsule begins behind the command, in 16 bytes.
        icdoff with_icdoff: 16 as Le<u16>,
        /// Attributes: the controllers are static in bit 0.
        fcatt with_fcatt: 8 as Hex8,
        /// Descriptors of data in a capsule; 0: no limit.
        msdbd with_msdbd: 8 as u8,
        /// Optional commands of Fabrics.
        ofcs with_ofcs: 16 as Le<Hex16>,
        /// Reserved.
        reserved5 with_reserved5: 16 as [u8; 2],
    }
}
