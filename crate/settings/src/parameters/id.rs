//! The name of every parameter.

macro_rules! names {
    ($($name:ident = $row:expr;)*) => {
        /// A parameter, by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the table's rows describe them")]
        pub enum Id { $($name,)* }

        impl Id {
            /// Every parameter, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

every_row! { names }
