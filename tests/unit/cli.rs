//! Tests of `src/cli/mod.rs`.

use super::*;

#[test]
fn a_command_that_is_called_often_reads_as_among_all() {
    for (name, _) in Cli::OFTEN {
        for argument in
            ["--help", "-h", "--version", "--no-such-option", "--threads=x", "pcaps/x.pcap", "help"]
        {
            let arguments = ["rdmawire", name, argument];
            let often = Cli::read(arguments.map(OsString::from).into(), None);
            let told = |result: clap::error::Result<Cli>| match result {
                Ok(cli) => format!("{cli:?}"),
                Err(error) => error.render().ansi().to_string(),
            };
            assert_eq!(told(often), told(Cli::try_parse_from(arguments)), "{arguments:?}");
        }
    }
}
