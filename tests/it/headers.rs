//! Every header's table, all alike: rows fill the header, have names, round-trip, print, and are documented.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::properties::{Random, for_each_header, header};
use rdmawire::wire::*;

fn tables() -> impl Iterator<Item = (Kind, &'static HeaderInfo)> {
    Kind::ALL.iter().filter_map(|kind| Some((*kind, kind.info()?)))
}

#[test]
fn rows_fill_their_header() {
    for (kind, info) in tables() {
        assert_eq!(info.kind, kind);
        let mut bit = 0;
        for field in info.fields {
            assert_eq!(field.bit, bit, "{kind:?} {}", field.name);
            assert!(field.width > 0);
            bit += field.width;
        }
        assert_eq!(bit as usize, 8 * info.len, "{kind:?}");
    }
}

#[test]
fn every_header_type_is_in_the_list_of_kinds() {
    let mut types = Vec::new();
    macro_rules! check {
        ($($header:ident)*) => { $(
            assert_eq!($header::KIND, Kind::$header);
            assert_eq!(std::mem::size_of::<$header>(), $header::LEN);
            assert_eq!(std::mem::align_of::<$header>(), 1);
            assert_eq!($header::INFO.label, Kind::$header.info().unwrap().label);
            types.push(Kind::$header);
        )* };
    }
    for_each_header!(check);
    assert_eq!(types, tables().map(|(kind, _)| kind).collect::<Vec<_>>());
}

