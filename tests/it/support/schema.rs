//! Documents against JSON Schemas, as a program that is not ours reads both.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

/// A schema, compiled.
pub(crate) struct Schema {
    all: Schemas,
    this: SchemaIndex,
}

impl Schema {
    /// Of its text as JSON. Panics if this is no schema.
    pub(crate) fn of(schema: Value) -> Self {
        // A name that no file has, for what refers to parts of itself.
        const NAME: &str = "schema:under-test";
        let (mut compiler, mut all) = (Compiler::new(), Schemas::new());
        compiler.add_resource(NAME, schema).unwrap();
        let this = compiler.compile(NAME, &mut all).unwrap_or_else(|error| panic!("{error:#}"));
        Schema { all, this }
    }

    /// What does not fit, and where.
    pub(crate) fn check(&self, document: &Value) -> Result<(), String> {
        self.all.validate(document, self.this).map_err(|error| format!("{error:#}"))
    }
}
