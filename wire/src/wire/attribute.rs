//! The attributes of management classes: their numbers, their names, and the headers that they are. Dissection, names and crafting read
//! the table.

use super::{CmAttribute, Kind, MgmtClass, Show};
use crate::wire::Bits;

/// An attribute of a management class.
#[derive(Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its number.
    pub id: u16,
    /// Its name in the specification.
    pub name: &'static str,
    /// The headers that it is, in wire order; none where it is not read.
    pub kinds: &'static [Kind],
}

macro_rules! attributes {
    ($($table:ident { $($id:literal $name:ident $(= $($kind:ident),*)?;)* })*) => { $(
        const $table: &[Attribute] =
            &[$(Attribute { id: $id, name: stringify!($name), kinds: &[$($(Kind::$kind),*)?] }),*];
    )* };
}

attributes! {
    ALL {
        0x0001 ClassPortInfo = ClassPortInfo;
        0x0002 Notice = Notice;
        0x0003 InformInfo = InformInfo;
    }

    SUBNET {
        0x0002 Notice = Notice;
        0x0010 NodeDescription = NodeDescription;
        0x0011 NodeInfo = NodeInfo;
        0x0012 SwitchInfo = SwitchInfo;
        0x0014 GUIDInfo = GuidInfo;
        0x0015 PortInfo = PortInfo;
        0x0016 P_KeyTable = PKeyTable;
        0x0017 SLtoVLMappingTable = SlToVl;
        0x0018 VLArbitrationTable = VlArbitration;
        0x0019 LinearForwardingTable = LinearFdb;
        0x001a RandomForwardingTable = RandomFdb;
        0x001b MulticastForwardingTable = MulticastFdb;
        0x001c LinkSpeedWidthPairsTable;
        0x001d VendorMadsTable;
        0x001e HierarchyInfo;
        0x0020 SMInfo = SmInfo;
        0x0022 CableInfo;
        0x0030 VendorDiag = VendorDiag;
        0x0031 LedInfo = LedInfo;
        0xff90 MlnxExtendedPortInfo;
    }

    ADMINISTRATION {
        0x0002 Notice = Notice, NoticeIssuer;
        0x0011 NodeRecord = LidRecord, NodeInfo, NodeDescription;
        0x0012 PortInfoRecord = PortInfoRecord, PortInfo;
        0x0013 SLtoVLMappingTableRecord = SlToVlRecord, SlToVl;
        0x0014 SwitchInfoRecord = LidRecord, SwitchInfo;
        0x0015 LinearForwardingTableRecord = ForwardingRecord, LinearFdb;
        0x0016 RandomForwardingTableRecord = ForwardingRecord, RandomFdb;
        0x0017 MulticastForwardingTableRecord = ForwardingRecord, MulticastFdb;
        0x0018 SMInfoRecord = LidRecord, SmInfo;
        0x0019 LinkSpeedWidthPairsTableRecord;
        0x0020 LinkRecord = LinkRecord;
        0x0030 GUIDInfoRecord = GuidInfoRecord, GuidInfo;
        0x0031 ServiceRecord = ServiceRecord;
        0x0033 P_KeyTableRecord = PKeyTableRecord, PKeyTable;
        0x0035 PathRecord = PathRecord;
        0x0036 VLArbitrationTableRecord = VlArbitrationRecord, VlArbitration;
        0x0038 MCMemberRecord = McMemberRecord;
        0x0039 TraceRecord;
        0x003a MultiPathRecord = MultiPathRecord;
        0x003b ServiceAssociationRecord;
        0x003c HierarchyInfoRecord;
        0x003d CableInfoRecord;
        0x003e PortInfoExtendedRecord;
        0x00f3 InformInfoRecord = InformInfoRecord, InformInfo;
    }

    PERFORMANCE {
        0x0010 PortSamplesControl = PortSamplesControl;
        0x0011 PortSamplesResult = PortSamplesResult;
        0x0012 PortCounters = PortCounters;
        0x0015 PortRcvErrorDetails = PortRcvErrorDetails;
        0x0016 PortXmitDiscardDetails = PortXmitDiscardDetails;
        0x0017 PortOpRcvCounters = PortOpRcvCounters;
        0x0018 PortFlowCtlCounters = PortFlowCtlCounters;
        0x0019 PortVLOpPackets = PortVlOpPackets;
        0x001a PortVLOpData = PortVlOpData;
        0x001b PortVLXmitFlowCtlUpdateErrors = PortVlXmitFlowCtlUpdateErrors;
        0x001c PortVLXmitWaitCounters = PortVlXmitWaitCounters;
        0x001d PortCountersExtended = PortCountersExtended;
        0x001e PortSamplesResultExtended;
        0x0030 SwPortVLCongestion = SwPortVlCongestion;
        0x0031 PortRcvConCtrl = PortRcvConCtrl;
        0x0032 PortSLRcvFECN = PortSlRcvFecn;
        0x0033 PortSLRcvBECN = PortSlRcvBecn;
        0x0034 PortXmitConCtrl = PortXmitConCtrl;
        0x0035 PortVLXmitTimeCong = PortVlXmitTimeCong;
        0x0036 PortXmitDataSL = PortXmitDataSl;
        0x0037 PortRcvDataSL = PortRcvDataSl;
        0x0075 PortExtendedSpeedsCounters = PortExtendedSpeedsCounters;
    }

    BASEBOARD {
        0x0010 BKeyInfo;
        0x0020 WriteVPD;
        0x0021 ReadVPD;
        0x0022 ResetIBML;
        0x0023 SetModulePMControl;
        0x0024 GetModulePMControl;
        0x0025 SetUnitPMControl;
        0x0026 GetUnitPMControl;
        0x0027 SetIOCPMControl;
        0x0028 GetIOCPMControl;
        0x0029 SetModuleState;
        0x002a SetModuleAttention;
        0x002b GetModuleStatus;
        0x002c IB2IBML;
        0x002d IB2CME;
        0x002e IB2MME;
        0x002f OEM;
    }

    DEVICE {
        0x0010 IOUnitInfo;
        0x0011 IOControllerProfile;
        0x0012 ServiceEntries;
        0x0020 DiagnosticTimeout;
        0x0021 PrepareToTest;
        0x0022 TestDeviceOnce;
        0x0023 TestDeviceLoop;
        0x0024 DiagCode;
    }

    CONGESTION {
        0x0011 CongestionInfo = CongestionInfo;
        0x0012 CongestionKeyInfo = CongestionKeyInfo;
        0x0013 CongestionLog = CongestionLog;
        0x0014 SwitchCongestionSetting = SwitchCongestionSetting;
        0x0015 SwitchPortCongestionSetting = SwitchPortCongestionSetting;
        0x0016 CACongestionSetting = CaCongestionSetting;
        0x0017 CongestionControlTable = CongestionControlTable;
        0x0018 TimeStamp = CongestionTimeStamp;
    }
}

