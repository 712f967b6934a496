//! Enums whose values have names, each declared once.

/// An enum with `ALL` and `name`: after each value stands its name.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $type:ident { $($(#[$doc:meta])* $name:ident $text:literal,)* }) => {
        $(#[$meta])*
        $vis enum $type { $($(#[$doc])* $name,)* }

        impl $type {
            /// All of them, in order.
            $vis const ALL: [$type; [$($text),*].len()] = [$($type::$name),*];

            /// Its name.
            $vis const fn name(self) -> &'static str {
                match self { $($type::$name => $text,)* }
            }
        }
    };
}
