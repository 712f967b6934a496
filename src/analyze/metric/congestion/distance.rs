//! How long a receiver takes from a mark to its CNP: which mark a CNP is for.
//!
//! Many marks may come before a CNP, and no packet says which one it answers. But the receiver takes about the same time for each. So of
//! all distances between CNPs and the marks of their flow before them, the true one comes with nearly every CNP, and the others by chance.

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
    /// Learned from CNPs, each with the times of its flow's marks, in order.
    pub(super) fn of<'a>(cnps: impl Iterator<Item = (i64, &'a [i64])>) -> Option<Usual> {
        let mut distances: Vec<(i64, u32)> = Vec::new();
        let mut many = 0u32;
        for (cnp, marks) in cnps.take(MAX_CNPS) {
            let before = distances.len();
            distances.extend(candidates(cnp, marks).map(|mark| (cnp - mark, many)));
            many += (distances.len() > before) as u32;
        }
        distances.sort_unstable();
        let enough = (many as usize).div_ceil(2).max(MIN_CNPS);
        SPREADS.into_iter().find_map(|spread| densest(&distances, many as usize, spread, enough))
    }

    /// The mark that a CNP is for.
    pub(super) fn mark(&self, cnp: i64, marks: &[i64]) -> Option<i64> {
        let is_usual = |mark: &i64| (self.least_ns..=self.most_ns).contains(&(cnp - mark));
        self.nearest(cnp, marks).filter(is_usual)
    }

    /// The mark whose distance is nearest to the usual one.
    pub(super) fn nearest(&self, cnp: i64, marks: &[i64]) -> Option<i64> {
        let usual = i64::midpoint(self.least_ns, self.most_ns);
        candidates(cnp, marks).min_by_key(|mark| (cnp - mark).abs_diff(usual))
    }
}

/// The last marks before a CNP, the latest first.
fn candidates(cnp: i64, marks: &[i64]) -> impl Iterator<Item = i64> + '_ {
    let before = marks.partition_point(|&mark| mark < cnp);
    let near = move |&mark: &i64| cnp.saturating_sub(mark) <= LONGEST_NS;
    marks.iter().take(before).rev().take(MAX_MARKS).copied().take_while(near)
}

/// The shortest of the ranges of this width with distances of most CNPs, if they are enough.
fn densest(
    distances: &[(i64, u32)],
    many: usize,
    (step, spread): (i64, i64),
    enough: usize,
) -> Option<Usual> {
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
        if seen > best.0 {
            best = (seen, Some(Usual { least_ns, most_ns }));
        }
        counts[of as usize] -= 1;
        seen -= (counts[of as usize] == 0) as usize;
    }
    best.1.filter(|_| best.0 >= enough)
}
