//! The kinds of headers: one list, in wire order. A row has the layer, then `header` or a name in text, then what else it is:
//! `part` continues the header before it; `rare` headers have no bit in sets of kinds: the list of layers has them; `bth` begins a transport's packet, with the BTH's twelve bytes as that transport reads
//! them; `extended` is between a BTH and the payload; `lldp`, `management` and `message` are within LLDP,
//! management datagrams and messages of upper layers, where only the list of layers has them.

use super::{Field, Header, HeaderInfo};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident $layer:literal $what:tt $($tag:ident)*;)*) => {
        /// A header, or another part of a frame. The order is wire order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Kind { $($(#[doc = $doc])* $name),* }

        impl Kind {
            /// All of them, in wire order.
            pub const ALL: &'static [Kind] = &[$(Kind::$name),*];

            /// The layer that it is or belongs to: the name in JSON, in filters and for `explain`.
            pub const fn layer(self) -> &'static str {
                static LAYERS: [&str; Kind::ALL.len()] = [$($layer),*];
                LAYERS[self as usize]
            }

            /// Its table of fields; `None` for a part without fields.
            pub const fn info(self) -> Option<&'static HeaderInfo> {
                static INFOS: [Option<&HeaderInfo>; Kind::ALL.len()] = [$(kinds!(@info $name $what)),*];
                INFOS[self as usize]
            }

            /// Its name in text.
            pub const fn label(self) -> &'static str {
                static LABELS: [&str; Kind::ALL.len()] = [$(kinds!(@label $name $what)),*];
                LABELS[self as usize]
            }

            const fn tags(self) -> u8 {
                const TAGS: [u8; Kind::ALL.len()] = [$(0 $(| kinds!(@tag $tag))*),*];
                TAGS[self as usize]
            }

            /// Its fields; a part without a table has none.
            pub fn fields(self) -> &'static [Field] {
                self.info().map_or(&[], |info| info.fields)
            }
        }
    };
    (@info $name:ident header) => { Some(<super::$name as Header>::INFO) };
    (@info $name:ident $label:literal) => { None };
    (@label $name:ident header) => { <super::$name as Header>::NAME };
    (@label $name:ident $label:literal) => { $label };
    (@tag part) => { PART };
    (@tag bth) => { BTH };
    (@tag extended) => { EXTENDED };
    (@tag rare) => { RARE };
    (@tag lldp) => { LLDP };
    (@tag management) => { MANAGEMENT };
    (@tag message) => { MESSAGE };
}

