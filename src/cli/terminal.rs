//! Standard output, and how text looks there.

use std::{
    env,
    io::{self, IsTerminal, Write},
};

use clap::ValueEnum;

/// Standard output for much at a time: that of the standard library looks for line ends in all of it.
#[cfg(unix)]
pub(super) fn stdout() -> io::Result<impl Write + IsTerminal + use<>> {
    use std::os::fd::AsFd;
    Ok(std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

#[cfg(not(unix))]
pub(super) fn stdout() -> io::Result<impl Write + IsTerminal + use<>> {
    Ok(io::stdout())
}

/// When text is coloured.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether what goes to standard output is coloured.
    pub(super) fn is_on(self) -> bool {
        match self {
            Color::Auto => {
                io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
            }
            Color::Always => true,
            Color::Never => false,
        }
    }
}

/// Columns of the terminal; 120 where the output goes elsewhere. COLUMNS goes before both.
pub(super) fn width() -> usize {
    let columns = env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns
        .or_else(|| terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0 as usize))
        .unwrap_or(120)
}
