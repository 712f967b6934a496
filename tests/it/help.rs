//! Help, completions, manual pages and the configuration file. Each example of `--help` is run.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use crate::support::{
    programs::{RDMAWIRE, cli, path_with_duckdb},
    scratch::Scratch,
};

fn run(arguments: &[&str], folder: &Path, config: &str) -> Output {
    let mut command = cli();
    command.args(arguments).current_dir(folder).env("RDMAWIRE_CONFIG", config).env("COLUMNS", "200");
    command.output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments, Path::new("."), "");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The names that `--help` lists.
fn commands() -> Vec<String> {
    let help = stdout(&["--help"]);
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[cfg(feature = "compression")]
fn examples(command: &str) -> Vec<String> {
    let help = stdout(&[command, "--help"]);
    let lines = help.split("Examples:\n").nth(1).unwrap_or_default().lines();
    lines.map_while(|line| line.strip_prefix("  ")).map(str::to_owned).collect()
}

#[test]
#[cfg(feature = "compression")]
fn examples_of_the_help_run() {
    let folder = Scratch::new("help");
    let path = |name: &str| folder.join(name);
    for (from, to) in [
        ("pcaps/loss1_rc_write-B-300.pcap", "x.pcap"),
        ("pcaps/loss1_rc_write-A.pcap.zst", "host-a.pcap"),
        ("pcaps/loss1_rc_write-B.pcap.zst", "host-b.pcap"),
        ("pcaps/loss1_rc_read-A.pcap.zst", "leaf1.pcap"),
        ("pcaps/loss1_rc_read-B.pcap.zst", "leaf2.pcap"),
        ("pcaps/loss1_rc_read-A.pcap.zst", "spine.pcap"),
        ("pcaps/loss1_rc_read-B.pcap.zst", "leaf2.pcap.zst"),
    ] {
        fs::copy(from, path(to)).unwrap();
    }
    for (to, capture) in [("before.json", "host-a.pcap"), ("after.json", "host-b.pcap")] {
        let report = run(&["analyze", "--json", capture], &folder, "").stdout;
        fs::write(path(to), report).unwrap();
    }
    fs::write(path("qps.csv"), "10.0.0.1,0x11,10.0.0.2,0x12\n10.0.0.1,0x21,10.0.0.2,0x22\n").unwrap();
    fs::write(
        path("nccl.log"),
        "NET/IB: Got completion from peer 10.77.0.2<1> with status=IBV_WC_RETRY_EXC_ERR(12)\n",
    )
    .unwrap();
    fs::write(path("gates.toml"), "[[rule]]\nname = \"quiet\"\ncheck = \"retransmits == 0\"\n").unwrap();
    fs::write(path("query.sql"), "select src, dst, packets from flows_once;\n").unwrap();
    let counters = "packet_seq_err: 0\nout_of_sequence: 0\n";
    fs::write(path("before.txt"), counters).unwrap();
    fs::write(path("after.txt"), counters).unwrap();
    let scenario = fs::read_dir("examples/scenarios").unwrap().map(|entry| entry.unwrap().path());
    let mut scenarios: Vec<_> =
        scenario.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    scenarios.sort();
    fs::copy(&scenarios[0], path("scenario.toml")).unwrap();

    let report: serde_json::Value =
        serde_json::from_slice(&run(&["analyze", "--json", "x.pcap"], &folder, "").stdout).unwrap();
    let host = report["flows"][0]["src"].as_str().unwrap();
    for command in commands() {
        let lines = examples(&command);
        assert!(lines.len() >= 2, "{command}: {} examples", lines.len());
        let path = match command.as_str() {
            "sql" => path_with_duckdb(),
            _ => std::env::var_os("PATH"),
        };
        let Some(path) = path else { continue };
        let search = format!("{}:{}", Path::new(RDMAWIRE).parent().unwrap().display(), path.display());
        for line in lines {
            // Examples name hosts that this capture does not have. An example must never reach a real interface: a test
            // that runs as root would send and capture there.
            let is_live = line.contains(" -i eth0");
            let line = line.replace("10.0.0.1", host).replace("eth0", "no-such-port");
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(&*folder).env("PATH", &search).env("HOME", &*folder);
            let output = shell.env("RDMAWIRE_CONFIG", "").env_remove("XDG_CONFIG_HOME").output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            let is_undecided = errors.contains("rules that cannot be decided");
            assert!(!errors.contains("Usage:"), "{line}: {errors}");
            if is_live {
                assert!(errors.contains("no-such-port"), "{line}: {errors}");
                continue;
            }
            // Rules may be broken: exit status 1.
            assert!(is_undecided || matches!(output.status.code(), Some(0 | 1)), "{line}: {errors}");
        }
    }
}

/// What is wrong with a number is said in plain words, with its unit where it could mean several things.
#[test]
fn wrong_numbers_are_told_in_plain_words() {
    for (arguments, says) in [
        (&["analyze", "--top", "x", "a"][..], "'--top <N>': expected a whole number\n"),
        (&["analyze", "--threads", "", "a"], "expected a whole number\n"),
        (&["analyze", "--max-flows", "99999999999999999999", "a"], "expected a number from 1 to"),
        (&["analyze", "--roce-port", "99999", "a"], "expected a number from 1 to 65535\n"),
        (&["analyze", "--roce-port", "1,2,3", "a"], "--roce-port: at most 2 can be given, and there are 3\n"),
        (&["dissect", "--roce-port", "1", "--roce-port=2,3", "a"], "--roce-port: at most 2 can be given"),
        (
            &["dissect", "--decap", "1=gre,2=gre,3=gre,4=gre,5=gre", "a"],
            "--decap: at most 4 can be given, and there are 5\n",
        ),
        (&["rewrite", "--trim", "128", "--trim-every", "0", "a", "b"], "expected a number from 1 to"),
        (&["rewrite", "--trim", "53", "a", "b"], "expected a number from 54 to 4294967295\n"),
        (&["rewrite", "--trim", "128", "--dscp", "64", "a", "b"], "expected a number from 0 to 63\n"),
        (&["analyze", "--every", "10", "a"], "no unit: 10us, 10ms or 10s?"),
        (&["analyze", "--max-memory", "512", "a"], "no unit: 512K, 512M or 512G?"),
        (&["rewrite", "--snaplen", "0", "a", "b"], "expected from 1 to 4294967295 bytes\n"),
    ] {
        let output = run(arguments, Path::new("."), "");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(error.contains(says) && error.contains("try '--help'"), "{arguments:?}: {error}");
    }
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(&["completions", shell]);
        for command in commands() {
            assert!(text.contains(&command), "{shell}: {command}");
        }
        assert!(text.contains("reorder-window"), "{shell}");
    }
    let folder = Scratch::new("help");
    stdout(&["man", "--output", folder.to_str().unwrap()]);
    for command in commands() {
        let page = fs::read_to_string(folder.join(format!("rdmawire-{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains("Examples:"), "{command}");
    }
    assert!(!folder.join("rdmawire-extcap.1").exists());
    assert_eq!(stdout(&["man"]), fs::read_to_string(folder.join("rdmawire.1")).unwrap());
}

#[test]
#[cfg(feature = "compression")]
fn options_of_the_configuration_file_are_defaults() {
    let folder = Scratch::new("help");
    let file = folder.join("config.toml");
    let name = file.to_str().unwrap();
    let capture = fs::canonicalize("pcaps/loss1_rc_write-B-300.pcap").unwrap();
    let capture = capture.to_str().unwrap();
    let write = |text: &str| fs::write(&file, text).unwrap();
    let answer = |arguments: &[&str], config: &str| {
        let output = run(arguments, &folder, config);
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), text)
    };

    write("roce-port = 4000\n[dissect]\ncount = 2\n");
    let lines = |config: &str, more: &[&str]| {
        let (code, text) = answer(&[&["dissect", capture], more].concat(), config);
        assert_eq!(code, Some(0), "{text}");
        text.lines().count()
    };
    assert_eq!(lines(name, &[]), 2);
    assert_eq!(lines(name, &["-c", "5"]), 5);
    assert_eq!(lines("", &[]), 300);
    assert_eq!(lines("", &["--config", name]), 2);
    let flows = |config: &str, more: &[&str]| {
        let (code, text) = answer(&[&["analyze", "--json", capture], more].concat(), config);
        assert_eq!(code, Some(0), "{text}");
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        report["flows"].as_array().unwrap().len()
    };
    assert_eq!(flows(name, &[]), 0);
    assert!(flows(name, &["--roce-port", "4791"]) > 0);
    assert!(answer(&["analyze", "--help"], name).1.contains("[default: 4000]"));
    // Files are beside the configuration file.
    fs::write(folder.join("qps.csv"), "10.0.0.1,0x11\n").unwrap();
    write("qp-map = \"qps.csv\"\n");
    let output = run(&["analyze", capture], Path::new("/"), name);
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 1: expected ADDRESS,QP"), "{output:?}");

    for (text, error) in [
        ("sped = \"400G\"\n", "line 1: no option is called \"sped\"; did you mean seed or speed?"),
        ("\n[analyse]\ntop = 1\n", "line 2: no command is called \"analyse\"; did you mean analyze?"),
        ("[analyze]\nmtu = 1\n", "no option is called \"mtu\""),
        ("[analyze]\njson = true\n", "\"json\" takes no value: give it on the command line"),
        ("[analyze]\ntop = true\n", "\"top\" is boolean: expected text or a number"),
        ("speed = \"fast\"\n", "invalid value 'fast' for '--speed"),
        ("speed = \n", "line 1"),
    ] {
        write(text);
        let (code, said) = answer(&["analyze", capture], name);
        assert_eq!(code, Some(2), "{text}: {said}");
        assert!(said.contains(name) && said.contains(error), "{text}: {said}");
    }
    let (code, said) = answer(&["analyze", capture], "/none.toml");
    assert!(code == Some(2) && said.contains("/none.toml"), "{said}");
}

/// The parsers of commands that are called often are built without the others. With an option in front of the command, all are built.
#[test]
fn a_command_that_is_called_often_reads_as_among_all() {
    let scratch = Scratch::new("often");
    let empty = scratch.file("empty.toml", b"");
    let empty = empty.to_str().unwrap();
    let told = |arguments: &[&str]| {
        let Output { status, stdout, stderr } = run(arguments, Path::new("."), "");
        (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    };
    for command in ["analyze", "dissect"] {
        for argument in
            ["--help", "-h", "--version", "--no-such-option", "--threads=x", "pcaps/x.pcap", "help"]
        {
            let among_all = told(&["--config", empty, command, argument]);
            assert_eq!(told(&[command, argument]), among_all, "{command} {argument}");
            assert!(among_all.1.len() + among_all.2.len() > 30, "{command} {argument}: {among_all:?}");
        }
    }
}