impl MgmtClass {
    /// The attribute of this number; `None` where it is not assigned. Messages of communication management are no attributes:
    /// [`super::CmAttributes`] has them.
    pub fn attribute(self, id: u16) -> Option<&'static Attribute> {
        let of_class: &[Attribute] = match self {
            MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED => SUBNET,
            MgmtClass::SUBN_ADM => ADMINISTRATION,
            MgmtClass::PERF => PERFORMANCE,
            MgmtClass::BM => BASEBOARD,
            MgmtClass::DEV_MGT => DEVICE,
            MgmtClass::CONGESTION => CONGESTION,
            MgmtClass::CM => return ALL.first().filter(|attribute| attribute.id == id),
            _ => &[],
        };
        of_class.iter().chain(ALL).find(|attribute| attribute.id == id)
    }

    /// The name of an attribute, or of a message of communication management.
    pub fn attribute_name(self, id: u16) -> Option<&'static str> {
        match self {
            MgmtClass::CM => {
                CmAttribute::SHOW.name(id.into()).or_else(|| self.attribute(id).map(|of| of.name))
            }
            _ => self.attribute(id).map(|of| of.name),
        }
    }

    /// The attribute that begins with this header, for crafting; `None` where the class has none.
    pub fn attribute_of(self, kind: Kind) -> Option<u16> {
        (0..=0xff).find(|&id| self.attribute(id).is_some_and(|of| of.kinds.first() == Some(&kind)))
    }

    /// What is between the common header and the attribute, in wire order.
    pub const fn headers(self) -> &'static [Kind] {
        match self {
            MgmtClass::SUBN_LID => &[Kind::SmpLid],
            MgmtClass::SUBN_DIRECTED => &[Kind::SmpDirected],
            MgmtClass::SUBN_ADM => &[Kind::Rmpp, Kind::SaHeader],
            MgmtClass::PERF | MgmtClass::BM | MgmtClass::DEV_MGT | MgmtClass::CONGESTION => {
                &[Kind::ClassReserved]
            }
            MgmtClass(0x10 | 0x12) => &[Kind::Rmpp],
            MgmtClass(0x30..=0x4f) => &[Kind::Rmpp, Kind::VendorOui],
            _ => &[],
        }
    }

    /// What is between the common header and this attribute: a log of congestion begins behind the key.
    pub fn headers_of(self, id: u16) -> &'static [Kind] {
        match self.attribute(id).map(|of| of.kinds) {
            Some([Kind::CongestionLog]) => &[Kind::CongestionKey],
            _ => self.headers(),
        }
    }

    /// The name of the class, if it is assigned.
    pub fn name(self) -> Option<&'static str> {
        match Self::SHOW {
            Show::Named(name) => name(self.0.into()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No number has two rows, and what an attribute is has room in a datagram.
    #[test]
    fn tables_are_sorted_and_fit() {
        for class in (0..=255).map(MgmtClass) {
            let len = |kinds: &[Kind]| {
                kinds.iter().filter_map(|kind| kind.info()).map(|info| info.len).sum::<usize>()
            };
            let found: usize = (0..=u16::MAX)
                .filter_map(|id| class.attribute(id))
                .map(|of| {
                    assert!(
                        24 + len(class.headers_of(of.id)) + len(of.kinds) <= 256,
                        "{class:?} {}",
                        of.name
                    );
                    assert_eq!(class.attribute_name(of.id), Some(of.name));
                    1
                })
                .sum();
            assert!(found >= 1, "{class:?}");
        }
        for table in [ALL, SUBNET, ADMINISTRATION, PERFORMANCE, BASEBOARD, DEVICE, CONGESTION] {
            assert!(table.is_sorted_by(|a, b| a.id < b.id));
        }
        assert_eq!(MgmtClass::SUBN_ADM.attribute_of(Kind::PathRecord), Some(0x35));
        assert_eq!(MgmtClass::CM.attribute_name(0x10), Some("REQ"));
    }
}
