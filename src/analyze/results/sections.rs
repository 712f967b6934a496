//! All sections of a report but its long lists: each metric makes its own, and what needs several of them is joined here. No metric
//! reads the section of another but as an argument.

use super::{links, lists::Index, rows::leave_out_short_times, see_also};
use crate::{
    analyze::{
        engine::Tracker,
        metric::{
            BuiltIn, Context, Each,
            congestion::SeenWays,
            each,
            paths::judge_shared,
            setup::{Passed, Setups, Traffic},
            traffic::Known,
            verdict::SlowFlows,
        },
        model::{Address, FlowId},
        network::{HostSpeeds, Ways, pause::PauseRows},
    },
    report::{self, Head, Reason, Why},
};

/// What stands at the head of the report. `capture`: the counts of the capture; `index`: its flows.
pub(super) fn head(
    tracker: &Tracker,
    built_in: &BuiltIn,
    context: &Context<'_>,
    capture: report::Capture,
    index: &Index<'_>,
) -> Head {
    let Each {
        collectives,
        one_sided: _,
        named,
        overhead,
        congestion,
        incast,
        verdicts,
        entropy,
        rate,
        traffic,
        credits,
        setups,
        uet,
    } = each(built_in);
    let mut why = Why::new();
    let again = tracker.config.copying.elsewhere();
    let (mut mrc, of_mrc) = tracker.mrc.section(|id| context.flow(id));
    let mut paths = entropy.paths(|id| context.flow(id));
    // Their paths are those of MRC.
    paths.retain(|path| !of_mrc.iter().any(|mrc| mrc.flow.is_some() && mrc.flow == path.flow));
    paths.extend(of_mrc);
    let (mut contexts, uet_counts, uet_packets) = uet.section();
    paths.extend(uet.paths());
    let ports = entropy.section(|id| context.flow(id));
    judge_shared(&mut paths);
    if let Some(step_ns) = tracker.step_ns() {
        leave_out_short_times((&mut mrc, &mut contexts), &mut paths, step_ns);
    }
    let (telemetry, csig) = tracker.written.section();
    let (links, balance) = links::section(&tracker.capture, again, context);
    for path in paths.iter_mut().filter(|_| links.len() > 1) {
        path.link = path.interface.map(|number| context.interface(number));
    }
    let speeds = HostSpeeds::new(&tracker.network, passed(tracker));
    let incast = &incast.judged(&speeds, tracker.step_ns().unwrap_or_else(|| tracker.resolution_ns()));
    let retired = tracker.retired.iter().map(|retired| &*retired.flow);
    let flows = tracker.flows.flows.iter().filter(|flow| flow.packets > 0).chain(retired);
    let flows = flows.filter(|_| congestion.is_any());
    let seen = SeenWays::of(flows.map(|flow| (flow.key.source(), flow.key.destination())));
    let congestion = congestion.section_with_flows(context, incast, &seen);
    let incasts = incast.section();
    let ways = ways(tracker);
    let mut pauses = context.network.pause_rows(&capture, &congestion, &ways, tracker.leaves_out());
    pauses.set_receivers(&incast.receivers());
    let times_of_incast = incasts.as_ref().map_or(0, Vec::len);
    let slow = verdicts.section(context, (incast, times_of_incast), &pauses);
    join_pauses(&mut pauses, &slow, tracker, &ways);
    let clear_to_send = collectives.clear_to_send().collect();
    let (traffic_classes, qos) =
        traffic.section(context, pauses.rows.as_deref().map_err(|why| *why), &clear_to_send);
    let stopped_ns = |id| verdicts.stopped_ns(id);
    let are_timed = match &pauses.rows {
        Err(why) => Err(*why),
        Ok(rows) if rows.iter().any(|row| row.paused_ns.is_none()) => Err(why_untimed(rows)),
        Ok(_) => Ok(&stopped_ns as &dyn Fn(FlowId) -> u64),
    };
    let of_others = Known { clear_to_send, stopped_ns: are_timed };
    let (pair_classes, pair_class_count) = traffic.by_pair(context, &of_others);
    let (interval_ns, intervals) = known(&mut why, "intervals", rate.section()).unzip();
    let pause = known(&mut why, "pause", pauses.rows);
    if let Some(reason) = slow.why {
        why.insert("slow_flows".into(), reason);
    }
    let [setup_messages_cut, setup_messages_unread] = setups.cut();
    let see_also = see_also::of(setups, named, traffic);
    let (setups, setup_count) = setups.section(&traffic_of(setups, index), tracker.capture.last);
    Head {
        schema: report::SCHEMA.into(),
        capture,
        setups,
        setup_count,
        see_also,
        setup_messages_cut,
        setup_messages_unread,
        pause,
        pause_faults: pauses.faults,
        pause_tree: known(&mut why, "pause_tree", pauses.tree),
        slow_flows: slow.flows,
        slow_flow_count: slow.count,
        congestion,
        traffic_classes,
        pair_classes,
        pair_class_count,
        pair_classes_not_kept: traffic.not_by_pair(),
        qos,
        incast: known(&mut why, "incast", incasts),
        microbursts: tracker.bursts.section(tracker.resolution_ns()),
        credits: credits.section(context),
        bad_lpcrcs: credits.bad_crcs(),
        overhead: overhead.section(),
        ports: ports.map(|ports| report::Ports {
            lost_unattributed: ports.lost_unattributed + tracker.mrc.lost_unattributed(),
            ..ports
        }),
        paths,
        mrc,
        uet: contexts,
        uet_counts,
        uet_packets,
        telemetry,
        csig,
        trimmed: tracker.trims.section(tracker.options.trim.as_ref()),
        links,
        balance: known(&mut why, "balance", balance),
        interval_ns,
        intervals,
        collectives: collectives.section(context.network, tracker.capture.last),
        why,
        ..Head::default()
    }
}

