//! The command line: one file for each command. It has no logic that a library user would miss.

mod analyze;
mod annotate;
mod arg;
#[cfg(all(unix, feature = "live"))]
mod capture;
mod check;
mod collectives;
mod commands;
mod config;
mod connections;
mod counters;
mod craft;
mod diff;
mod diff_report;
mod dissect;
mod emit;
mod entropy;
mod every;
mod explain;
#[cfg(all(unix, feature = "live"))]
mod extcap;
mod fabric;
mod follow;
mod fuzz_corpus;
mod gate;
#[cfg(feature = "parquet")]
mod index;
mod input;
#[cfg(all(unix, feature = "live"))]
mod interfaces;
mod list;
mod log;
mod memory;
mod nvme;
mod output;
mod overhead;
mod packets;
mod pipeline;
mod plot;
mod rewrite;
mod scenario;
#[cfg(all(unix, feature = "live"))]
mod send;
mod shell;
mod signals;
mod sql;
mod table_files;
mod terminal;
mod trace;
mod tracking;
mod wireshark;

use std::{
    borrow::Cow,
    env,
    ffi::OsString,
    fmt,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ContextKind};
use rdmawire::{
    capture::{Format, Info},
    report::{clean, steers},
};

/// What to type first.
const EXAMPLES: &str = "Examples:
  rdmawire x.pcap                        as `rdmawire analyze x.pcap`: what went wrong, and where
  rdmawire analyze x.pcap --html x.html  the same as a page
  rdmawire dissect --around 82 x.pcap    frame 82 and those near it, each with its class
  rdmawire explain 'lost packets'        what a word of the output means";

/// The section of the help about the exit status.
const EXIT_STATUS: &str = "Exit status:
  0 done, 1 done and what was asked for does not hold, 2 some of it could not be done.
  A damaged capture is read as far as it goes, and a warning says where it is damaged: 0. Only what writes or sends its
  frames again (rewrite, craft --from, fuzz-corpus, send) ends with 2, for the copy has less than the capture had.";