kinds! {
    /// ERF record header.
    Erf "erf" header;
    /// ERF extension header.
    ErfExtension "erf" header part;
    /// ERF's two bytes before an Ethernet frame.
    ErfEthernet "erf" header part;
    /// Beginning of Apple's header of captures on several interfaces.
    Pktap "pktap" header rare;
    /// The rest of it: names of interfaces and programs.
    PktapRest "pktap" "PKTAP rest" part rare;
    /// Header of Linux's netfilter log.
    Nflog "nflog" header rare;
    /// Header of a value in it.
    NflogValue "nflog" header part rare;
    /// A value in it.
    NflogBytes "nflog" "NFLOG bytes" part rare;
    /// BSD's loopback header.
    Loopback "loopback" header rare;
    /// PPP's framing as in HDLC.
    PppAddress "ppp_address" header rare;
    /// PPP header.
    Ppp "ppp" header rare;
    /// What is before an IP packet over InfiniBand.
    Ipoib "ipoib" header rare;
    /// A tag of Broadcom switches before an Ethernet frame.
    BroadcomTag "broadcom_tag" header rare;
    /// Linux cooked header.
    Sll "sll" header;
    /// Linux cooked header, version 2.
    Sll2 "sll2" header;
    /// Ethernet header.
    Ethernet "ethernet" header;
    /// Logical link control.
    Llc "llc" header rare;
    /// SNAP.
    Snap "snap" header rare;
    /// The second half of a switch's tag.
    SwitchTag "switch_tag" header rare;
    /// A tag of Marvell switches.
    EdsaTag "edsa" header rare;
    /// VN-Tag.
    VnTag "vntag" header rare;
    /// E-TAG.
    ETag "etag" header rare;
    /// Cisco metadata.
    CiscoMetadata "cmd" header rare;
    /// Redundancy tag.
    RTag "rtag" header rare;
    /// Tag of congestion signaling.
    CsigTag "csig" header rare;
    /// MACsec's tag.
    MacSec "macsec" header rare;
    /// Identifier of a secure channel of MACsec.
    MacSecSci "macsec" header part rare;
    /// What is behind the tag of MACsec that encrypts nothing.
    MacSecClear "macsec_clear" header rare;
    /// Arista's vendor specific protocol.
    AristaTag "arista" header rare;
    /// Its time stamp of 64 bits.
    AristaTime64 "arista" header part rare;
    /// Its time stamp of 48 bits.
    AristaTime48 "arista" header part rare;
    /// VLAN tag.
    Vlan "vlan" header;
    /// I-TAG of provider backbone bridges.
    ITag "itag" header rare;
    /// TRILL header.
    Trill "trill" header rare;
    /// TRILL options.
    TrillOptions "trill" "TRILL options" part rare;
    /// MPLS label stack entry.
    Mpls "mpls" header;
    /// Pseudowire control word.
    ControlWord "control_word" header;
    /// IPv4 header.
    Ipv4 "ipv4" header;
    /// IPv4 options.
    Ipv4Options "ipv4" "IPv4 options" part;
    /// IPv6 header.
    Ipv6 "ipv6" header;
    /// IPv6 extension header.
    Ipv6Extension "ipv6" "IPv6 extension" part;
    /// EtherIP header.
    EtherIp "etherip" header rare;
    /// Inband flow analyzer.
    Ifa "ifa" header rare;
    /// UDP header.
    Udp "udp" header;
    /// Metadata of an inband flow analyzer.
    IfaMetadata "ifa_metadata" header rare;
    /// Metadata of one hop of it.
    IfaHop "ifa_hop" header rare;
    /// The words of it that are not read.
    IfaStack "ifa_metadata" "IFA stack" part rare;
    /// Shim of inband network telemetry.
    IntShim "int_shim" header rare;
    /// Header of inband network telemetry.
    IntHeader "int" header rare;
    /// INT: the switch of a hop.
    IntNode "int_node" header rare;
    /// INT: the ports of a hop.
    IntPorts "int_ports" header rare;
    /// INT: the delay of a hop.
    IntDelay "int_delay" header rare;
    /// INT: the queue of a hop.
    IntQueue "int_queue" header rare;
    /// INT: when a hop received the packet.
    IntIngressTime "int_ingress_time" header rare;
    /// INT: when a hop sent the packet.
    IntEgressTime "int_egress_time" header rare;
    /// INT: the logical ports of a hop.
    IntLogicalPorts "int_logical_ports" header rare;
    /// INT: how much the link of a hop was in use.
    IntUse "int_use" header rare;
    /// INT: the buffer of a hop.
    IntBuffer "int_buffer" header rare;
    /// Words of INT that are not read.
    IntStack "int_stack" "INT stack" part rare;
    /// Encapsulating security payload.
    Esp "esp" header rare;
    /// PSP.
    Psp "psp" header rare;
    /// What PSP has behind its first 16 bytes.
    PspMore "psp" "PSP cookie" part rare;
    /// GRE header.
    Gre "gre" header;
    /// GRE checksum.
    GreChecksum "gre" header part;
    /// GRE key.
    GreKey "gre" header part;
    /// GRE sequence number.
    GreSequence "gre" header part;
    /// ERSPAN type II header.
    Erspan2 "erspan" header;
    /// ERSPAN type III header.
    Erspan3 "erspan" header;
    /// ERSPAN type III platform sub-header.
    ErspanPlatform "erspan" header part;
    /// Bytes that a SONiC Everflow mirror puts before the frame, not decoded.
    Everflow "everflow" "Everflow";
    /// VXLAN header.
    Vxlan "vxlan" header;
    /// GENEVE header.
    Geneve "geneve" header;
    /// GENEVE options.
    GeneveOptions "geneve" "GENEVE options" part;
    /// VXLAN-GPE header.
    VxlanGpe "vxlan_gpe" header rare;
    /// GUE header.
    Gue "gue" header rare;
    /// GUE fields.
    GueFields "gue" "GUE fields" part rare;
    /// TZSP header.
    Tzsp "tzsp" header rare;
    /// TZSP tags.
    TzspTags "tzsp" "TZSP tags" part rare;
    /// Network service header.
    Nsh "nsh" header rare;
    /// Its context.
    NshContext "nsh" "NSH context" part rare;
    /// UET entropy, of Ultra Ethernet.
    UetEntropy "uet_entropy" header rare;
    /// TSS, of Ultra Ethernet.
    Tss "tss" header rare;
    /// TSS source, of Ultra Ethernet.
    TssSource "tss" header part rare;
    /// TSS counter, of Ultra Ethernet.
    TssCounter "tss" header part rare;
    /// PDS request, of Ultra Ethernet.
    PdsRequest "pds" header rare;
    /// PDS request SYN, of Ultra Ethernet.
    PdsRequestSyn "pds" header rare;
    /// PDS request CC, of Ultra Ethernet.
    PdsRequestCc "pds" header part rare;
    /// PDS ACK, of Ultra Ethernet.
    PdsAck "pds" header rare;
    /// PDS EPSN, of Ultra Ethernet.
    PdsEpsn "pds" header part rare;
    /// PDS SACK, of Ultra Ethernet.
    PdsSack "pds" header part rare;
    /// PDS NSCC, of Ultra Ethernet.
    PdsNscc "pds" header part rare;
    /// PDS credit, of Ultra Ethernet.
    PdsCredit "pds" header part rare;
    /// PDS CC state, of Ultra Ethernet.
    PdsCcOther "pds" header part rare;
    /// PDS ACK CCX, of Ultra Ethernet.
    PdsAckCcx "pds" header part rare;
    /// PDS NACK, of Ultra Ethernet.
    PdsNack "pds" header rare;
    /// PDS NACK CCX, of Ultra Ethernet.
    PdsNackCcx "pds" header part rare;
    /// PDS control, of Ultra Ethernet.
    PdsControl "pds" header rare;
    /// PDS control SYN, of Ultra Ethernet.
    PdsControlSyn "pds" header rare;
    /// PDS RUDI, of Ultra Ethernet.
    PdsRudi "pds" header rare;
    /// PDS UUD, of Ultra Ethernet.
    PdsUud "pds" header rare;
    /// SES small request, of Ultra Ethernet.
    SesSmall "ses" header rare;
    /// SES medium request, of Ultra Ethernet.
    SesMedium "ses" header rare;
    /// SES request, of Ultra Ethernet.
    SesStandard "ses" header rare;
    /// SES request later, of Ultra Ethernet.
    SesStandardLater "ses" header rare;
    /// SES deferrable send, of Ultra Ethernet.
    SesDeferrable "ses" header rare;
    /// SES ready to restart, of Ultra Ethernet.
    SesRestart "ses" header rare;
    /// SES response, of Ultra Ethernet.
    SesResponse "ses" header rare;
    /// SES response with data, of Ultra Ethernet.
    SesResponseData "ses" header rare;
    /// SES response with small data, of Ultra Ethernet.
    SesResponseSmall "ses" header rare;
    /// SES rendezvous, of Ultra Ethernet.
    SesRendezvous "ses" header part rare;
    /// SES sync, of Ultra Ethernet.
    SesSync "ses" header part rare;
    /// SES atomic, of Ultra Ethernet.
    SesAtomic "ses" header part rare;
    /// SES compare and swap, of Ultra Ethernet.
    SesSwap "ses" header part rare;
    /// InfiniBand link packet.
    LinkPacket "link_packet" header;
    /// Local route header.
    Lrh "lrh" header;
    /// Raw header.
    Rwh "rwh" header;
    /// Global route header.
    Grh "grh" header;
    /// Base transport header.
    Bth "bth" header bth;
    /// Base transport header of MRC.
    MrcBth "bth" header bth;
    /// Reliable datagram extended header.
    Rdeth "rdeth" header extended;
    /// Datagram extended header.
    Deth "deth" header extended;
    /// Extended reliable connection header.
    Xrceth "xrceth" header extended;
    /// FLUSH extended header.
    Feth "feth" header extended;
    /// Message extended header of MRC.
    Meth "meth" header extended;
    /// Time stamp extended header of MRC.
    Tseth "tseth" header extended;
    /// SACK extended header of MRC.
    Seth "seth" header extended;
    /// State of congestion of MRC.
    CcState "cc_state" header extended;
    /// NACK extended header of MRC.
    Neth "neth" header extended;
    /// Probe extended header of MRC.
    Peth "peth" header extended;
    /// Endpoint request extended header of MRC.
    Erth "erth" header extended;
    /// Endpoint response extended header of MRC.
    Eeth "eeth" header extended;
    /// RDMA extended header.
    Reth "reth" header extended;
    /// Atomic extended header.
    AtomicEth "atomiceth" header extended;
    /// ACK extended header.
    Aeth "aeth" header extended;
    /// Atomic ACK extended header.
    AtomicAckEth "atomicacketh" header extended;
    /// Immediate data.
    ImmDt "immdt" header extended;
    /// Invalidate extended header.
    Ieth "ieth" header extended;
    /// Body of a congestion notification.
    Cnp "cnp" header extended;
    /// MAC control header.
    MacControl "mac_control" header;
    /// PAUSE.
    Pause "mac_control" header part;
    /// Priority flow control.
    Pfc "mac_control" header part;
    /// Header of an LLDP TLV.
    Lldp "lldp" header;
    /// Beginning of a chassis ID.
    LldpChassis "lldp" header part lldp;
    /// Beginning of a port ID.
    LldpPort "lldp" header part lldp;
    /// Time to live of LLDP.
    LldpTtl "lldp" header part lldp;
    /// Beginning of an organization's own value.
    LldpOrg "lldp" header part lldp;
    /// Beginning of a value of IEEE 802.1.
    LldpIeee "lldp" header part lldp;
    /// Port VLAN ID.
    PortVlan "lldp" header part lldp;
    /// Congestion notification.
    CongestionNotification "lldp" header part lldp;
    /// ETS configuration.
    EtsConfiguration "lldp" header part lldp;
    /// ETS recommendation.
    EtsRecommendation "lldp" header part lldp;
    /// Priority flow control configuration.
    PfcConfiguration "lldp" header part lldp;
    /// Beginning of an application priority table.
    ApplicationTable "lldp" header part lldp;
    /// Application priority.
    ApplicationPriority "lldp" header part lldp;
    /// Beginning of a value of CEE's DCBX.
    LldpCee "lldp" header part lldp;
    /// Header of a TLV in the DCBX of CEE.
    CeeTlv "lldp" header lldp;
    /// DCBX control of CEE.
    CeeControl "lldp" header part lldp;
    /// Beginning of a feature of CEE.
    CeeFeature "lldp" header part lldp;
    /// Priority groups of CEE.
    CeePriorityGroups "lldp" header part lldp;
    /// Priority flow control of CEE.
    CeePfc "lldp" header part lldp;
    /// Application priority of CEE.
    CeeApplication "lldp" header part lldp;
    /// A value in LLDP, or the rest of it.
    LldpValue "lldp" "value" part lldp;
    /// Management datagram.
    Mad "mad" header management;
    /// Management datagram with a directed route.
    MadDirected "mad" header management;
    /// Header of a subnet management packet.
    SmpLid "smp" header management;
    /// Header of a subnet management packet with a directed route.
    SmpDirected "smp" header management;
    /// Header of datagrams in several segments.
    Rmpp "rmpp" header management;
    /// Header of the subnet administration.
    SaHeader "sa" header management;
    /// Manufacturer of a class.
    VendorOui "vendor" header management;
    /// What other classes have before their attributes.
    ClassReserved "class" header management;
    /// Beginning of a record of a node, a switch or a subnet manager.
    LidRecord "sa_record" header management;
    /// Beginning of a record of a port.
    PortInfoRecord "sa_record" header management;
    /// Beginning of a record of virtual lanes.
    SlToVlRecord "sa_record" header management;
    /// Beginning of a record of a forwarding table.
    ForwardingRecord "sa_record" header management;
    /// Beginning of a record of GUIDs.
    GuidInfoRecord "sa_record" header management;
    /// Beginning of a record of a table of virtual lanes.
    VlArbitrationRecord "sa_record" header management;
    /// Beginning of a record of P_Keys.
    PKeyTableRecord "sa_record" header management;
    /// Beginning of a record of a subscription.
    InformInfoRecord "sa_record" header management;
    /// A node.
    NodeInfo "node_info" header management;
    /// A node's name.
    NodeDescription "node_description" header management;
    /// A switch.
    SwitchInfo "switch_info" header management;
    /// GUIDs of a port.
    GuidInfo "guid_info" header management;
    /// A port.
    PortInfo "port_info" header management;
    /// P_Keys of a port.
    PKeyTable "p_key_table" header management;
    /// Virtual lanes of service levels.
    SlToVl "sl_to_vl" header management;
    /// Table of virtual lanes.
    VlArbitration "vl_arbitration" header management;
    /// Linear forwarding table.
    LinearFdb "linear_fdb" header management;
    /// Random forwarding table.
    RandomFdb "random_fdb" header management;
    /// Multicast forwarding table.
    MulticastFdb "multicast_fdb" header management;
    /// A subnet manager.
    SmInfo "sm_info" header management;
    /// Diagnosis of a manufacturer's own.
    VendorDiag "vendor_diag" header management;
    /// The light of a port.
    LedInfo "led_info" header management;
    /// How a class is managed.
    ClassPortInfo "class_port_info" header management;
    /// A notice.
    Notice "notice" header management;
    /// Who issued a notice.
    NoticeIssuer "notice" header part management;
    /// A subscription to notices.
    InformInfo "inform_info" header management;
    /// A link.
    LinkRecord "link_record" header management;
    /// A service.
    ServiceRecord "service_record" header management;
    /// A path.
    PathRecord "path_record" header management;
    /// A member of a multicast group.
    McMemberRecord "mc_member_record" header management;
    /// A question for several paths.
    MultiPathRecord "multi_path_record" header management;
    /// Counters of a port.
    PortCounters "port_counters" header management;
    /// Counters of a port in 64 bits.
    PortCountersExtended "port_counters_extended" header management;
    /// What errors packets came with.
    PortRcvErrorDetails "port_rcv_error_details" header management;
    /// Why packets were dropped before they could be sent.
    PortXmitDiscardDetails "port_xmit_discard_details" header management;
    /// What came with an operation code that the asking host chose.
    PortOpRcvCounters "port_op_rcv_counters" header management;
    /// Link packets of flow control.
    PortFlowCtlCounters "port_flow_ctl_counters" header management;
    /// Packets of the chosen operation code by virtual lane.
    PortVlOpPackets "port_vl_op_packets" header management;
    /// Data of the chosen operation code by virtual lane.
    PortVlOpData "port_vl_op_data" header management;
    /// Updates of flow control that were missing, by virtual lane.
    PortVlXmitFlowCtlUpdateErrors "port_vl_xmit_flow_ctl_update_errors" header management;
    /// Time without credits by virtual lane.
    PortVlXmitWaitCounters "port_vl_xmit_wait_counters" header management;
    /// Congestion of a switch by virtual lane.
    SwPortVlCongestion "sw_port_vl_congestion" header management;
    /// Marked packets that came.
    PortRcvConCtrl "port_rcv_con_ctrl" header management;
    /// Packets with FECN that came, by service level.
    PortSlRcvFecn "port_sl_rcv_fecn" header management;
    /// Packets with BECN that came, by service level.
    PortSlRcvBecn "port_sl_rcv_becn" header management;
    /// Time that a port was congested.
    PortXmitConCtrl "port_xmit_con_ctrl" header management;
    /// Time that a port was congested, by virtual lane.
    PortVlXmitTimeCong "port_vl_xmit_time_cong" header management;
    /// Data that was sent, by service level.
    PortXmitDataSl "port_xmit_data_sl" header management;
    /// Data that came, by service level.
    PortRcvDataSl "port_rcv_data_sl" header management;
    /// Errors of links of 14 Gbit/s and more by lane, and what their codes corrected.
    PortExtendedSpeedsCounters "port_extended_speeds_counters" header management;
    /// What a port shall sample, and when.
    PortSamplesControl "port_samples_control" header management;
    /// What a port has sampled.
    PortSamplesResult "port_samples_result" header management;
    /// What a node can do about congestion.
    CongestionInfo "congestion_info" header management;
    /// The key of congestion control.
    CongestionKeyInfo "congestion_key_info" header management;
    /// The key before a log of congestion.
    CongestionKey "class" header management;
    /// What a node has logged of congestion: its beginning.
    CongestionLog "congestion_log" header management;
    /// What a switch has logged of congestion.
    SwitchCongestionLog "congestion_log" header part management;
    /// A packet that a switch marked.
    SwitchCongestionEvent "congestion_event" header management;
    /// What a channel adapter has logged of congestion.
    CaCongestionLog "congestion_log" header part management;
    /// A notification that a channel adapter had.
    CaCongestionEvent "congestion_event" header management;
    /// When a switch marks.
    SwitchCongestionSetting "switch_congestion_setting" header management;
    /// When ports of a switch mark.
    SwitchPortCongestionSetting "switch_port_congestion_setting" header management;
    /// What a channel adapter does when it is notified.
    CaCongestionSetting "ca_congestion_setting" header management;
    /// Delays between packets, by how often a sender was notified.
    CongestionControlTable "congestion_control_table" header management;
    /// The clock that events are stamped by.
    CongestionTimeStamp "congestion_time_stamp" header management;
    /// What is behind an attribute that is shorter than its room.
    AttributeRest "attribute_rest" "rest of the attribute" management;
    /// Ports of a directed route.
    SmpPath "smp_path" header management;
    /// CM connection request.
    CmReq "cm" header management;
    /// CM message receipt acknowledgement.
    CmMra "cm" header management;
    /// CM rejection.
    CmRej "cm" header management;
    /// CM reply.
    CmRep "cm" header management;
    /// CM ready to use.
    CmRtu "cm" header management;
    /// CM disconnect request.
    CmDreq "cm" header management;
    /// CM disconnect reply.
    CmDrep "cm" header management;
    /// CM service ID resolution request.
    CmSidrReq "cm" header management;
    /// CM service ID resolution response.
    CmSidrRep "cm" header management;
    /// CM load alternate path.
    CmLap "cm" header management;
    /// CM alternate path response.
    CmApr "cm" header management;
    /// RDMA-CM's header in the private data of a REQ or SIDR_REQ.
    IpCm "cm" header part management;
    /// Private data of a REQ for a queue of NVMe.
    NvmeCmReq "nvme_cm" header management;
    /// Private data of a REP for a queue of NVMe.
    NvmeCmRep "nvme_cm" header management;
    /// Private data of a REJ for a queue of NVMe.
    NvmeCmRej "nvme_cm" header management;
    /// A CM message's private data, or what is behind what is read of it.
    CmPrivate "cm" "CM private data" part management;
    /// RPC-over-RDMA header.
    RpcRdma "rpcordma" header message;
    /// Entry of the read list of RPC over RDMA.
    RpcRdmaRead "rpcordma_read" header message;
    /// Beginning of an entry of the write list of RPC over RDMA, or of the reply chunk.
    RpcRdmaChunk "rpcordma_chunk" header message;
    /// Memory in a chunk of RPC over RDMA.
    RpcRdmaSegment "rpcordma_segment" header message;
    /// End of a list of RPC over RDMA.
    RpcRdmaEnd "rpcordma_end" header message;
    /// Error of RPC over RDMA.
    RpcRdmaError "rpcordma_error" header message;
    /// Versions of RPC over RDMA.
    RpcRdmaVersions "rpcordma_error" header part message;
    /// RPC message.
    Rpc "rpc" header message;
    /// RPC call.
    RpcCall "rpc_call" header message;
    /// Call of NFSv3.
    Nfs3Call "rpc_call" header message;
    /// Call of NFSv4.
    Nfs4Call "rpc_call" header message;
    /// RPC reply.
    RpcReply "rpc_reply" header message;
    /// Credentials or verifier of RPC.
    RpcAuth "rpc_auth" header message;
    /// What credentials or a verifier say.
    RpcAuthBody "rpc_auth" "RPC credentials" part message;
    /// Accepted call of RPC.
    RpcAccept "rpc_accept" header message;
    /// Tag of an NFSv4 compound.
    NfsTag "nfs_compound" header message;
    /// The tag itself.
    NfsText "nfs_compound" "NFSv4 tag" part message;
    /// NFSv4 compound.
    NfsCompound "nfs_compound" header part message;
    /// Operation of an NFSv4 compound.
    NfsOperation "nfs" header message;
    /// What an operation of an NFSv4 compound is given.
    NfsArguments "nfs" "NFSv4 arguments" part message;
    /// Head of a file handle of NFS.
    NfsHandle "nfs_handle" header message;
    /// The file handle.
    NfsHandleBytes "nfs_handle" "NFS file handle bytes" part message;
    /// Head of a name of NFS.
    NfsName "nfs_name" header message;
    /// The name.
    NfsNameBytes "nfs_name" "NFS name bytes" part message;
    /// State of NFSv4.
    NfsState "nfs_state" header message;
    /// Bytes of a file.
    NfsRange "nfs_range" header message;
    /// What a WRITE of NFSv4 writes.
    NfsWrite "nfs_write" header message;
    /// What a WRITE of NFSv3 writes.
    Nfs3Write "nfs_write" header message;
    /// NVMe command.
    NvmeSqe "nvme" header message;
    /// NVMe Read or Write.
    NvmeRw "nvme" header message;
    /// Connect of NVMe over Fabrics.
    NvmeConnect "nvme" header message;
    /// Property Get or Property Set of NVMe over Fabrics.
    NvmePropertyAccess "nvme" header message;
    /// Another command of NVMe over Fabrics.
    NvmeFabrics "nvme" header message;
    /// NVMe response.
    NvmeCqe "nvme" header message;
    /// Data of Connect.
    NvmeConnectData "nvme_connect" header message;
    /// Identify Controller of NVMe.
    NvmeIdController "nvme_controller" header message;
    /// What a controller of NVMe can do.
    NvmeIdAbilities "nvme_controller" header part message;
    /// Reserved bytes of Identify Controller.
    NvmeIdRest "nvme_controller" "NVMe Identify Controller rest" part message;
    /// The subsystem that Identify Controller names.
    NvmeIdSubsystem "nvme_controller" header part message;
    /// What Fabrics adds to Identify Controller.
    NvmeIdFabrics "nvme_controller" header part message;
    /// Identify Namespace of NVMe.
    NvmeIdNamespace "nvme_namespace" header message;
    /// Format of blocks.
    NvmeLbaFormat "nvme_lba_format" header message;
    /// Head of an identifier of a namespace.
    NvmeNsIdentifier "nvme_identifier" header message;
    /// The identifier.
    NvmeNsId "nvme_identifier" "NVMe identifier" part message;
    /// SMART log.
    NvmeSmartLog "nvme_smart" header message;
    /// Log of Asymmetric Namespace Access.
    NvmeAnaLog "nvme_ana" header message;
    /// Group of it.
    NvmeAnaGroup "nvme_ana_group" header message;
    /// Namespaces of the group.
    NvmeAnaNamespaces "nvme_ana_group" "NVMe ANA namespaces" part message;
    /// Head of a discovery log.
    NvmeDiscoveryLog "nvme_discovery" header message;
    /// Entry of a discovery log.
    NvmeDiscoveryEntry "nvme_discovery_entry" header message;
    /// The transport's part of it.
    NvmeDiscoveryTransport "nvme_discovery_entry" "NVMe discovery transport" part message;
    /// iSER header.
    Iser "iser" header message;
    /// iSCSI's basic header segment.
    Iscsi "iscsi" header message;
    /// SCSI Command of iSCSI.
    IscsiCommand "iscsi" header message;
    /// SCSI Response of iSCSI.
    IscsiResponse "iscsi" header message;
    /// Login Request of iSCSI.
    IscsiLoginReq "iscsi" header message;
    /// Login Response of iSCSI.
    IscsiLoginRsp "iscsi" header message;
    /// Another request of an iSCSI initiator.
    IscsiRequest "iscsi" header message;
    /// Another PDU of an iSCSI target.
    IscsiReply "iscsi" header message;
    /// Information unit of SRP.
    Srp "srp" header message;
    /// SCSI command of SRP.
    SrpCmd "srp" header message;
    /// Words of a long command behind its first 16 bytes.
    SrpMoreCdb "srp" "rest of the SCSI command" part message;
    /// Answer of SRP.
    SrpRsp "srp" header message;
    /// Memory of SRP.
    SrpDescriptor "srp_descriptor" header message;
    /// List of memory of SRP.
    SrpIndirect "srp_indirect" header message;
    /// Login of SRP.
    SrpLoginReq "srp" header message;
    /// Accepted login of SRP.
    SrpLoginRsp "srp" header message;
    /// Refused login of SRP.
    SrpLoginRej "srp" header message;
    /// Negotiate request of SMB Direct.
    SmbdNegotiateReq "smb_direct" header message;
    /// Negotiate response of SMB Direct.
    SmbdNegotiateRsp "smb_direct" header message;
    /// Data transfer of SMB Direct.
    SmbdData "smb_direct" header message;
    /// What is between an SMB Direct header and its data.
    SmbdPadding "smb_direct" "SMB Direct padding" part message;
    /// SMB2 header.
    Smb2 "smb2" header message;
    /// What is between an SMB2 header and a buffer descriptor.
    Smb2Body "smb2" "SMB2 body" part message;
    /// Memory of SMB2.
    Smb2Buffer "smb2_buffer" header message;
    /// RDS header.
    Rds "rds" header message;
    /// Header of messages about links of SMC-R.
    SmcLlc "smc" header message;
    /// Header of messages about links of SMC-R version 2.
    SmcLlc2 "smc" header message;
    /// Confirmation of a link of SMC-R.
    SmcConfirmLink "smc_link" header message;
    /// Another link of SMC-R.
    SmcAddLink "smc_link" header message;
    /// End of a link of SMC-R.
    SmcDeleteLink "smc_link" header message;
    /// Test of a link of SMC-R.
    SmcTestLink "smc_link" header message;
    /// Memory of SMC-R.
    SmcConfirmRkey "smc_rkey" header message;
    /// Memory of SMC-R that is given back.
    SmcDeleteRkey "smc_rkey" header message;
    /// Another message about links of SMC-R.
    SmcOther "smc_link" header message;
    /// Cursors of a connection of SMC-R.
    SmcCdc "smc" header message;
    /// Message of LNet.
    Lnet "lnet" header message;
    /// Message of LNet of a sender whose most significant byte comes first.
    LnetBig "lnet" header message;
    /// Parameters of a connection of LNet.
    LnetParameters "lnet_parameters" header message;
    /// Parameters of a connection of LNet, of such a sender.
    LnetParametersBig "lnet_parameters" header message;
    /// Header of Portals in LNet.
    LnetHeader "lnet_header" header message;
    /// Number of a transfer of LNet.
    LnetCookie "lnet_transfer" header message;
    /// Memory for the data of a PUT of LNet.
    LnetPutAck "lnet_transfer" header message;
    /// Memory of LNet.
    LnetMemory "lnet_memory" header message;
    /// Memory of LNet, of such a sender.
    LnetMemoryBig "lnet_memory" header message;
    /// A piece of memory of LNet.
    LnetFragment "lnet_fragment" header message;
    /// A piece of memory of LNet, of such a sender.
    LnetFragmentBig "lnet_fragment" header message;
    /// End of a transfer of LNet.
    LnetCompletion "lnet_transfer" header message;
    /// End of a transfer of LNet, of such a sender.
    LnetCompletionBig "lnet_transfer" header message;
    /// Header of IP over InfiniBand.
    IpoibHeader "ipoib_header" header message;
    /// Address resolution over InfiniBand.
    IpoibArp "ipoib_arp" header message;
    /// IPv4 header in a datagram of IPoIB.
    IpoibIpv4 "ipoib_ipv4" header message;
    /// IPv6 header in a datagram of IPoIB.
    IpoibIpv6 "ipoib_ipv6" header message;
    /// What the transport carries; without a BTH, what follows the last header.
    Payload "payload" "payload";
    /// Padding between payload and ICRC.
    Pad "pad" "padding";
    /// Invariant CRC.
    Icrc "icrc" "ICRC";
    /// Variant CRC.
    Vcrc "vcrc" "VCRC";
    /// Bytes after the packet: Ethernet padding, a frame check sequence.
    Trailer "trailer" "trailer";
}

