//! Rows of what controllers and namespaces are, and what stands out.

use std::collections::BTreeMap;

use super::{
    data::{Controller, Identified, Namespace, Which, Who},
    rows::{ControllerRow, NamespaceRow, Report, SubsystemRow},
};
use crate::wire::{NvmeAnaState, NvmeControllerType, NvmeSubsystemType};

/// `whose`: of each queue of the report, of which controller it is, where something says it.
pub(super) fn controllers(all: &Identified, whose: &[Option<Who>]) -> Vec<ControllerRow> {
    let mut queues: BTreeMap<&Who, Vec<usize>> = BTreeMap::new();
    for (at, who) in whose.iter().enumerate() {
        who.iter().for_each(|who| queues.entry(who).or_default().push(at));
    }
    let queues = |who| queues.get(who).cloned().unwrap_or_default();
    all.controllers.iter().map(|(who, controller)| controller_row(who, controller, queues(who))).collect()
}

fn controller_row((host, address, subsystem, _): &Who, of: &Controller, queues: Vec<usize>) -> ControllerRow {
    let identity = of.identity.as_ref();
    let (id, abilities) =
        (identity.map(|id| &id.controller), identity.and_then(|identity| identity.abilities.as_ref()));
    let fabrics = identity.and_then(|identity| identity.fabrics.as_ref());
    let smart = of.smart.as_ref();
    let ver = id.map(|id| id.ver().0.0).filter(|&ver| ver != 0);
    ControllerRow {
        host: host.to_string(),
        controller: address.to_string(),
        subsystem: subsystem.as_deref().map(str::to_owned),
        controller_id: of.id,
        queues,
        host_id: of.host_id.filter(|id| *id != [0; 16]).map(|id| hex(&id)),
        keep_alive_ms: of.keep_alive_ms,
        model: identity.map(|identity| identity.model.clone()),
        serial: identity.map(|identity| identity.serial.clone()),
        firmware: identity.map(|identity| identity.firmware.clone()),
        version: ver.map(|ver| format!("{}.{}.{}", ver >> 16, ver >> 8 & 0xff, ver & 0xff)),
        kind: id.and_then(|id| word(id.cntrltype())),
        highest_namespace: abilities.map(|abilities| abilities.nn().0),
        most_transfer_bytes: id.zip(of.capabilities).and_then(|(id, cap)| {
            // Of pages of the least size, which the capabilities say.
            let bits = 12 + (cap >> 48 & 0xf) + u64::from(id.mdts());
            (id.mdts() > 0 && bits < 64).then(|| 1 << bits)
        }),
        capsule_data_bytes: fabrics
            .and_then(|fabrics| (u64::from(fabrics.ioccsz().0) * 16).checked_sub(super::capsule::SQE as u64)),
        keep_alive_step_ms: abilities.map(|abilities| u32::from(abilities.kas().0) * 100),
        has_ana: id.map(|id| id.cmic().0 & 8 != 0),
        warnings: smart.map(|smart| warnings(smart.critical_warning().0)),
        // Zero kelvins: none is told.
        temperature_celsius: smart
            .map(|smart| i32::from(smart.temperature().0))
            .filter(|&kelvins| kelvins > 0)
            .map(|kelvins| kelvins - 273),
        used_percent: smart.map(|smart| smart.used()),
        media_errors: smart.map(|smart| match smart.media_errors_high().0 {
            0 => smart.media_errors().0,
            _ => u64::MAX,
        }),
    }
}

/// The kind of a controller in words.
fn word(kind: NvmeControllerType) -> Option<String> {
    use crate::wire::Bits;
    NvmeControllerType::SHOW.name(kind.0.into()).map(str::to_owned)
}

/// Critical warnings of the SMART log.
fn warnings(bits: u8) -> Vec<String> {
    const WORDS: [&str; 6] = [
        "spare capacity is low",
        "temperature is out of bounds",
        "reliability is degraded",
        "media is read-only",
        "backup of volatile memory failed",
        "persistent memory is unreliable",
    ];
    let set = WORDS.iter().enumerate().filter(|(n, _)| bits >> n & 1 == 1);
    set.map(|(_, words)| (*words).to_owned()).collect()
}

pub(super) fn namespaces(all: &Identified) -> Vec<NamespaceRow> {
    all.namespaces.iter().map(|((who, number), of)| namespace_row(who, *number, of)).collect()
}

fn namespace_row((host, address, subsystem, which): &Who, namespace: u32, of: &Namespace) -> NamespaceRow {
    let (id, size) = (of.identity.as_ref().map(|(id, _)| id), of.block_bytes());
    let bytes = |blocks: u64| size.and_then(|size| blocks.checked_mul(size));
    NamespaceRow {
        host: host.to_string(),
        controller: address.to_string(),
        subsystem: subsystem.as_deref().map(str::to_owned),
        controller_id: match which {
            Which::Id(id) => Some(*id),
            Which::Unknown | Which::OfAdmin(_) => None,
        },
        namespace,
        block_bytes: size,
        metadata_bytes: of.identity.as_ref().and_then(|(_, format)| *format).map(|format| format.ms().0),
        blocks: id.map(|id| id.nsze().0),
        size_bytes: id.and_then(|id| bytes(id.nsze().0)),
        used_bytes: id.and_then(|id| bytes(id.nuse().0)),
        nguid: id.map(|id| id.nguid().0).filter(|id| *id != [0; 16]).map(|id| hex(&id)),
        eui64: id.map(|id| id.eui64().0).filter(|&id| id != 0).map(|id| format!("{id:016x}")),
        uuid: of.uuid.map(|id| {
            let text = hex(&id);
            format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
        }),
        ana_state: of
            .ana
            .map(|state| state.name().map_or_else(|| format!("state {:#x}", state.0), str::to_owned)),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn discovered(all: &Identified) -> Vec<SubsystemRow> {
    use crate::wire::Bits;
    let row = |(of, kind): (&(crate::dissect::Address, [String; 4]), &NvmeSubsystemType)| {
        let (controller, [subsystem, transport, address, service]) = of.clone();
        SubsystemRow {
            controller: controller.to_string(),
            subsystem,
            kind: NvmeSubsystemType::SHOW.name(kind.0.into()).map(str::to_owned),
            transport,
            address,
            service,
        }
    };
    all.discovered.iter().map(row).collect()
}

/// What stands out, with what to do.
pub(super) fn findings(report: &Report) -> Vec<String> {
    let mut all = Vec::new();
    // A number tells controllers apart where there are several.
    let which = |host: &str, controller: &str, id: Option<u16>| {
        let here = report.controllers.iter().filter(|row| row.host == host && row.controller == controller);
        match id.filter(|_| here.count() > 1) {
            Some(id) => format!("{host} → {controller}, controller {id}"),
            None => format!("{host} → {controller}"),
        }
    };
    for row in &report.controllers {
        let who = which(&row.host, &row.controller, row.controller_id);
        if let Some(warnings) = row.warnings.as_ref().filter(|warnings| !warnings.is_empty()) {
            all.push(format!("{who}: the controller warns in its SMART log: {}", warnings.join(", ")));
        }
    }
    for row in &report.namespaces {
        let is_good = |state: &String| NvmeAnaState::OPTIMIZED.name() == Some(state.as_str());
        if let Some(state) = row.ana_state.as_ref().filter(|state| !is_good(state)) {
            all.push(format!(
                "{}: the controller says that namespace {} is \"{state}\" through it (ANA): another path is better, or its target is in trouble",
                which(&row.host, &row.controller, row.controller_id),
                row.namespace,
            ));
        }
    }
    all
}
