//! What README.md shows is what the program prints.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{programs::RDMAWIRE, scratch::Scratch};

/// A command of a block of text, and the lines below it.
struct Shown<'a> {
    command: &'a str,
    lines: Vec<&'a str>,
}

/// The commands of all blocks that begin with a prompt.
fn shown(text: &str) -> Vec<Shown<'_>> {
    let mut all: Vec<Shown> = Vec::new();
    for block in text.split("```text\n").skip(1) {
        let block = block.split("\n```").next().unwrap();
        for line in block.lines() {
            match (line.strip_prefix("$ "), all.last_mut()) {
                (Some(command), _) => all.push(Shown { command, lines: Vec::new() }),
                (None, Some(last)) if block.starts_with("$ ") => last.lines.push(line),
                _ => {}
            }
        }
    }
    all
}

/// Whether these are all the lines, where `…` stands for any number of them.
fn is_of(shown: &[&str], printed: &[&str]) -> bool {
    match shown {
        [] => printed.is_empty(),
        ["…"] => true,
        ["…", rest @ ..] => (0..printed.len()).any(|from| is_of(rest, &printed[from..])),
        [line, rest @ ..] => {
            printed.first().is_some_and(|first| first.trim_end() == *line) && is_of(rest, &printed[1..])
        }
    }
}

/// By a shell, beside what the repository has, as wide as README.md is.
fn run(command: &str, folder: &Path) -> String {
    let beside = Path::new(RDMAWIRE).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path: Vec<PathBuf> = [beside].into_iter().chain(env::split_paths(&path)).collect();
    let output = Command::new("sh")
        .args(["-c", &format!("({command}) 2>&1")])
        .current_dir(folder)
        .env("PATH", env::join_paths(path).unwrap())
        .env("COLUMNS", "120")
        .env("RDMAWIRE_CONFIG", "")
        .env("HOME", folder)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_DATA_HOME")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn commands_print_what_it_shows() {
    let text = fs::read_to_string("README.md").unwrap();
    let all = shown(&text);
    assert!(all.len() > 10, "{} commands", all.len());
    let folder = Scratch::new("readme");
    for name in ["pcaps", "tests", "examples"] {
        symlink(env::current_dir().unwrap().join(name), folder.join(name)).unwrap();
    }
    let mut wrong = String::new();
    for Shown { command, lines } in all {
        // Wireshark as root does not load what is installed for a user; other tests have it.
        if command.starts_with("tshark") {
            continue;
        }
        let printed = run(command, &folder);
        // What is not shown is of no interest there.
        if !lines.is_empty() && !is_of(&lines, &printed.lines().collect::<Vec<_>>()) {
            wrong += &format!("$ {command}\n{printed}\n");
        }
    }
    assert!(wrong.is_empty(), "README.md shows other lines of:\n{wrong}");
}