const PART: u8 = 1;
const EXTENDED: u8 = 2;
const LLDP: u8 = 4;
const MANAGEMENT: u8 = 8;
const BTH: u8 = 16;
const RARE: u8 = 32;
const MESSAGE: u8 = 64;
/// Only the list of layers has these.
const DETAIL: u8 = LLDP | MANAGEMENT | MESSAGE | RARE;

/// For each kind, how many of those before it have one of these tags, or none of them.
const fn counted(tags: u8, have: bool) -> [u8; Kind::ALL.len()] {
    let (mut places, mut n, mut i) = ([0; Kind::ALL.len()], 0, 0);
    while i < places.len() {
        places[i] = n;
        n += ((Kind::ALL[i].tags() & tags != 0) == have) as u8;
        i += 1;
    }
    places
}

/// The number of each kind's bit in a set.
const BITS: [u8; Kind::ALL.len()] = counted(DETAIL | EXTENDED, false);
const EXTENDED_PLACES: [u8; Kind::ALL.len()] = counted(EXTENDED, true);

const _: () = assert!(BITS[BITS.len() - 1] < 64, "sets of kinds are words of 64 bits");

impl Kind {
    /// How many kinds of extended headers there are.
    pub(crate) const EXTENDED: usize = EXTENDED_PLACES[EXTENDED_PLACES.len() - 1] as usize;

