//! Cells as Arrow arrays: of tables, and of packets.

use std::{collections::HashMap, io, sync::Arc};

use arrow_array::{
    ArrayRef,
    builder::{
        BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, TimestampNanosecondBuilder,
        UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder,
    },
};
use arrow_schema::{DataType, Field, TimeUnit};

use super::{Cell, Kind};

/// A column, with what it means as metadata. Each may be empty.
pub(crate) fn field(name: &str, kind: DataType, doc: &str) -> Field {
    Field::new(name, kind, true).with_metadata(HashMap::from([("doc".to_owned(), doc.to_owned())]))
}

/// The types of columns: what builds arrays of each, Arrow's type, and how a builder begins.
macro_rules! builders {
    ($($kind:ident $builder:ident $type:expr, $new:expr;)*) => {
        /// The values of a column.
        pub(crate) enum Builder { $($kind($builder),)* }

        impl Builder {
            pub(crate) fn of(kind: Kind) -> Builder {
                match kind { $(Kind::$kind => Builder::$kind($new),)* }
            }

            pub(crate) fn put_null(&mut self) {
                match self { $(Builder::$kind(to) => to.append_null(),)* }
            }

            /// The values so far. The next ones begin another array.
            pub(crate) fn finish(&mut self) -> ArrayRef {
                match self { $(Builder::$kind(of) => Arc::new(of.finish()),)* }
            }
        }

        impl Kind {
            /// Its Arrow type.
            pub(crate) fn data_type(self) -> DataType {
                match self { $(Kind::$kind => $type,)* }
            }
        }
    };
}

type Numbers = ListBuilder<Int64Builder>;
type Times = TimestampNanosecondBuilder;
type Texts = ListBuilder<StringBuilder>;

builders! {
    U8 UInt8Builder DataType::UInt8, UInt8Builder::new();
    U16 UInt16Builder DataType::UInt16, UInt16Builder::new();
    U32 UInt32Builder DataType::UInt32, UInt32Builder::new();
    U64 UInt64Builder DataType::UInt64, UInt64Builder::new();
    I64 Int64Builder DataType::Int64, Int64Builder::new();
    Time Times DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())), Times::new().with_timezone(UTC);
    F64 Float64Builder DataType::Float64, Float64Builder::new();
    Bool BooleanBuilder DataType::Boolean, BooleanBuilder::new();
    Text StringBuilder DataType::Utf8, StringBuilder::new();
    Json StringBuilder DataType::Utf8, StringBuilder::new();
    Numbers Numbers DataType::List(element(DataType::Int64)),
        Numbers::new(Int64Builder::new()).with_field(element(DataType::Int64));
    Texts Texts DataType::List(element(DataType::Utf8)),
        Texts::new(StringBuilder::new()).with_field(element(DataType::Utf8));
}

/// The zone of all times.
const UTC: &str = "UTC";

/// No count comes near the largest number. Sums that saturated stay the largest there is.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn element(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new("element", kind, true))
}

impl Builder {
    /// Adds a value.
    ///
    /// # Errors
    /// The column is of another type.
    pub(crate) fn put(&mut self, cell: Cell<'_>) -> io::Result<()> {
        match (self, cell) {
            (to, Cell::Empty) => to.put_null(),
            (Builder::U8(to), Cell::Unsigned(number)) => to.append_value(number as u8),
            (Builder::U16(to), Cell::Unsigned(number)) => to.append_value(number as u16),
            (Builder::U32(to), Cell::Unsigned(number)) => to.append_value(number as u32),
            (Builder::U64(to), Cell::Unsigned(number)) => to.append_value(number),
            (Builder::I64(to), Cell::Signed(number)) => to.append_value(number),
            (Builder::I64(to), Cell::Unsigned(number)) => to.append_value(signed(number)),
            (Builder::Time(to), Cell::Signed(number)) => to.append_value(number),
            (Builder::F64(to), Cell::Float(number)) => to.append_value(number),
            (Builder::Bool(to), Cell::Bool(is)) => to.append_value(is),
            (Builder::Text(to), Cell::Text(text)) => to.append_value(text),
            (Builder::Json(to), Cell::Json(any)) => {
                let mut text = Vec::new();
                any.write(&mut text)?;
                to.append_value(String::from_utf8_lossy(&text));
            }
            (Builder::Numbers(to), Cell::List(list)) => {
                list.items(&mut |item| {
                    to.values().append_option(if let Cell::Unsigned(number) = item {
                        Some(signed(number))
                    } else {
                        None
                    });
                    Ok(())
                })?;
                to.append(true);
            }
            (Builder::Texts(to), Cell::List(list)) => {
                list.items(&mut |item| {
                    to.values().append_option(if let Cell::Text(text) = item { Some(text) } else { None });
                    Ok(())
                })?;
                to.append(true);
            }
            _ => return Err(io::Error::other("a cell is of another type than its column")),
        }
        Ok(())
    }
}
