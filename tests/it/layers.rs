//! A module uses only what stands before it in [`MAY_USE`], and inside `analyze` a room only what stands before it in [`ROOMS`].

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Each module of the crate, and which of those before it it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("named", &[]),
    ("opcode", &["wire", "named"]),
    ("checksum", &[]),
    // Messages of upper layers: which headers they begin with.
    ("upper", &["wire", "named", "checksum"]),
    // A model of senders, with nothing but numbers.
    ("dcqcn", &[]),
    // Hints to the processor's cache: it depends on nothing.
    ("prefetch", &[]),
    ("random", &[]),
    // Dates of times.
    ("utc", &[]),
    // How much memory values hold, and how several fields are added.
    ("heap", &[]),
    ("sums", &[]),
    // Sorting that is compiled once.
    ("in_order", &[]),
    // A message as packets: who crafts, simulates or prices one cuts it here.
    ("message", &["wire", "opcode"]),
    // The CRC of Ultra Ethernet, which a dissection looks for.
    ("crc32c", &["wire"]),
    ("dissect", &["wire", "named", "opcode", "checksum", "crc32c", "upper"]),
    // A dissection says where the ICRC is, and which headers come before it.
    ("icrc", &["wire", "named", "checksum", "crc32c", "dissect"]),
    // What people type, and numbers as they read them.
    ("grammar", &["wire"]),
    ("filter", &["wire", "opcode", "dissect", "icrc", "grammar"]),
    ("capture", &["in_order", "wire", "named", "prefetch", "dissect"]),
    // How values are kept in the state of an analysis.
    ("stored", &["wire", "opcode", "upper", "dissect", "icrc", "capture"]),
    // A frame as people and scripts read it; columns have the names that filters have.
    ("frame", &["wire", "named", "utc", "opcode", "upper", "dissect", "icrc", "grammar", "filter"]),
    (
        "craft",
        &[
            "wire", "opcode", "named", "random", "message", "checksum", "crc32c", "dissect", "icrc",
            "grammar", "capture",
        ],
    ),
    // Results as data, and how they are written: its words for services and encapsulations are theirs.
    ("report", &["in_order", "opcode", "named", "utc", "sums", "dissect", "grammar", "stored"]),
    // What hosts say of queue pairs, beside the report.
    ("logs", &["in_order", "dissect", "grammar", "report"]),
    // Rules over a report.
    ("gate", &["in_order", "dissect", "grammar", "report"]),
    // Bytes on the wire, in the types of the report.
    ("wire_cost", &["wire", "opcode", "message", "dissect", "report"]),
    // A scenario is written as records.
    (
        "sim",
        &[
            "in_order",
            "wire",
            "opcode",
            "named",
            "random",
            "message",
            "dissect",
            "icrc",
            "grammar",
            "capture",
            "craft",
            "wire_cost",
            "dcqcn",
        ],
    ),
    (
        "analyze",
        &[
            "in_order",
            "dcqcn",
            "wire",
            "opcode",
            "checksum",
            "upper",
            "prefetch",
            "stored",
            "heap",
            "sums",
            "dissect",
            "icrc",
            "grammar",
            "capture",
            "report",
            "logs",
            "wire_cost",
        ],
    ),
    // What the analysis knows of a frame, as a comment on it.
    ("annotate", &["in_order", "wire", "opcode", "dissect", "icrc", "capture", "report", "analyze"]),
    // Rows of packets, with what the analysis says of each.
    ("packets", &["in_order", "wire", "utc", "dissect", "icrc", "capture", "report", "analyze"]),
    // Several captures of one path: each is analyzed too.
    ("taps", &["in_order", "wire", "opcode", "checksum", "dissect", "icrc", "capture", "report", "analyze"]),
    // What hosts count: a metric, and bounds from the report.
    ("counters", &["wire", "named", "opcode", "sums", "icrc", "report", "analyze"]),
    // What followers of commands have in common, with latencies as the analysis sums them.
    ("follow", &["in_order", "wire", "opcode", "dissect", "icrc", "capture", "report", "analyze"]),
    // Storage commands.
    ("nvme", &["in_order", "wire", "opcode", "upper", "dissect", "capture", "report", "follow"]),
    // Commands of other applications.
    ("commands", &["in_order", "wire", "opcode", "upper", "dissect", "capture", "report", "follow"]),
    // A subnet, as its management datagrams show it.
    ("fabric", &["wire", "opcode", "dissect", "capture", "report", "follow"]),
    // Source ports of queue pairs that the user names as the analysis has them.
    ("entropy", &["in_order", "wire", "named", "dissect", "analyze"]),
    // Pictures of what the analysis has found.
    ("plot", &["in_order", "wire", "report", "analyze", "fabric"]),
    (
        "cli",
        &[
            "wire",
            "opcode",
            "message",
            "dissect",
            "icrc",
            "grammar",
            "filter",
            "frame",
            "craft",
            "sim",
            "capture",
            "report",
            "logs",
            "gate",
            "wire_cost",
            "analyze",
            "annotate",
            "packets",
            "taps",
            "counters",
            "entropy",
            "nvme",
            "commands",
            "fabric",
            "plot",
        ],
    ),
    ("main", &[]),
];

