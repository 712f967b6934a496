//! The data of commands that say what a controller and its namespaces are: put together as far as it was captured, and read.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, VecDeque},
    hash::RandomState,
    sync::Arc,
};

use super::capsule::Sqe;
use crate::{
    dissect::Address,
    upper::{data_of, kind_of_data},
    wire::*,
};

/// A command: its queue's place, and its number.
pub(super) type CommandOf = (usize, u16);

/// The host, the controller's address, the subsystem, and which of its controllers.
pub(super) type Who = (Address, Address, Option<Arc<str>>, Which);

/// Which controller: a subsystem may have several at one address, also for one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Which {
    /// Nothing says it.
    Unknown,
    /// The one with this number: Connect says it, or its response.
    Id(u16),
    /// The one of the admin queue at this place, whose Connect was not captured. A controller has one.
    OfAdmin(usize),
}

/// Data of commands that are not completed.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    of: HashMap<CommandOf, Gathered, RandomState>,
    /// The oldest first; some are over.
    order: VecDeque<CommandOf>,
}

/// Data of a command.
#[derive(Debug)]
pub(super) struct Gathered {
    kind: Kind,
    pub(super) namespace: u32,
    /// From its start, as far as nothing is missing.
    bytes: Vec<u8>,
    limit: usize,
    /// The message that carries some of it: where in the data it begins, its first PSN, and the payload of its packets.
    part: Option<(usize, u32, usize)>,
}

impl Gathering {
    /// So many are put together at once, of so many bytes each.
    const MOST: usize = 256;
    const MOST_BYTES: usize = 1 << 14;

    /// A command.
    pub(super) fn begin(&mut self, of: CommandOf, sqe: &Sqe<'_>, is_admin: Option<bool>) {
        if !self.of.is_empty() {
            self.of.remove(&of);
        }
        let Some(kind) = NvmeSqe::view(sqe.bytes()).and_then(|(sqe, _)| kind_of_data(sqe, is_admin)) else {
            return;
        };
        while self.of.len() >= Self::MOST || self.order.len() >= 4 * Self::MOST {
            let Some(oldest) = self.order.pop_front() else { break };
            self.of.remove(&oldest);
        }
        let limit = (sqe.data_len() as usize).min(Self::MOST_BYTES);
        let namespace = sqe.namespace().unwrap_or(0);
        self.of.insert(of, Gathered { kind, namespace, bytes: Vec::new(), limit, part: None });
        self.order.push_back(of);
    }

    /// The command that has some of its data in this message: from `at` on, with this first PSN.
    pub(super) fn part(&mut self, of: CommandOf, at: u64, psn: u32) {
        if let Some(gathered) = self.get(of) {
            gathered.part = usize::try_from(at).ok().map(|at| (at, psn, 0));
        }
    }

    /// A packet of that message. `is_last`: its payload may be shorter than that of others.
    pub(super) fn packet(&mut self, of: CommandOf, psn: u32, payload: &[u8], len: u32, is_last: bool) {
        let Some(gathered) = self.get(of) else { return };
        let Some((at, first, size)) = &mut gathered.part else { return };
        let distance = (psn.wrapping_sub(*first) & 0xff_ffff) as usize;
        if !is_last || distance == 0 {
            *size = len as usize;
        }
        let at = distance.checked_mul(*size).and_then(|far| far.checked_add(*at));
        if let Some(at) = at.filter(|_| *size > 0) {
            gathered.add(at, payload);
        }
    }

    /// Data that is in the command's capsule.
    pub(super) fn in_capsule(&mut self, of: CommandOf, payload: &[u8]) {
        if let Some(gathered) = self.get(of) {
            gathered.add(gathered.bytes.len(), payload);
        }
    }

    /// The data of a command that is completed.
    pub(super) fn take(&mut self, of: CommandOf) -> Option<Gathered> {
        if self.of.is_empty() { None } else { self.of.remove(&of) }
    }

    fn get(&mut self, of: CommandOf) -> Option<&mut Gathered> {
        if self.of.is_empty() { None } else { self.of.get_mut(&of) }
    }
}

impl Gathered {
    /// Bytes from this place on. What is behind a gap is left out: a retransmission brings both.
    fn add(&mut self, at: usize, payload: &[u8]) {
        let have = self.bytes.len();
        if at <= have && have < self.limit {
            let new = payload.get(have - at..).unwrap_or(&[]);
            self.bytes.extend_from_slice(&new[..new.len().min(self.limit - have)]);
        }
    }

    /// Names of Connect's data: subsystem, host, and the host's identifier.
    pub(super) fn connect(&self) -> Option<&NvmeConnectData> {
        let is_it = self.kind == Kind::NvmeConnectData;
        is_it.then(|| NvmeConnectData::view(&self.bytes).map(|(data, _)| data))?
    }

