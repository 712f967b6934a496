//! Suggestions for misspelt names.

/// The names that come nearest to a word, at most three: those whose last part it is or begins, then those with the fewest letters to change.
pub fn nearest(word: &str, names: impl Iterator<Item = String>) -> Vec<String> {
    // Names are short: no suggestions for long words.
    if word.len() > 64 {
        return Vec::new();
    }
    let mut near: Vec<(usize, usize, String)> = names
        .map(|name| {
            let last = name.rsplit('.').next().unwrap_or_default();
            let (near, len) = match last.strip_prefix(word) {
                Some("") => (0, 0),
                // `time` of `frame.time_ns`, before longer names.
                Some(more) if more.starts_with('_') => (1, name.len()),
                _ => (distance(word, &name), 0),
            };
            (near, len, name)
        })
        .filter(|(distance, _, name)| *distance <= 1 + name.len().max(word.len()) / 3)
        .collect();
    near.sort();
    near.dedup();
    let best = near.first().map_or(0, |(distance, ..)| *distance);
    near.retain(|(distance, ..)| *distance == best);
    near.into_iter().take(3).map(|(.., name)| name).collect()
}

/// The operation codes that may be meant, as they are typed: those of which a part begins so, `rc-acknowledge` for `ack`; else the [`nearest`]. `all`:
/// their names, `RC_ACKNOWLEDGE`.
pub fn nearest_code<'a>(word: &str, all: impl Iterator<Item = &'a str>) -> Vec<String> {
    const MOST: usize = 3;
    let typed = |name: &str| name.to_ascii_lowercase().replace(['_', ' '], "-");
    let (word, all) = (typed(word), all.map(typed).collect::<Vec<_>>());
    let begins = |name: &&String| word.len() > 1 && name.split('-').any(|part| part.starts_with(&word));
    let parts: Vec<String> = all.iter().filter(begins).take(MOST).cloned().collect();
    let near = nearest(&word, all.iter().cloned());
    if let Some(found) = [parts, near].into_iter().find(|found| !found.is_empty()) {
        return found;
    }
    // `rc-wrte`: so many parts of each are compared.
    let len = word.split('-').count();
    let start = |name: &str| name.split('-').take(len).collect::<Vec<_>>().join("-");
    let near = nearest(&word, all.iter().map(|name| start(name)));
    all.into_iter().filter(|name| near.contains(&start(name))).take(MOST).collect()
}

/// "; did you mean a or b?" of the [`nearest`] names, and `otherwise` where there are none.
pub fn did_you_mean(near: &[String], otherwise: &str) -> String {
    match near {
        [] => otherwise.to_owned(),
        near => format!("; did you mean {}?", near.join(" or ")),
    }
}

/// Letters to insert, delete, replace or swap with their neighbour, letter case aside.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase().into_bytes(), b.to_ascii_lowercase().into_bytes());
    let mut before = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let is_swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
            let swapped = if is_swapped { before[j - 1] + 1 } else { usize::MAX };
            let replaced = row[j] + usize::from(a[i] != b[j]);
            next.push(replaced.min(swapped).min(row[j + 1] + 1).min(next[j] + 1));
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}
