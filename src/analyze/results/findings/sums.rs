//! Sums over all flows, as evidence for what the capture can prove.

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use crate::{
    analyze::{model::Class, results::lists::LateBehind, table::flow::Flow, track::class::Counts},
    icrc::State,
    opcode::Service,
    report::{self, IpId},
};

/// Sums over all flows.
#[derive(Default)]
pub(crate) struct Sums {
    /// Flows of reliable services, and those of them whose opposite is known.
    pub(super) reliable: u64,
    pub(super) paired: u64,
    pub(super) icrc_bad: u64,
    pub(super) icrc_good: u64,
    /// VCRCs, right and wrong ones, and flows with a wrong one.
    pub(super) vcrc: [u64; 2],
    pub(super) vcrc_flows: u64,
    /// Flows by the numbering of their packets.
    ip_id: [u64; IpId::ALL.len()],
    reordering_packets: u64,
    reordering_ns: u64,
    /// PSNs that were seen, and all PSNs: of all flows, and of those flows with few of their packets.
    seen: [u64; 2],
    sparse: [u64; 2],
    /// Flows of which some packets were recorded twice, and not most of them: by their places, with the number of copies, and all their packets.
    pub(super) copied: Vec<(usize, u64)>,
    pub(super) packets_copied_from: u64,
    /// Flows with packets that were overtaken between two taps, by their places.
    pub(in crate::analyze::results) late_behind: Vec<(usize, LateBehind)>,
    /// Packets that their senders marked themselves, those of them that are control packets, and the flows.
    pub(super) marked_by_senders: u64,
    pub(super) control_by_senders: u64,
    pub(super) senders: HashSet<usize, RandomState>,
}

impl Sums {
    pub(crate) fn add(&mut self, flow: &Flow, is_paired: bool) {
        // The two directions of MRC are joined by what SACKs say, and not as flows.
        let is_reliable = flow.service.is_reliable() && flow.service != Service::Mrc;
        self.reliable += is_reliable as u64;
        self.paired += (is_reliable && is_paired) as u64;
        self.icrc_bad += flow.icrc[State::Bad as usize];
        self.icrc_good += flow.icrc[State::Good as usize];
        let [good, bad] = flow.signals().vcrc;
        self.vcrc = [self.vcrc[0] + good, self.vcrc[1] + bad];
        self.vcrc_flows += u64::from(bad > 0);
        self.ip_id[flow.ids.numbering() as usize] += 1;
        let (requests, responses) = (&flow.requests, &flow.responses);
        for counts in [&requests.counts, &responses.counts] {
            self.reordering_packets = self.reordering_packets.max(counts.trouble().max_extent.into());
            self.reordering_ns = self.reordering_ns.max(counts.trouble().max_late_ns);
        }
        for seq in
            [&requests.seq, &responses.read.seq].into_iter().filter(|seq| is_reliable && seq.is_started())
        {
            let all = seq.hi.saturating_sub(seq.base);
            let sums = [Some(&mut self.seen), seq.is_sparse().then_some(&mut self.sparse)];
            for [seen, psns] in sums.into_iter().flatten() {
                *seen += all.saturating_sub(seq.rare.holes.psns());
                *psns += all;
            }
        }
    }

    /// Some packets of the flow at this place were recorded twice: a mirror of several ports would have copied most.
    pub(crate) fn copies(&mut self, at: usize, flow: &Flow) {
        const FEW: u64 = 8;
        let of = |counts: &Counts| counts.of(Class::CaptureDuplicate);
        let copies = of(&flow.requests.counts) + of(&flow.responses.counts);
        if copies > 0 && copies <= flow.packets / FEW {
            self.copied.push((at, copies));
            self.packets_copied_from += flow.packets;
        }
    }

    /// The sender of the flow at this place marks all packets itself.
    pub(crate) fn sets_ce(&mut self, at: usize, flow: &Flow) {
        let counts = &flow.requests.counts;
        let requests = counts.packets - counts.of(Class::Corrupt) - counts.of(Class::Trimmed);
        let data = flow.responses.get().map_or(0, |all| all.counts.packets.saturating_sub(all.acks_seen));
        // Corrupt ones are among them.
        self.marked_by_senders += flow.packets;
        self.control_by_senders += flow.packets.saturating_sub(requests + data);
        self.senders.insert(at);
    }

    /// The capture has about one packet in so many, if nearly all flows have few of their packets.
    fn one_in(&self) -> Option<u64> {
        let ([_, all], [seen, sparse]) = (self.seen, self.sparse);
        (sparse > all / 10 * 9).then(|| (sparse + seen / 2) / seen.max(1))
    }

    pub(super) fn learned(&self, learned: &mut report::Learned) {
        let flows = IpId::ALL.into_iter().zip(self.ip_id).filter(|&(_, flows)| flows > 0);
        learned.ip_id = flows.collect();
        learned.reordering_packets = self.reordering_packets;
        learned.reordering_ns = self.reordering_ns;
        (learned.one_way_flows, learned.reliable_flows) = (self.reliable - self.paired, self.reliable);
        learned.one_in = self.one_in();
    }
}
