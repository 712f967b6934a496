//! Log pages of NVMe (NVMe base specification 2.0, 5.16; NVMe over Fabrics 1.1, 5.3). Numbers are little-endian. Nothing in the data says what it is: the
//! command does that names its memory.

use super::{Hex8, Hex16, Le, Show, Text};

number! {
    /// How well a namespace can be reached through a controller (NVMe base specification 2.0, 8.1.2).
    NvmeAnaState(u8) as Show::Named(|v| NvmeAnaState(v as u8).name())
}

impl NvmeAnaState {
    /// The way that is as good as any.
    pub const OPTIMIZED: NvmeAnaState = NvmeAnaState(1);

    /// Its name; `None` for a number that is not assigned.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0x01 => "optimized",
            0x02 => "non-optimized",
            0x03 => "inaccessible",
            0x04 => "persistent loss",
            0x0f => "change",
            _ => return None,
        })
    }
}

number! {
    /// What is behind an entry of a discovery log.
    NvmeSubsystemType(u8) as Show::Named(|v| Some(match v {
        1 => "another discovery service", 2 => "NVM subsystem", 3 => "this discovery service", _ => return None,
    }))
}

number! {
    /// Which transport reaches a subsystem.
    NvmeTransportType(u8) as Show::Named(|v| NvmeTransportType(v as u8).name())
}

impl NvmeTransportType {
    /// Its name; `None` for a number that is not assigned.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            1 => "rdma",
            2 => "fc",
            3 => "tcp",
            254 => "loop",
            _ => return None,
        })
    }
}

