//! One queue: its commands that are not completed, and what became of those that are.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    hash::RandomState,
    sync::Arc,
};

use super::{
    Packet,
    capsule::{CQE, Command, Cqe, Data, SQE, Sqe, Status},
    data::{Gathered, Gathering, Identified, Which, Who, until_zero},
};
use crate::{
    dissect::Address,
    follow::{Ending, Key, Moving, Progress, Sums, Taps, Time},
    wire::{NvmeConnectData, Reth},
};

/// A submission queue and its completion queue: one connection.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) host: Address,
    pub(super) controller: Address,
    pub(super) host_qp: Option<u32>,
    pub(super) controller_qp: u32,
    /// 0 is the admin queue; `None` where its set-up was not seen, and no response names it.
    pub(super) number: Option<u16>,
    pub(super) entries: Option<u32>,
    /// The subsystem's name, of Connect.
    pub(super) subsystem: Option<Arc<str>>,
    /// The host's name, of Connect.
    pub(super) host_name: Option<Arc<str>>,
    /// The number of the controller, of Connect, its response, the set-up or Identify Controller.
    pub(super) controller_id: Option<u16>,
    /// Its Connect was captured.
    pub(super) has_connect: bool,
    /// The place of the queue, for the data of its commands.
    at: usize,
    pub(super) keep_alive_ms: Option<u32>,
    /// Its set-up shows what it is.
    pub(super) is_proved: bool,
    /// It is a queue of NVMe for sure.
    pub(super) is_nvme: bool,
    /// Commands and responses that fit each other, and packets that fit nothing.
    matched: u64,
    pub(super) misfits: u64,
    /// Completed commands, until it is known that they are some.
    early: Vec<Done>,
    pub(super) sent_again: u64,
    pub(super) open: BTreeMap<u16, Open>,
    /// The PSN of the last command of each number: it is not a new one if it is sent again.
    last_psn: HashMap<u16, u32, RandomState>,
    /// The PSN of the last response to each number: sent again, it is no response to the next command that has the number.
    answered: HashMap<u16, u32, RandomState>,
    /// Commands whose capsule is not whole yet, and the PSN of its last packet; the oldest first.
    begun: VecDeque<(u16, u32)>,
    has_admin_commands: bool,
    /// When its first command came, in which frame, and when its last command or response did.
    pub(super) first: Option<(i64, u64)>,
    pub(super) last: i64,
    pub(super) ended: Option<Ending>,
    pub(super) sums: Sums,
    /// How many failed so, and the first one's frame.
    pub(super) failed: BTreeMap<(Command, Status), (u64, u64)>,
    pub(super) slowest_keep_alive: Option<u64>,
    pub(super) depth: Depth,
    /// Responses of which it is not sure yet that the host took them.
    pub(super) held: Vec<Held>,
    /// Commands whose response came, and is not acknowledged yet.
    pub(super) taken: Vec<Taken>,
    /// Commands whose number was used again without a response in the capture.
    pub(super) unseen_responses: u64,
    pub(super) taps: Taps,
}

/// A response that the host may not have taken: it passed behind packets that are missing, which the host takes first, or another tap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) psn: u32,
    pub(super) time: i64,
    pub(super) response: [u8; CQE],
    /// At another tap.
    pub(super) is_elsewhere: bool,
}

impl Held {
    pub(super) fn id(&self) -> u16 {
        Cqe::of(&self.response).id()
    }
}

/// A command whose response came: the host may still say that it wants that again.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) held: Held,
    open: Open,
    time: Time,
}

/// A command, and where in its data a transfer begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    pub(super) id: u16,
    /// The command's: its number may be used again.
    frame: u64,
    pub(super) from: u64,
}

/// A command that is not completed.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) command: Command,
    namespace: Option<u32>,
    pub(super) frame: u64,
    pub(super) start: i64,
    /// When the last packet of the capsule came.
    sent: i64,
    data: Data,
    /// The first block that it names, and how many.
    blocks: Option<(u64, u32)>,
    /// What its response says is the controller's capabilities, or its number.
    gives: Option<Gives>,
    /// The keep-alive timeout that it sets.
    sets_keep_alive: Option<u32>,
    moved: u64,
    moving: Moving,
    /// It waits for no event: its time counts.
    pub(super) is_counted: bool,
}

