//! Counters as a host shows them.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    path::Path,
};

use super::fact::{COUNTERS, Vendor};

/// The largest file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// The counters of a host at one time, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading(BTreeMap<String, u64>);

impl Reading {
    /// Reads a file with the output of `ethtool -S`, `rdma statistic` or `rdma statistic -j`, or with lines of a name and a
    /// value; or a directory of sysfs such as `/sys/class/infiniband/mlx5_0/ports/1/hw_counters`.
    ///
    /// # Errors
    /// It cannot be read, is larger than 16 MiB, or has no counters.
    pub fn open(path: &Path) -> io::Result<Reading> {
        let mut reading = Reading::default();
        if fs::metadata(path)?.is_dir() {
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                let text = if entry.file_type()?.is_file() { read(&entry.path())? } else { continue };
                if let (Ok(name), Ok(value)) = (entry.file_name().into_string(), text.trim().parse()) {
                    reading.add(&name, value);
                }
            }
        } else {
            reading = Reading::parse(&read(path)?)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
        match reading.0.is_empty() {
            true => Err(io::Error::new(io::ErrorKind::InvalidData, "no counters in it")),
            false => Ok(reading),
        }
    }

    /// The counters of a text: JSON, or names with values after them. Of several ports or queue pairs, the sums.
    ///
    /// # Errors
    /// The text begins as JSON and is none.
    pub fn parse(text: &str) -> Result<Reading, serde_json::Error> {
        let mut reading = Reading::default();
        if text.trim_start().starts_with(['[', '{']) {
            reading.add_json("", &serde_json::from_str(text)?);
            return Ok(reading);
        }
        for line in text.lines() {
            let words = line.split([' ', '\t', ':', '=', ',']).filter(|word| !word.is_empty());
            let mut name = None;
            for word in words {
                match (name.take(), word.parse()) {
                    (Some(name), Ok(value)) => reading.add(name, value),
                    _ => name = Some(word),
                }
            }
        }
        Ok(reading)
    }

    fn add_json(&mut self, name: &str, value: &serde_json::Value) {
        match value {
            serde_json::Value::Array(rows) => rows.iter().for_each(|row| self.add_json(name, row)),
            serde_json::Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| self.add_json(name, value));
            }
            serde_json::Value::String(text) => {
                if let Ok(value) = text.parse() {
                    self.add(name, value);
                }
            }
            other => {
                if let Some(value) = other.as_u64() {
                    self.add(name, value);
                }
            }
        }
    }

    fn add(&mut self, name: &str, value: u64) {
        let sum = self.0.entry(name.to_owned()).or_default();
        *sum = sum.saturating_add(value);
    }

    /// Adds the counters of another file of the same host; a counter that both have is kept as it is.
    pub fn and(&mut self, other: Reading) {
        for (name, value) in other.0 {
            self.0.entry(name).or_insert(value);
        }
    }

    /// A counter's value.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// Whose names these are: the vendor with most names in common.
    pub fn vendor(&self) -> Option<Vendor> {
        let known = |vendor: Vendor| {
            let names = COUNTERS.iter().filter(|counter| counter.vendor == vendor);
            names.flat_map(|counter| counter.name.split('+')).filter(|name| self.get(name).is_some()).count()
        };
        let all = Vendor::ALL.into_iter().map(|vendor| (known(vendor), vendor));
        all.rev().max_by_key(|(known, _)| *known).filter(|(known, _)| *known > 0).map(|(_, vendor)| vendor)
    }
}

fn read(path: &Path) -> io::Result<String> {
    // A device says nothing of its length, and may have no end.
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "larger than 16 MiB: not a reading of counters",
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
