//! What each link of a capture carried, and how evenly.

use crate::{
    analyze::metric::{
        Context, bit_rate,
        capture::{CaptureCounts, OfInterface},
        spread,
    },
    report::{Balance, LinkLoad, Reason},
};

/// What each link carried, and how evenly they do. `again`: packets that were recorded again at another place.
pub(super) fn section(
    counts: &CaptureCounts,
    again: u64,
    context: &Context<'_>,
) -> (Vec<LinkLoad>, Result<Balance, Reason>) {
    let lasted_ns = counts.first.map_or(0, |first| counts.last.saturating_sub(first).max(0) as u64);
    let busy: Vec<_> = (0..).zip(counts.interfaces()).filter(|(_, of)| of.frames > 0).collect();
    let load = |&(number, of): &(u16, OfInterface)| LinkLoad {
        link: context.interface(number),
        frames: of.frames,
        bytes: of.bytes,
        flows: of.flows,
        rate_bps: (lasted_ns > 0).then(|| bit_rate(of.bytes, lasted_ns)),
    };
    let links: Vec<LinkLoad> = busy.iter().map(load).collect();
    // Links that are parallel are of one kind: Ethernet beside InfiniBand is another network, or what was left as it was when the rest got
    // another encapsulation.
    let carries = |link_type| busy.iter().any(|(_, of)| of.flows > 0 && of.link_type == link_type);
    let has_flows = busy.iter().any(|(_, of)| of.flows > 0);
    let parallel = busy.iter().filter(|(_, of)| !has_flows || carries(of.link_type));
    let parallel: Vec<LinkLoad> = parallel.map(load).collect();
    let balance = match () {
        () if parallel.len() < 2 => Err(Reason::OneLink),
        // A copy in a hundred packets may be chance, or a mirror that copies twice.
        () if again > counts.packets / 100 => Err(Reason::LinksInSeries),
        () => Ok(balance(&parallel)),
    };
    (links, balance)
}

fn balance(links: &[LinkLoad]) -> Balance {
    let of_bytes = spread(links.iter().map(|link| link.bytes));
    let of_flows = spread(links.iter().map(|link| link.flows));
    Balance {
        links: links.len() as u64,
        jain_bytes: of_bytes.map_or(1.0, |of| of.jain),
        max_over_mean_bytes: of_bytes.map_or(1.0, |of| of.max_over_mean),
        jain_flows: of_flows.map(|of| of.jain),
        max_over_mean_flows: of_flows.map(|of| of.max_over_mean),
    }
}