/// What the response of a command gives.
#[derive(Clone, Copy, Debug)]
pub(super) enum Gives {
    Capabilities,
    ControllerId,
}

/// A command that is completed.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) id: u16,
    /// It waited for no event.
    pub(super) is_counted: bool,
    pub(super) command: Command,
    pub(super) namespace: Option<u32>,
    pub(super) frame: u64,
    pub(super) start: i64,
    pub(super) status: Status,
    pub(super) bytes: u64,
    /// The first block that it names, and how many.
    pub(super) blocks: Option<(u64, u32)>,
    pub(super) time: Time,
}

/// How many commands were outstanding, over time.
#[derive(Debug, Default)]
pub(super) struct Depth {
    now: u32,
    pub(super) most: u32,
    since: i64,
    /// Nanoseconds with commands outstanding, and commands times nanoseconds.
    pub(super) ns: u64,
    pub(super) area: u128,
    /// Nanoseconds in which no more commands could be sent.
    pub(super) full_ns: u64,
}

impl Queue {
    pub(super) fn new(at: usize, host: Address, controller: Address, controller_qp: u32) -> Queue {
        Queue {
            host,
            controller,
            host_qp: None,
            controller_qp,
            number: None,
            entries: None,
            subsystem: None,
            host_name: None,
            controller_id: None,
            has_connect: false,
            at,
            keep_alive_ms: None,
            is_proved: false,
            is_nvme: false,
            early: Vec::new(),
            matched: 0,
            misfits: 0,
            sent_again: 0,
            open: BTreeMap::new(),
            last_psn: HashMap::default(),
            answered: HashMap::default(),
            begun: VecDeque::new(),
            has_admin_commands: false,
            first: None,
            last: i64::MIN,
            ended: None,
            sums: Sums::default(),
            failed: BTreeMap::new(),
            slowest_keep_alive: None,
            depth: Depth::default(),
            held: Vec::new(),
            taken: Vec::new(),
            unseen_responses: 0,
            taps: Taps::default(),
        }
    }

    /// Whether it is a queue of NVMe for sure.
    fn decide(&mut self) -> bool {
        /// So many responses fit commands by chance in no other protocol.
        const ENOUGH: u64 = 3;
        self.is_nvme |= self.is_proved || self.matched >= ENOUGH && self.matched > 4 * self.misfits;
        self.is_nvme
    }

    pub(super) fn is_admin(&self) -> bool {
        self.number.map_or(self.has_admin_commands, |number| number == 0)
    }

    /// Whether it is the admin queue, where that is known.
    fn is_admin_for_sure(&self) -> Option<bool> {
        let known = self.number.map(|number| number == 0);
        known.or(self.has_admin_commands.then_some(true))
    }

    /// Of whom its commands are: what is learned later changes no number here, so that commands of one kind stay together.
    pub(super) fn who(&self) -> Who {
        let which = match self.controller_id {
            _ if self.is_lone_admin() => Which::OfAdmin(self.at),
            Some(id) => Which::Id(id),
            None => Which::Unknown,
        };
        (self.host, self.controller, self.subsystem.clone(), which)
    }

    /// Whether it is the admin queue of a controller that nothing named in time.
    pub(super) fn is_lone_admin(&self) -> bool {
        !self.has_connect && self.is_admin_for_sure() == Some(true)
    }

    /// It ended: the first sign of that counts.
    pub(super) fn end(&mut self, ending: Ending) {
        self.ended.get_or_insert(ending);
    }

    /// The key of what is sent back to who sent towards the controller, or towards the host.
    pub(super) fn key_back(&self, was_to_controller: bool) -> Option<Key> {
        let (host, controller) = (self.host, self.controller);
        match was_to_controller {
            true => Some(Key { src: controller, dst: host, qp: self.host_qp? }),
            false => Some(Key { src: host, dst: controller, qp: self.controller_qp }),
        }
    }