    /// The number of an extended header among them.
    #[inline(always)]
    pub(crate) const fn extended_place(self) -> usize {
        EXTENDED_PLACES[self as usize] as usize
    }

    /// Whether it continues the header before it rather than being a layer of its own.
    pub const fn is_part(self) -> bool {
        self.tags() & PART != 0
    }

    /// Whether it is a BTH, as one transport or another reads it.
    #[inline(always)]
    pub const fn is_bth(self) -> bool {
        self.tags() & BTH != 0
    }

    /// Whether a header of this kind is there where one of `kind` is: itself, a [BTH](Kind::is_bth) that all transports share, or the
    /// common header of management datagrams.
    pub fn is_in(self, kind: Kind) -> bool {
        self == kind || self == Kind::Bth && kind.is_bth() || self == Kind::Mad && kind == Kind::MadDirected
    }

    /// Whether it is between a BTH and the payload: the operation code and the BTH say so.
    #[inline(always)]
    pub const fn is_extended(self) -> bool {
        self.tags() & EXTENDED != 0
    }

    /// Whether it is a part of a management datagram.
    #[inline(always)]
    pub const fn is_management(self) -> bool {
        self.tags() & MANAGEMENT != 0
    }

    /// Whether it is a part of a message of an upper layer.
    #[inline(always)]
    pub const fn is_of_message(self) -> bool {
        self.tags() & MESSAGE != 0
    }

