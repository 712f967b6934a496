//! The native part of the Python package `rdmawire`. `python/rdmawire` makes an interface for people of it.

mod column;
mod error;
mod frames;
mod packet;
mod packets;
mod report;
mod rows;
mod source;
mod state;

use pyo3::prelude::*;

/// What `rdmawire/__init__.py` builds on.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<packet::Packet>()?;
    module.add_class::<packets::Packets>()?;
    module.add_class::<packets::PacketIterator>()?;
    module.add_class::<report::NativeReport>()?;
    module.add_class::<rows::Headers>()?;
    module.add_class::<rows::RowAnalysis>()?;
    module.add_function(wrap_pyfunction!(column::columns, module)?)?;
    module.add_function(wrap_pyfunction!(column::row_columns, module)?)?;
    module.add_function(wrap_pyfunction!(report::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(report::messages, module)?)?;
    module.add_function(wrap_pyfunction!(state::is_state, module)?)?;
    module.add_function(wrap_pyfunction!(rows::file_facts, module)?)?;
    module.add_function(wrap_pyfunction!(report::report_schema, module)?)?;
    module.add_function(wrap_pyfunction!(report::table_columns, module)?)?;
    module.add_function(wrap_pyfunction!(report::table_names, module)?)?;
    module.add_function(wrap_pyfunction!(frames::craft, module)?)?;
    module.add_function(wrap_pyfunction!(frames::craft_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(frames::rewrite, module)?)?;
    module.add_function(wrap_pyfunction!(frames::write, module)?)?;
    Ok(())
}