    pub(super) fn has_open(&self, id: u16) -> bool {
        self.open.contains_key(&id)
    }

    /// Whether the last command of this number had this PSN.
    pub(super) fn has_sent(&self, id: u16, psn: u32) -> bool {
        self.last_psn.get(&id) == Some(&psn)
    }

    /// A command.
    pub(super) fn begin(&mut self, sqe: &Sqe<'_>, packet: &Packet<'_>, gathering: &mut Gathering) {
        let id = sqe.id();
        self.first.get_or_insert((packet.time, packet.frame));
        self.last = packet.time;
        if self.last_psn.insert(id, packet.psn) == Some(packet.psn) {
            self.sent_again += 1;
            return;
        }
        let command = sqe.command();
        self.has_admin_commands |= command.is_of_admin();
        if let Some(connect) = sqe.connect() {
            (self.is_proved, self.has_connect) = (true, true);
            (self.number, self.entries) = (Some(connect.queue), Some(connect.entries));
            if connect.queue == 0 {
                self.keep_alive_ms = Some(connect.keep_alive_ms);
            }
        }
        let data = sqe.data();
        let in_capsule = u64::from(packet.len).saturating_sub(SQE as u64);
        let moved = if matches!(data, Data::InCapsule { .. }) { in_capsule } else { 0 };
        let open = Open {
            command,
            namespace: sqe.namespace(),
            frame: packet.frame,
            start: packet.time,
            sent: packet.time,
            data,
            blocks: sqe.blocks().filter(|_| !self.is_admin()),
            gives: match command {
                Command::CONNECT => Some(Gives::ControllerId),
                _ => sqe.gets_capabilities().then_some(Gives::Capabilities),
            },
            sets_keep_alive: sqe.sets_keep_alive().filter(|_| self.is_admin()),
            moved,
            moving: Moving::default(),
            is_counted: !command.is_async_event(self.is_admin()),
        };
        let is_counted = open.is_counted;
        let old = self.open.insert(id, open);
        // The host uses a number again behind the response, or after it gave up.
        let was_counted = old.is_some_and(|old| old.is_counted);
        self.unseen_responses += u64::from(was_counted);
        self.depth.change(packet.time, i32::from(is_counted) - i32::from(was_counted), self.entries);
        if !packet.shape.ends {
            /// Those behind a lost packet.
            const MOST_BEGUN: usize = 64;
            if self.begun.len() == MOST_BEGUN {
                self.begun.pop_front();
            }
            self.begun.push_back((id, packet.psn));
        }
        gathering.begin((self.at, id), sqe, self.is_admin_for_sure());
        if let (Data::InCapsule { .. }, Some(data)) = (data, packet.payload.get(SQE..)) {
            gathering.in_capsule((self.at, id), data);
        }
    }

    /// More of a capsule that began.
    pub(super) fn on_capsule_data(&mut self, packet: &Packet<'_>, gathering: &mut Gathering) {
        // Packets of one message follow each other; one that is sent again was counted.
        let is_next = |&(_, psn): &(u16, u32)| packet.psn == psn.wrapping_add(1) & 0xff_ffff;
        let Some(at) = self.begun.iter().rposition(is_next) else { return };
        let id = self.begun[at].0;
        if packet.shape.ends {
            self.begun.remove(at);
        } else {
            self.begun[at].1 = packet.psn;
        }
        if let Some(open) = self.open.get_mut(&id) {
            open.sent = packet.time;
            if matches!(open.data, Data::InCapsule { .. }) {
                open.moved += u64::from(packet.len);
                gathering.in_capsule((self.at, id), packet.payload);
            }
        }
    }

