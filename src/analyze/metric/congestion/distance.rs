//! How long a receiver takes from a mark to its CNP: which mark a CNP is for.
//!
//! Many marks may come before a CNP, and no packet says which one it answers. But the receiver takes about the same time for each. So of
//! all distances between CNPs and the marks of their flow before them, the true one comes with nearly every CNP, and the others by chance.
//! Where marks are dense, chance finds one at any distance: then nothing tells.

/// Marks before a CNP that it may be for.
const MAX_MARKS: usize = 256;
/// No receiver takes longer, where this can be told.
const LONGEST_NS: i64 = 100_000;
/// CNPs that are looked at.
const MAX_CNPS: usize = 1 << 12;
/// So many of them show a distance.
const MIN_CNPS: usize = 4;
/// How far distances may differ: so many nanoseconds, and so many hundredths. What is narrower goes before, for where marks are dense there
/// is one at any distance that is not told apart from others.
const SPREADS: [(i64, i64); 5] = [(16, 0), (64, 0), (16, 2), (16, 10), (16, 30)];

/// The usual time from a mark to its CNP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usual {
    least_ns: i64,
    most_ns: i64,
}

impl Usual {
    /// Learned from CNPs, each with the times of its flow's marks, in order. Those that can be for one mark only say most.
    pub(super) fn of<'a>(cnps: impl Iterator<Item = (Cnp, &'a [i64])> + Clone) -> Option<Usual> {
        let is_clear = |(cnp, marks): &(Cnp, &[i64])| cnp.only_mark(marks).is_some();
        Usual::of_all(cnps.clone().filter(is_clear)).or_else(|| Usual::of_all(cnps))
    }

    fn of_all<'a>(cnps: impl Iterator<Item = (Cnp, &'a [i64])>) -> Option<Usual> {
        let mut distances: Vec<(i64, u32)> = Vec::new();
        // Of each CNP, how many marks there are in a nanosecond before it.
        let mut density = Vec::new();
        for (cnp, marks) in cnps.take(MAX_CNPS) {
            let before = distances.len();
            let many = density.len() as u32;
            distances.extend(cnp.candidates(marks, LONGEST_NS).map(|mark| (cnp.time - mark, many)));
            let Some(&(first, _)) = distances[before..].last() else { continue };
            let found = distances.len() - before;
            density.push(found as f64 / if found < MAX_MARKS { LONGEST_NS } else { first.max(1) } as f64);
        }
        distances.sort_unstable();
        let many = density.len();
        let enough = many.div_ceil(2).max(MIN_CNPS);
        SPREADS.into_iter().find_map(|spread| {
            let (usual, seen) = densest(&distances, many, spread, None)?;
            // Marks that come one after the other at a constant rate have several distances to the CNPs that they trigger.
            let width = (usual.most_ns - usual.least_ns, 0);
            let others = || densest(&distances, many, width, Some(usual)).map_or(0, |(_, seen)| seen);
            let is_right = seen >= enough && !usual.may_be_chance(seen, &density) && others() * 4 < seen * 3;
            is_right.then_some(usual)
        })
    }

    /// Whether marks of this density have the distance with so many CNPs by chance, in the luckiest of all ranges.
    fn may_be_chance(&self, seen: usize, density: &[f64]) -> bool {
        /// So many standard deviations are beyond what the luckiest of ten thousand ranges has.
        const LUCKIEST: f64 = 5.0;
        let width = (self.most_ns - self.least_ns) as f64;
        let of = |&density: &f64| -(-density * width).exp_m1();
        let mean: f64 = density.iter().map(of).sum();
        let variance: f64 = density.iter().map(of).map(|chance| chance * (1.0 - chance)).sum();
        // A few by chance are no rarity, however small the mean.
        (seen as f64) < mean + LUCKIEST * variance.sqrt() + 2.0
    }

    /// The mark that a CNP is for.
    pub(super) fn mark(&self, cnp: Cnp, marks: &[i64]) -> Option<i64> {
        let is_usual = |mark: &i64| (self.least_ns..=self.most_ns).contains(&(cnp.time - mark));
        self.nearest(cnp, marks).filter(is_usual)
    }

    /// The mark whose distance is nearest to the usual one.
    pub(super) fn nearest(&self, cnp: Cnp, marks: &[i64]) -> Option<i64> {
        let usual = i64::midpoint(self.least_ns, self.most_ns);
        cnp.candidates(marks, LONGEST_NS).min_by_key(|mark| (cnp.time - mark).abs_diff(usual))
    }
}

/// A CNP, and from when on its receiver was to answer the first mark, for its limit had passed since the CNP before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cnp {
    pub(super) time: i64,
    pub(super) is_due: Option<i64>,
}

impl Cnp {
    /// The last marks that it may be for, the latest first.
    fn candidates(self, marks: &[i64], longest: i64) -> impl Iterator<Item = i64> + '_ {
        let before = marks.partition_point(|&mark| mark < self.time);
        // Of those that came when it was due, the first one.
        let first = self.is_due.map_or(before, |due| marks.partition_point(|&mark| mark < due) + 1);
        let near = move |&mark: &i64| self.time.saturating_sub(mark) <= longest;
        marks.iter().take(before.min(first)).rev().take(MAX_MARKS).copied().take_while(near)
    }

    /// The only mark that it can be for, whatever distance is usual.
    pub(super) fn only_mark(self, marks: &[i64]) -> Option<i64> {
        let mut all = self.candidates(marks, super::rows::LONGEST_NS);
        all.next().filter(|_| all.next().is_none())
    }
}

/// The shortest of the ranges of this width with distances of most CNPs, and of how many; of those beside another one.
fn densest(
    distances: &[(i64, u32)],
    many: usize,
    (step, spread): (i64, i64),
    beside: Option<Usual>,
) -> Option<(Usual, usize)> {
    // How many distances in the range each CNP has.
    let mut counts = vec![0u32; many];
    let (mut seen, mut best, mut end) = (0, (0, None), 0);
    for &(least_ns, of) in distances {
        let most_ns = least_ns + least_ns * spread / 100 + step;
        while let Some(&(_, other)) = distances.get(end).filter(|(ns, _)| *ns <= most_ns) {
            seen += (counts[other as usize] == 0) as usize;
            counts[other as usize] += 1;
            end += 1;
        }
        let is_beside = |other: Usual| most_ns < other.least_ns || least_ns > other.most_ns;
        if seen > best.0 && beside.is_none_or(is_beside) {
            best = (seen, Some(Usual { least_ns, most_ns }));
        }
        counts[of as usize] -= 1;
        seen -= (counts[of as usize] == 0) as usize;
    }
    best.1.map(|usual| (usual, best.0))
}