/// The rooms of `analyze`, each of which uses only those before it. `mod` is the module's own file, which shows the rooms' public
/// items.
const ROOMS: &[&str] = &["model", "packet", "track", "table", "network", "metric", "engine", "results"];

/// The modules that a file of the library belongs to: `src/analyze/table/flow.rs` is `analyze::table::flow`.
fn module_of(name: &str) -> Vec<&str> {
    name.trim_end_matches(".rs").split('/').filter(|part| *part != "mod" && *part != "lib").collect()
}

/// Each file of both crates, by its name below `src` or `wire/src`, and what it uses. The upper crate shows the modules of the lower one as its
/// own; that the lower one uses none of the upper one, cargo sees to.
fn uses() -> Vec<(String, BTreeSet<Vec<String>>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of = |src: PathBuf| {
        let all = rust_files(&src).into_iter().map(|file| {
            let name = file.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
            let used = paths_used(&fs::read_to_string(&file).unwrap(), &module_of(&name));
            (name, used)
        });
        all.collect::<Vec<_>>()
    };
    [of(root.join("wire/src")), of(root.join("src"))].concat()
}

#[test]
fn modules_use_only_what_stands_before_them() {
    let mut wrong = Vec::new();
    let mut needed = BTreeSet::new();
    for (name, used) in uses() {
        // The crate's root names its modules, and its documentation's examples use all of them.
        let Some(&module) = module_of(&name).first() else { continue };
        let place = |module: &str| MAY_USE.iter().position(|(m, _)| *m == module);
        let Some(at) = place(module) else {
            wrong.push(format!("src/{name}: `{module}` has no place in the order of {}", file!()));
            continue;
        };
        let used: BTreeSet<&str> = used.iter().filter_map(|path| path.first()).map(String::as_str).collect();
        for used in used {
            let Some((used, place)) = place(used).map(|place| (MAY_USE[place].0, place)) else { continue };
            if place < at && MAY_USE[at].1.contains(&used) {
                needed.insert((MAY_USE[at].0, used));
            } else if place != at {
                wrong.push(format!("src/{name}: `{module}` must not use `{used}`"));
            }
        }
    }
    for (module, permissions) in MAY_USE {
        for used in permissions.iter().filter(|used| !needed.contains(&(*module, **used))) {
            wrong.push(format!("`{module}` does not use `{used}`: no permission is needed"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn rooms_use_only_what_stands_before_them() {
    let (mut wrong, mut edges) = (Vec::new(), 0);
    for (name, used) in uses() {
        let &["analyze", room, ..] = &module_of(&name)[..] else { continue };
        let Some(place) = ROOMS.iter().position(|other| *other == room) else {
            wrong.push(format!("src/{name}: `{room}` has no place among the rooms of {}", file!()));
            continue;
        };
        for path in used.iter().filter(|path| path.first().is_some_and(|first| first == "analyze")) {
            let Some(used) = path.get(1) else {
                wrong.push(format!("src/{name}: `analyze` as a whole is used"));
                continue;
            };
            match ROOMS.iter().position(|other| other == used) {
                Some(other) => {
                    edges += (other != place) as u32;
                    if other > place {
                        wrong.push(format!("src/{name}: `{room}` must not use `{used}`"));
                    }
                }
                // What `analyze` shows again hides which room it is of.
                None => wrong.push(format!("src/{name}: `analyze::{used}` is to be named by its room")),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(edges > 20, "{edges} uses found: the finder is broken");
}

#[test]
fn uses_are_found() {
    let used = |text: &str, module: &str| {
        let paths = paths_used(text, &module_of(module)).into_iter();
        paths.map(|path| path.join("::")).collect::<Vec<_>>()
    };
    assert_eq!(used("use crate::wire::Kind;", "craft.rs"), ["wire::Kind"]);
    assert_eq!(
        used("use crate::{\n  dissect::{note, Link},\n  wire::{self, Bth},\n};", "craft/packet.rs"),
        ["dissect::Link", "dissect::note", "wire", "wire::Bth"]
    );
    assert_eq!(
        used("fn f() { crate::icrc::verify(d); $crate::opcode::x }", "craft.rs"),
        ["icrc::verify", "opcode::x"]
    );
    assert_eq!(used("use rdmawire::{capture::open, wire};", "cli/mod.rs"), ["capture::open", "wire"]);
    assert_eq!(
        used("use super::super::analyze::X; use super::walk;", "dissect/walk/infiniband.rs"),
        ["dissect::analyze", "dissect::walk"]
    );
    assert_eq!(used("use super::flow::Flow;", "analyze/table/mod.rs"), ["analyze::flow"]);
    assert_eq!(used("use super::{flow::Flow, Flows};", "analyze/table/run.rs"), ["analyze::table"]);
    assert_eq!(
        used("use crate::analyze::{model::X, table::{a, b}};", "x.rs"),
        ["analyze::model", "analyze::table"]
    );
    assert_eq!(
        used("// crate::cli\n/// [`crate::cli`]\nlet s = \"crate::cli\\\"crate::cli\";", "x.rs"),
        [""; 0]
    );
    assert_eq!(used("#[cfg(test)]\nmod tests { use crate::cli; }", "x.rs"), [""; 0]);
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}

/// The first two names of all paths from the crate's root on, in a file of this module. Comments, strings and the tests at the
/// file's end do not count.
fn paths_used(text: &str, module: &[&str]) -> BTreeSet<Vec<String>> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    let code = without_comments_and_strings(text);
    let words = words(&code);
    let mut used = BTreeSet::new();
    let mut at = 0;
    while at < words.len() {
        let is_path = |at: usize| words.get(at) == Some(&"::");
        let from: Option<Vec<&str>> = match words[at] {
            "crate" | "rdmawire" if is_path(at + 1) => Some(Vec::new()),
            "super" if is_path(at + 1) => {
                let mut from = module.to_vec();
                from.pop();
                while words.get(at + 2) == Some(&"super") && is_path(at + 3) {
                    from.pop();
                    at += 2;
                }
                Some(from)
            }
            _ => None,
        };
        at += 1;
        if let Some(from) = from {
            let mut rest = &words[at + 1..];
            add_paths(&from, &mut rest, &mut used);
        }
    }
    used
}

/// Adds the paths that begin here: `a::b`, or `{a::{b, c}, d}`; each in two names at most.
fn add_paths(from: &[&str], words: &mut &[&str], used: &mut BTreeSet<Vec<String>>) {
    let put = |path: &[&str], used: &mut BTreeSet<Vec<String>>| {
        used.insert(path.iter().take(2).map(|name| (*name).to_owned()).collect());
    };
    match words.first() {
        Some(&"{") => {
            *words = &words[1..];
            while let Some(&word) = words.first() {
                match word {
                    "}" => {
                        *words = &words[1..];
                        return;
                    }
                    "," => *words = &words[1..],
                    _ => {
                        let before = words.len();
                        add_paths(from, words, used);
                        // Whatever stands there is no path: `as name`.
                        if words.len() == before {
                            *words = &words[1..];
                        }
                    }
                }
            }
        }
        Some(&"self") => {
            *words = &words[1..];
            put(from, used);
        }
        Some(&name) if name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name != "as" => {
            *words = &words[1..];
            let path = [from, &[name]].concat();
            if words.first() == Some(&"::") {
                *words = &words[1..];
                add_paths(&path, words, used);
            } else {
                put(&path, used);
            }
            if words.first() == Some(&"as") {
                *words = words.get(2..).unwrap_or_default();
            }
        }
        Some(&"*") => {
            *words = &words[1..];
            put(from, used);
        }
        _ => put(from, used),
    }
}

fn words(code: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let len = if is_name(first) {
            rest.find(|c| !is_name(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(len);
        if !word.trim().is_empty() {
            words.push(word);
        }
        rest = after;
    }
    words
}

fn without_comments_and_strings(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            1 + string_len(&rest[1..])
        } else if rest.starts_with("'\"'") {
            3
        } else {
            0
        };
        if skip == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[skip..];
        }
    }
    code
}

/// Bytes up to and with the quote that ends a string.
fn string_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return at + 1,
            _ => escaped = false,
        }
    }
    text.len()
}
