//! What the user says of priorities: see `--qos`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which field of a packet says its priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, crate::stored::Stored)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Trust {
    /// The DSCP.
    #[default]
    Dscp,
    /// The priority code point of the VLAN tag. Without a tag, the DSCP.
    Pcp,
}

/// Priorities, and what they are for.
///
/// ```
/// # #[cfg(feature = "toml")] {
/// let map = rdmawire::analyze::QosMap::parse("pfc = [3]\ncnp = 6\n[dscp]\n26 = 3").unwrap();
/// assert_eq!(map.priority(Some(26), None), Some(3));
/// assert_eq!(map.priority(Some(48), None), Some(6)); // DSCP / 8, where the map has nothing
/// assert!(map.has_pfc(3) && map.check().is_ok());
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, crate::stored::Stored)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct QosMap {
    /// Which field says the priority.
    pub trust: Trust,
    /// Priorities with PFC.
    pub pfc: Vec<u8>,
    /// The priority of CNPs.
    pub cnp: Option<u8>,
    /// The priority of ACKs, where it is not that of the data.
    pub ack: Option<u8>,
    /// From DSCP to priority. Others have a priority of an eighth of their DSCP.
    pub dscp: BTreeMap<String, u8>,
    /// From PCP to priority. Others are the priority.
    pub pcp: BTreeMap<String, u8>,
}

impl QosMap {
    /// The priority of a packet.
    pub fn priority(&self, dscp: Option<u8>, pcp: Option<u8>) -> Option<u8> {
        let [by_dscp, by_pcp] = self.both(dscp, pcp);
        match self.trust {
            Trust::Dscp => by_dscp.or(by_pcp),
            Trust::Pcp => by_pcp.or(by_dscp),
        }
    }

    /// The priorities by DSCP and by PCP.
    pub fn both(&self, dscp: Option<u8>, pcp: Option<u8>) -> [Option<u8>; 2] {
        let of = |map: &BTreeMap<String, u8>, key: u8| map.get(&key.to_string()).copied();
        [
            dscp.map(|dscp| of(&self.dscp, dscp).unwrap_or(dscp >> 3)),
            pcp.map(|pcp| of(&self.pcp, pcp).unwrap_or(pcp)),
        ]
    }

    /// Whether a priority has PFC.
    pub fn has_pfc(&self, priority: u8) -> bool {
        self.pfc.contains(&priority)
    }

    /// The map of a text: TOML, as `rdmawire explain qos` describes it.
    ///
    /// # Errors
    /// What is wrong with the text.
    #[cfg(feature = "toml")]
    pub fn parse(text: &str) -> Result<QosMap, String> {
        let map: QosMap = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        map.check().map(|()| map)
    }

    /// Whether all numbers are in their ranges.
    ///
    /// # Errors
    /// What is out of its range.
    pub fn check(&self) -> Result<(), String> {
        let named = |name: &str, n: Option<u8>| match n {
            Some(n) if n > 7 => Err(format!("{name}: {n} is no priority: expected 0 to 7")),
            _ => Ok(()),
        };
        self.pfc.iter().try_for_each(|&n| named("pfc", Some(n)))?;
        named("cnp", self.cnp)?;
        named("ack", self.ack)?;
        for (name, map, most) in [("dscp", &self.dscp, 63), ("pcp", &self.pcp, 7)] {
            for (key, &priority) in map {
                match key.parse::<u8>() {
                    // Of "026" and "26", only one would be found.
                    Ok(n) if n <= most && n.to_string() == *key => {}
                    _ => return Err(format!("{name}: {key:?}: expected a number from 0 to {most}")),
                }
                named(&format!("{name}: {key}"), Some(priority))?;
            }
        }
        Ok(())
    }
}