    /// The controller's number that Identify Controller says.
    pub(super) fn controller_id(&self) -> Option<u16> {
        let is_it = self.kind == Kind::NvmeIdController;
        is_it.then(|| NvmeIdController::view(&self.bytes).map(|(data, _)| data.cntlid().0.0))?
    }
}

/// What the data of commands says.
#[derive(Debug, Default)]
pub(super) struct Identified {
    pub(super) controllers: BTreeMap<Who, Controller>,
    pub(super) namespaces: BTreeMap<(Who, u32), Namespace>,
    /// By subsystem, transport, address and service: what discovery controllers tell.
    pub(super) discovered: BTreeMap<(Address, [String; 4]), NvmeSubsystemType>,
}

/// What is known of a controller.
#[derive(Debug, Default)]
pub(super) struct Controller {
    /// Its number, which the answer to Connect says.
    pub(super) id: Option<u16>,
    pub(super) host_id: Option<[u8; 16]>,
    pub(super) identity: Option<Identity>,
    /// Its capabilities, the property CAP.
    pub(super) capabilities: Option<u64>,
    pub(super) keep_alive_ms: Option<u32>,
    pub(super) smart: Option<NvmeSmartLog>,
}

/// What Identify Controller says.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) model: String,
    pub(super) serial: String,
    pub(super) firmware: String,
    pub(super) controller: NvmeIdController,
    pub(super) abilities: Option<NvmeIdAbilities>,
    pub(super) fabrics: Option<NvmeIdFabrics>,
}

/// What is known of a namespace.
#[derive(Debug, Default)]
pub(super) struct Namespace {
    /// What Identify Namespace says, and the format in use.
    pub(super) identity: Option<(NvmeIdNamespace, Option<NvmeLbaFormat>)>,
    pub(super) uuid: Option<[u8; 16]>,
    pub(super) ana: Option<NvmeAnaState>,
    /// The size of blocks that all Reads and Writes have in common: they move so many bytes, and name so many blocks.
    moved: Option<u32>,
    /// There are some that differ.
    differs: bool,
}

impl Identified {
    const MOST_CONTROLLERS: usize = 1 << 12;
    const MOST_NAMESPACES: usize = 1 << 16;
    const MOST_DISCOVERED: usize = 1 << 12;

    /// Names controllers anew, as what was learned later tells of them.
    pub(super) fn rename(&mut self, name: impl Fn(&Who) -> Who) {
        for (who, of) in std::mem::take(&mut self.controllers) {
            self.controllers.entry(name(&who)).or_default().join(of);
        }
        for ((who, number), of) in std::mem::take(&mut self.namespaces) {
            self.namespaces.entry((name(&who), number)).or_default().join(of);
        }
    }

    pub(super) fn controller(&mut self, who: &Who) -> Option<&mut Controller> {
        if self.controllers.len() >= Self::MOST_CONTROLLERS && !self.controllers.contains_key(who) {
            return None;
        }
        Some(self.controllers.entry(who.clone()).or_default())
    }

    fn namespace(&mut self, who: &Who, namespace: u32) -> Option<&mut Namespace> {
        const EVERY: u32 = u32::MAX;
        let of = (who.clone(), namespace);
        let is_one = namespace != 0 && namespace != EVERY;
        let has_room = self.namespaces.len() < Self::MOST_NAMESPACES || self.namespaces.contains_key(&of);
        if is_one && has_room { Some(self.namespaces.entry(of).or_default()) } else { None }
    }