    /// Whether the payload has it: it is a part of a management datagram, or of a message of an upper layer.
    #[inline(always)]
    pub const fn is_in_payload(self) -> bool {
        self.tags() & (MANAGEMENT | MESSAGE) != 0
    }

    /// Whether it is a part of LLDP behind the header of a TLV.
    #[inline(always)]
    pub const fn is_in_lldp(self) -> bool {
        self.tags() & LLDP != 0
    }

    /// Whether it is a header of links and encapsulations that few captures have.
    #[inline(always)]
    pub const fn is_rare(self) -> bool {
        self.tags() & RARE != 0
    }

    /// Whether it ends with the EtherType of what follows, and has no other length.
    pub(crate) fn ends_with_ether_type(self) -> bool {
        self.is_rare() && self.fields().last().is_some_and(|field| field.name == "ether_type")
    }

    /// Whether it is a header of Ultra Ethernet's transport.
    #[inline(always)]
    pub const fn is_uet(self) -> bool {
        self as u16 >= Kind::UetEntropy as u16 && self as u16 <= Kind::SesSwap as u16
    }

    /// Whether it begins a packet of Ultra Ethernet's packet delivery sublayer (PDS).
    pub const fn begins_pds(self) -> bool {
        matches!(
            self,
            Kind::PdsRequest
                | Kind::PdsRequestSyn
                | Kind::PdsAck
                | Kind::PdsNack
                | Kind::PdsControl
                | Kind::PdsControlSyn
                | Kind::PdsRudi
                | Kind::PdsUud
        )
    }

