//! DCQCN's reaction point, replayed with the CNPs of a flow, beside the rate that was measured. It is a model: it knows the CNPs, and
//! nothing of what else limits the sender.

use crate::{
    analyze::metric::{bins::Axis, bit_rate},
    dcqcn::{ReactionPoint, SETS},
    in_order::InOrder,
    report::{Dcqcn, DcqcnModel, Reason},
};

/// Flows that are replayed: those with most CNPs.
pub(super) const MAX_FLOWS: usize = 16;
/// Cells in which rates are compared: so many at least, and at most, with so many bytes each at least.
const LEAST_CELLS: usize = 8;
const MOST_CELLS: usize = 256;
const CELL_BYTES: u64 = 16 << 10;
/// A longer time is not replayed.
const LONGEST_NS: i64 = 1_000_000_000;
/// Rates of the model are taken so often in a cell.
const SAMPLES: u64 = 16;
/// A model that is not farther off fits.
const FITS: f64 = 0.15;

/// What is replayed.
pub(super) struct Replay<'a> {
    pub(super) axis: Axis,
    /// Bytes on the wire by bin.
    pub(super) rate: &'a [u32],
    /// Times of the CNPs.
    pub(super) cnps: &'a [i64],
    /// The link's speed in bit/s, where it is known, and the flow's rate before its first CNP.
    pub(super) speed_bps: Option<u64>,
    pub(super) before_bps: Option<u64>,
}

