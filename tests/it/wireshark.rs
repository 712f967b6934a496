//! `rdmawire wireshark install`: tshark loads what it brings, and finds in it what the comments say.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{
    programs::{RDMAWIRE, cli, has_wireshark, printed, skip},
    scratch::Scratch,
};
use rdmawire::{
    capture::{self, Source},
    dissect::{Link, dissect},
    wire::Bth,
};

/// The folder with everything, and an annotated capture.
fn installed(scratch: &Scratch, capture: &str) -> (PathBuf, PathBuf) {
    let (dir, out) = (scratch.join("installed"), scratch.join("out.pcapng"));
    printed(cli().args(["wireshark", "install", "--dir"]).arg(&dir));
    printed(cli().args(["annotate", "--quiet", "--force", capture]).arg(&out));
    (dir.join("plugins/rdmawire.lua"), out)
}

/// tshark's rows of some fields, with the plugin.
fn fields(plugin: &Path, file: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-X").arg(format!("lua_script:{}", plugin.display())).arg("-r").arg(file);
    command.args(["-Y", filter, "-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let text = printed(&mut command);
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn comments_are_fields_and_a_connection_can_be_followed() {
    if !has_wireshark("tshark") {
        return;
    }
    let scratch = Scratch::new("wireshark-fields");
    let (plugin, out) = installed(&scratch, "pcaps/loss1_rc_write-B-300.pcap");
    let row = |frame: u32| {
        let names = [
            "rdmawire.class",
            "rdmawire.asked",
            "rdmawire.previous",
            "rdmawire.conn",
            "rdmawire.loss",
            "rdmawire.nak",
        ];
        fields(&plugin, &out, &format!("frame.number == {frame}"), &names).remove(0)
    };
    assert_eq!(row(145), ["retransmission", "82", "", "0", "upstream", ""]);
    assert_eq!(row(146), ["retransmission", "82", "55", "0", "", ""]);
    assert_eq!(row(82), ["new", "", "", "0", "", "psn_sequence_error"]);
    let count = |filter: &str| fields(&plugin, &out, filter, &["frame.number"]).len();
    assert_eq!(count("rdmawire.class == \"retransmission\""), 85);
    assert_eq!(count("rdmawire.asked == 82 && rdmawire.previous > 54"), 84);
    // Frames without a comment belong to their connection too.
    assert_eq!(count("rdmawire.conn == 0"), 299);
    assert_eq!(count("rdmawire"), 299);

    let (plugin, out) = installed(&scratch, "pcaps/corrupt_rc_write-B.pcap.zst");
    let corrupt = fields(&plugin, &out, "rdmawire.icrc == \"bad\"", &["rdmawire.class"]);
    assert_eq!(corrupt.len(), 21);
    assert!(corrupt.iter().all(|row| row == &["corrupt"]));
}

/// Of several connections: each has the packets to its two ends, whether they have comments or not.
#[test]
fn every_packet_of_a_connection_has_its_number() {
    if !has_wireshark("tshark") {
        return;
    }
    let scratch = Scratch::new("wireshark-connections");
    let (plugin, out) = installed(&scratch, "pcaps/pingpong_clean-A.pcap.zst");
    let mut by_flow = BTreeMap::<String, Vec<u64>>::new();
    let (mut reader, mut number) = (capture::open(&out).unwrap(), 0);
    while let Some(record) = reader.next().unwrap() {
        number += 1;
        let d = dissect(Link(record.link.0), record.frame, record.wire_len);
        if let (Some(bth), Some([src, dst])) = (d.get::<Bth>(), d.addresses()) {
            by_flow.entry(format!("{src} {dst} {}", bth.dest_qp().0)).or_default().push(number);
        }
    }
    let mut shown = BTreeMap::<String, Vec<u64>>::new();
    for row in fields(&plugin, &out, "rdmawire.flow", &["rdmawire.flow", "frame.number"]) {
        shown.entry(row[0].clone()).or_default().push(row[1].parse().unwrap());
    }
    let (mut expected, mut found): (Vec<_>, Vec<_>) =
        (by_flow.into_values().collect(), shown.into_values().collect());
    expected.sort();
    found.sort();
    assert!(expected.len() >= 16 && expected == found);
}

/// The menu entries, in a tshark that takes itself for Wireshark.
#[test]
fn the_menu_follows_a_connection() {
    if !has_wireshark("tshark") {
        return;
    }
    let scratch = Scratch::new("wireshark-menu");
    let (plugin, out) = installed(&scratch, "pcaps/loss1_rc_write-B-300.pcap");
    let pretend = scratch.file(
        "pretend.lua",
        br#"_G.gui_enabled = function() return true end
            _G.MENU_TOOLS_UNSORTED = MENU_TOOLS_UNSORTED or 0
            _G.set_filter = function(filter) print("filter: " .. filter) end
            _G.apply_filter = function() print("applied") end
            _G.new_dialog = function(title, action, label) print("dialog: " .. title) action("5") end
            _G.register_menu = function(name, action) print("menu: " .. name) action() end
            _G.register_packet_menu = function(name, action, field)
                print("packet menu: " .. name .. " for " .. field)
                action({ name = "frame.number", value = 9 }, { name = "rdmawire.conn", value = 17 })
            end"#,
    );
    let said = printed(
        Command::new("tshark")
            // The user's own plug-ins would be loaded first.
            .env("HOME", scratch.file("home.txt", b"").with_file_name("home"))
            .env_remove("XDG_CONFIG_HOME")
            .arg("-X")
            .arg(format!("lua_script:{}", pretend.display()))
            .arg("-X")
            .arg(format!("lua_script:{}", plugin.display()))
            .arg("-r")
            .arg(&out)
            .args(["-c", "1"]),
    );
    let lines: Vec<&str> = said.lines().take(7).collect();
    assert_eq!(
        lines,
        [
            "packet menu: rdmawire/Follow connection for rdmawire.conn",
            "filter: rdmawire.conn == 17",
            "applied",
            "menu: rdmawire/Follow a connection",
            "dialog: Follow a connection",
            "filter: rdmawire.conn == 5",
            "applied",
        ]
    );
}

/// Installed where Wireshark looks: columns come with the profile, colours are valid filters, and a profile that was changed stays.
#[test]
fn the_profile_has_columns_and_colours() {
    if !has_wireshark("tshark") {
        return;
    }
    let scratch = Scratch::new("wireshark-profile");
    let (plugin, out) = installed(&scratch, "pcaps/loss1_rc_write-B-300.pcap");
    let at_home = |program: &str| {
        let mut command = Command::new(program);
        command.env("HOME", &*scratch).env("XDG_CONFIG_HOME", scratch.join(".config"));
        command
    };
    let said = printed(at_home(RDMAWIRE).args(["wireshark", "install"]));
    assert!(said.contains("profile"), "{said}");
    assert!(scratch.join(".local/lib/wireshark/plugins/rdmawire.lua").exists(), "{said}");
    let profile = scratch.join(".config/wireshark/profiles/rdmawire");
    let mut tshark = at_home("tshark");
    // Whether a plugin of one's own is loaded for root is the system's choice.
    let by_itself = printed(at_home("tshark").args(["-G", "fields"])).contains("rdmawire.class");
    if !by_itself {
        tshark.arg("-X").arg(format!("lua_script:{}", plugin.display()));
    }
    let text = printed(tshark.args(["-C", "rdmawire", "-r"]).arg(&out).args(["-Y", "frame.number == 145"]));
    assert!(text.contains("retransmission nak 0 0 upstream"), "{text}");

    for line in fs::read_to_string(profile.join("colorfilters")).unwrap().lines() {
        let [_, _, filter, colours] = line.split('@').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert!(colours.starts_with('['));
        fields(&plugin, &out, filter, &["frame.number"]);
    }
    fs::write(profile.join("preferences"), "# mine").unwrap();
    let said = printed(at_home(RDMAWIRE).args(["wireshark", "install"]));
    assert!(said.contains("kept as it was"), "{said}");
    assert_eq!(fs::read_to_string(profile.join("preferences")).unwrap(), "# mine");
    printed(at_home(RDMAWIRE).args(["wireshark", "install", "--force"]));
    assert!(fs::read_to_string(profile.join("preferences")).unwrap().contains("rdmawire.class"));

    // What was changed stays; all else goes.
    fs::write(profile.join("preferences"), "# mine").unwrap();
    let said = printed(at_home(RDMAWIRE).args(["wireshark", "uninstall"]));
    assert!(said.contains("kept, since it was changed"), "{said}");
    assert!(!scratch.join(".local/lib/wireshark/plugins/rdmawire.lua").exists(), "{said}");
    assert!(profile.join("preferences").exists() && !profile.join("colorfilters").exists());
    printed(at_home(RDMAWIRE).args(["wireshark", "uninstall", "--force"]));
    assert!(!profile.exists());
    assert_eq!(printed(at_home(RDMAWIRE).args(["wireshark", "uninstall"])), "");
}

#[cfg(all(target_os = "linux", feature = "live"))]
#[test]
fn wireshark_finds_the_interfaces() {
    let scratch = Scratch::new("wireshark-extcap");
    let (plugin, _) = installed(&scratch, "pcaps/loss1_rc_write-B-300.pcap");
    let extcap = plugin.parent().unwrap().with_file_name("extcap");
    // As Wireshark calls it.
    let ask = |arguments: &[&str]| printed(Command::new(extcap.join("rdmawire")).args(arguments));
    let listed = ask(&["--extcap-interfaces", "--extcap-version=4.0"]);
    assert!(listed.starts_with("extcap {version="), "{listed}");
    assert!(
        listed.contains("interface {value=rdmawire-lo}{display=rdmawire: live analysis of lo}\n"),
        "{listed}"
    );
    let links = ask(&["--extcap-dlts", "--extcap-interface", "rdmawire-lo"]);
    assert_eq!(links, "dlt {number=1}{name=EN10MB}{display=Ethernet}\n");
    let options = ask(&["--extcap-config", "--extcap-interface", "rdmawire-lo"]);
    assert!(options.contains("{call=--roce-port}") && options.contains("{call=--hold}"), "{options}");
    let nothing = Command::new(extcap.join("rdmawire"))
        .args(["--capture", "--extcap-interface", "rdmawire-lo"])
        .output();
    assert_eq!(nothing.unwrap().status.code(), Some(2), "no --fifo");
    if !has_wireshark("tshark") {
        return;
    }
    // Root's Wireshark ignores the variable.
    let (user, path) = ("65534", &extcap);
    let mut tshark = match printed(Command::new("id").arg("-u")).trim() {
        "0" => {
            let mut other = Command::new("setpriv");
            other.args(["--reuid", user, "--regid", user, "--clear-groups", "tshark"]);
            if !other.env("HOME", "/").arg("-v").output().is_ok_and(|done| done.status.success()) {
                return skip("user", "tshark does not run as one");
            }
            let mut other = Command::new("setpriv");
            other.args(["--reuid", user, "--regid", user, "--clear-groups", "tshark"]).env("HOME", "/");
            other
        }
        _ => Command::new("tshark"),
    };
    let known = printed(tshark.env("WIRESHARK_EXTCAP_DIR", path).arg("-D"));
    assert!(known.contains("rdmawire-lo (rdmawire: live analysis of lo)"), "{known}");
}
