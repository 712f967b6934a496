//! Figures of losses.

use super::value::{Range, Value};
use crate::report::{Bounds, Flow, LossEpisodes, Losses, Reason, Stream};

/// Losses at a place.
pub(super) type At = fn(&Losses) -> Option<Bounds>;

/// Losses at a place: for the reason of that place, or of all places, they may be unknown.
pub(super) fn lost(stream: &Stream, place: &str, at: At) -> Value<'static> {
    let why = stream.why.get(place).or(stream.why.get("losses")).copied().unwrap_or(Reason::PartialPath);
    Value::bounds(at(&stream.losses), why)
}

/// As [`Losses::on_network`]: without acknowledgements, which are packets of the other direction.
pub(super) fn on_network(stream: &Stream) -> Value<'static> {
    let places: [(&str, At); 4] = [
        ("losses.upstream", |at| at.upstream),
        ("losses.downstream", |at| at.downstream),
        ("losses.corrupt", |at| at.corrupt),
        ("losses.trimmed", |at| at.trimmed),
    ];
    let ranges = places.into_iter().filter_map(|(place, at)| lost(stream, place, at).range());
    let [elsewhere, _] = stream.losses.unknown.unwrap_or_default();
    let all = ranges.reduce(|a, b| a.plus(b));
    all.map_or(Value::Absent, |all| Value::Number(Range { least: all.least + elsewhere as f64, ..all }))
}

/// Losses that the capture shows, of requests and responses.
pub(super) fn episodes(flow: &Flow, of: fn(&LossEpisodes) -> u64) -> Value<'static> {
    Value::exact(of(&flow.requests.loss_episodes) + of(&flow.responses.loss_episodes))
}
