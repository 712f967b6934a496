//! Rows of JSON beside the report: what `explain` says of their fields comes from their declarations.

/// A row, and what its fields mean.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Its type's name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Names, meanings, and the words for serde.
    pub(crate) fields: &'static [(&'static str, &'static str, &'static str)],
}

impl Described {
    /// The fields that are written, each with its meaning. Those of a flattened one are written in its place, and are described with its type.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.fields.iter().filter(|(_, _, serde)| *serde != "flatten").map(|&(name, doc, _)| (name, doc))
    }
}

/// Structs that are written as JSON, and `FIELDS`, which has their documentation.
#[cfg(feature = "analyze")]
macro_rules! described {
    ($($(#[doc = $about:literal])+ $(#[derive($($derive:ident),+)])? pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $(#[serde($serde:ident)])? pub $field:ident: $type:ty,)+
    })+) => {
        $(
            #[derive(Clone, Debug, $($($derive,)+)? serde::Serialize)]
            $(#[doc = $about])+
            pub struct $name {
                $($(#[doc = $doc])+ $(#[serde($serde)])? pub $field: $type,)+
            }
        )+

        /// The rows, and what their fields mean.
        pub const FIELDS: &[$crate::report::Described] = &[$($crate::report::Described {
            name: stringify!($name),
            about: concat!($($about),+),
            fields: &[$((stringify!($field), concat!($($doc),+), concat!($(stringify!($serde))?))),+],
        }),+];
    };
}
#[cfg(feature = "analyze")]
pub(crate) use described;
