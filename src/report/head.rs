//! The report: its head, and its long lists.

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::*;

/// The whole report.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// All but the long lists.
    pub head: Head,
    /// Flows, most packets first.
    pub flows: Vec<Flow>,
    /// Pairs of flows.
    pub connections: Vec<Connection>,
    /// Losses and timeouts one by one, by time.
    pub episodes: Vec<Episode>,
}

/// A report as renderers see it: its lists are in memory, or made row by row.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct View<'a> {
    /// All but the long lists.
    pub head: Cow<'a, Head>,
    /// Flows, most packets first.
    pub flows: Rows<'a, Flow>,
    /// Pairs of flows.
    pub connections: Rows<'a, Connection>,
    /// Losses and timeouts one by one, by time.
    pub episodes: Rows<'a, Episode>,
}

impl Report {
    /// The report as renderers see it.
    pub fn view(&self) -> View<'_> {
        View {
            head: Cow::Borrowed(&self.head),
            flows: Rows::new(Arc::new(&self.flows[..])),
            connections: Rows::new(Arc::new(&self.connections[..])),
            episodes: Rows::new(Arc::new(&self.episodes[..])),
        }
    }
}

impl View<'_> {
    /// Makes all rows, and keeps them.
    pub fn collect(&self) -> Report {
        Report {
            flows: self.flows.iter().map(Cow::into_owned).collect(),
            connections: self.connections.iter().map(Cow::into_owned).collect(),
            episodes: self.episodes.iter().map(Cow::into_owned).collect(),
            head: Head::clone(&self.head),
        }
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.head.with_lists(&self.flows, &self.connections, &self.episodes).serialize(to)
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.head.with_lists(&self.flows, &self.connections, &self.episodes).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Report, D::Error> {
        read::Report::deserialize(from).map(Report::from)
    }
}

impl Head {
    /// Whether all of its packets are of InfiniBand's own networks.
    pub fn is_native(&self) -> bool {
        let wraps = &self.overhead.encapsulations;
        !wraps.is_empty() && wraps.keys().all(|wrap| matches!(wrap, Encapsulation::Ib | Encapsulation::IbGrh))
    }

    /// The head of a column, with the word of the links that were captured: InfiniBand marks by FECN what IP marks by CE.
    #[cfg(feature = "cli")]
    pub(in crate::report) fn label<'a>(&self, label: &'a str) -> Cow<'a, str> {
        match label.strip_prefix("CE") {
            Some(rest) if self.is_native() => format!("FECN{rest}").into(),
            _ => label.into(),
        }
    }
}

/// The head, and the object that a report is in JSON, where the long lists stand between fields of the head.
macro_rules! head {
    ($({ $($(#[doc = $doc:literal])+ $(#[serde(skip_serializing_if = $empty:literal)])? $field:ident: $type:ty,)+ }
       [ $($(#[doc = $list_doc:literal])+ $list:ident: $rows:ident $row:ty,)* ])+) => {
        /// A report without its long lists.
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct Head {
            $($($(#[doc = $doc])+ pub $field: $type,)+)+
        }

        /// A report that is written.
        #[derive(serde::Serialize)]
        struct Written<'a, F, C, E> {
            $($($(#[serde(skip_serializing_if = $empty)])? $field: &'a $type,)+ $($list: $rows,)*)+
        }

        mod read {
            use super::*;

            records! {
                /// The whole report.
                pub struct Report {
                    $($($(#[doc = $doc])+ $(#[serde(skip_serializing_if = $empty)])? pub $field: $type,)+
                      $($(#[doc = $list_doc])+ pub $list: Vec<$row>,)*)+
                }
            }
        }

        impl Head {
            /// The report with these lists.
            fn with_lists<F, C, E>(&self, $($($list: $rows,)*)+) -> Written<'_, F, C, E> {
                Written { $($($field: &self.$field,)+)+ $($($list,)*)+ }
            }
        }

        impl From<read::Report> for Report {
            fn from(read: read::Report) -> Report {
                let head = Head { $($($field: read.$field,)+)+ };
                Report { head, $($($list: read.$list,)*)+ }
            }
        }
    };
}
