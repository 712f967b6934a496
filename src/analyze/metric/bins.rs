//! Bins of time that become longer when there are too many.

/// The multiple of a length that is at a time, or the last one before it.
#[inline(always)]
pub(super) fn floor(time: i64, length: i64) -> i64 {
    time.saturating_sub(time.rem_euclid(length))
}

/// Doubles the length of bins. Those that are one now are merged: the later one into the earlier one.
pub(super) fn coalesce<B>(
    bins: &mut Vec<B>,
    width: &mut i64,
    start: impl Fn(&mut B) -> &mut i64,
    merge: impl Fn(&mut B, &B),
) {
    *width = width.saturating_mul(2);
    bins.dedup_by(|later, bin| {
        let is_same = floor(*start(later), *width) == floor(*start(bin), *width);
        if is_same {
            merge(bin, later);
        }
        is_same
    });
    for bin in bins {
        let start = start(bin);
        *start = floor(*start, *width);
    }
}