header! {
    /// SMART / Health Information (NVMe base specification 2.0, figure 207).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |critical_warnin|          temperature          |     spare     |
    /// +---------------------------------------------------------------+
    /// |spare_threshold|      used     | group_warning |    reserved   |
    /// +---------------------------------------------------------------+
    /// |                      reserved (200 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                      data_read (64 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                    data_read_high (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                     data_written (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                  data_written_high (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// |                      host_reads (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                   host_reads_high (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                     host_writes (64 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                   host_writes_high (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// |                     busy_minutes (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                  busy_minutes_high (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// |                     power_cycles (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                  power_cycles_high (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// |                    power_on_hours (64 bits)                   |
    /// +---------------------------------------------------------------+
    /// |                 power_on_hours_high (64 bits)                 |
    /// +---------------------------------------------------------------+
    /// |                   unsafe_shutdowns (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// |                unsafe_shutdowns_high (64 bits)                |
    /// +---------------------------------------------------------------+
    /// |                     media_errors (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                  media_errors_high (64 bits)                  |
    /// +---------------------------------------------------------------+
    /// |                    error_entries (64 bits)                    |
    /// +---------------------------------------------------------------+
    /// |                  error_entries_high (64 bits)                 |
    /// +---------------------------------------------------------------+
    /// |                        warning_minutes                        |
    /// +---------------------------------------------------------------+
    /// |                        critical_minutes                       |
    /// +---------------------------------------------------------------+
    /// |            sensor1            |            sensor2            |
    /// +---------------------------------------------------------------+
    /// |            sensor3            |            sensor4            |
    /// +---------------------------------------------------------------+
    /// |            sensor5            |            sensor6            |
    /// +---------------------------------------------------------------+
    /// |            sensor7            |            sensor8            |
    /// +---------------------------------------------------------------+
    /// |                           throttled1                          |
    /// +---------------------------------------------------------------+
    /// |                           throttled2                          |
    /// +---------------------------------------------------------------+
    /// |                       throttled1_seconds                      |
    /// +---------------------------------------------------------------+
    /// |                       throttled2_seconds                      |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeSmartLog "NVMe SMART log", 232 bytes {
        /// Spare too low in bit 0, temperature in bit 1, degraded in bit 2, read-only in bit 3, backup of volatile memory failed in bit 4, persistent memory unreliable in bit 5.
        critical_warning with_critical_warning: 8 as Hex8 ["nvme.cmd.get_logpage.smart.cw"],
        /// Temperature in kelvins.
        temperature with_temperature: 16 as Le<u16> ["nvme.cmd.get_logpage.smart.ct"],
        /// Spare capacity left, in percent.
        spare with_spare: 8 as u8 ["nvme.cmd.get_logpage.smart.asc"],
        /// The spare capacity that is too low.
        spare_threshold with_spare_threshold: 8 as u8 ["nvme.cmd.get_logpage.smart.ast"],
        /// How much of its life is used, in percent; 255 at most.
        used with_used: 8 as u8 ["nvme.cmd.get_logpage.smart.lae"],
        /// Critical warnings of endurance groups.
        group_warning with_group_warning: 8 as Hex8 ["nvme.cmd.get_logpage.smart.egcws"],
        /// Reserved.
        reserved with_reserved: 200 as [u8; 25],
        /// 1,000 units of 512 bytes that were read, the lower half.
        data_read with_data_read: 64 as Le<u64>,
        /// The upper half.
        data_read_high with_data_read_high: 64 as Le<u64>,
        /// 1,000 units of 512 bytes that were written, the lower half.
        data_written with_data_written: 64 as Le<u64>,
        /// The upper half.
        data_written_high with_data_written_high: 64 as Le<u64>,
        /// Read commands, the lower half.
        host_reads with_host_reads: 64 as Le<u64>,
        /// The upper half.
        host_reads_high with_host_reads_high: 64 as Le<u64>,
        /// Write commands, the lower half.
        host_writes with_host_writes: 64 as Le<u64>,
        /// The upper half.
        host_writes_high with_host_writes_high: 64 as Le<u64>,
        /// Minutes with commands, the lower half.
        busy_minutes with_busy_minutes: 64 as Le<u64>,
        /// The upper half.
        busy_minutes_high with_busy_minutes_high: 64 as Le<u64>,
        /// Power cycles, the lower half.
        power_cycles with_power_cycles: 64 as Le<u64>,
        /// The upper half.
        power_cycles_high with_power_cycles_high: 64 as Le<u64>,
        /// Hours with power, the lower half.
        power_on_hours with_power_on_hours: 64 as Le<u64>,
        /// The upper half.
        power_on_hours_high with_power_on_hours_high: 64 as Le<u64>,
        /// Losses of power without notice, the lower half.
        unsafe_shutdowns with_unsafe_shutdowns: 64 as Le<u64>,
        /// The upper half.
        unsafe_shutdowns_high with_unsafe_shutdowns_high: 64 as Le<u64>,
        /// Errors of data integrity that were not recovered, the lower half.
        media_errors with_media_errors: 64 as Le<u64>,
        /// The upper half.
        media_errors_high with_media_errors_high: 64 as Le<u64>,
        /// Entries of the error log, ever, the lower half.
        error_entries with_error_entries: 64 as Le<u64>,
        /// The upper half.
        error_entries_high with_error_entries_high: 64 as Le<u64>,
        /// Minutes above the temperature of a warning.
        warning_minutes with_warning_minutes: 32 as Le<u32> ["nvme.cmd.get_logpage.smart.wctt"],
        /// Minutes above the critical temperature.
        critical_minutes with_critical_minutes: 32 as Le<u32> ["nvme.cmd.get_logpage.smart.cctt"],
        /// Temperature sensor 1, in kelvins; 0: none.
        sensor1 with_sensor1: 16 as Le<u16> ["nvme.cmd.get_logpage.smart.ts.s1"],
        /// Temperature sensor 2, in kelvins; 0: none.
        sensor2 with_sensor2: 16 as Le<u16> ["nvme.cmd.get_logpage.smart.ts.s2"],
        /// Temperature sensor 3, in kelvins; 0: none.
        sensor3 with_sensor3: 16 as Le<u16> ["nvme.cmd.get_logpage.smart.ts.s3"],
        /// Temperature sensor 4, in kelvins; 0: none.
        sensor4 with_sensor4: 16 as Le<u16> ["nvme.cmd.get_logpage.smart.ts.s4"],
        /// Temperature sensor 5, in kelvins; 0: none.
        sensor5 with_sensor5: 16 as Le<u16> ["nvme.cmd.get_logpage.smart.ts.s5"],
        /// Temperature sensor 6, in kelvins; 0: none.
        sensor6 with_sensor6: 16 as Le<u16> ["nvme.cmd.get_logpage.smart.ts.s6"],
        /// Temperature sensor 7, in kelvins; 0: none.
        sensor7 with_sensor7: 16 as Le<u16> ["nvme.cmd.get_logpage.smart.ts.s7"],
        /// Temperature sensor 8, in kelvins; 0: none.
        sensor8 with_sensor8: 16 as Le<u16> ["nvme.cmd.get_logpage.smart.ts.s8"],
        /// How often it throttled lightly.
        throttled1 with_throttled1: 32 as Le<u32> ["nvme.cmd.get_logpage.smart.tmt1c"],
        /// How often it throttled heavily.
        throttled2 with_throttled2: 32 as Le<u32> ["nvme.cmd.get_logpage.smart.tmt2c"],
        /// Seconds of that, lightly.
        throttled1_seconds with_throttled1_seconds: 32 as Le<u32> ["nvme.cmd.get_logpage.smart.tmt1t"],
        /// Seconds of that, heavily.
        throttled2_seconds with_throttled2_seconds: 32 as Le<u32> ["nvme.cmd.get_logpage.smart.tmt2t"],
    }
}

header! {
    /// Asymmetric Namespace Access log (NVMe base specification 2.0, figure 221).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        chgcnt (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |             ngrps             |            reserved           |
    /// +---------------------------------------------------------------+
    /// |                            reserved                           |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeAnaLog "NVMe ANA log", 16 bytes {
        /// Changes so far.
        chgcnt with_chgcnt: 64 as Le<u64> ["nvme.cmd.get_logpage.ana.chcnt"],
        /// Groups that follow.
        ngrps with_ngrps: 16 as Le<u16> ["nvme.cmd.get_logpage.ana.ngd"],
        /// Reserved.
        reserved with_reserved: 48 as [u8; 6],
    }
}

