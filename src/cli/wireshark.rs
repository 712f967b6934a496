//! `rdmawire wireshark`: brings what this program knows into Wireshark.

use std::{
    env, fs, io,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{
    Outcome,
    output::{self, Kind},
};

/// Bring comments of `rdmawire annotate`, and live analysis, into Wireshark.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire wireshark install
  rdmawire wireshark install --dir ./wireshark
  rdmawire wireshark uninstall --dir ./wireshark")]
pub(super) struct Wireshark {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Install(Install),
    Uninstall(Uninstall),
}

/// Remove what `wireshark install` has brought; a profile that was changed stays, unless --force is given.
#[derive(Debug, Args)]
struct Uninstall {
    /// It is installed in folders below this one.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Remove the profile although it was changed.
    #[arg(long)]
    force: bool,
}

/// Install for this user: a plugin that makes fields of the comments (rdmawire.class, rdmawire.conn, rdmawire.loss, …), the menu
/// entry "Follow connection", a profile with columns and colours, and an interface "rdmawire: live analysis" for each network
/// interface.
///
/// A plugin or interface of an earlier version is replaced; a profile stays as it is, unless --force is given.
#[derive(Debug, Args)]
struct Install {
    /// Install into folders below this one, and not where Wireshark looks.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Replace the profile if it exists.
    #[arg(long)]
    force: bool,
}

const PLUGIN: &str = include_str!("wireshark/rdmawire.lua");
const PREFERENCES: &str = include_str!("wireshark/preferences");
const COLOURS: &str = include_str!("wireshark/colorfilters");

/// The files of the profile.
const PROFILE: [(&str, &str); 2] = [("preferences", PREFERENCES), ("colorfilters", COLOURS)];

/// Where things go.
struct Folders {
    plugins: PathBuf,
    extcap: PathBuf,
    profiles: PathBuf,
    /// Wireshark looks for extcaps there by itself.
    finds_extcap: bool,
}

impl Wireshark {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        match self.action {
            Action::Install(install) => install.run(),
            Action::Uninstall(uninstall) => uninstall.run(),
        }
    }
}

impl Install {
    fn run(self) -> anyhow::Result<Outcome> {
        let folders = Folders::of(self.dir.as_deref())?;
        let mut out = io::stdout().lock();
        let plugin = folders.plugin();
        put(&plugin, PLUGIN)?;
        writeln!(out, "plugin   {}", plugin.display())?;

        let profile = folders.profile();
        let mut kept = "";
        for (name, text) in PROFILE {
            let file = profile.join(name);
            if !self.force && file.exists() {
                kept = ", kept as it was (--force replaces it)";
            } else {
                put(&file, text)?;
            }
        }
        writeln!(out, "profile  {}{kept}", profile.display())?;

        if cfg!(all(unix, feature = "live")) {
            let extcap = folders.live();
            link_to_this_program(&extcap)?;
            writeln!(out, "extcap   {}", extcap.display())?;
        }
        writeln!(out)?;
        match &self.dir {
            Some(_) => {
                writeln!(out, "tshark -X lua_script:{} -r annotated.pcapng", plugin.display())?;
                writeln!(out, "WIRESHARK_EXTCAP_DIR={} wireshark", folders.extcap.display())?;
            }
            None => {
                if !folders.finds_extcap {
                    let folder = folders.extcap.display();
                    writeln!(
                        out,
                        "This Wireshark has no extcap folder for users: set WIRESHARK_EXTCAP_DIR={folder}"
                    )?;
                }
                if is_root() {
                    writeln!(
                        out,
                        "As root, Wireshark loads neither plugins nor extcaps of a user: run it as another user, or name them by -X lua_script:"
                    )?;
                }
                writeln!(out, "rdmawire annotate in.pcap out.pcapng; wireshark -C rdmawire out.pcapng")?;
            }
        }
        Ok(Outcome::Done)
    }
}

