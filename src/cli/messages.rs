//! Messages become rows of tables while the analysis finds them.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rdmawire::{
    analyze::{Ended, metric::messages::Messages},
    report::{Message, table::Messages as Rows},
};

/// The tables that the messages of one analysis go to.
pub(super) struct MessageTables<W: Write + Send>(Arc<Mutex<Open<W>>>);

struct Open<W: Write + Send> {
    /// The name of the capture.
    name: String,
    tables: Vec<Rows<W>>,
    written: io::Result<()>,
}

impl<W: Write + Send + 'static> MessageTables<W> {
    pub(super) fn new(name: &str, tables: Vec<Rows<W>>) -> MessageTables<W> {
        let open = Open { name: name.to_owned(), tables, written: Ok(()) };
        MessageTables(Arc::new(Mutex::new(open)))
    }

    /// The metric that writes to them.
    pub(super) fn metric(&self) -> Messages {
        let open = MessageTables(self.0.clone());
        Messages::new(move |message| open.lock().put(message))
    }

    /// Writes the messages that the analysis still keeps. Gives the tables back, and whether all could be written.
    pub(super) fn end(self, ended: &mut Ended) -> (Vec<Rows<W>>, io::Result<()>) {
        if let Some(messages) = ended.metric_mut::<Messages>() {
            messages.end();
        }
        let mut open = self.lock();
        (mem::take(&mut open.tables), mem::replace(&mut open.written, Ok(())))
    }

    fn lock(&self) -> MutexGuard<'_, Open<W>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write + Send> Open<W> {
    fn put(&mut self, message: &Message) {
        let Open { name, tables, written } = self;
        if written.is_ok() {
            *written = tables.iter_mut().try_for_each(|table| table.put(name, message));
        }
    }
}
