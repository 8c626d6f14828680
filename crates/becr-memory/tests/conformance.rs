//! The store in memory does what every store must, in few round trips.

use becr_memory::Store;
use becr_store::conformance::{self, CountingStore};
use becr_store::{Batch, Header, NewDocument, Shape, StoreError, WriteStore};
use std::sync::Mutex;

#[test]
fn it_conforms() {
    conformance::all(&|header| Store::new(header.clone()));
}

/// The store in memory, its transactions counted.
struct Counted {
    store: Store,
    trips: Mutex<Vec<usize>>,
}

impl WriteStore for Counted {
    type Snapshot = <Store as WriteStore>::Snapshot;
    type Transaction<'s> = CountingStore<<Store as WriteStore>::Transaction<'s>>;

    fn snapshot(&self) -> Result<Self::Snapshot, StoreError> {
        Ok(self.store.snapshot())
    }

    fn begin(&self) -> Result<Self::Transaction<'_>, StoreError> {
        Ok(CountingStore::new(self.store.begin()?))
    }

    fn apply(&self, transaction: Self::Transaction<'_>, batch: &Batch) -> Result<(), StoreError> {
        self.trips.lock().unwrap().push(transaction.trips());
        self.store.apply(transaction.into_inner(), batch)
    }
}

/// To begin, to ask for a list of documents and to commit takes a fixed number of round trips, however long the list.
#[test]
fn a_list_of_documents_takes_few_round_trips() {
    let store = Counted {
        store: Store::new(Header::new("encoder-1", Shape::new(1, 32), 3)),
        trips: Mutex::default(),
    };
    let texts: Vec<String> = (0..50)
        .map(|n| format!("river w{n} bank w{}", n / 2))
        .collect();
    let ids: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    let documents: Vec<NewDocument<'_>> = ids
        .iter()
        .zip(&texts)
        .map(|(id, text)| NewDocument {
            id,
            text,
            mean: &[0; 4],
            ..Default::default()
        })
        .collect();
    // New ones need one question; to replace others, their records too; to delete, also how their words are spelled.
    for _ in 0..2 {
        let mut update = store.update().unwrap();
        update.put_all(&documents).unwrap();
        update.commit().unwrap();
    }
    let mut update = store.update().unwrap();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(update.delete_all(&ids).unwrap(), [true; 50]);
    update.commit().unwrap();
    let trips = store.trips.lock().unwrap().clone();
    let begin = 3;
    assert_eq!(trips, [1, 2, 3].map(|asked| begin + asked));
}
