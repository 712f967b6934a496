//! Which classes each pair of hosts uses, by kind of traffic: data, requests for it, answers, notifications, management.
//!
//! A packet costs an addition in a row that its flow knows. Rows are of queue pairs; when there are too many, of pairs of hosts.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use super::OfFlow;
use crate::{
    analyze::{
        model::Class,
        packet::{Facts, key::Key},
    },
    opcode::{Operation, Service},
    report::TrafficKind,
    sums::sums,
    wire::{Ecn, Syndrome},
};

/// Rows that are kept of queue pairs; and half as many of pairs of hosts, beside them. With little memory, a row for so many bytes of it.
const MAX_ROWS: usize = 1 << 11;
const BYTES_FOR_ROW: usize = 10 << 10;
/// The row of all that has no other.
const REST: u16 = u16::MAX - 1;
const NO_ROW: u16 = u16::MAX;
/// Stands for all queue pairs of a pair of hosts.
const ANY_QP: u32 = 0;

/// What a flow remembers of its rows: those of its data, requests, answers and CNPs.
#[derive(Clone, Copy, Debug, crate::stored::Stored)]
pub(super) struct Rows([u16; 4]);

impl Default for Rows {
    fn default() -> Rows {
        Rows([NO_ROW; 4])
    }
}

/// What a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, crate::stored::Stored)]
pub(super) struct Place {
    pub(super) key: Key,
    kind: u8,
    pub(super) class: u8,
}

/// A kind of traffic as a number: `place` in [`Rows`], and those of datagrams, which have no other.
const DATA: u8 = 0;
const REQUEST: u8 = 1;
const ACK: u8 = 2;
const CNP: u8 = 3;
const MANAGEMENT: u8 = 4;
const DATAGRAM: u8 = 5;

impl Place {
    pub(super) fn kind(&self) -> TrafficKind {
        match self.kind {
            DATA => TrafficKind::Data,
            REQUEST => TrafficKind::Request,
            ACK => TrafficKind::Ack,
            CNP => TrafficKind::Cnp,
            MANAGEMENT => TrafficKind::Management,
            _ => TrafficKind::Datagram,
        }
    }

    /// The row is of one queue pair.
    pub(super) fn queue_pair(&self) -> Option<u32> {
        Some(self.key.dest_qp()).filter(|&qp| qp != ANY_QP)
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default, crate::stored::Stored)]
pub(super) struct Counts {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) ect: u64,
    pub(super) ce: u64,
    pub(super) retransmits: u64,
    pub(super) naks: u64,
    /// A flow of it was retired, and what it lost is not known any more.
    pub(super) is_partial: bool,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Counts) {
        sums! { self += other: packets, bytes, ect, ce, retransmits, naks, is_partial }
    }
}

#[derive(Clone, Debug, Default, crate::stored::Stored)]
pub(super) struct Pairs {
    /// Rows of queue pairs, at most.
    most: usize,
    rows: Vec<(Place, Counts)>,
    places: HashMap<Place, u16, RandomState>,
    /// What has no row.
    rest: Counts,
}

/// The kind of a packet.
#[inline(always)]
fn kind(packet: &Facts) -> u8 {
    if packet.opcode().service() == Service::Ud {
        let is_management = packet.dest_qp().is_some_and(|qp| qp.0 == 1);
        return if is_management { MANAGEMENT } else { DATAGRAM };
    }
    match packet.opcode().operation() {
        Some(Operation::Cnp) => CNP,
        Some(Operation::ReadRequest | Operation::CompareSwap | Operation::FetchAdd) => REQUEST,
        Some(Operation::Acknowledge | Operation::AtomicAcknowledge | Operation::Sack | Operation::Nack) => {
            ACK
        }
        _ => DATA,
    }
}

impl Pairs {
    pub(super) fn new(max_memory: usize) -> Pairs {
        Pairs { most: MAX_ROWS.min(max_memory / BYTES_FOR_ROW), ..Pairs::default() }
    }

    #[inline(always)]
    fn counts(&mut self, row: u16) -> &mut Counts {
        self.rows.get_mut(usize::from(row)).map_or(&mut self.rest, |(_, counts)| counts)
    }

    /// The row of a flow that has one of this kind and class.
    #[inline(always)]
    fn known(&self, rows: &Rows, kind: u8, class: u8) -> Option<u16> {
        let row = rows.0[usize::from(kind & 3)];
        let is_it = |(place, _): &(Place, Counts)| (place.kind, place.class) == (kind, class);
        (row == REST || self.rows.get(usize::from(row)).is_some_and(is_it)).then_some(row)
    }

