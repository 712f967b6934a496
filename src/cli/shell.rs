//! `rdmawire completions` and `rdmawire man`: made from the parser of the command line.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
};

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{
    Cli, Outcome,
    output::{self, Kind},
};

/// Print the completions of a shell: what Tab offers.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire completions bash > rdmawire.bash
  rdmawire completions zsh > _rdmawire

Where shells look for them:
  bash  ~/.local/share/bash-completion/completions/rdmawire
  zsh   a folder of $fpath, as _rdmawire
  fish  ~/.config/fish/completions/rdmawire.fish")]
pub(super) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page, or write those of all commands.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  rdmawire man > rdmawire.1
  rdmawire man --output ./man1")]
pub(super) struct Man {
    /// Write rdmawire.1, rdmawire-analyze.1, … into this directory, such as ~/.local/share/man/man1. Files of these names are replaced.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Completions {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        // The generator panics if it cannot write.
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "rdmawire", &mut text);
        io::stdout().lock().write_all(&text)?;
        Ok(Outcome::Done)
    }
}

impl Man {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let mut all = Cli::command().disable_help_subcommand(true);
        let Some(folder) = self.output else {
            clap_mangen::Man::new(all).render(&mut io::stdout().lock())?;
            return Ok(Outcome::Done);
        };
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        // Names commands after their parents, for the synopsis.
        all.build();
        let mut rest = vec![(all, "rdmawire".to_owned())];
        while let Some((command, name)) = rest.pop() {
            let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
            rest.extend(shown.map(|inner| (inner.clone(), format!("{name}-{}", inner.get_name()))));
            let path = folder.join(format!("{name}.1"));
            let mut text = Vec::new();
            clap_mangen::Man::new(command.name(name)).render(&mut text)?;
            output::write_quietly(&path, Kind::Other, true, &text)?;
        }
        Ok(Outcome::Done)
    }
}
