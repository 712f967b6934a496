//! `rdmawire check` and `diff-report` as programs: exit status, and every form of output, also with hostile names.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::support::{
    programs::{cli, ended, skip},
    schema::Schema,
    scratch::Scratch,
};
use rdmawire::{
    capture::{self, Interface, Record, Sink, Time},
    dissect::Link,
};
use serde_json::{Value, json};

const LOSSY: &str = "pcaps/loss1_rc_write-B-300.pcap";

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    ended(cli().args(args))
}

#[test]
fn the_exit_status_says_held_violated_or_unknown() {
    for (rules, expected) in [
        (&["retransmits == 85", "losses.upstream >= 1"][..], 0),
        (&["retransmits == 0"], 1),
        (&["pause.longest < 1ms"], 2),
        (&["--unknown", "pass", "pause.longest < 1ms"], 0),
        (&["pause.longest < 1ms", "retransmits == 0"], 1),
        (&["--unknown", "pass", "pause.longest < 1ms", "retransmits == 0"], 1),
        (&["--fail-if", "frame_sequence_error > 0"], 1),
        (&["retransmit == 0"], 2),
        (&["retransmits <= +5%"], 2),
        (&[], 2),
    ] {
        let (code, out, error) = run(&[&["check", LOSSY], rules].concat());
        assert_eq!(code, Some(expected), "{rules:?}: {out}{error}");
    }
    let (code, out, _) = run(&["check", LOSSY, "retransmits == 0 where dscp in [0]"]);
    assert_eq!(code, Some(1));
    // The figure, the bound, the worst flow, and a frame that shows it.
    for part in ["retransmits is 85; it must be == 0", "10.77.0.1 → 10.77.0.2 QP 0x11: 85; frames 82, 145"]
    {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(run(&["check", "no.pcap", LOSSY, "retransmits == 85"]).0, Some(2));
    assert_eq!(run(&["check", "no.pcap", LOSSY, "retransmits == 84"]).0, Some(1));
}

#[test]
fn a_report_gives_the_outcomes_of_its_capture() {
    let scratch = Scratch::new("gate-report");
    let rules =
        ["--json", "retransmits == 0", "max(ack_rtt.p99) < 1us", "frame_delta < 3", "capture.drops == 0"];
    let outcomes = |file: &str| -> Value {
        let (_, out, _) = run(&[&["check", file], &rules[..]].concat());
        serde_json::from_str::<Value>(&out).unwrap()["checked"][0]["outcomes"].clone()
    };
    let report = scratch.join("report.json");
    let (_, json, _) = run(&["analyze", "--json", LOSSY]);
    fs::write(&report, json).unwrap();
    let from_capture = outcomes(LOSSY);
    assert_eq!(from_capture.as_array().unwrap().len(), 4);
    assert_eq!(from_capture, outcomes(report.to_str().unwrap()));
    // Of several captures, each has outcomes.
    let (_, json, _) = run(&["analyze", "--json", LOSSY, "pcaps/cm_rping-A.pcap"]);
    fs::write(&report, json).unwrap();
    let (code, out, _) = run(&["check", report.to_str().unwrap(), "retransmits == 0"]);
    assert_eq!((code, out.matches("retransmits == 0\n").count()), (Some(1), 2), "{out}");
    for other in ["{}", "[1]", "{\"schema\":\"other/1\"}", "no JSON"] {
        fs::write(&report, other).unwrap();
        let (code, _, error) = run(&["check", report.to_str().unwrap(), "retransmits == 0"]);
        assert_eq!(code, Some(2));
        assert!(error.contains("is no report of `rdmawire analyze --json`"), "{error}");
    }
}

#[test]
fn a_file_of_rules_has_names_and_severities() {
    let scratch = Scratch::new("gate-rules");
    let path = scratch.join("gates.toml");
    let check = |rules: &str| {
        fs::write(&path, rules).unwrap();
        run(&["check", LOSSY, "--rules", path.to_str().unwrap()])
    };
    let warning =
        "[[rule]]\nname = 'nothing retransmitted'\ncheck = 'retransmits == 0'\nseverity = 'warning'\n";
    let (code, out, _) = check(warning);
    assert_eq!(code, Some(0), "only errors decide");
    assert!(out.contains("violated  nothing retransmitted (warning)"), "{out}");
    let error = format!("{warning}[[rule]]\nname = 'no message fails'\nfail_if = 'nak_tx != 0'\n");
    let (code, out, _) = check(&error);
    assert_eq!(code, Some(1));
    assert!(out.contains("none(nak_tx != 0)"), "{out}");
    for (wrong, why) in [
        (
            "[[rule]]\ncheck = 'retransmit == 0'",
            "rule 1: column 1: no figure has this name; did you mean retransmits?",
        ),
        ("[[rule]]\ncheck = 'naks == 0'\nseverity = 'eror'", "did you mean error?"),
        ("[[rule]]\nname = 'neither'", "expected either `check` or `fail_if`"),
        ("[[rule]]\nchek = 'naks == 0'", "line 2"),
        ("[[rule]", "line 1"),
    ] {
        let (code, _, error) = check(wrong);
        assert_eq!(code, Some(2));
        assert!(error.contains(why), "{why}: {error}");
    }
}

/// A capture of a pause frame, at an interface with this name.
fn hostile(path: &Path, interface: &str) {
    let options = capture::Options { force: true, ..capture::Options::default() };
    let mut one = Interface::new(Link::ETHERNET);
    one.name = Some(interface.to_owned());
    let mut writer = capture::create(path, capture::Format::Pcapng, &[one], options).unwrap();
    let frame = [&[0x01, 0x80, 0xc2, 0, 0, 1][..], &[0; 6], &[0x88, 0x08, 1, 1, 0, 8], &[0xff; 16], &[0; 26]]
        .concat();
    let (time, wire_len) = (Time(1_000_000_000), frame.len() as u32);
    writer.put(&Record { time, link: Link::ETHERNET, interface: 0, wire_len, frame: &frame }).unwrap();
    writer.finish().unwrap();
}

#[test]
fn hostile_names_are_harmless_in_every_form() {
    let scratch = Scratch::new("gate-hostile");
    let capture = scratch.join("a \"<b>&%,.pcapng");
    hostile(&capture, "<eth0>&\"'\u{1b}[31m\n::error title=x::y%0A\u{202e}]]>\u{9b}");
    let [junit, sarif] = ["junit.xml", "gate.sarif"].map(|name| scratch.join(name));
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let args = ["check", &path(&capture), "pause.frames == 0", "pause.longest < 1ms", "pause.xon == 0"];
    let (code, _, error) = run(&args[..]);
    assert_eq!(code, Some(2), "{error}");
    let forms = ["--junit", &path(&junit), "--sarif", &path(&sarif), "--github"];
    let (code, out, _) = run(&[&args[..4], &forms[..]].concat());
    assert_eq!(code, Some(1));

    let is_clean = |text: &str| !text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}');
    assert!(is_clean(&out), "{out:?}");
    let commands: Vec<&str> = out.lines().filter(|line| line.trim_start().starts_with("::")).collect();
    assert_eq!(commands.len(), 2, "one for each rule: {out}");
    assert!(commands.iter().all(|line| line.starts_with("::error title=")), "{out}");
    assert!(commands[0].contains("%0A#0 <eth0>"), "{}", commands[0]);
    assert!(commands[0].contains("::y%250A"), "percent signs are escaped: {}", commands[0]);

    let junit = fs::read_to_string(&junit).unwrap();
    assert!(is_clean(&junit) && !junit.contains("<eth0>"), "{junit:?}");
    for part in [
        "tests=\"2\" failures=\"1\" errors=\"1\" skipped=\"0\"",
        "&lt;eth0&gt;&amp;&quot;",
        "message=\"pause.longest &lt; 1ms\"",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    is_xml(&junit);

    let text = fs::read_to_string(&sarif).unwrap();
    assert!(is_clean(&text), "{text:?}");
    let log: Value = serde_json::from_str(&text).unwrap();
    is_sarif(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert!(results[0]["message"]["text"].as_str().unwrap().contains("pause.frames is 1"));
    let uri = results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("/a%20%22%3Cb%3E%26%25%2C.pcapng"), "{uri}");

    // An unknown rule that may pass is no failure anywhere.
    let (code, out, _) = run(&[&args[..2], &args[3..4], &forms[..], &["--unknown", "pass"]].concat());
    assert_eq!(code, Some(0));
    assert!(out.contains("::notice title=unknown"), "{out}");
    let junit = fs::read_to_string(path(&scratch.join("junit.xml"))).unwrap();
    assert!(junit.contains("failures=\"0\" errors=\"0\" skipped=\"1\""), "{junit}");
    let log: Value = serde_json::from_str(&fs::read_to_string(&sarif).unwrap()).unwrap();
    is_sarif(&log);
    assert_eq!(log["runs"][0]["results"][0]["kind"], "open");
}

/// An XML parser that is not ours.
fn is_xml(text: &str) {
    let parse = "import sys, xml.dom.minidom as x; x.parseString(sys.stdin.buffer.read())";
    let python =
        Command::new("python3").args(["-c", parse]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut python) = python else {
        return skip("python3", "nothing else here parses XML");
    };
    std::io::Write::write_all(&mut python.stdin.take().unwrap(), text.as_bytes()).unwrap();
    let Output { status, stderr, .. } = python.wait_with_output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
}

/// What SARIF 2.1.0 requires of the objects that we write (sections 3.13, 3.14, 3.18, 3.19, 3.27), or, where `SARIF_SCHEMA` names a file
/// with the schema that OASIS publishes, all of it.
fn is_sarif(log: &Value) {
    let text =
        json!({ "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } } });
    let levels = json!({ "enum": ["none", "note", "warning", "error"] });
    let required = json!({
        "type": "object",
        "required": ["version", "runs"],
        "properties": {
            "version": { "const": "2.1.0" },
            "runs": { "type": "array", "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": { "type": "object", "required": ["driver"], "properties": { "driver": {
                        "type": "object",
                        "required": ["name"],
                        "properties": { "rules": { "type": "array", "uniqueItems": true, "items": {
                            "type": "object",
                            "required": ["id"],
                            "properties": { "shortDescription": text, "defaultConfiguration": { "properties": { "level": levels } } },
                        } } },
                    } } },
                    "results": { "type": "array", "items": {
                        "type": "object",
                        "required": ["message"],
                        "properties": {
                            "message": text,
                            "level": levels,
                            "kind": { "enum": ["notApplicable", "pass", "fail", "review", "open", "informational"] },
                            "ruleIndex": { "type": "integer", "minimum": -1 },
                        },
                        // Section 3.27.10: only a failure has a level.
                        "if": { "properties": { "kind": { "const": "fail" } } },
                        "then": { "properties": { "level": { "enum": ["note", "warning", "error"] } } },
                        "else": { "properties": { "level": { "const": "none" } } },
                    } },
                },
            } },
        },
    });
    let mut schemas = vec![required];
    if let Ok(path) = std::env::var("SARIF_SCHEMA") {
        schemas.push(serde_json::from_slice(&fs::read(path).unwrap()).unwrap());
    }
    for schema in schemas {
        Schema::of(schema).check(log).unwrap();
    }
    for result in log["runs"][0]["results"].as_array().unwrap() {
        let rule = &log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
    }
}

/// A report as it would be of another run: other queue pairs, and so many retransmitted packets.
fn rerun(report: &Value, qp: u64, retransmits: u64) -> String {
    let mut report = report.clone();
    for flow in report["flows"].as_array_mut().unwrap() {
        flow["dest_qp"] = json!(flow["dest_qp"].as_u64().unwrap() + qp);
        if flow["requests"]["packets"] != 0 {
            flow["requests"]["retransmits"] = json!(retransmits);
        }
    }
    report.to_string()
}

#[test]
fn two_runs_are_compared_by_rules() {
    let scratch = Scratch::new("gate-diff");
    let report: Value = serde_json::from_str(&run(&["analyze", "--json", LOSSY]).1).unwrap();
    let before = scratch.file("before.json", rerun(&report, 0, 100).as_bytes());
    let after = scratch.file("after.json", rerun(&report, 7, 104).as_bytes());
    let diff = |from: &Path, to: &Path, rules: &[&str]| {
        let files = ["diff-report", from.to_str().unwrap(), to.to_str().unwrap()];
        run(&[&files[..], rules].concat())
    };
    let (code, out, error) = diff(&before, &after, &[]);
    assert_eq!(code, Some(0), "{error}");
    for part in ["retransmits                  100 -> 104 (+4.0 %)", "flows of both: 2, new: 0, gone: 0"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    // The flow is the same one, though its queue pair is not.
    assert!(out.contains("10.77.0.1 → 10.77.0.2 QP 0x18\n"), "{out}");
    for (rule, expected) in [
        ("retransmits <= +5%", 0),
        ("retransmits <= +4", 0),
        ("retransmits < +4", 1),
        ("retransmits <= +3%", 1),
        ("retransmits >= -1%", 0),
        ("all(retransmits <= +5%)", 0),
        ("none(retransmits > +3%)", 1),
        ("retransmits == 104", 0),
        ("count(packets == +0%) == 2", 0),
        ("pause.paused <= +0%", 2),
    ] {
        let (code, out, error) = diff(&before, &after, &[rule]);
        assert_eq!(code, Some(expected), "{rule}: {out}{error}");
    }
    let (_, out, _) = diff(&after, &before, &["--json", "retransmits <= +5%"]);
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["changes"]["figures"][0]["figure"], "retransmits");
    assert_eq!(json["checked"][0]["outcomes"][0]["measures"][0]["limit"]["most"], json!(109.2));
    // A capture compares with a report of it: nothing changed.
    fs::write(&before, report.to_string()).unwrap();
    let (code, out, _) = diff(&before, Path::new(LOSSY), &["all(packets == +0%)", "goodput >= -0%"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(!out.contains("->"), "{out}");
    fs::write(&after, report.to_string().replace("10.77.0.1\"", "10.77.0.9\"")).unwrap();
    let (_, out, _) = diff(&before, &after, &[]);
    for part in [
        "of both: 0, new: 2, gone: 2",
        "new: 10.77.0.9 → 10.77.0.2 QP 0x11",
        "gone: 10.77.0.1 → 10.77.0.2 QP 0x11",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}