impl Uninstall {
    fn run(self) -> anyhow::Result<Outcome> {
        let folders = Folders::of(self.dir.as_deref())?;
        let mut out = io::stdout().lock();
        let mut removed = |what: &str, path: &Path| -> anyhow::Result<()> {
            match fs::remove_file(path) {
                Ok(()) => Ok(writeln!(out, "{what:8} {}: removed", path.display())?),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error).with_context(|| format!("removing {}", path.display())),
            }
        };
        removed("plugin", &folders.plugin())?;
        // A link to a program, and nothing else that has this name.
        if folders.live().is_symlink() {
            removed("extcap", &folders.live())?;
        }
        let profile = folders.profile();
        let mut kept = Vec::new();
        for (name, text) in PROFILE {
            let file = profile.join(name);
            match fs::read_to_string(&file) {
                Ok(there) if self.force || there == text => removed("profile", &file)?,
                Ok(_) => kept.push(file),
                Err(_) => {}
            }
        }
        for file in kept {
            writeln!(out, "profile  {}: kept, since it was changed (--force removes it)", file.display())?;
        }
        // It stays where it has other files.
        let _ = fs::remove_dir(profile);
        Ok(Outcome::Done)
    }
}

/// Whether root runs this: Wireshark is careful then.
fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .any(|line| line.strip_prefix("Uid:").and_then(|ids| ids.split_whitespace().nth(1)) == Some("0"))
}

impl Folders {
    /// Folders below this one, or where Wireshark looks.
    fn of(dir: Option<&Path>) -> anyhow::Result<Folders> {
        let Some(dir) = dir else { return Folders::of_wireshark() };
        let [plugins, extcap, profiles] = ["plugins", "extcap", "profiles"].map(|name| dir.join(name));
        Ok(Folders { plugins, extcap, profiles, finds_extcap: false })
    }

    fn plugin(&self) -> PathBuf {
        self.plugins.join("rdmawire.lua")
    }

    fn profile(&self) -> PathBuf {
        self.profiles.join("rdmawire")
    }

    /// The interfaces of live analysis.
    fn live(&self) -> PathBuf {
        self.extcap.join("rdmawire")
    }

    /// The user's folders as Wireshark says, or as its documentation says if it is not installed.
    fn of_wireshark() -> anyhow::Result<Folders> {
        let said = ["tshark", "wireshark"].into_iter().find_map(|program| {
            let done = Command::new(program).args(["-G", "folders"]).stderr(Stdio::null()).output().ok()?;
            done.status.success().then(|| String::from_utf8_lossy(&done.stdout).into_owned())
        });
        let said = said.unwrap_or_default();
        let folder = |name: &str| {
            let lines = said.lines().filter_map(|line| line.split_once(':'));
            lines.filter(|(of, _)| *of == name).map(|(_, folder)| PathBuf::from(folder.trim())).next()
        };
        let home = env::home_dir().context("no home directory is known: use --dir")?;
        let config = env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from);
        let local = home.join(".local/lib/wireshark");
        let extcap = folder("Personal Extcap path");
        Ok(Folders {
            plugins: folder("Personal Lua Plugins").unwrap_or_else(|| local.join("plugins")),
            finds_extcap: extcap.is_some() || said.is_empty(),
            extcap: extcap.unwrap_or_else(|| local.join("extcap")),
            profiles: folder("Personal configuration")
                .unwrap_or_else(|| config.join("wireshark"))
                .join("profiles"),
        })
    }
}

fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    make_folder(path)?;
    output::write_quietly(path, Kind::Other, true, text.as_bytes())
}

fn make_folder(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))
}

/// Makes a link, by which Wireshark finds this program among its extcaps.
fn link_to_this_program(path: &Path) -> anyhow::Result<()> {
    make_folder(path)?;
    let program = env::current_exe().context("where this program is")?;
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("replacing {}", path.display()));
        }
        _ => {}
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(&program, path).with_context(|| format!("linking {}", path.display()))?;
    #[cfg(not(unix))]
    let _ = program;
    Ok(())
}
