//! The long lists of a report.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Serialize, Serializer};

/// Rows of a report. They are in memory, or made on demand.
pub trait List<T: Clone>: Send + Sync {
    /// How many rows there are.
    fn len(&self) -> usize;

    /// A row; `None` behind the last one.
    fn row(&self, at: usize) -> Option<Cow<'_, T>>;

    /// Calls `show` with each row. Only counts are sure to be set: text, lists and distributions may be missing. The rows come in any
    /// order.
    fn each_outline(&self, show: &mut dyn FnMut(usize, &T)) {
        for at in 0..self.len() {
            if let Some(row) = self.row(at) {
                show(at, &row);
            }
        }
    }

    /// [`each_outline`](Self::each_outline), but it may leave out rows without trouble: nothing is wrong, lost, late, retransmitted,
    /// refused or marked, and there is no CNP.
    fn each_in_trouble(&self, show: &mut dyn FnMut(usize, &T)) {
        self.each_outline(show);
    }

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Rows that are in memory.
impl<T: Clone + Send + Sync> List<T> for &[T] {
    fn len(&self) -> usize {
        (**self).len()
    }

    fn row(&self, at: usize) -> Option<Cow<'_, T>> {
        self.get(at).map(Cow::Borrowed)
    }
}

/// A list, in memory or made on demand.
pub struct Rows<'a, T>(Arc<dyn List<T> + 'a>);

impl<'a, T: Clone> Rows<'a, T> {
    /// The rows of a list.
    pub fn new(list: Arc<dyn List<T> + 'a>) -> Rows<'a, T> {
        Rows(list)
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, T>> {
        (0..self.len()).map_while(|at| self.row(at))
    }
}

impl<'a, T> std::ops::Deref for Rows<'a, T> {
    type Target = dyn List<T> + 'a;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl<T> Clone for Rows<'_, T> {
    fn clone(&self) -> Self {
        Rows(self.0.clone())
    }
}

impl<T: Clone> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.len())
    }
}

impl<T: Clone + Serialize> Serialize for Rows<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}
