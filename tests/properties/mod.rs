//! What must hold for any input whatever. Each takes bytes as a fuzzer gives them and panics where it does not hold; the
//! fuzz targets and the tests run the same ones.
#![allow(dead_code, unreachable_pub, reason = "each program that includes this uses some of it")]

pub mod analysis;
pub mod capture;
pub mod crc;
pub mod dissect;
pub mod filter;
pub mod followed;
pub mod frame;
pub mod header;
pub mod mutant;
pub mod outer;
pub mod rebuild;
pub mod recipe;
#[cfg(feature = "sim")]
pub mod scenario;
#[cfg(feature = "cli")]
pub mod shown;
#[cfg(feature = "state")]
pub mod state;
pub mod taps;
#[cfg(feature = "toml")]
pub mod texts;
pub mod tunnel;

/// Panics where it does not hold.
pub type Property = fn(&[u8]);

/// A property by the name of its fuzz target, and of its folder in `fuzz/corpus`.
pub const ALL: &[(&str, Property)] = &[
    ("analysis", analysis::sequence),
    ("capture", capture::reading),
    ("crc", crc::agreement),
    ("dissect", dissect::dissection),
    ("filter", filter::expression),
    ("followed", followed::followed),
    ("frame", frame::shown),
    ("header", header::header),
    ("mutant", mutant::mutated),
    ("outer", outer::agreement),
    ("rebuild", rebuild::rebuilding),
    ("recipe", recipe::recipe),
    #[cfg(feature = "sim")]
    ("scenario", scenario::scenario),
    #[cfg(feature = "cli")]
    ("shown", shown::forged),
    #[cfg(feature = "state")]
    ("state", state::damaged),
    ("taps", taps::compared),
    #[cfg(feature = "toml")]
    ("texts", texts::texts),
];

/// Do something with a value for each header type, in wire order.
macro_rules! for_each_header {
    ($do:ident) => {
        $do!(
            Erf ErfExtension ErfEthernet Pktap Nflog NflogValue Loopback PppAddress Ppp Ipoib BroadcomTag Sll Sll2 Ethernet Llc Snap
            SwitchTag EdsaTag VnTag ETag CiscoMetadata RTag CsigTag MacSec MacSecSci MacSecClear AristaTag AristaTime64 AristaTime48 Vlan ITag Trill Mpls ControlWord Ipv4 Ipv6
            EtherIp Ifa Udp IfaMetadata IfaHop IntShim IntHeader IntNode IntPorts IntDelay IntQueue IntIngressTime IntEgressTime
            IntLogicalPorts IntUse IntBuffer Esp Psp Gre GreChecksum GreKey GreSequence
            Erspan2 Erspan3 ErspanPlatform Vxlan Geneve VxlanGpe Gue Tzsp Nsh UetEntropy Tss TssSource TssCounter PdsRequest PdsRequestSyn PdsRequestCc PdsAck PdsEpsn PdsSack
            PdsNscc PdsCredit PdsCcOther PdsAckCcx PdsNack PdsNackCcx PdsControl PdsControlSyn PdsRudi PdsUud SesSmall SesMedium SesStandard
            SesStandardLater SesDeferrable SesRestart SesResponse SesResponseData SesResponseSmall SesRendezvous SesSync SesAtomic SesSwap LinkPacket Lrh Rwh Grh Bth MrcBth Rdeth Deth Xrceth Feth Meth Tseth Seth CcState Neth Peth Erth Eeth Reth AtomicEth Aeth
            AtomicAckEth ImmDt Ieth Cnp MacControl Pause Pfc Lldp LldpChassis LldpPort LldpTtl LldpOrg LldpIeee PortVlan CongestionNotification EtsConfiguration EtsRecommendation PfcConfiguration ApplicationTable ApplicationPriority LldpCee CeeTlv CeeControl CeeFeature CeePriorityGroups CeePfc CeeApplication Mad MadDirected SmpLid SmpDirected Rmpp SaHeader VendorOui ClassReserved LidRecord PortInfoRecord
            SlToVlRecord ForwardingRecord GuidInfoRecord VlArbitrationRecord PKeyTableRecord InformInfoRecord NodeInfo NodeDescription
            SwitchInfo GuidInfo PortInfo PKeyTable SlToVl VlArbitration LinearFdb RandomFdb MulticastFdb SmInfo VendorDiag LedInfo
            ClassPortInfo Notice NoticeIssuer InformInfo LinkRecord ServiceRecord PathRecord McMemberRecord MultiPathRecord PortCounters
            PortCountersExtended PortRcvErrorDetails PortXmitDiscardDetails PortOpRcvCounters PortFlowCtlCounters PortVlOpPackets PortVlOpData PortVlXmitFlowCtlUpdateErrors PortVlXmitWaitCounters SwPortVlCongestion PortRcvConCtrl PortSlRcvFecn PortSlRcvBecn PortXmitConCtrl PortVlXmitTimeCong PortXmitDataSl PortRcvDataSl PortExtendedSpeedsCounters PortSamplesControl PortSamplesResult CongestionInfo CongestionKeyInfo CongestionKey CongestionLog SwitchCongestionLog SwitchCongestionEvent CaCongestionLog CaCongestionEvent SwitchCongestionSetting SwitchPortCongestionSetting CaCongestionSetting CongestionControlTable CongestionTimeStamp
            SmpPath CmReq CmMra CmRej CmRep CmRtu CmDreq CmDrep
            CmSidrReq CmSidrRep CmLap CmApr IpCm NvmeCmReq NvmeCmRep NvmeCmRej RpcRdma RpcRdmaRead RpcRdmaChunk RpcRdmaSegment RpcRdmaEnd RpcRdmaError RpcRdmaVersions Rpc
            RpcCall Nfs3Call Nfs4Call RpcReply RpcAuth RpcAccept NfsTag NfsCompound NfsOperation NfsHandle NfsName NfsState NfsRange NfsWrite Nfs3Write NvmeSqe NvmeRw NvmeConnect NvmePropertyAccess NvmeFabrics
            NvmeCqe NvmeConnectData NvmeIdController NvmeIdAbilities NvmeIdSubsystem NvmeIdFabrics NvmeIdNamespace NvmeLbaFormat NvmeNsIdentifier
            NvmeSmartLog NvmeAnaLog NvmeAnaGroup NvmeDiscoveryLog NvmeDiscoveryEntry Iser Iscsi IscsiCommand IscsiResponse IscsiLoginReq IscsiLoginRsp IscsiRequest IscsiReply Srp SrpCmd SrpRsp SrpDescriptor SrpIndirect SrpLoginReq SrpLoginRsp SrpLoginRej SmbdNegotiateReq
            SmbdNegotiateRsp SmbdData Smb2 Smb2Buffer Rds SmcLlc SmcLlc2 SmcConfirmLink SmcAddLink SmcDeleteLink SmcTestLink SmcConfirmRkey SmcDeleteRkey SmcOther SmcCdc
            Lnet LnetBig LnetParameters LnetParametersBig LnetHeader LnetCookie LnetPutAck LnetMemory LnetMemoryBig LnetFragment LnetFragmentBig
            LnetCompletion LnetCompletionBig IpoibHeader IpoibArp IpoibIpv4 IpoibIpv6
        )
    };
}
pub(crate) use for_each_header;

/// A small generator of numbers that are the same every time (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }
}