impl Replay<'_> {
    /// Compares all sets of parameters.
    ///
    /// # Errors
    /// Why that is impossible.
    pub(super) fn run(&self) -> Result<Dcqcn, Reason> {
        let &first = self.cnps.first().ok_or(Reason::TooFew)?;
        let start_bps =
            self.speed_bps.or(self.before_bps).filter(|&bps| bps > 0).ok_or(Reason::UnknownSpeed)?;
        let bins = self.cells(first).ok_or(Reason::TooFew)?;
        let Cells { cell_ns, start_ns, .. } = bins;
        let measured = &self.rate[bins.from..bins.from + bins.width as usize * bins.cells];
        let measured: Vec<u64> = bins.rates(measured).collect();
        let mut models: Vec<(DcqcnModel, Vec<u64>)> = Vec::new();
        let mut add = |name: &str, source: &str, rates: Vec<u64>| {
            let model = DcqcnModel {
                name: name.into(),
                source: source.into(),
                mean_bps: mean(&rates) as u64,
                error_ratio: error(&rates, &measured),
            };
            models.push((model, rates));
        };
        for set in SETS {
            add(
                set.name,
                set.source,
                self.model(ReactionPoint::new(set, start_bps), start_ns, cell_ns, measured.len()),
            );
        }
        // A sender that ignores CNPs has the rate that it had.
        let kept = self.before_bps.unwrap_or(start_bps).min(start_bps);
        add("none", "the sender ignores CNPs", vec![kept; measured.len()]);
        models.order_by(|(a, _), (b, _)| a.error_ratio.total_cmp(&b.error_ratio));
        let (best, rates) = models.first().cloned().ok_or(Reason::TooFew)?;
        Ok(Dcqcn {
            start_bps,
            start_is_speed: self.speed_bps.is_some(),
            fits: best.error_ratio <= FITS,
            best: best.name,
            error_ratio: best.error_ratio,
            models: models.into_iter().map(|(model, _)| model).collect(),
            start_ns,
            cell_ns: cell_ns.unsigned_abs(),
            measured_bps: measured,
            model_bps: rates,
        })
    }

    /// The lowest and the highest mean rate, in bit/s, that senders which react to these CNPs would have, by all sets of parameters, if nothing else limited
    /// them: from the link's speed on, or the fastest that it sent, where that is not known.
    pub(super) fn of_reacting(&self) -> Option<[f64; 2]> {
        let bins = self.cells(*self.cnps.first()?)?;
        let Cells { cell_ns, start_ns, .. } = bins;
        let fastest = || bins.rates(self.rate).max();
        let start_bps = self.speed_bps.or_else(fastest).filter(|&bps| bps > 0)?;
        // Behind the last CNP, it is faster again.
        let lasted = self.cnps.last()?.saturating_sub(start_ns).max(0);
        let cells = bins.cells.min(usize::try_from(lasted / cell_ns).ok()? + 1);
        let means = SETS
            .iter()
            .map(|set| mean(&self.model(ReactionPoint::new(set, start_bps), start_ns, cell_ns, cells)));
        means.fold(None, |range, mean| {
            let [least, most] = range.unwrap_or([mean; 2]);
            Some([mean.min(least), mean.max(most)])
        })
    }

    /// The bins from the first CNP to the flow's last data, in cells.
    fn cells(&self, first_cnp: i64) -> Option<Cells> {
        let from = self.axis.index(first_cnp.max(self.axis.origin_ns))?;
        let most = usize::try_from(LONGEST_NS / self.axis.width_ns).ok()?;
        // The last bin may be there in part.
        let bins = self.rate.get(from..self.rate.len().saturating_sub(1))?;
        let bins = &bins[..bins.len().min(most)];
        let bytes: u64 = bins.iter().map(|&bytes| bytes as u64).sum();
        let cells = usize::try_from(bytes / CELL_BYTES).ok()?.min(MOST_CELLS).min(bins.len());
        if cells < LEAST_CELLS {
            return None;
        }
        let width = bins.len().div_ceil(cells);
        let cell_ns = width as i64 * self.axis.width_ns;
        let start_ns = self.axis.start_ns(from as i64);
        Some(Cells { from, width: width as i64, cells: bins.len() / width, cell_ns, start_ns })
    }

    /// The rates of a sender with these parameters, on average in each cell.
    fn model(&self, mut sender: ReactionPoint, start_ns: i64, cell_ns: i64, cells: usize) -> Vec<u64> {
        let &begin = self.cnps.first().unwrap_or(&start_ns);
        let begin = begin.min(start_ns);
        let since = |time: i64| time.saturating_sub(begin).max(0).unsigned_abs();
        let mut cnps = self.cnps.iter().map(|&time| since(time)).peekable();
        let mut rates = Vec::with_capacity(cells);
        for cell in 0..cells as i64 {
            let start = since(start_ns + cell * cell_ns);
            let mut sum = 0u128;
            for sample in 0..SAMPLES {
                let time = start + cell_ns.unsigned_abs() * (2 * sample + 1) / (2 * SAMPLES);
                while let Some(cnp) = cnps.next_if(|&cnp| cnp <= time) {
                    sender.cnp(cnp);
                }
                sum += sender.rate(time) as u128;
            }
            rates.push((sum / SAMPLES as u128) as u64);
        }
        rates
    }
}

struct Cells {
    from: usize,
    /// Bins of a cell.
    width: i64,
    cells: usize,
    /// How long a cell is, and when the first one begins.
    cell_ns: i64,
    start_ns: i64,
}

impl Cells {
    /// The bit rate of each whole cell of these bins.
    fn rates<'a>(&self, bins: &'a [u32]) -> impl Iterator<Item = u64> + use<'a> {
        let ns = self.cell_ns.unsigned_abs();
        let sent = |cell: &[u32]| cell.iter().map(|&bytes| u64::from(bytes)).sum();
        bins.chunks_exact(self.width as usize).map(move |cell| bit_rate(sent(cell), ns))
    }
}

fn mean(rates: &[u64]) -> f64 {
    rates.iter().map(|&rate| rate as f64).sum::<f64>() / rates.len().max(1) as f64
}

/// How far rates are from those that were measured, on average, as a share of the average that was measured.
fn error(rates: &[u64], measured: &[u64]) -> f64 {
    let off: f64 = rates.iter().zip(measured).map(|(&a, &b)| a.abs_diff(b) as f64).sum();
    off / measured.len().max(1) as f64 / mean(measured).max(1.0)
}
