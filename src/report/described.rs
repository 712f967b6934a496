//! Rows of JSON beside the report: what `explain` says of their fields comes from their declarations.

/// A row, and what its fields mean.
#[derive(Clone, Copy, Debug)]
pub struct Described {
    /// Its type's name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Names, meanings, the words for serde, and the names of the types.
    pub(crate) fields: &'static [(&'static str, &'static str, &'static str, &'static str)],
}

/// What a value may be that is one of a few words.
#[derive(Clone, Copy, Debug)]
pub struct Vocabulary {
    /// Its type's name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// Each word, the words for it in text, and what it means.
    pub words: &'static [(&'static str, &'static str, &'static str)],
}

impl Described {
    /// The fields that are written, each with its meaning and its type's name. Those of a flattened one are written in its place, and are
    /// described with its type.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let written = self.fields.iter().filter(|(_, _, serde, _)| *serde != "flatten");
        written.map(|&(name, doc, _, of)| (name, doc, of))
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
            fields: &[$((stringify!($field), concat!($($doc),+), concat!($(stringify!($serde))?), stringify!($type))),+],
        }),+];
    };
}
#[cfg(feature = "analyze")]
pub(crate) use described;

/// An enum that is written as a word, with [`Vocabulary`].
#[cfg(feature = "analyze")]
macro_rules! words {
    ($(#[doc = $about:literal])+ pub enum $name:ident { $($(#[doc = $doc:literal])+ $term:ident = $word:literal $words:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[doc = $doc])+ $term,)+
        }

        impl $name {
            /// The words, and what each means.
            pub const VOCABULARY: $crate::report::Vocabulary = $crate::report::Vocabulary {
                name: stringify!($name),
                about: concat!($($about),+),
                words: &[$(($word, $words, concat!($($doc),+))),+],
            };

            /// In text.
            pub const fn words(self) -> &'static str {
                match self {
                    $($name::$term => $words,)+
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(match self {
                    $($name::$term => $word,)+
                })
            }
        }
    };
}
#[cfg(feature = "analyze")]
pub(crate) use words;
