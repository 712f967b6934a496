//! Which other commands say more of a capture.

use std::collections::BTreeSet;

use crate::{
    analyze::metric::{named::Named, setup::Setups, traffic::Traffic},
    report::SeeAlso,
    upper::{Application, Protocol},
};

/// The commands that follow what is in the capture.
pub(super) fn of(setups: &Setups, named: &Named, traffic: &Traffic) -> Vec<SeeAlso> {
    let all: BTreeSet<Application> = setups.applications().chain(named.all()).collect();
    let names = |is_of: fn(Protocol) -> bool| -> Vec<&'static str> {
        let of = all.iter().filter(|application| application.protocol().is_some_and(is_of));
        of.map(|application| application.name()).collect()
    };
    let has_subnet = setups.has_others() || traffic.has_subnet_management();
    let of_commands = [
        ("nvme", names(|protocol| protocol == Protocol::Nvme)),
        ("commands", names(|protocol| !matches!(protocol, Protocol::Nvme | Protocol::Ipoib))),
        ("fabric", has_subnet.then_some("subnet management").into_iter().collect()),
    ];
    let see = of_commands
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(command, names)| SeeAlso { command: command.into(), of: names.join(", ") });
    see.collect()
}
