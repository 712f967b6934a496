//! The tests of what users see, as one program: a module for each topic. `cargo test --test it truth` runs those of one.
//!
//! What they share is in `support`. `tests/properties`, `tests/samples` and `tests/judge` are shared with fuzz targets and examples too.

#[cfg(feature = "sim")]
#[path = "../judge/mod.rs"]
mod judge;
#[path = "../properties/mod.rs"]
mod properties;
#[path = "../samples/mod.rs"]
mod samples;
mod support;

/// Some tests bound what their thread allocates: [`samples::memory::during`].
#[global_allocator]
static ALLOCATOR: samples::memory::Counting = samples::memory::Counting;

#[cfg(feature = "sim")]
mod accuracy;
mod allocation;
#[cfg(feature = "cli")]
mod annotate;
#[cfg(feature = "sim")]
mod balance;
mod capture;
mod causes;
#[cfg(all(unix, feature = "cli"))]
mod cli_analyze;
#[cfg(feature = "cli")]
mod cli_dissect;
/// It has tests of its own.
#[cfg(feature = "cli")]
#[expect(dead_code)]
#[path = "../../src/cli/memory.rs"]
mod cli_memory;
#[cfg(feature = "sim")]
mod cm_timeout;
mod collectives;
mod collectives_crafted;
#[cfg(feature = "sim")]
mod collectives_played;
mod commands;
mod congestion;
mod corpus;
mod counters;
mod craft;
mod craft_allocation;
mod craft_captures;
mod craft_cli;
mod craft_findings;
mod craft_message;
mod credits;
mod dcqcn;
#[cfg(feature = "compression")]
mod diff;
#[cfg(feature = "sim")]
mod diff_crafted;
#[cfg(feature = "cli")]
mod doors;
#[cfg(feature = "sim")]
mod ecn;
#[cfg(feature = "cli")]
mod entropy;
mod fabric;
#[cfg(all(unix, feature = "cli", feature = "compression"))]
mod files;
mod filter;
#[cfg(feature = "sim")]
mod findings;
mod frame;
#[cfg(feature = "sim")]
mod frame_order;
mod gate;
#[cfg(all(unix, feature = "cli"))]
mod gate_cli;
#[cfg(feature = "sim")]
mod gave_up;
mod grammar;
#[cfg(all(feature = "arrow", feature = "compression"))]
mod header_rows;
mod headers;
#[cfg(feature = "sim")]
#[cfg(all(feature = "cli", unix))]
mod help;
#[cfg(all(target_os = "linux", feature = "cli", feature = "compression"))]
mod hostile;
#[cfg(feature = "cli")]
mod html;
mod ipoib;
#[cfg(all(feature = "cli", feature = "compression"))]
mod judged;
mod labels;
mod latency;
mod layers;
#[cfg(all(target_os = "linux", feature = "cli", feature = "live"))]
mod live;
#[cfg(all(feature = "cli", feature = "sim"))]
mod lldp;
mod lnet_smc;
mod logs;
#[cfg(feature = "sim")]
mod losses;
mod memory;
#[cfg(feature = "sim")]
mod merged_taps;
mod metamorphic;
mod metric_door;
mod metrics;
#[cfg(feature = "sim")]
mod microburst;
mod mrc;
mod mutate;
mod nvme;
mod one_sided;
mod outline;
mod overhead;
#[cfg(feature = "sim")]
mod own_links;
#[cfg(all(feature = "cli", feature = "compression"))]
mod packets;
mod paths;
mod pause;
#[cfg(feature = "sim")]
mod pause_tree;
mod pause_violations;
#[cfg(feature = "cli")]
mod plot;
#[cfg(feature = "cli")]
mod qos;
mod qp_map;
mod reading;
#[cfg(all(unix, feature = "cli", feature = "compression"))]
mod readme;
mod recovery;
mod reference;
mod regressions;
mod report;
#[cfg(feature = "sim")]
mod scenario;
#[cfg(feature = "cli")]
mod scenario_cli;
mod setups;
#[cfg(feature = "sim")]
mod shipped_scenarios;
#[cfg(feature = "sim")]
mod slow;
#[cfg(feature = "state")]
mod spray_played;
mod sprayed;
#[cfg(feature = "cli")]
mod sql;
mod state;
#[cfg(feature = "cli")]
mod tables;
#[cfg(feature = "cli")]
mod telemetry;
#[cfg(feature = "cli")]
mod text;
#[cfg(feature = "cli")]
mod threads;
mod timeline;
mod trimming;
mod truncate;
mod truth;
mod uet;
#[cfg(feature = "cli")]
mod upper_messages;
#[cfg(feature = "sim")]
mod vectors;
#[cfg(feature = "cli")]
mod wireshark;