/// The packet-level toolkit for RoCEv2 and InfiniBand.
#[derive(Debug, Parser)]
#[command(name = "rdmawire", version, about, arg_required_else_help = true, after_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}\n\n{}", config::HELP))]
pub(crate) struct Cli {
    #[command(flatten)]
    every: Every,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
struct Every {
    /// A file with options that are the same every time; see the end of `rdmawire --help`.
    #[arg(long, value_name = "FILE", global = true, help_heading = "Every command")]
    config: Option<PathBuf>,
}

/// The commands, in the order of the help: a row is the path to a command's arguments, which have `run`.
macro_rules! commands {
    ($($(#[$on:meta])* $module:ident::$name:ident,)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($(#[$on])* $name(Box<$module::$name>),)*
        }

        impl Command {
            fn run(self) -> anyhow::Result<Outcome> {
                match self {
                    $($(#[$on])* Command::$name(command) => command.run(),)*
                }
            }
        }
    };
}

commands! {
    analyze::Analyze,
    dissect::Dissect,
    annotate::Annotate,
    explain::Explain,
    craft::Craft,
    rewrite::Rewrite,
    diff::Diff,
    overhead::Overhead,
    entropy::Entropy,
    connections::Connections,
    counters::Counters,
    nvme::Nvme,
    commands::Commands,
    fabric::Fabric,
    collectives::Collectives,
    packets::Packets,
    sql::Sql,
    #[cfg(feature = "parquet")]
    index::Index,
    plot::Plot,
    check::Check,
    diff_report::DiffReport,
    fuzz_corpus::FuzzCorpus,
    wireshark::Wireshark,
    shell::Completions,
    shell::Man,
    #[cfg(all(unix, feature = "live"))]
    extcap::Extcap,
    #[cfg(all(unix, feature = "live"))]
    interfaces::Interfaces,
    #[cfg(all(unix, feature = "live"))]
    send::Send,
    #[cfg(all(unix, feature = "live"))]
    capture::Capture,
}

/// How a command ended, if it could be done at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done: exit status 0.
    Done,
    /// Done, and what was asked for does not hold, as a rule of a gate: exit status 1.
    Unmet,
    /// Some of it could not be done, which was said on standard error: exit status 2.
    Failed,
}

/// Run the command line; errors are one line on standard error, a closed pipe is success.
pub(crate) fn main() -> ExitCode {
    let arguments = meant(env::args_os().collect());
    let config = match config::Config::find(&arguments, Cli::command) {
        Ok(config) => config,
        Err(error) => {
            say(format_args!("{error:#}"));
            return ExitCode::from(2);
        }
    };
    let cli = match (Cli::read(arguments.clone(), config.as_ref()), config) {
        (Ok(cli), _) => cli,
        (Err(error), Some(config)) if error.use_stderr() && Cli::read(arguments.clone(), None).is_ok() => {
            say(format_args!("{:#}", config.blame(&error)));
            return ExitCode::from(2);
        }
        (Err(error), _) => return refused(&error, &arguments),
    };
    match cli.command.run() {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Unmet) => ExitCode::from(1),
        Ok(Outcome::Failed) => ExitCode::from(2),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        // Files are named in their errors; what has no name is standard output.
        Err(error) if is_of_system(&error) => {
            say(format_args!("writing the output: {error}"));
            ExitCode::from(2)
        }
        Err(error) => {
            say(format_args!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Arguments and commands that this build lacks, with the features that bring them.
const LACKED: &[(&str, &str)] = &[
    #[cfg(not(feature = "parquet"))]
    ("--parquet", "parquet"),
    #[cfg(not(feature = "parquet"))]
    ("index", "parquet"),
    #[cfg(not(feature = "live"))]
    ("interfaces", "live"),
    #[cfg(not(feature = "live"))]
    ("send", "live"),
    #[cfg(not(feature = "live"))]
    ("capture", "live"),
    #[cfg(not(feature = "live"))]
    ("extcap", "live"),
];

/// What was asked for, if another build has it.
fn lacking(error: &clap::Error) -> Option<(&'static str, &'static str)> {
    let named = [ContextKind::InvalidArg, ContextKind::InvalidSubcommand]
        .into_iter()
        .find_map(|kind| error.get(kind))?
        .to_string();
    let name = named.split('=').next().unwrap_or(&named);
    LACKED.iter().copied().find(|(lacked, _)| *lacked == name)
}

/// `rdmawire x.pcap` is `rdmawire analyze x.pcap`: the first argument names a file or directory, or looks like the name of one, and is no
/// command. If there is none of that name, `analyze` says so.
fn meant(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_path = arguments.get(1).is_some_and(|first| {
        let word = first.to_string_lossy();
        let is_like_one = word.contains('/') || Format::of_name(&word).is_some();
        !word.starts_with('-')
            && (is_like_one || Path::new(first).exists())
            && Cli::command().find_subcommand(first).is_none()
    });
    if is_path {
        arguments.insert(1, "analyze".into());
    }
    arguments
}

/// Prints the error about the arguments, or the help.
fn refused(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if let Some((what, feature)) = lacking(error) {
        say(format_args!(
            "this build has no {what}: it comes with the feature {feature}, as of `cargo install --path . --features {feature}`"
        ));
        return ExitCode::from(2);
    }
    if !error.use_stderr() {
        return match error.print().and_then(|()| io::stdout().flush()) {
            Err(failed) if failed.kind() != io::ErrorKind::BrokenPipe => {
                say(format_args!("writing the output: {failed}"));
                ExitCode::from(2)
            }
            _ => ExitCode::SUCCESS,
        };
    }
    // The message quotes arguments. They may be names of files with control characters.
    let text = error.render().to_string();
    let is_odd = |argument: &String| argument.contains(steers);
    let odd = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).filter(is_odd);
    let shown = odd.fold(text.clone(), |text, argument| text.replace(&argument, &clean(&argument)));
    let shown: String = short(&arg::in_plain_words(&shown))
        .chars()
        .map(|c| if c != '\n' && steers(c) { '?' } else { c })
        .collect();
    match shown == text {
        true => _ = error.print(),
        false => _ = write!(io::stderr(), "{shown}"),
    }
    ExitCode::from(2)
}

/// Adds a command's arguments to its parser.
type Augment = fn(clap::Command) -> clap::Command;

impl Cli {
    /// The commands that scripts call often.
    const OFTEN: [(&str, Augment); 2] =
        [("analyze", analyze::Analyze::augment_args), ("dissect", dissect::Dissect::augment_args)];

    /// Parses the arguments. The first one is the program's name.
    fn read(arguments: Vec<OsString>, config: Option<&config::Config>) -> clap::error::Result<Cli> {
        #[cfg(all(unix, feature = "live"))]
        let arguments = extcap::Extcap::named(arguments);
        let often = Cli::OFTEN.iter().find(|(name, _)| arguments.get(1).is_some_and(|first| first == name));
        let command = match often {
            // To build the parser of all commands takes a fifth of the start time.
            Some(&(name, augment)) => Every::augment_args(clap::Command::new("rdmawire"))
                .subcommand(augment(clap::Command::new(name))),
            None => Cli::command(),
        };
        let command = match config {
            Some(config) => config.apply(command),
            None => command,
        };
        Cli::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }
}

/// Prints a message on standard error, in one piece. The program goes on if standard error is closed.
fn say(message: fmt::Arguments<'_>) {
    let message = format!("rdmawire: {}\n", plain(&short(&output::as_named(message.to_string()))));
    let _ = io::stderr().write_all(message.as_bytes());
}

/// The door of all text to standard error: names of files, and their contents, come from strangers. Lines of a message behind its
/// first one are indented, as those with a caret below an error are, or numbered: a line end in a name must not begin a message of its own.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_end = c == '\n' && rest.peek().is_none_or(|next| matches!(next, ' ' | '\n' | '0'..='9'));
        shown.push(if is_end || !steers(c) { c } else { '?' });
    }
    shown
}

/// A message that can be read: a file may hold megabytes where a word is expected, and errors quote it.
fn short(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 4000;
    const END: usize = 500;
    let Some((cut, _)) = text.char_indices().nth(LONGEST) else { return Cow::Borrowed(text) };
    let end = text.char_indices().rev().nth(END).map_or(cut, |(at, _)| at.max(cut));
    let left_out = text[cut..end].chars().count();
    match left_out {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(format!("{} [… {left_out} characters …] {}", &text[..cut], &text[end..])),
    }
}

/// Prints the damage of a file on standard error, a line each. Returns whether there is any.
fn warn_of_damage(info: &Info) -> bool {
    for problem in &info.problems {
        say(format_args!("warning: {}: {problem}", info.name));
    }
    info.problem_count > 0
}

/// Whether the reader of the output has closed it.
/// Whether an error is the system's, and nobody said more.
fn is_of_system(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|io| io.raw_os_error().is_some())
        && error.chain().count() == 1
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let is_io = |io: &std::io::Error| io.kind() == std::io::ErrorKind::BrokenPipe;
        cause.downcast_ref().is_some_and(is_io)
            || cause.downcast_ref().is_some_and(rdmawire::capture::Error::is_broken_pipe)
    })
}
