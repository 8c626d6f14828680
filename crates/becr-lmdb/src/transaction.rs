//! LMDB's transactions: what a view of the store is read in.

use heed::{RoTxn, RwTxn, WithoutTls};
use std::marker::PhantomData;

/// A transaction of LMDB, to read or to write.
pub trait Transaction: sealed::Readable {}

/// To read: the store as it was when it began.
pub struct ReadTransaction(pub(crate) RoTxn<'static, WithoutTls>);

/// To write: the store as it is, and nobody else changes it meanwhile. It belongs to the thread that began it.
pub struct WriteTransaction<'s> {
    pub(crate) txn: RwTxn<'s>,
    /// LMDB's lock must be released by the thread that took it.
    _not_send: PhantomData<*const ()>,
}

impl<'s> WriteTransaction<'s> {
    pub(crate) fn new(txn: RwTxn<'s>) -> Self {
        Self {
            txn,
            _not_send: PhantomData,
        }
    }
}

pub(crate) mod sealed {
    use heed::RoTxn;

    pub trait Readable {
        fn txn(&self) -> &RoTxn<'_>;
    }
}

impl sealed::Readable for ReadTransaction {
    fn txn(&self) -> &RoTxn<'_> {
        &self.0
    }
}

impl sealed::Readable for WriteTransaction<'_> {
    fn txn(&self) -> &RoTxn<'_> {
        &self.txn
    }
}

impl Transaction for ReadTransaction {}
impl Transaction for WriteTransaction<'_> {}
