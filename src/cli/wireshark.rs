//! `rdmawire wireshark`: brings what this program knows into Wireshark.

use std::{
    env, fs, io,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::{Outcome, output};

/// Bring comments of `rdmawire annotate`, and live analysis, into Wireshark.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire wireshark install
  rdmawire wireshark install --dir ./wireshark")]
pub(super) struct Wireshark {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Install(Install),
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
        let Action::Install(install) = self.action;
        install.run()
    }
}

impl Install {
    fn run(self) -> anyhow::Result<Outcome> {
        let folders = match &self.dir {
            Some(dir) => Folders {
                plugins: dir.join("plugins"),
                extcap: dir.join("extcap"),
                profiles: dir.join("profiles"),
                finds_extcap: false,
            },
            None => Folders::of_wireshark()?,
        };
        let mut out = io::stdout().lock();
        let plugin = folders.plugins.join("rdmawire.lua");
        put(&plugin, PLUGIN)?;
        writeln!(out, "plugin   {}", plugin.display())?;

        let profile = folders.profiles.join("rdmawire");
        let mut kept = "";
        for (name, text) in [("preferences", PREFERENCES), ("colorfilters", COLOURS)] {
            let file = profile.join(name);
            if !self.force && file.exists() {
                kept = ", kept as it was (--force replaces it)";
            } else {
                put(&file, text)?;
            }
        }
        writeln!(out, "profile  {}{kept}", profile.display())?;

        if cfg!(all(unix, feature = "live")) {
            let extcap = folders.extcap.join("rdmawire");
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
                writeln!(out, "rdmawire annotate in.pcap out.pcapng; wireshark -C rdmawire out.pcapng")?;
            }
        }
        Ok(Outcome::Done)
    }
}

impl Folders {
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
    output::write(path, true, text.as_bytes()).with_context(|| format!("writing {}", path.display()))
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