header! {
    /// A group of the Asymmetric Namespace Access log; the numbers of its namespaces follow, of 32 bits each.
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                             grpid                             |
    /// +---------------------------------------------------------------+
    /// |                             nnsids                            |
    /// +---------------------------------------------------------------+
    /// |                        chgcnt (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |reserve| state |                   reserved2                   |
    /// +---------------------------------------------------------------+
    /// |                      reserved2 (120 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeAnaGroup "NVMe ANA group", 32 bytes {
        /// Group.
        grpid with_grpid: 32 as Le<u32> ["nvme.cmd.get_logpage.ana.grp.id"],
        /// Namespaces that follow.
        nnsids with_nnsids: 32 as Le<u32> ["nvme.cmd.get_logpage.ana.grp.nns"],
        /// Changes so far.
        chgcnt with_chgcnt: 64 as Le<u64> ["nvme.cmd.get_logpage.ana.grp.chcnt"],
        /// Reserved.
        reserved with_reserved: 4 as u8,
        /// How well its namespaces can be reached through this controller.
        state with_state: 4 as NvmeAnaState ["nvme.cmd.get_logpage.ana.grp.anas.state"],
        /// Reserved.
        reserved2 with_reserved2: 120 as [u8; 15],
    }
}

header! {
    /// Head of a discovery log; entries of 1,024 bytes follow (NVMe over Fabrics 1.1, 5.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |                        genctr (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |                        numrec (64 bits)                       |
    /// +---------------------------------------------------------------+
    /// |             recfmt            |            reserved           |
    /// +---------------------------------------------------------------+
    /// |                      reserved (8048 bits)                     |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeDiscoveryLog "NVMe discovery log", 1024 bytes {
        /// Changes so far.
        genctr with_genctr: 64 as Le<u64> ["nvme.cmd.get_logpage.identify.genctr"],
        /// Entries.
        numrec with_numrec: 64 as Le<u64> ["nvme.cmd.get_logpage.identify.numrec"],
        /// Format: 0.
        recfmt with_recfmt: 16 as Le<u16> ["nvme.cmd.get_logpage.identify.recfmt"],
        /// Reserved.
        reserved with_reserved: 8048 as [u8; 1006],
    }
}

header! {
    /// An entry of a discovery log, up to the transport's own part (NVMe over Fabrics 1.1, 5.3).
    ///
    /// ```text
    /// +---------------------------------------------------------------+
    /// |     trtype    |     adrfam    |    subtype    |      treq     |
    /// +---------------------------------------------------------------+
    /// |             portid            |             cntlid            |
    /// +---------------------------------------------------------------+
    /// |             asqsz             |             eflags            |
    /// +---------------------------------------------------------------+
    /// |                      reserved (160 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                       trsvcid (256 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                     reserved2 (1536 bits)                     |
    /// +---------------------------------------------------------------+
    /// |                       subnqn (2048 bits)                      |
    /// +---------------------------------------------------------------+
    /// |                       traddr (2048 bits)                      |
    /// +---------------------------------------------------------------+
    /// ```
    NvmeDiscoveryEntry "NVMe discovery entry", 768 bytes {
        /// Transport.
        trtype with_trtype: 8 as NvmeTransportType ["nvme.cmd.get_logpage.identify.rcrd.trtype"],
        /// Family of the address: IPv4 is 1, IPv6 2, InfiniBand 3.
        adrfam with_adrfam: 8 as Hex8 ["nvme.cmd.get_logpage.identify.rcrd.adrfam"],
        /// What is there.
        subtype with_subtype: 8 as NvmeSubsystemType ["nvme.cmd.get_logpage.identify.rcrd.subtype"],
        /// Requirements of the transport.
        treq with_treq: 8 as Hex8 ["nvme.cmd.get_logpage.identify.rcrd.treq"],
        /// Port of the subsystem.
        portid with_portid: 16 as Le<u16>,
        /// Controller; 0xffff: any.
        cntlid with_cntlid: 16 as Le<Hex16>,
        /// Entries of the admin queue.
        asqsz with_asqsz: 16 as Le<u16> ["nvme.cmd.get_logpage.identify.rcrd.asqsz"],
        /// Flags.
        eflags with_eflags: 16 as Le<Hex16>,
        /// Reserved.
        reserved with_reserved: 160 as [u8; 20],
        /// Service: a port.
        trsvcid with_trsvcid: 256 as Text<32> ["nvme.cmd.get_logpage.identify.rcrd.trsvcid"],
        /// Reserved.
        reserved2 with_reserved2: 1536 as [u8; 192],
        /// The subsystem's qualified name.
        subnqn with_subnqn: 2048 as Text<256> ["nvme.cmd.get_logpage.identify.rcrd.subnqn"],
        /// Address.
        traddr with_traddr: 2048 as Text<256> ["nvme.cmd.get_logpage.identify.rcrd.traddr"],
    }
}