    /// The command that named this memory, and where in its data the memory begins.
    pub(super) fn with_memory(&self, reth: &Reth) -> Option<Moved> {
        let (va, key, n) = (reth.va().0, reth.r_key().0, u64::from(reth.dma_len()));
        let place = |open: &Open| match open.data {
            Data::Keyed { address, len, rkey } => {
                let is_in = rkey == key
                    && va >= address
                    && va.saturating_add(n) <= address.saturating_add(len.into());
                is_in.then(|| va - address)
            }
            _ => None,
        };
        let moved = |(&id, open): (&u16, &Open)| Some(Moved { id, frame: open.frame, from: place(open)? });
        self.open.iter().find_map(moved)
    }

    /// The command of a transfer, as long as it waits.
    fn open_of(&mut self, moved: Moved) -> Option<&mut Open> {
        self.open.get_mut(&moved.id).filter(|open| open.frame == moved.frame)
    }

    pub(super) fn is_open(&self, moved: Moved) -> bool {
        self.open.get(&moved.id).is_some_and(|open| open.frame == moved.frame)
    }

    /// When its data was on its way.
    pub(super) fn moving(&mut self, of: Moved) -> Option<&mut Moving> {
        self.open_of(of).map(|open| &mut open.moving)
    }

    /// A packet of a command's data.
    pub(super) fn on_data(&mut self, of: Moved, packet: &Packet<'_>, gathering: &mut Gathering) {
        let Some(open) = self.open_of(of) else { return };
        open.moving.data(packet.shape.operation, packet.time, packet.psn);
        open.moved = open.moved.saturating_add(packet.len.into());
        gathering.packet((self.at, of.id), packet.psn, packet.payload, packet.len, packet.shape.ends);
    }

    /// What the data of a completed command says of the queue itself.
    fn name(&mut self, data: &NvmeConnectData) {
        for (name, bytes) in
            [(&mut self.subsystem, &data.subnqn().0), (&mut self.host_name, &data.hostnqn().0)]
        {
            let told = until_zero(bytes);
            if !told.is_empty() {
                *name = Some(told.into());
            }
        }
    }

    /// What a completed command tells.
    fn learn(
        &mut self,
        open: &Open,
        response: &Cqe<'_>,
        gathered: Option<Gathered>,
        identified: &mut Identified,
    ) {
        // A refused Connect names what it wanted, too.
        if let Some(data) = gathered.as_ref().and_then(Gathered::connect) {
            let data = *data;
            self.name(&data);
        }
        if response.status().is_error() || !self.is_nvme && !self.is_proved {
            return;
        }
        let told = match open.gives {
            Some(Gives::ControllerId) => Some(response.value() as u16),
            _ => gathered.as_ref().and_then(Gathered::controller_id).filter(|_| self.controller_id.is_none()),
        };
        self.controller_id = told.or(self.controller_id);
        if let Some(gathered) = &gathered {
            identified.learn(&self.who(), gathered);
        }
        if let Some(ms) = open.sets_keep_alive {
            self.keep_alive_ms = Some(ms);
        }
        if let Some(gives) = open.gives
            && let Some(controller) = identified.controller(&self.who())
        {
            match gives {
                Gives::Capabilities => controller.capabilities = Some(response.value()),
                Gives::ControllerId => controller.id = Some(response.value() as u16),
            }
        }
        if self.is_admin()
            && let Some(ms) = self.keep_alive_ms
            && (open.sets_keep_alive.is_some() || open.command == Command::CONNECT)
            && let Some(controller) = identified.controller(&self.who())
        {
            controller.keep_alive_ms = Some(ms);
        }
    }

    /// A response that may have to be sent again.
    pub(super) fn hold(&mut self, held: Held) {
        self.drop_held(held.psn);
        self.held.push(held);
    }

    /// The response with this PSN is not the one.
    pub(super) fn drop_held(&mut self, psn: u32) {
        if !self.held.is_empty() {
            self.held.retain(|held| held.psn != psn);
        }
    }

    /// Whether this response was taken before.
    pub(super) fn has_taken(&self, held: &Held) -> bool {
        self.answered.get(&held.id()) == Some(&held.psn)
    }