    /// Whether switches wrote it on the packet's way: metadata of a hop, or a tag of congestion.
    #[inline(always)]
    pub const fn is_telemetry(self) -> bool {
        matches!(self, Kind::CsigTag | Kind::IfaHop)
            || self as u16 >= Kind::IntNode as u16 && self as u16 <= Kind::IntBuffer as u16
    }

    /// Whether only the list of layers has it, and the index of a dissection has not.
    #[inline(always)]
    pub const fn is_detail(self) -> bool {
        self.tags() & DETAIL != 0
    }
}

impl Kind {
    const fn is_in_sets(self) -> bool {
        self.tags() & (DETAIL | EXTENDED) == 0
    }
}

/// A set of kinds. It has no [details](Kind::is_detail), and no [extended headers](Kind::is_extended): they follow from the operation code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KindSet(u64);

impl KindSet {
    pub(crate) const NONE: KindSet = KindSet(0);

    pub(crate) const fn of(kinds: &[Kind]) -> KindSet {
        let (mut set, mut i) = (KindSet::NONE, 0);
        while i < kinds.len() {
            set = set.with(kinds[i]);
            i += 1;
        }
        set
    }

    #[inline(always)]
    #[must_use]
    pub(crate) const fn with(self, kind: Kind) -> KindSet {
        if kind.is_in_sets() { KindSet(self.0 | 1 << BITS[kind as usize]) } else { self }
    }

    #[inline(always)]
    pub(crate) const fn has(self, kind: Kind) -> bool {
        kind.is_in_sets() && self.0 >> BITS[kind as usize] & 1 != 0
    }

    #[inline(always)]
    #[must_use]
    pub(crate) const fn without(self, others: KindSet) -> KindSet {
        KindSet(self.0 & !others.0)
    }
}
