//! The configuration file: options that are the same every time, such as the speed of the links and the map of queue pairs.
//!
//! An option of the file becomes the default of the command's option. So the command line goes before it, and `--help` shows it.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use clap::Command;
use toml::{Spanned, Value};

use super::{input, say};
use rdmawire::grammar::{did_you_mean, nearest};

/// The environment's variable with the name of the file; empty: no file.
const VARIABLE: &str = "RDMAWIRE_CONFIG";

/// The section at the end of the help.
pub(super) const HELP: &str = "Configuration file:
  TOML with options of commands by their long names: --config FILE, else $RDMAWIRE_CONFIG, else
  $XDG_CONFIG_HOME/rdmawire/config.toml or ~/.config/rdmawire/config.toml. Options of the command line go before it.
    speed = \"400G\"            # for each command that has the option
    qp-map = \"qps.csv\"        # beside this file
    [analyze]                 # only for this command
    top = 30";

/// A configuration file.
pub(super) struct Config {
    path: PathBuf,
    /// For all commands.
    options: Vec<Setting>,
    /// By command.
    commands: BTreeMap<String, Vec<Setting>>,
}

/// An option and its values.
struct Setting {
    option: String,
    values: Vec<String>,
}

type Entries = BTreeMap<Spanned<String>, Spanned<Value>>;

impl Config {
    /// The file that the arguments or the environment name, or the user's.
    ///
    /// # Errors
    /// The file cannot be read, is not TOML, or has a command or an option that does not exist; says which line.
    pub(super) fn find(
        arguments: &[OsString],
        all: impl FnOnce() -> Command,
    ) -> anyhow::Result<Option<Config>> {
        let (path, is_asked_for) = match argument(arguments).or_else(|| env::var_os(VARIABLE)) {
            Some(path) if path.is_empty() => return Ok(None),
            Some(path) => (PathBuf::from(path), true),
            None => match user_file() {
                Some(path) => (path, false),
                None => return Ok(None),
            },
        };
        match input::text(&path) {
            Ok(text) => {
                let name = path.display().to_string();
                Config::parse(path, &text, &all()).with_context(|| name).map(Some)
            }
            Err(error) if error.kind() == ErrorKind::NotFound && !is_asked_for => Ok(None),
            // Nobody asked for it: as another user, HOME may name a folder that cannot be read.
            Err(error) if !is_asked_for => {
                say(format_args!("warning: {}: {error}: the options in it are not used", path.display()));
                Ok(None)
            }
            Err(error) => Err(error).context(path.display().to_string()),
        }
    }

    fn parse(path: PathBuf, text: &str, all: &Command) -> anyhow::Result<Config> {
        let entries: Entries = toml::from_str(text)
            .map_err(|error| anyhow!("{}", super::input::indented(error.to_string().trim_end())))?;
        let mut config = Config { path, options: Vec::new(), commands: BTreeMap::new() };
        let commands: Vec<&Command> =
            all.get_subcommands().filter(|command| !command.is_hide_set()).collect();
        for (key, value) in entries {
            let line = line_of(text, key.span().start);
            let (key, value) = (key.into_inner(), value.into_inner());
            let Value::Table(options) = value else {
                let setting = Setting::new(&commands, key, value).with_context(|| format!("line {line}"))?;
                config.options.push(setting);
                continue;
            };
            let Some(command) = commands.iter().find(|command| command.get_name() == key) else {
                let near = nearest(&key, commands.iter().map(|command| command.get_name().to_owned()));
                bail!("line {line}: no command is called {key:?}{}", did_you_mean(&near, ""));
            };
            let settings = options.into_iter().map(|(key, value)| Setting::new(&[command], key, value));
            let settings =
                settings.collect::<Result<_, _>>().with_context(|| format!("line {line}: [{key}]"))?;
            config.commands.insert(key, settings);
        }
        Ok(config)
    }

    /// The command with the file's options as defaults of its own.
    pub(super) fn apply(&self, command: Command) -> Command {
        let of_command = self.commands.get(command.get_name()).into_iter().flatten();
        // The command's own options go before those for all.
        let command = self
            .options
            .iter()
            .chain(of_command)
            .fold(command, |command, setting| self.set(command, setting));
        let nested: Vec<String> =
            command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
        nested
            .into_iter()
            .fold(command, |command, name| command.mut_subcommand(name, |inner| self.apply(inner)))
    }

    fn set(&self, command: Command, setting: &Setting) -> Command {
        // Hidden ones are there to be refused.
        let is_it = |arg: &&clap::Arg| !arg.is_hide_set() && arg.get_long() == Some(&setting.option);
        let found = command.get_arguments().find(is_it);
        let Some(id) = found.map(|arg| arg.get_id().clone()) else { return command };
        command.mut_arg(id, |arg| {
            let is_file = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "FILE"));
            let folder = self.path.parent().unwrap_or(Path::new(""));
            let values: Vec<OsString> = setting
                .values
                .iter()
                .map(|value| match is_file {
                    true => folder.join(value).into_os_string(),
                    false => value.into(),
                })
                .collect();
            arg.required(false).default_values(values)
        })
    }

    /// An error that the file's options brought.
    pub(super) fn blame(&self, error: &clap::Error) -> anyhow::Error {
        let text = error.to_string();
        let text = text.lines().next().unwrap_or_default();
        anyhow!("{}: {}", self.path.display(), text.trim_start_matches("error: "))
    }
}

impl Setting {
    /// The setting of an option that one of the commands has.
    fn new(commands: &[&Command], option: String, value: Value) -> anyhow::Result<Setting> {
        let all = || commands.iter().flat_map(|command| command.get_arguments());
        let Some(arg) = all().find(|arg| arg.get_long() == Some(&option)) else {
            let names = all().filter_map(|arg| arg.get_long().map(str::to_owned));
            let near = nearest(&option, names);
            bail!(
                "no option is called {option:?}{}",
                did_you_mean(&near, "; `rdmawire COMMAND --help` lists them")
            );
        };
        if !arg.get_action().takes_values() {
            bail!("{option:?} takes no value: give it on the command line");
        }
        let one = |value: Value| match value {
            Value::String(text) => Ok(text),
            Value::Integer(number) => Ok(number.to_string()),
            Value::Float(number) => Ok(number.to_string()),
            other => Err(anyhow!("{option:?} is {}: expected text or a number", other.type_str())),
        };
        let values = match value {
            Value::Array(values) => values.into_iter().map(one).collect::<Result<_, _>>()?,
            value => vec![one(value)?],
        };
        Ok(Setting { option, values })
    }
}

/// The file of `--config`. The parser takes it too, but needs the file before.
fn argument(arguments: &[OsString]) -> Option<OsString> {
    let mut rest = arguments.iter().skip(1).take_while(|argument| *argument != "--");
    while let Some(argument) = rest.next() {
        if argument == "--config" {
            return rest.next().cloned();
        }
        if let Some(path) = argument.to_str().and_then(|argument| argument.strip_prefix("--config=")) {
            return Some(OsStr::new(path).to_owned());
        }
    }
    None
}

/// The file of the XDG base directory specification.
fn user_file() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(folder.join("rdmawire/config.toml"))
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}