/// Names in JSON and filters are a layer's: parts of one layer must not clash with its first header, except where they are
/// alternatives of which a frame has one.
#[test]
fn names_are_unique_and_plain() {
    let mut labels = HashSet::new();
    for (kind, info) in tables() {
        let mut names = HashSet::new();
        for field in info.fields {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(field.name.chars().all(plain), "{kind:?} {}", field.name);
            assert!(names.insert(field.name), "{kind:?} has {} twice", field.name);
        }
        assert!(kind.layer().chars().all(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'));
        assert!(labels.insert(info.label), "{} twice", info.label);
        assert_eq!(kind.label(), info.label);
    }
}

/// A filter name of Wireshark's is a protocol and a path; one header does not use it for two fields.
#[test]
fn wiresharks_names_are_plausible() {
    let mut named = 0;
    for (kind, info) in tables() {
        let mut seen = HashSet::new();
        for field in info.fields.iter().filter(|field| !field.wireshark.is_empty()) {
            let name = field.wireshark;
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            assert!(name.chars().all(plain) && name.contains('.') && !name.ends_with('.'), "{kind:?} {name}");
            assert!(seen.insert(name), "{kind:?} uses {name} twice");
            named += 1;
        }
    }
    assert!(named > 150, "{named}");
    // Where Wireshark has the whole header, so have we.
    for kind in
        [Kind::Bth, Kind::Deth, Kind::Reth, Kind::Aeth, Kind::Lrh, Kind::Grh, Kind::Udp, Kind::Ethernet]
    {
        let info = kind.info().unwrap();
        assert!(
            info.fields.iter().filter(|f| !f.wireshark.is_empty()).count() * 2 > info.fields.len(),
            "{kind:?}"
        );
    }
}

#[test]
fn figures_and_meanings_are_documented() {
    for (kind, info) in tables() {
        let lines: Vec<&str> = info.doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        assert!(!lines[0].is_empty(), "{kind:?}");
        let rulers = lines.iter().filter(|line| line.starts_with("+-") && line.ends_with('+')).count();
        assert!(rulers >= 2, "{kind:?} has no figure");
        assert_eq!(lines.iter().filter(|line| line.starts_with("```")).count(), 2, "{kind:?}");
        // A figure's line of 32 bits is 65 characters wide: no row is out of line with its ruler.
        let figure: Vec<&&str> =
            lines.iter().filter(|line| line.starts_with('|') || line.starts_with("+-")).collect();
        let widths: BTreeMap<usize, usize> = figure.iter().fold(BTreeMap::new(), |mut widths, line| {
            *widths.entry(line.chars().count()).or_default() += 1;
            widths
        });
        assert!(widths.len() <= 2, "{kind:?}: lines of {widths:?} characters\n{}", info.doc);
        for field in info.fields {
            assert!(field.doc.trim().ends_with('.'), "{kind:?} {}: {:?}", field.name, field.doc);
        }
    }
}

#[test]
fn every_field_goes_round() {
    let mut random = Random::new(7);
    for (n, (kind, info)) in tables().enumerate() {
        let mut input = vec![n as u8];
        input.extend_from_slice(&[0; 8]);
        for fill in [|_| 0, |_| 0xff, |n: usize| n as u8, |n| (n as u8).wrapping_mul(0x53)] {
            let bytes: Vec<u8> = (0..info.len).map(fill).collect();
            for value in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef, random.next()] {
                header::table(kind, &bytes, value);
                header::table(kind, &bytes[..info.len - 1], value);
                input.truncate(1);
                input.extend_from_slice(&value.to_le_bytes());
                input.extend_from_slice(&bytes);
                header::header(&input);
            }
        }
        header::table(kind, &[], u64::MAX);
    }
}

/// Every field that is no zero flag is printed, with the value of its own bits: the value that no other field has.
#[test]
fn display_prints_every_field() {
    macro_rules! check {
        ($($name:ident)*) => { $(
            for ones in 0..$name::FIELDS.len() {
                let mut bytes = vec![0; $name::LEN];
                $name::FIELDS[ones].set(&mut bytes, u64::MAX);
                let text = $name::view(&bytes).unwrap().0.to_string();
                let text = text.strip_prefix($name::NAME).unwrap();
                for (n, field) in $name::FIELDS.iter().enumerate() {
                    let is_flag = matches!(field.show, Show::Flag);
                    let shown = if is_flag { format!(" {}", field.name) } else { format!(" {}=", field.name) };
                    let is_there = text.contains(&shown) && (!is_flag || text.split(' ').any(|word| word == field.name));
                    assert_eq!(is_there, !is_flag || n == ones, "{}: {shown} {text}", $name::NAME);
                }
            }
        )* };
    }
    for_each_header!(check);
}

/// Fields wider than a word: number access means their last 64 bits, and breaks nothing.
#[test]
fn wide_fields_as_numbers() {
    let field = Ipv6::FIELDS.iter().find(|field| field.name == "src").unwrap();
    let mut bytes = vec![0; Ipv6::LEN];
    field.set(&mut bytes, 0x0102_0304_0506_0708);
    assert_eq!(Ipv6::view(&bytes).unwrap().0.src().to_string(), "::102:304:506:708");
    assert_eq!(field.get(&bytes), 0x0102_0304_0506_0708);
}

/// Values that are wide enough to identify something and are no [`Secret`]: numbers that others need to understand a capture, and
/// that tell nothing about whose it is.
const KEPT: &[&str] = &[
    "aeth.msn",
    "arista.nanoseconds",
    "arista.seconds",
    "arista.subtype",
    "arista.version",
    "atomicacketh.original_data",
    "atomiceth.compare_data",
    "atomiceth.swap_data",
    "broadcom_tag.tag",
    "bth.p_key",
    "bth.psn",
    "ca_congestion_setting.control_map",
    "ca_congestion_setting.entries",
    "ca_congestion_setting.port_control",
    "cc_state.rcvd_bytes",
    "cc_state.tx_timestamp",
    "class_port_info.capability_mask",
    "class_port_info.capability_mask2",
    "class_port_info.redirect_fl",
    "class_port_info.redirect_p_key",
    "class_port_info.redirect_q_key",
    "class_port_info.trap_fl",
    "class_port_info.trap_p_key",
    "class_port_info.trap_q_key",
    "cm.alternate_flow_label",
    "cm.local_q_key",
    "cm.p_key",
    "cm.primary_flow_label",
    "cm.q_key",
    "cm.src_port",
    "cm.starting_psn",
    "cmd.option",
    "cmd.sgt",
    "congestion_control_table.ccti_limit",
    "congestion_control_table.entries",
    "congestion_event.time_stamp",
    "congestion_info.congestion_info",
    "congestion_key_info.cc_key_lease_period",
    "congestion_key_info.cc_key_violations",
    "congestion_log.current_time",
    "congestion_log.event_count",
    "congestion_log.event_map",
    "congestion_log.port_map",
    "congestion_time_stamp.time_stamp",
    "control_word.sequence",
    "deth.q_key",
    "edsa.tag",
    "eeth.tx_timestamp",
    "eeth.unknown",
    "eeth.unknown1",
    "erf.body",
    "erf.lost",
    "erf.record_len",
    "erf.timestamp",
    "erf.wire_len",
    "erspan.index",
    "erspan.info",
    "erspan.sgt",
    "erspan.timestamp",
    "erth.port_status_mask",
    "erth.tx_timestamp",
    "esp.sequence_number",
    "esp.spi",
    "geneve.vni",
    "gre.key",
    "gre.offset",
    "gre.sequence_number",
    "grh.flow_label",
    "grh.pay_len",
    "gue.flags",
    "ifa_hop.device_id",
    "ifa_hop.egress_port",
    "ifa_hop.ingress_port",
    "ifa_hop.pool_available",
    "ifa_hop.queue_depth",
    "ifa_hop.residence_ns",
    "ifa_hop.rx_nanoseconds",
    "ifa_hop.rx_seconds",
    "ifa_hop.tx_bytes",
    "immdt.data",
    "inform_info.notice_type",
    "int.domain",
    "int.domain_flags",
    "int.domain_instructions",
    "int.instructions",
    "int_buffer.buffer_depth",
    "int_delay.delay",
    "int_egress_time.egress_time",
    "int_ingress_time.ingress_time",
    "int_logical_ports.logical_egress_port",
    "int_logical_ports.logical_ingress_port",
    "int_node.node",
    "int_ports.egress_port",
    "int_ports.ingress_port",
    "int_queue.queue_depth",
    "int_shim.original",
    "int_use.link_use",
    "ipoib_arp.hardware",
    "ipoib_ipv4.fragment",
    "ipoib_ipv4.id",
    "ipoib_ipv4.total_len",
    "ipoib_ipv6.flow_label",
    "ipoib_ipv6.payload_len",
    "ipv4.id",
    "ipv4.total_len",
    "ipv6.flow_label",
    "ipv6.payload_len",
    "iscsi.bidi_residual",
    "iscsi.cdb",
    "iscsi.cid",
    "iscsi.cmd_sn",
    "iscsi.data_segment_length",
    "iscsi.event",
    "iscsi.exp_cmd_sn",
    "iscsi.exp_data_sn",
    "iscsi.exp_stat_sn",
    "iscsi.expected_length",
    "iscsi.initiator_task_tag",
    "iscsi.lun",
    "iscsi.max_cmd_sn",
    "iscsi.ref_cmd_sn",
    "iscsi.residual",
    "iscsi.rest",
    "iscsi.snack_tag",
    "iscsi.specific",
    "iscsi.stat_sn",
    "iscsi.tag",
    "iscsi.target_transfer_tag",
    "iscsi.time2retain",
    "iscsi.time2wait",
    "iscsi.tsih",
    "itag.isid",
    "linear_fdb.ports",
    "lldp.ack_no",
    "lldp.oui",
    "lldp.oui_low",
    "lldp.port_vlan",
    "lldp.protocol",
    "lldp.seq_no",
    "lldp.time_to_live",
    "lnet.dst_stamp",
    "lnet.length",
    "lnet.magic",
    "lnet.src_stamp",
    "lnet.version",
    "lnet_fragment.length",
    "lnet_header.dst_pid",
    "lnet_header.payload_length",
    "lnet_header.src_pid",
    "lnet_memory.fragments",
    "lnet_parameters.max_fragments",
    "lnet_parameters.max_message_size",
    "lnet_parameters.queue_depth",
    "lnet_transfer.cookie",
    "lnet_transfer.dst_cookie",
    "lnet_transfer.src_cookie",
    "lnet_transfer.status",
    "mac_control.pause_time",
    "mac_control.time0",
    "mac_control.time1",
    "mac_control.time2",
    "mac_control.time3",
    "mac_control.time4",
    "mac_control.time5",
    "mac_control.time6",
    "mac_control.time7",
    "macsec.packet_number",
    "macsec.port",
    "mad.attribute_id",
    "mad.attribute_modifier",
    "mad.class_specific",
    "mad.status",
    "mc_member_record.flow_label",
    "mc_member_record.p_key",
    "mc_member_record.q_key",
    "meth.msn",
    "meth.rq_msn",
    "mpls.label",
    "multi_path_record.flow_label",
    "multi_path_record.p_key",
    "multi_path_record.service_id_low",
    "multicast_fdb.port_masks",
    "neth.dpdcid",
    "neth.entropy",
    "neth.nack_psn",
    "neth.spdcid",
    "neth.tx_timestamp",
    "nflog.length",
    "nflog.resource",
    "nflog.value_type",
    "nfs_compound.minorversion",
    "nfs_compound.operations",
    "nfs_compound.tag_length",
    "nfs_handle.handle_length",
    "nfs_name.name_length",
    "nfs_range.count",
    "nfs_range.offset",
    "nfs_state.state_seqid",
    "nfs_write.count",
    "nfs_write.data_length",
    "nfs_write.offset",
    "node_info.device_id",
    "node_info.partition_cap",
    "node_info.revision",
    "node_info.vendor_id",
    "nsh.path",
    "nvme.cdw10",
    "nvme.cdw11",
    "nvme.cdw12",
    "nvme.cdw13",
    "nvme.cdw14",
    "nvme.cdw15",
    "nvme.cdw2",
    "nvme.cdw3",
    "nvme.command_id",
    "nvme.dspec",
    "nvme.dword0",
    "nvme.dword1",
    "nvme.eilbrt",
    "nvme.elbat",
    "nvme.elbatm",
    "nvme.kato",
    "nvme.length",
    "nvme.nlb",
    "nvme.nsid",
    "nvme.qid",
    "nvme.recfmt",
    "nvme.slba",
    "nvme.specific",
    "nvme.sqhd",
    "nvme.sqid",
    "nvme.sqsize",
    "nvme.value",
    "nvme_ana.chgcnt",
    "nvme_ana.ngrps",
    "nvme_ana_group.chgcnt",
    "nvme_ana_group.grpid",
    "nvme_ana_group.nnsids",
    "nvme_cm.cntlid",
    "nvme_cm.crqsize",
    "nvme_cm.hrqsize",
    "nvme_cm.hsqsize",
    "nvme_cm.qid",
    "nvme_cm.recfmt",
    "nvme_connect.cntlid",
    "nvme_controller.acwu",
    "nvme_controller.anagrpmax",
    "nvme_controller.awun",
    "nvme_controller.awupf",
    "nvme_controller.cctemp",
    "nvme_controller.cdfs",
    "nvme_controller.cntlid",
    "nvme_controller.crdt1",
    "nvme_controller.crdt2",
    "nvme_controller.crdt3",
    "nvme_controller.ctratt",
    "nvme_controller.domain",
    "nvme_controller.edstt",
    "nvme_controller.endgidmax",
    "nvme_controller.fuses",
    "nvme_controller.hctma",
    "nvme_controller.hmmaxd",
    "nvme_controller.hmmin",
    "nvme_controller.hmminds",
    "nvme_controller.hmpre",
    "nvme_controller.icdoff",
    "nvme_controller.ieee",
    "nvme_controller.ioccsz",
    "nvme_controller.iorcsz",
    "nvme_controller.kas",
    "nvme_controller.maxcmd",
    "nvme_controller.megcap",
    "nvme_controller.megcap_high",
    "nvme_controller.mnan",
    "nvme_controller.mntmt",
    "nvme_controller.mtfa",
    "nvme_controller.mxtmt",
    "nvme_controller.nanagrpid",
    "nvme_controller.nn",
    "nvme_controller.nsetidmax",
    "nvme_controller.oacs",
    "nvme_controller.oaes",
    "nvme_controller.ofcs",
    "nvme_controller.oncs",
    "nvme_controller.pels",
    "nvme_controller.rpmbs",
    "nvme_controller.rrls",
    "nvme_controller.rtd3e",
    "nvme_controller.rtd3r",
    "nvme_controller.sanicap",
    "nvme_controller.sgls",
    "nvme_controller.ssvid",
    "nvme_controller.tnvmcap",
    "nvme_controller.tnvmcap_high",
    "nvme_controller.unvmcap",
    "nvme_controller.unvmcap_high",
    "nvme_controller.vid",
    "nvme_controller.wctemp",
    "nvme_discovery.genctr",
    "nvme_discovery.numrec",
    "nvme_discovery.recfmt",
    "nvme_discovery_entry.asqsz",
    "nvme_discovery_entry.cntlid",
    "nvme_discovery_entry.eflags",
    "nvme_discovery_entry.portid",
    "nvme_lba_format.ms",
    "nvme_namespace.anagrpid",
    "nvme_namespace.endgid",
    "nvme_namespace.mcl",
    "nvme_namespace.mssrl",
    "nvme_namespace.nabo",
    "nvme_namespace.nabsn",
    "nvme_namespace.nabspf",
    "nvme_namespace.nacwu",
    "nvme_namespace.nawun",
    "nvme_namespace.nawupf",
    "nvme_namespace.ncap",
    "nvme_namespace.noiob",
    "nvme_namespace.nows",
    "nvme_namespace.npda",
    "nvme_namespace.npdg",
    "nvme_namespace.npwa",
    "nvme_namespace.npwg",
    "nvme_namespace.nsze",
    "nvme_namespace.nuse",
    "nvme_namespace.nvmcap",
    "nvme_namespace.nvmcap_high",
    "nvme_namespace.nvmsetid",
    "nvme_smart.busy_minutes",
    "nvme_smart.busy_minutes_high",
    "nvme_smart.critical_minutes",
    "nvme_smart.data_read",
    "nvme_smart.data_read_high",
    "nvme_smart.data_written",
    "nvme_smart.data_written_high",
    "nvme_smart.error_entries",
    "nvme_smart.error_entries_high",
    "nvme_smart.host_reads",
    "nvme_smart.host_reads_high",
    "nvme_smart.host_writes",
    "nvme_smart.host_writes_high",
    "nvme_smart.media_errors",
    "nvme_smart.media_errors_high",
    "nvme_smart.power_cycles",
    "nvme_smart.power_cycles_high",
    "nvme_smart.power_on_hours",
    "nvme_smart.power_on_hours_high",
    "nvme_smart.sensor1",
    "nvme_smart.sensor2",
    "nvme_smart.sensor3",
    "nvme_smart.sensor4",
    "nvme_smart.sensor5",
    "nvme_smart.sensor6",
    "nvme_smart.sensor7",
    "nvme_smart.sensor8",
    "nvme_smart.temperature",
    "nvme_smart.throttled1",
    "nvme_smart.throttled1_seconds",
    "nvme_smart.throttled2",
    "nvme_smart.throttled2_seconds",
    "nvme_smart.unsafe_shutdowns",
    "nvme_smart.unsafe_shutdowns_high",
    "nvme_smart.warning_minutes",
    "p_key_table.p_keys",
    "path_record.flow_label",
    "path_record.p_key",
    "pds.ack_psn_offset",
    "pds.cack_psn",
    "pds.cc_state",
    "pds.ccx_state",
    "pds.clear_psn_offset",
    "pds.credit",
    "pds.credit_target",
    "pds.dpdcid",
    "pds.expected_psn",
    "pds.ooo_count",
    "pds.payload",
    "pds.pkt_id",
    "pds.probe_opaque",
    "pds.psn",
    "pds.rcvd_bytes",
    "pds.sack_bitmap",
    "pds.sack_psn_offset",
    "pds.service_time",
    "pds.spdcid",
    "peth.dpdcid",
    "peth.probe_id",
    "peth.spdcid",
    "peth.tx_timestamp",
    "port_counters.counter_select",
    "port_counters.port_rcv_data",
    "port_counters.port_rcv_errors",
    "port_counters.port_rcv_pkts",
    "port_counters.port_rcv_remote_physical_errors",
    "port_counters.port_rcv_switch_relay_errors",
    "port_counters.port_xmit_data",
    "port_counters.port_xmit_discards",
    "port_counters.port_xmit_pkts",
    "port_counters.port_xmit_wait",
    "port_counters.qp1_dropped",
    "port_counters.symbol_error_counter",
    "port_counters.vl15_dropped",
    "port_counters_extended.counter_select",
    "port_counters_extended.counter_select2",
    "port_counters_extended.excessive_buffer_overrun_errors",
    "port_counters_extended.link_downed_counter",
    "port_counters_extended.link_error_recovery_counter",
    "port_counters_extended.local_link_integrity_errors",
    "port_counters_extended.port_multicast_rcv_pkts",
    "port_counters_extended.port_multicast_xmit_pkts",
    "port_counters_extended.port_rcv_constraint_errors",
    "port_counters_extended.port_rcv_data",
    "port_counters_extended.port_rcv_errors",
    "port_counters_extended.port_rcv_pkts",
    "port_counters_extended.port_rcv_remote_physical_errors",
    "port_counters_extended.port_rcv_switch_relay_errors",
    "port_counters_extended.port_unicast_rcv_pkts",
    "port_counters_extended.port_unicast_xmit_pkts",
    "port_counters_extended.port_xmit_constraint_errors",
    "port_counters_extended.port_xmit_data",
    "port_counters_extended.port_xmit_discards",
    "port_counters_extended.port_xmit_pkts",
    "port_counters_extended.port_xmit_wait",
    "port_counters_extended.qp1_dropped",
    "port_counters_extended.symbol_error_counter",
    "port_counters_extended.vl15_dropped",
    "port_extended_speeds_counters.counter_select",
    "port_extended_speeds_counters.error_detection_counter",
    "port_extended_speeds_counters.fec_correctable_block_counter",
    "port_extended_speeds_counters.fec_uncorrectable_block_counter",
    "port_extended_speeds_counters.port_fec_correctable_block_counter",
    "port_extended_speeds_counters.port_fec_corrected_symbol_counter",
    "port_extended_speeds_counters.port_fec_uncorrectable_block_counter",
    "port_extended_speeds_counters.sync_header_error_counter",
    "port_extended_speeds_counters.unknown_block_counter",
    "port_flow_ctl_counters.counter_select",
    "port_flow_ctl_counters.port_rcv_flow_pkts",
    "port_flow_ctl_counters.port_xmit_flow_pkts",
    "port_info.capability_mask",
    "port_info.capability_mask2",
    "port_info.diag_code",
    "port_info.gid_prefix",
    "port_info.link_round_trip_latency",
    "port_info.m_key_lease_period",
    "port_info.m_key_violations",
    "port_info.max_credit_hint",
    "port_info.p_key_violations",
    "port_info.q_key_violations",
    "port_op_rcv_counters.counter_select",
    "port_op_rcv_counters.port_op_rcv_data",
    "port_op_rcv_counters.port_op_rcv_pkts",
    "port_rcv_con_ctrl.counter_select",
    "port_rcv_con_ctrl.port_pkt_rcv_becn",
    "port_rcv_con_ctrl.port_pkt_rcv_fecn",
    "port_rcv_data_sl.counter_select",
    "port_rcv_data_sl.port_rcv_data_sl",
    "port_rcv_error_details.counter_select",
    "port_rcv_error_details.port_buffer_overrun_errors",
    "port_rcv_error_details.port_dlid_mapping_errors",
    "port_rcv_error_details.port_local_physical_errors",
    "port_rcv_error_details.port_looping_errors",
    "port_rcv_error_details.port_malformed_pkt_errors",
    "port_rcv_error_details.port_vl_mapping_errors",
    "port_samples_control.counter_masks1to9",
    "port_samples_control.counter_select",
    "port_samples_control.option_mask",
    "port_samples_control.sample_interval",
    "port_samples_control.sample_start",
    "port_samples_control.samples_only_option_mask",
    "port_samples_control.tag",
    "port_samples_control.vendor_mask",
    "port_samples_result.counters",
    "port_samples_result.tag",
    "port_sl_rcv_becn.counter_select",
    "port_sl_rcv_becn.port_sl_rcv_becn",
    "port_sl_rcv_fecn.counter_select",
    "port_sl_rcv_fecn.port_sl_rcv_fecn",
    "port_vl_op_data.counter_select",
    "port_vl_op_data.port_vl_op_data",
    "port_vl_op_packets.counter_select",
    "port_vl_op_packets.port_vl_op_packets",
    "port_vl_xmit_flow_ctl_update_errors.counter_select",
    "port_vl_xmit_flow_ctl_update_errors.port_vl_xmit_flow_ctl_update_errors",
    "port_vl_xmit_time_cong.counter_select",
    "port_vl_xmit_time_cong.port_vl_xmit_time_cong",
    "port_vl_xmit_wait_counters.counter_select",
    "port_vl_xmit_wait_counters.port_vl_xmit_wait",
    "port_xmit_con_ctrl.counter_select",
    "port_xmit_con_ctrl.port_xmit_time_cong",
    "port_xmit_data_sl.counter_select",
    "port_xmit_data_sl.port_xmit_data_sl",
    "port_xmit_discard_details.counter_select",
    "port_xmit_discard_details.port_inactive_discards",
    "port_xmit_discard_details.port_neighbor_mtu_discards",
    "port_xmit_discard_details.port_sw_hoq_lifetime_limit_discards",
    "port_xmit_discard_details.port_sw_lifetime_limit_discards",
    "psp.iv",
    "psp.spi",
    "random_fdb.entries",
    "rds.ack",
    "rds.dst_port",
    "rds.extension",
    "rds.length",
    "rds.sequence",
    "rds.src_port",
    "reth.dma_len",
    "rmpp.payload_length",
    "rmpp.segment_number",
    "rpc.xid",
    "rpc_auth.length",
    "rpc_call.procedure",
    "rpc_call.rpcvers",
    "rpc_call.vers",
    "rpcordma.credit",
    "rpcordma.vers",
    "rpcordma.xid",
    "rpcordma_chunk.item",
    "rpcordma_chunk.segments",
    "rpcordma_end.item",
    "rpcordma_error.high",
    "rpcordma_error.low",
    "rpcordma_read.item",
    "rpcordma_read.length",
    "rpcordma_read.position",
    "rpcordma_segment.length",
    "rtag.sequence_number",
    "sa.attribute_offset",
    "sa.component_mask",
    "sa_record.block_num",
    "sa_record.enumeration",
    "service_record.service_lease",
    "service_record.service_p_key",
    "ses.compare",
    "ses.eager_length",
    "ses.header_data",
    "ses.initiator_restart_token",
    "ses.message_id",
    "ses.message_offset",
    "ses.modified_length",
    "ses.original_request_psn",
    "ses.read_request_message_id",
    "ses.request_length",
    "ses.swap",
    "ses.sync_count",
    "ses.sync_group",
    "ses.target_restart_token",
    "seth.ack_psn_offset",
    "seth.cack_psn",
    "seth.dpdcid",
    "seth.entropy",
    "seth.sack_bitmap",
    "seth.sack_offset",
    "seth.spdcid",
    "sl_to_vl.vls",
    "sll.address_len",
    "sll.arphrd",
    "sll.packet_type",
    "sll2.arphrd",
    "sll2.if_index",
    "sm_info.act_count",
    "smb2.credit_charge",
    "smb2.credits",
    "smb2.flags",
    "smb2.message_id",
    "smb2.next_command",
    "smb2.protocol_id",
    "smb2.session_id",
    "smb2.signature",
    "smb2.structure_size",
    "smb2.tree_id",
    "smb2_buffer.length",
    "smb_direct.credits_granted",
    "smb_direct.credits_requested",
    "smb_direct.data_length",
    "smb_direct.data_offset",
    "smb_direct.flags",
    "smb_direct.max_fragmented_size",
    "smb_direct.max_read_write_size",
    "smb_direct.max_receive_size",
    "smb_direct.max_version",
    "smb_direct.min_version",
    "smb_direct.negotiated_version",
    "smb_direct.preferred_send_size",
    "smb_direct.remaining_length",
    "smc.consumer",
    "smc.consumer_wrap",
    "smc.producer",
    "smc.producer_wrap",
    "smc.sequence",
    "smc.token",
    "smc_link.initial_psn",
    "smc_link.link_uid",
    "smc_link.reason",
    "smc_link.user_data",
    "smp_path.initial_path",
    "smp_path.return_path",
    "snap.organization",
    "srp.buf_fmt",
    "srp.cdb",
    "srp.data_in_residual",
    "srp.data_out_residual",
    "srp.imm_data_offset",
    "srp.lun",
    "srp.max_it_iu_len",
    "srp.max_ti_iu_len",
    "srp.req_buf_fmt",
    "srp.req_it_iu_len",
    "srp.req_lim_delta",
    "srp.response_len",
    "srp.sense_len",
    "srp.tag",
    "srp_descriptor.length",
    "srp_indirect.length",
    "srp_indirect.total_length",
    "sw_port_vl_congestion.counter_select",
    "sw_port_vl_congestion.sw_port_vl_congestion",
    "switch_congestion_setting.control_map",
    "switch_congestion_setting.credit_mask",
    "switch_congestion_setting.cs_return_delay",
    "switch_congestion_setting.marking_rate",
    "switch_congestion_setting.victim_mask",
    "switch_info.lids_per_port",
    "switch_info.linear_fdb_cap",
    "switch_info.linear_fdb_top",
    "switch_info.multicast_fdb_cap",
    "switch_info.partition_enforcement_cap",
    "switch_info.random_fdb_cap",
    "switch_port_congestion_setting.elements",
    "switch_tag.tag",
    "trill.egress",
    "trill.ingress",
    "tseth.tx_timestamp",
    "tss.epoch",
    "tss.sdi",
    "tss.ssi",
    "tss.tsc",
    "tzsp.protocol",
    "udp.dst_port",
    "udp.length",
    "udp.src_port",
    "uet_entropy.entropy",
    "vendor.oui",
    "vendor_diag.next_index",
    "vl_arbitration.entries",
    "vxlan.vni",
    "vxlan_gpe.vni",
];

/// A field of sixteen bits or more is a secret by its type, has a closed list of meanings, or is listed above: a new one cannot be
/// forgotten.
#[test]
fn what_is_wide_and_no_secret_is_kept_on_purpose() {
    let open = tables().flat_map(|(kind, info)| {
        let is_open = |field: &&Field| {
            let says_itself = matches!(field.show, Show::Named(_) | Show::Decoded(_) | Show::Flag);
            let is_nothing =
                ["reserved", "checksum", "lpcrc"].iter().any(|name| field.name.starts_with(name));
            field.width >= 16 && field.secret.is_none() && !says_itself && !is_nothing
        };
        info.fields.iter().filter(is_open).map(move |field| format!("{}.{}", kind.layer(), field.name))
    });
    let (open, kept) = (open.collect::<BTreeSet<_>>(), KEPT.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(open, kept);
}

/// Messages of communication management: bytes, bits and widths of some fields as Linux has them in `ibta_vol1_c12.h`, from the message's first byte.
#[test]
fn cm_messages_are_laid_out_as_linux_has_them() {
    let at = |info: &HeaderInfo, name: &str| {
        let field = info.fields.iter().find(|field| field.name == name).unwrap();
        (field.bit / 8, field.bit % 8, field.width)
    };
    for (name, place) in [
        ("remote_cm_response_timeout", (43, 0, 5)),
        ("end_to_end_flow_control", (43, 7, 1)),
        ("starting_psn", (44, 0, 24)),
        ("retry_count", (47, 5, 3)),
        ("path_mtu", (50, 0, 4)),
        ("rnr_retry_count", (50, 5, 3)),
        ("primary_local_ack_timeout", (95, 0, 5)),
        ("alternate_packet_rate", (135, 2, 6)),
        ("alternate_local_ack_timeout", (139, 0, 5)),
        ("sap_supported", (139, 5, 1)),
    ] {
        assert_eq!(at(CmReq::INFO, name), place, "{name}");
    }
    for (info, name, place) in [
        (CmMra::INFO, "service_timeout", (9, 0, 5)),
        (CmRej::INFO, "reject_info_length", (9, 0, 7)),
        (CmRej::INFO, "reason", (10, 0, 16)),
        (CmRep::INFO, "target_ack_delay", (26, 0, 5)),
        (CmRep::INFO, "rnr_retry_count", (27, 0, 3)),
        (CmDreq::INFO, "remote_qpn", (8, 0, 24)),
        (CmLap::INFO, "remote_qpn", (12, 0, 24)),
        (CmLap::INFO, "remote_cm_response_timeout", (15, 0, 5)),
        (CmLap::INFO, "alternate_local_gid", (24, 0, 128)),
        (CmLap::INFO, "alternate_flow_label", (56, 0, 20)),
        (CmLap::INFO, "alternate_packet_rate", (61, 2, 6)),
        (CmLap::INFO, "alternate_subnet_local", (62, 4, 1)),
        (CmLap::INFO, "alternate_local_ack_timeout", (63, 0, 5)),
        (CmApr::INFO, "ap_status", (9, 0, 8)),
        (CmSidrReq::INFO, "service_id", (8, 0, 64)),
        (CmSidrRep::INFO, "qpn", (8, 0, 24)),
        (CmSidrRep::INFO, "q_key", (20, 0, 32)),
        (CmSidrRep::INFO, "info", (24, 0, 576)),
    ] {
        assert_eq!(at(info, name), place, "{} {name}", info.label);
    }
}
