//! A module uses only what stands left of it:
//! wire → opcode → checksum, fetch → dissect → icrc → cost, filter, craft, capture → frame, analyze → cli → main; report depends on nothing.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Each module of the crate, and which others it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("opcode", &["wire"]),
    ("checksum", &[]),
    // Lines of the cache: it knows nobody.
    ("fetch", &[]),
    ("dissect", &["wire", "opcode", "checksum"]),
    // It needs to be told where the ICRC is, and which headers are before it.
    ("icrc", &["wire", "opcode", "checksum", "dissect"]),
    ("filter", &["wire", "opcode", "checksum", "dissect", "icrc"]),
    ("capture", &["wire", "opcode", "checksum", "fetch", "dissect", "icrc"]),
    // A frame as people and scripts read it; columns have the names that filters have.
    ("frame", &["wire", "opcode", "checksum", "dissect", "icrc", "filter"]),
    // A scenario is written as records.
    ("craft", &["wire", "opcode", "checksum", "dissect", "icrc", "capture"]),
    // Results as data, and their clothes: whoever has results may use it, and it knows nobody.
    ("report", &[]),
    // Bytes on the wire, in the report's words.
    ("cost", &["wire", "opcode", "dissect", "report"]),
    (
        "analyze",
        &[
            "wire", "opcode", "checksum", "fetch", "dissect", "icrc", "filter", "craft", "capture", "report",
            "cost",
        ],
    ),
    (
        "cli",
        &[
            "wire", "opcode", "checksum", "dissect", "icrc", "filter", "frame", "craft", "capture", "report",
            "cost", "analyze",
        ],
    ),
    ("main", &["cli"]),
];

/// Uses that go the other way, and why.
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("wire/bth.rs", "opcode", "the BTH's first field is an operation code, whose table names headers")];

#[test]
fn modules_use_only_what_stands_left_of_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut excused = BTreeSet::new();
    let mut edges = 0;
    for file in rust_files(&src) {
        let name = file.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
        let path: Vec<&str> =
            name.trim_end_matches(".rs").split('/').filter(|part| *part != "mod" && *part != "lib").collect();
        // The crate's root names its modules, and its documentation's examples use all of them.
        let Some(&module) = path.first() else { continue };
        let Some((_, allowed)) = MAY_USE.iter().find(|(m, _)| *m == module) else {
            wrong.push(format!("src/{name}: `{module}` has no place in the order of {}", file!()));
            continue;
        };
        for used in modules_used(&fs::read_to_string(&file).unwrap(), path.len()) {
            if used == module || !MAY_USE.iter().any(|(m, _)| *m == used) {
                continue;
            }
            edges += 1;
            if allowed.contains(&used.as_str()) {
                continue;
            }
            match EXCEPTIONS.iter().position(|(f, m, _)| *f == name && *m == used) {
                Some(at) => _ = excused.insert(at),
                None => wrong.push(format!("src/{name}: `{module}` must not use `{used}`")),
            }
        }
    }
    for (at, (file, used, _)) in EXCEPTIONS.iter().enumerate() {
        if !excused.contains(&at) {
            wrong.push(format!("src/{file} does not use `{used}` any more: no exception is needed"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(edges > 5, "{edges} uses found: the finder is broken");
}

#[test]
fn the_order_has_no_circle() {
    for (at, (module, uses)) in MAY_USE.iter().enumerate() {
        for used in *uses {
            let place = MAY_USE.iter().position(|(m, _)| m == used);
            assert!(place.is_some_and(|place| place < at), "{module} uses {used}");
        }
    }
}

#[test]
fn uses_are_found() {
    let used = |text: &str, depth| modules_used(text, depth).into_iter().collect::<Vec<_>>();
    assert_eq!(used("use crate::wire::Kind;", 1), ["wire"]);
    assert_eq!(
        used("use crate::{\n  dissect::{note, Link},\n  wire::{Bth, Kind},\n};", 2),
        ["dissect", "wire"]
    );
    assert_eq!(used("fn f() { crate::icrc::verify(d); $crate::opcode::x }", 1), ["icrc", "opcode"]);
    assert_eq!(used("use rdmawire::{capture::open, wire};", 1), ["capture", "wire"]);
    assert_eq!(used("use super::super::analyze::X; use super::walk;", 2), ["analyze"]);
    assert_eq!(used("use super::{Kind, value::Psn};", 2), [""; 0]);
    assert_eq!(used("use super::wire;", 1), ["wire"]);
    assert_eq!(used("// crate::cli\n/// [`crate::cli`]\nlet s = \"crate::cli\\\"crate::cli\";", 1), [""; 0]);
    assert_eq!(used("#[cfg(test)]\nmod tests { use crate::cli; }", 1), [""; 0]);
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

/// The first names of all paths that start at the crate's root, in a file whose module path has `depth` names.
/// Comments, strings and the tests at the file's end do not count.
fn modules_used(text: &str, depth: usize) -> BTreeSet<String> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    let code = without_comments_and_strings(text);
    let words = words(&code);
    let mut used = BTreeSet::new();
    let mut at = 0;
    while at < words.len() {
        let root = match words[at] {
            "crate" | "rdmawire" => {
                at += 1;
                true
            }
            "super" => {
                let mut supers = 1;
                while words.get(at + 1) == Some(&"::") && words.get(at + 2) == Some(&"super") {
                    supers += 1;
                    at += 2;
                }
                at += 1;
                supers >= depth
            }
            _ => {
                at += 1;
                false
            }
        };
        if root && words.get(at) == Some(&"::") {
            used.extend(first_names(&words[at + 1..]));
        }
    }
    used
}

/// `a::b` gives a; `{a::{b, c}, d}` gives a and d.
fn first_names(words: &[&str]) -> Vec<String> {
    if words.first() != Some(&"{") {
        return words.first().into_iter().map(|word| word.to_string()).collect();
    }
    let (mut depth, mut names, mut fresh) = (0, Vec::new(), true);
    for &word in words {
        match word {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," => fresh |= depth == 1,
            name if depth == 1 && fresh => {
                names.push(name.to_string());
                fresh = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
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
