//! How text looks where standard output goes.

use std::io::{self, IsTerminal};

use clap::ValueEnum;

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
                io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
            Color::Always => true,
            Color::Never => false,
        }
    }
}

/// Columns of the terminal; 120 where the output goes elsewhere. COLUMNS goes before both.
pub(super) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    columns
        .or_else(|| terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0 as usize))
        .unwrap_or(120)
}