    /// The data of a command that succeeded.
    pub(super) fn learn(&mut self, who: &Who, data: &Gathered) {
        let bytes = &*data.bytes;
        let parts = data_of(data.kind, bytes);
        match data.kind {
            Kind::NvmeConnectData => {
                let Some(names) = parts.get::<NvmeConnectData>(bytes) else { return };
                if let Some(controller) = self.controller(who) {
                    controller.host_id = Some(names.hostid().0);
                }
            }
            Kind::NvmeIdController => {
                let Some(&id) = parts.get::<NvmeIdController>(bytes) else { return };
                let [model, serial, firmware] = [&id.mn().0[..], &id.sn().0[..], &id.fr().0[..]].map(padded);
                let (abilities, fabrics) = (parts.get(bytes).copied(), parts.get(bytes).copied());
                if let Some(controller) = self.controller(who) {
                    controller.id = controller.id.or(Some(id.cntlid().0.0));
                    controller.identity =
                        Some(Identity { model, serial, firmware, controller: id, abilities, fabrics });
                }
            }
            Kind::NvmeIdNamespace => {
                let Some(&id) = parts.get::<NvmeIdNamespace>(bytes) else { return };
                // All formats are zero where the namespace is not there.
                if id.nsze().0 == 0 {
                    return;
                }
                let flags = id.flbas().0;
                let format = parts.all::<NvmeLbaFormat>(bytes).nth((flags & 0xf | flags >> 1 & 0x30).into());
                if let Some(namespace) = self.namespace(who, data.namespace) {
                    namespace.identity = Some((id, format.copied()));
                }
            }
            Kind::NvmeNsIdentifier => {
                let mut ids = parts.iter().zip(parts.iter().skip(1));
                let uuid = ids.find_map(|(head, id)| {
                    let (is, _) = NvmeNsIdentifier::view(bytes.get(head.at..)?)?;
                    let is_uuid = head.kind == Kind::NvmeNsIdentifier
                        && id.kind == Kind::NvmeNsId
                        && is.nidt() == NvmeIdentifierType::UUID;
                    let id = bytes.get(id.at..id.at + id.len)?;
                    is_uuid.then(|| <[u8; 16]>::try_from(id).ok())?
                });
                if let Some(namespace) = uuid.and(self.namespace(who, data.namespace)) {
                    namespace.uuid = uuid;
                }
            }
            Kind::NvmeSmartLog => {
                if let (Some(&smart), Some(controller)) = (parts.get(bytes), self.controller(who)) {
                    controller.smart = Some(smart);
                }
            }
            Kind::NvmeAnaLog => {
                let mut state = None;
                for part in parts.iter() {
                    let Some(part_bytes) = bytes.get(part.at..part.at + part.len) else { continue };
                    if let Some((group, _)) =
                        NvmeAnaGroup::view(part_bytes).filter(|_| part.kind == Kind::NvmeAnaGroup)
                    {
                        state = Some(group.state());
                    } else if part.kind == Kind::NvmeAnaNamespaces {
                        for number in part_bytes.as_chunks().0 {
                            if let Some(namespace) = self.namespace(who, u32::from_le_bytes(*number)) {
                                namespace.ana = state;
                            }
                        }
                    }
                }
            }
            Kind::NvmeDiscoveryLog | Kind::NvmeDiscoveryEntry => {
                for entry in parts.all::<NvmeDiscoveryEntry>(bytes) {
                    if self.discovered.len() >= Self::MOST_DISCOVERED || entry.trtype().0 == 0 {
                        continue;
                    }
                    let transport = entry.trtype();
                    let transport = transport.name().map_or_else(|| transport.0.to_string(), str::to_owned);
                    let row = [
                        padded(&entry.subnqn().0),
                        transport,
                        padded(&entry.traddr().0),
                        padded(&entry.trsvcid().0),
                    ];
                    self.discovered.insert((who.1, row), entry.subtype());
                }
            }
            _ => {}
        }
    }

    /// A Read or Write of so many blocks, and its bytes of data.
    pub(super) fn moved(&mut self, who: &Who, namespace: u32, blocks: u32, bytes: u32) {
        let Some(namespace) = self.namespace(who, namespace) else { return };
        // Blocks of a power of two have no metadata among them.
        let size = bytes.checked_div(blocks).filter(|size| size.is_power_of_two() && *size >= 512);
        let size = size.filter(|size| size.checked_mul(blocks) == Some(bytes));
        namespace.differs |= size.is_none() || namespace.moved.is_some_and(|of| Some(of) != size);
        namespace.moved = namespace.moved.or(size);
    }

    /// The bytes of a block, without metadata.
    pub(super) fn block_bytes(&self, who: &Who, namespace: u32) -> Option<u64> {
        self.namespaces.get(&(who.clone(), namespace))?.block_bytes()
    }
}

impl Controller {
    /// What else is known of it.
    fn join(&mut self, other: Controller) {
        let Controller { id, host_id, identity, capabilities, keep_alive_ms, smart } = other;
        self.id = self.id.or(id);
        self.host_id = self.host_id.or(host_id);
        self.identity = self.identity.take().or(identity);
        self.capabilities = self.capabilities.or(capabilities);
        self.keep_alive_ms = self.keep_alive_ms.or(keep_alive_ms);
        self.smart = self.smart.or(smart);
    }
}

impl Namespace {
    /// What else is known of it.
    fn join(&mut self, other: Namespace) {
        let Namespace { identity, uuid, ana, moved, differs } = other;
        self.identity = self.identity.or(identity);
        (self.uuid, self.ana) = (self.uuid.or(uuid), self.ana.or(ana));
        self.differs |= differs || self.moved.zip(moved).is_some_and(|(a, b)| a != b);
        self.moved = self.moved.or(moved);
    }

    /// The bytes of a block, without metadata.
    pub(super) fn block_bytes(&self) -> Option<u64> {
        let format = self.identity.as_ref().and_then(|(_, format)| *format);
        let told =
            format.filter(|format| (9..64).contains(&format.lbads())).map(|format| 1 << format.lbads());
        told.or(self.moved.filter(|_| !self.differs).map(u64::from))
    }
}

/// Text with zeros behind it.
pub(super) fn until_zero(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or(bytes))
}

/// Text with zeros or blanks behind it.
fn padded(bytes: &[u8]) -> String {
    until_zero(bytes).trim_end().to_owned()
}