    /// The row of a place, which it gets if there is room.
    #[cold]
    #[inline(never)]
    fn row(&mut self, place: Place) -> u16 {
        let of_hosts = Place { key: place.key.with_queue_pair(ANY_QP), ..place };
        for (place, most) in [(place, self.most), (of_hosts, self.most + self.most / 2)] {
            if let Some(&row) = self.places.get(&place) {
                return row;
            }
            if self.rows.len() < most {
                let row = self.rows.len() as u16;
                self.rows.push((place, Counts::default()));
                self.places.insert(place, row);
                return row;
            }
        }
        REST
    }

    /// A packet of a flow, in this class.
    #[inline(always)]
    pub(super) fn packet(&mut self, flow: &mut OfFlow, class: u8, packet: &Facts, is: Option<Class>) {
        let kind = kind(packet);
        let row = match self.known(&flow.rows, kind, class) {
            Some(row) => row,
            None => {
                let Some(&key) = packet.key() else { return };
                let row = self.row(Place { key, kind, class });
                flow.rows.0[usize::from(kind & 3)] = row;
                row
            }
        };
        let counts = self.counts(row);
        let mark = packet.mark();
        counts.packets += 1;
        counts.bytes += packet.l1_bytes() as u64;
        counts.ect += (mark.0 & 3 != 0) as u64;
        counts.ce += (mark == Ecn::CE) as u64;
        counts.retransmits += (is == Some(Class::Retransmission)) as u64;
        counts.naks += (packet.syndrome() == Some(Syndrome::PSN_SEQUENCE_ERROR)) as u64;
    }

    /// Packets with data of a flow of which others came before, in this class.
    #[inline(always)]
    pub(super) fn run(&mut self, flow: &mut OfFlow, class: u8, (packets, bytes): (u64, u64), ecn: Ecn) {
        let Some(row) = self.data_row(flow, class) else { return };
        let counts = self.counts(row);
        counts.packets += packets;
        counts.bytes += bytes;
        if ecn.0 & 3 != 0 {
            counts.ect += packets;
        }
        if ecn == Ecn::CE {
            counts.ce += packets;
        }
    }

    /// The row of a flow's data in this class; by the addresses of any other row of it, if need be.
    #[inline(always)]
    fn data_row(&mut self, flow: &mut OfFlow, class: u8) -> Option<u16> {
        if let Some(row) = self.known(&flow.rows, DATA, class) {
            return Some(row);
        }
        let key = self.key(flow)?;
        let row = self.row(Place { key, kind: DATA, class });
        flow.rows.0[usize::from(DATA)] = row;
        Some(row)
    }

    /// An earlier packet of a flow in this class was a retransmission: a request, or data.
    pub(super) fn retransmission(&mut self, flow: &OfFlow, class: u8, is_request: bool) {
        let kinds = if is_request { [REQUEST, DATA] } else { [DATA, REQUEST] };
        if let Some(row) = kinds.into_iter().find_map(|kind| self.known(&flow.rows, kind, class)) {
            self.counts(row).retransmits += 1;
        }
    }

    /// A packet with data was marked behind the place where it was counted.
    pub(super) fn marked_later(&mut self, flow: &OfFlow, class: u8) {
        if let Some(row) = self.known(&flow.rows, DATA, class) {
            self.counts(row).ce += 1;
        }
    }

    /// The flow is retired.
    pub(super) fn retire(&mut self, flow: &OfFlow) {
        for kind in [DATA, REQUEST] {
            let row = flow.rows.0[usize::from(kind)];
            if row != NO_ROW {
                self.counts(row).is_partial = true;
            }
        }
    }

    /// The row to which a flow's losses belong: that of its data, or of its requests if it has none.
    pub(super) fn of_losses(&self, flow: &OfFlow) -> Option<usize> {
        let row = flow.rows.0[..2].iter().copied().find(|&row| row != NO_ROW)?;
        Some(usize::from(row)).filter(|&row| row < self.rows.len())
    }

    /// The key of a flow, by any row of it.
    pub(super) fn key(&self, flow: &OfFlow) -> Option<Key> {
        let mut rows = flow.rows.0.iter().filter_map(|&row| self.rows.get(usize::from(row)));
        rows.next().map(|(place, _)| place.key)
    }

    pub(super) fn rows(&self) -> &[(Place, Counts)] {
        &self.rows
    }

    pub(super) fn not_listed(&self) -> u64 {
        self.rest.packets
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.rows.capacity() * size_of::<(Place, Counts)>()
            + self.places.capacity() * (size_of::<(Place, u16)>() + 1)
    }
}
