//! `table!`, which describes a table once, together with the type of its rows.

/// Describes a table. If a type holds its rows, the types of the fields decide the kinds of the columns and
/// how they are read. The type is either new:
///
/// ```ignore
/// table! {
///     pub static CLAIMS: "claims" { key: &["key"], ends: &[Ends::At("until_at")] }
///
///     #[derive(Debug)]
///     pub struct Claim |self, row, key: &'a str| {
///         key: String = key,                             // a column, but no field
///         workspace_id => workspace: WorkspaceId,        // a field of another name
///         until_at: Option<Micros> [fixed],              // a field of the same name, with a mark
///         ;
///         change: RowChange = RowChange::None,           // a field, but no column
///     }
/// }
/// ```
///
/// or exists already, or there is none:
///
/// ```ignore
/// table! {
///     pub static OWNERS: "owners" { key: &["id"] }
///
///     impl Owner |row| { workspace_id => workspace, id, name, email, }
/// }
///
/// table! {
///     pub static FEED_CLOCK: "feed_clock" { key: &["workspace_id", "entity"] }
///
///     { workspace_id: WorkspaceId, entity: i64, last_us: i64, }
/// }
/// ```
///
/// Both types are read by [`FromRow`](crate::row::FromRow); a new one has `args`, the values of all columns.
/// A mark of a column is a method of [`ColumnSchema`](super::table::ColumnSchema).
macro_rules! table {
    (
        $(#[$about:meta])*
        pub static $table:ident: $name:literal { $($option:ident: $value:expr),* $(,)? }

        $(#[$doc:meta])*
        pub struct $record:ident |$this:ident, $row:ident $(, $param:ident: $of:ty)*| { $($columns:tt)* }
    ) => {
        $crate::schema::described::table! {
            @new ($this $row $record $table $name)
            [$(#[$about])*] [$($option: $value,)*] [$(#[$doc])*] [$($param: $of),*]
            {} {} {} {} $($columns)*
        }
    };
    (
        $(#[$about:meta])*
        pub static $table:ident: $name:literal { $($option:ident: $value:expr),* $(,)? }

        impl $record:ident |$row:ident| { $($columns:tt)* }
    ) => {
        $crate::schema::described::table! {
            @known ($row $record $table $name)
            [$(#[$about])*] [$($option: $value,)*]
            {} {} $($columns)*
        }
    };
    (
        $(#[$about:meta])*
        pub static $table:ident: $name:literal { $($option:ident: $value:expr),* $(,)? }

        { $($column:ident: $of:ty $([$($mark:ident),+])?),+ $(,)? }
    ) => {
        $(#[$about])*
        pub static $table: $crate::schema::table::TableSchema = $crate::schema::table::TableSchema {
            name: $name,
            columns: &[$(
                $crate::schema::table::column::<$of>(stringify!($column))$($(.$mark())+)?
            ),+],
            $($option: $value,)*
            ..$crate::schema::table::TableSchema::NONE
        };
    };

    // The columns of a new type are taken one after the other. The fields, the columns, the reads and
    // the values grow.
    (
        @new ($this:ident $row:ident $($head:tt)*) $about:tt $option:tt $doc:tt $param:tt
        {$($field:tt)*} {$($column:tt)*} {$($read:tt)*} {$($arg:tt)*}
        $(#[$about_one:meta])* $name:ident: $of:ty $([$($mark:ident $(($key:literal))?),+])?, $($rest:tt)*
    ) => {
        $crate::schema::described::table! {
            @new ($this $row $($head)*) $about $option $doc $param
            {$($field)* $(#[$about_one])* pub $name: $of,}
            {$($column)* $crate::schema::table::column::<$of>(stringify!($name)).read()$($(.$mark($($key)?))+)?,}
            {$($read)* $name: $row.get(stringify!($name))?,}
            {$($arg)* (stringify!($name), $crate::sql::Stored::value(&$this.$name)?),}
            $($rest)*
        }
    };
    (
        @new ($this:ident $row:ident $($head:tt)*) $about:tt $option:tt $doc:tt $param:tt
        {$($field:tt)*} {$($column:tt)*} {$($read:tt)*} {$($arg:tt)*}
        $(#[$about_one:meta])* $name:ident => $as:ident: $of:ty $([$($mark:ident $(($key:literal))?),+])?,
        $($rest:tt)*
    ) => {
        $crate::schema::described::table! {
            @new ($this $row $($head)*) $about $option $doc $param
            {$($field)* $(#[$about_one])* pub $as: $of,}
            {$($column)* $crate::schema::table::column::<$of>(stringify!($name)).read()$($(.$mark($($key)?))+)?,}
            {$($read)* $as: $row.get(stringify!($name))?,}
            {$($arg)* (stringify!($name), $crate::sql::Stored::value(&$this.$as)?),}
            $($rest)*
        }
    };
    (
        @new ($this:ident $row:ident $($head:tt)*) $about:tt $option:tt $doc:tt $param:tt
        {$($field:tt)*} {$($column:tt)*} {$($read:tt)*} {$($arg:tt)*}
        $name:ident: $of:ty $([$($mark:ident $(($key:literal))?),+])? = $value:expr, $($rest:tt)*
    ) => {
        $crate::schema::described::table! {
            @new ($this $row $($head)*) $about $option $doc $param
            {$($field)*}
            {$($column)* $crate::schema::table::column::<$of>(stringify!($name))$($(.$mark($($key)?))+)?,}
            {$($read)*}
            {$($arg)* (stringify!($name), $crate::sql::SqlValue::from($value)),}
            $($rest)*
        }
    };
    (
        @new ($this:ident $row:ident $record:ident $table:ident $name:literal)
        [$($about:tt)*] [$($option:tt)*] [$($doc:tt)*] [$($param:ident: $of:ty),*]
        {$($field:tt)*} {$($column:tt)*} {$($read:tt)*} {$($arg:tt)*}
        $(; $($(#[$about_other:meta])* $other:ident: $of_other:ty = $init:expr),* $(,)?)?
    ) => {
        $($about)*
        pub static $table: $crate::schema::table::TableSchema = $crate::schema::table::TableSchema {
            name: $name,
            columns: $record::COLUMNS,
            $($option)*
            ..$crate::schema::table::TableSchema::NONE
        };

        $($doc)*
        pub struct $record {
            $($field)*
            $($($(#[$about_other])* pub $other: $of_other,)*)?
        }

        impl $record {
            pub const COLUMNS: &[$crate::schema::table::ColumnSchema] = &[$($column)*];
            pub const WIDTH: usize = Self::COLUMNS.len();

            pub fn args<'a>(
                &'a $this $(, $param: $of)*
            ) -> Result<[$crate::sql::Arg<'a>; Self::WIDTH], $crate::StoreError> {
                Ok([$($arg)*])
            }
        }

        impl $crate::row::FromRow for $record {
            fn from_row($row: &$crate::sql::SqlRow<'_>) -> Result<Self, $crate::StoreError> {
                let read = || Ok(Self { $($read)* $($($other: $init,)*)? });
                read().map_err(|error: $crate::StoreError| error.in_table($name))
            }
        }
    };

    // The columns of an existing type: a field of the same name, a field of another name, and a
    // column that is no field.
    (
        @known ($row:ident $record:ident $($head:tt)*) $about:tt $option:tt
        {$($column:tt)*} {$($read:tt)*}
        $name:ident $([$($mark:ident),+])?, $($rest:tt)*
    ) => {
        $crate::schema::described::table! {
            @known ($row $record $($head)*) $about $option
            {
                $($column)*
                $crate::schema::table::field(stringify!($name), |of: &$record| &of.$name)$($(.$mark())+)?,
            }
            {$($read)* $name: $row.get(stringify!($name))?,}
            $($rest)*
        }
    };
    (
        @known ($row:ident $record:ident $($head:tt)*) $about:tt $option:tt
        {$($column:tt)*} {$($read:tt)*}
        $name:ident => $as:ident $([$($mark:ident),+])?, $($rest:tt)*
    ) => {
        $crate::schema::described::table! {
            @known ($row $record $($head)*) $about $option
            {
                $($column)*
                $crate::schema::table::field(stringify!($name), |of: &$record| &of.$as)$($(.$mark())+)?,
            }
            {$($read)* $as: $row.get(stringify!($name))?,}
            $($rest)*
        }
    };
    (
        @known ($row:ident $record:ident $($head:tt)*) $about:tt $option:tt
        {$($column:tt)*} {$($read:tt)*}
        $name:ident: $of:ty $([$($mark:ident),+])?, $($rest:tt)*
    ) => {
        $crate::schema::described::table! {
            @known ($row $record $($head)*) $about $option
            {$($column)* $crate::schema::table::column::<$of>(stringify!($name))$($(.$mark())+)?,}
            {$($read)*}
            $($rest)*
        }
    };
    (
        @known ($row:ident $record:ident $table:ident $name:literal) [$($about:tt)*] [$($option:tt)*]
        {$($column:tt)*} {$($read:tt)*}
        $(; $($other:ident = $init:expr),* $(,)?)?
    ) => {
        $($about)*
        pub static $table: $crate::schema::table::TableSchema = $crate::schema::table::TableSchema {
            name: $name,
            columns: &[$($column)*],
            $($option)*
            ..$crate::schema::table::TableSchema::NONE
        };

        impl $crate::row::FromRow for $record {
            fn from_row($row: &$crate::sql::SqlRow<'_>) -> Result<Self, $crate::StoreError> {
                let read = || Ok(Self { $($read)* $($($other: $init,)*)? });
                read().map_err(|error: $crate::StoreError| error.in_table($name))
            }
        }
    };
}

pub(crate) use table;
