//! What every store must do, as functions that panic where one does not: for the tests of those who write a store.
//!
//! Each takes a function that makes an empty store. [`all`] runs them all; [`agree`] holds one implementation against
//! another.
//!
//! ```ignore
//! #[test]
//! fn it_conforms() {
//!     becr_store::conformance::all(&|header| MyStore::new(header.clone()));
//! }
//! ```

mod counting;
mod history;
mod model;
mod nearest;
mod questions;
mod refusals;
mod snapshots;

pub use counting::CountingStore;
pub use history::{agree, statistics_are_exact};
pub use nearest::the_nearest_are_found;
pub use questions::{
    documents_come_back, records_come_in_order, unknown_things_are_unknown,
    wordpieces_stand_in_for_words,
};
pub use refusals::{
    impossible_changes_are_refused, long_ids_and_words_are_kept, what_is_refused_leaves_no_trace,
};
pub use snapshots::{dropped_changes_never_were, snapshots_stay_as_they_are};

use crate::{Header, WriteStore};

/// Makes an empty store.
pub type Make<'a, S> = &'a dyn Fn(&Header) -> S;

/// Runs all of them.
pub fn all<S: WriteStore>(make: Make<'_, S>) {
    documents_come_back(make);
    unknown_things_are_unknown(make);
    records_come_in_order(make);
    wordpieces_stand_in_for_words(make);
    what_is_refused_leaves_no_trace(make);
    impossible_changes_are_refused(make);
    long_ids_and_words_are_kept(make);
    dropped_changes_never_were(make);
    snapshots_stay_as_they_are(make);
    statistics_are_exact(make);
    the_nearest_are_found(make);
}
