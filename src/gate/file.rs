//! Rules from a file, in TOML.

use serde::Deserialize;

use super::Rule;
use crate::{
    grammar::{did_you_mean, nearest},
    report::Severity,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rule: Vec<Entry>,
}

/// One of `check` and `fail_if`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<String>,
    check: Option<String>,
    fail_if: Option<String>,
    severity: Option<String>,
}

impl Rule {
    /// The rules of a file:
    ///
    /// ```
    /// # use rdmawire::gate::Rule;
    /// let rules = Rule::from_toml(r#"
    ///     [[rule]]
    ///     name = "lossless queues lose nothing"
    ///     check = "losses == 0 where dscp in [26, 46]"
    ///
    ///     [[rule]]
    ///     name = "few marks"
    ///     check = "ce_ratio < 3%"
    ///     severity = "warning" # or error, note
    ///
    ///     [[rule]]
    ///     fail_if = "ip_dscp in [3, 4] and message_fail != 0"
    /// "#)?;
    /// assert_eq!(rules.len(), 3);
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// Says where the file is wrong: the line, or the rule and the place in it.
    pub fn from_toml(text: &str) -> Result<Vec<Rule>, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let entries = file.rule.into_iter().enumerate();
        entries.map(|(at, entry)| entry.rule().map_err(|error| format!("rule {}: {error}", at + 1))).collect()
    }
}

impl Entry {
    fn rule(self) -> Result<Rule, String> {
        let mut rule = match (&self.check, &self.fail_if) {
            (Some(text), None) => Rule::parse(text),
            (None, Some(query)) => Rule::fail_if(query),
            _ => return Err("expected either `check` or `fail_if`".into()),
        }
        .map_err(|error| error.to_string())?;
        let severity = self.severity.as_deref().unwrap_or(Severity::Error.name());
        let known = [Severity::Error, Severity::Warning, Severity::Note];
        let Some(severity) = known.into_iter().find(|known| known.name() == severity) else {
            let near = nearest(severity, known.iter().map(|known| known.name().to_owned()));
            let or = did_you_mean(&near, "; expected error, warning or note");
            return Err(format!("there is no severity {severity:?}{or}"));
        };
        (rule.name, rule.severity) = (self.name, severity);
        Ok(rule)
    }
}