    /// A response that came.
    pub(super) fn complete<'a>(
        &mut self,
        held: &Held,
        progress: impl Iterator<Item = &'a Progress>,
        (gathering, identified): (&mut Gathering, &mut Identified),
    ) {
        let &Held { psn, time, ref response, .. } = held;
        let response = &Cqe::of(response);
        let id = response.id();
        self.answered.insert(id, psn);
        let gathered = gathering.take((self.at, id));
        let Some(open) = self.open.remove(&id) else {
            // A response that is sent again is no misfit.
            self.misfits += u64::from(!self.last_psn.contains_key(&id));
            return;
        };
        self.matched += 1;
        self.last = self.last.max(time);
        if self.number.is_none() && response.queue() != 0 {
            self.number = Some(response.queue());
        }
        if open.is_counted {
            self.depth.change(time, -1, self.entries);
        }
        let parts = Time::cut([open.start, open.sent, time], &open.moving, progress);
        self.decide();
        self.learn(&open, response, gathered, identified);
        if open.command.moves_blocks()
            && !response.status().is_error()
            && let (Some((_, blocks)), Some(namespace)) = (open.blocks, open.namespace)
            && self.is_nvme
        {
            let len = match open.data {
                Data::Keyed { len, .. } | Data::InCapsule { len } => len,
                Data::None => 0,
            };
            identified.moved(&self.who(), namespace, blocks, len);
        }
        self.taken.push(Taken { held: *held, open, time: parts });
    }

    /// The host wants all responses again, from a PSN on: it took none of them.
    pub(super) fn take_back(&mut self, psn: u32, time: i64, progress: &Progress) {
        let is_wanted = |taken: &mut Taken| progress.is_from(taken.held.psn, psn);
        let back: Vec<Taken> = self.taken.extract_if(.., is_wanted).collect();
        for Taken { held, open, .. } in back {
            let id = held.id();
            self.answered.remove(&id);
            self.matched -= 1;
            if open.is_counted {
                self.depth.change(time, 1, self.entries);
            }
            self.open.insert(id, open);
            self.hold(held);
        }
    }

    /// A command whose response the host took. Returns it, with those before it if it shows what they are.
    pub(super) fn settle(&mut self, Taken { held, open, time }: Taken) -> Vec<Done> {
        let response = &Cqe::of(&held.response);
        let id = response.id();
        let bytes = match open.data {
            // Retransmissions are no more data.
            Data::Keyed { len, .. } => open.moved.min(len.into()),
            _ => open.moved,
        };
        let Open { command, namespace, frame, start, is_counted, blocks, .. } = open;
        self.early.push(Done {
            id,
            command,
            namespace,
            frame,
            start,
            is_counted,
            status: response.status(),
            bytes,
            blocks,
            time,
        });
        if !self.decide() {
            const UNSURE: usize = 64;
            self.early.truncate(UNSURE);
            return Vec::new();
        }
        let done = std::mem::take(&mut self.early);
        done.iter().for_each(|done| self.count(done));
        done
    }

    fn count(&mut self, done: &Done) {
        if done.status.is_error() {
            let (count, _) = self.failed.entry((done.command, done.status)).or_insert((0, done.frame));
            *count += 1;
        }
        if done.is_counted {
            done.add_to(&mut self.sums);
        }
        if done.command.is_keep_alive(self.is_admin()) {
            self.slowest_keep_alive = self.slowest_keep_alive.max(Some(done.time.latency));
        }
    }
}

impl Done {
    pub(super) fn add_to(&self, sums: &mut Sums) {
        sums.take(self.start, &self.time, self.bytes, self.status.is_error());
    }
}

impl Depth {
    fn change(&mut self, time: i64, by: i32, entries: Option<u32>) {
        if self.now > 0 {
            let ns = time.saturating_sub(self.since).max(0) as u64;
            self.ns = self.ns.saturating_add(ns);
            self.area = self.area.saturating_add(u128::from(ns) * u128::from(self.now));
            // One entry stays free.
            if entries.is_some_and(|entries| self.now + 1 >= entries) {
                self.full_ns = self.full_ns.saturating_add(ns);
            }
        }
        self.since = time;
        self.now = self.now.saturating_add_signed(by);
        self.most = self.most.max(self.now);
    }
}