/// The flows of connections that the connection manager set up.
fn traffic_of<'a>(setups: &Setups, index: &'a Index<'a>) -> Traffic<'a> {
    let mut flows = setups.keys();
    if !flows.is_empty() {
        for (at, flow) in index.in_memory() {
            if let Some(passed) = flows.get_mut(&flow.key) {
                let (first_ns, last_ns) = (flow.first_time, flow.last_time);
                passed.push(Passed { at, connection: index.connection(at), first_ns, last_ns });
            }
        }
    }
    Traffic { flows, goes: Box::new(|key| index.goes(key)) }
}

/// The section, or the reason why there is none.
fn known<T>(why: &mut Why, field: &'static str, section: Result<T, Reason>) -> Option<T> {
    section.map_err(|reason| why.insert(field.into(), reason)).ok()
}

/// Which way packets went on each interface, where that says something of pauses.
fn ways(tracker: &Tracker) -> Ways {
    let mut ways = Ways::default();
    if tracker.network.pauses.stop_any() {
        passed(tracker).for_each(|(interface, src, dst)| ways.add(interface, src, dst));
    }
    ways
}

/// On which interfaces packets were captured, and whose.
fn passed(tracker: &Tracker) -> impl Iterator<Item = (u16, Address, Address)> {
    let passages = &tracker.network.passages;
    let flows = (0..).map(FlowId).zip(&tracker.flows.flows).filter(|(_, flow)| flow.packets > 0);
    flows.flat_map(|(id, flow)| {
        let others = passages.of(id).iter().map(|passage| passage.interface);
        let ends = (flow.key.source(), flow.key.destination());
        passages.first(id).into_iter().chain(others).map(move |interface| (interface, ends.0, ends.1))
    })
}

/// Why the times of some of these pauses are not known.
fn why_untimed<'a>(rows: impl IntoIterator<Item = &'a report::Pause>) -> Reason {
    let mut whys = rows.into_iter().filter_map(|row| row.why.get("paused_ns"));
    whys.next().copied().unwrap_or(Reason::UnknownSpeed)
}

/// What pauses did to flows: in the rows of pauses, and at their culprits.
fn join_pauses(pauses: &mut PauseRows, slow: &SlowFlows, tracker: &Tracker, ways: &Ways) {
    let network = &tracker.network;
    // Where one interface taps several links, nothing says which of them a pause stopped, and what passes another one hides it.
    let is_unclear = |interface: u16| {
        !network.pauses.taps_known_link(interface) && tracker.config.copying.is_of_several_links(interface)
    };
    let effect = |pauses: &PauseRows, number: Option<u8>| {
        let number = number.ok_or(Reason::MemoryLimit)?;
        let source = network.pauses.source(number).ok_or(Reason::MemoryLimit)?;
        if is_unclear(source.interface) {
            return Err(Reason::RecordedTwice);
        }
        let effect =
            slow.effects.get(usize::from(number)).copied().unwrap_or(Ok(report::PauseEffect::default()))?;
        // Nobody was stopped: that is sure only where something could have been seen.
        match effect.flows > 0 || pauses.shows(&network.pauses, source, ways) {
            true => Ok(effect),
            false => Err(Reason::OneWay),
        }
    };
    let effects: Vec<_> = pauses.numbers.iter().map(|&number| effect(pauses, number)).collect();
    for (row, effect) in pauses.rows.iter_mut().flatten().zip(effects) {
        let effect = if row.paused_ns.is_some() { effect } else { Err(why_untimed([&*row])) };
        match effect {
            Ok(effect) => row.effect = Some(effect),
            Err(why) => _ = row.why.insert("effect".into(), why),
        }
    }
    let Ok(tree) = &mut pauses.tree else { return };
    for (&culprit, (count, flows)) in &slow.victims {
        if let Some(culprit) = tree.culprits.get_mut(culprit) {
            (culprit.flow_count, culprit.flows) = (*count, flows.clone());
        }
    }
}
