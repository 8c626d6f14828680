//! The embedded store: one LMDB environment, its tables, and what it is bound to.

use crate::engine::engine;
use crate::registry::{self, FileId, OpenError, Opening, Registered};
use crate::sums::{SUMS, Sums};
use crate::transaction::{ReadTransaction, WriteTransaction};
use crate::{Snapshot, Update, env, length, pages};
use becr_store::{Documents, FORMAT, Header, StoreError, Table};
use heed::byteorder::BigEndian;
use heed::types::{Bytes, Str, U64};
use heed::{Database, Env, RwTxn, WithoutTls};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A store, open. Clones share it, and so does whoever opens it again, by whatever path.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

/// What the clones of a store share.
pub(crate) struct Inner {
    env: Env<WithoutTls>,
    tables: Tables,
    path: PathBuf,
    header: Header,
    /// Whether the last record that was found is kept by itself: where to look for the next one first.
    finds_single: AtomicBool,
    /// After the environment: fields are dropped in their order.
    _registered: Registered,
}

impl Inner {
    pub(crate) fn new(path: &Path, opening: Opening, registered: Registered) -> Self {
        Self {
            env: opening.env,
            tables: opening.tables,
            path: path.to_owned(),
            header: opening.header,
            finds_single: AtomicBool::new(false),
            _registered: registered,
        }
    }
}

/// Where the caller's bytes are kept in the table `meta`.
pub(crate) const COMPANION: &str = "first_stage";
/// The table of the column of vectors.
pub(crate) const SIGNS: &str = "signs";

/// The tables, by what they map.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    /// Header, totals, names of features and generation, as JSON; the caller's bytes.
    pub(crate) meta: Database<Str, Bytes>,
    /// Number of a document → record, if it is long; the others by blocks, see `blocks`.
    pub(crate) records: Database<U64<BigEndian>, Bytes>,
    /// External id → number.
    pub(crate) numbers: Database<Bytes, U64<BigEndian>>,
    /// Number → external id.
    pub(crate) ids: Database<U64<BigEndian>, Str>,
    /// Number → title and text for display, compressed.
    pub(crate) texts: Database<U64<BigEndian>, Bytes>,
    /// Word → its number.
    pub(crate) words: Database<Bytes, U64<BigEndian>>,
    /// Number → word.
    pub(crate) spellings: Database<U64<BigEndian>, Str>,
    /// Stem → document frequencies and the numbers of its words.
    pub(crate) stems: Database<Bytes, Bytes>,
    /// Token group → footprints.
    pub(crate) groups: Database<Bytes, Bytes>,
    /// Token group that is a pair → document frequencies.
    pub(crate) pairs: Database<Bytes, Bytes>,
    /// External ids whose change the first-stage index has yet to commit.
    pub(crate) pending: Database<Bytes, Str>,
    /// Number of a block → signs of its documents' vectors; `None` in stores of earlier versions.
    pub(crate) signs: Option<Database<Bytes, Bytes>>,
}

impl Tables {
    fn create(env: &Env<WithoutTls>, txn: &mut RwTxn<'_>, has_column: bool) -> heed::Result<Self> {
        let signs = match has_column {
            true => Some(env.create_database(txn, Some(SIGNS))?),
            false => env.open_database(txn, Some(SIGNS))?,
        };
        Ok(Self {
            signs,
            meta: env.create_database(txn, Some("meta"))?,
            records: env.create_database(txn, Some("records"))?,
            numbers: env.create_database(txn, Some("numbers"))?,
            ids: env.create_database(txn, Some("ids"))?,
            texts: env.create_database(txn, Some("texts"))?,
            words: env.create_database(txn, Some("words"))?,
            spellings: env.create_database(txn, Some("spellings"))?,
            stems: env.create_database(txn, Some("stems"))?,
            groups: env.create_database(txn, Some("groups"))?,
            pairs: env.create_database(txn, Some("pairs"))?,
            pending: env.create_database(txn, Some("pending"))?,
        })
    }

    /// The tables of an existing store; `None` if one is missing.
    fn open(env: &Env<WithoutTls>) -> heed::Result<Option<Self>> {
        let txn = env.read_txn()?;
        let tables = || -> heed::Result<Option<Self>> {
            macro_rules! table {
                ($name:literal) => {
                    match env.open_database(&txn, Some($name))? {
                        Some(table) => table,
                        None => return Ok(None),
                    }
                };
            }
            Ok(Some(Self {
                meta: table!("meta"),
                records: table!("records"),
                numbers: table!("numbers"),
                ids: table!("ids"),
                texts: table!("texts"),
                words: table!("words"),
                spellings: table!("spellings"),
                stems: table!("stems"),
                groups: table!("groups"),
                pairs: table!("pairs"),
                pending: table!("pending"),
                signs: env.open_database(&txn, Some(SIGNS))?,
            }))
        };
        let tables = tables()?;
        // Committing keeps the table handles open for later transactions.
        txn.commit()?;
        Ok(tables)
    }

    /// A table as rows of bytes.
    pub(crate) fn rows(&self, table: Table) -> Database<Bytes, Bytes> {
        match table {
            Table::Records => self.records.remap_types(),
            Table::Numbers => self.numbers.remap_types(),
            Table::Ids => self.ids.remap_types(),
            Table::Texts => self.texts.remap_types(),
            Table::Words => self.words.remap_types(),
            Table::Spellings => self.spellings.remap_types(),
            Table::Stems => self.stems,
            Table::Pairs => self.pairs,
            Table::Groups => self.groups,
        }
    }
}

impl Store {
    /// Creates an empty store in `folder`, or opens the one that an interrupted build left there, if it was made
    /// for the same header.
    pub fn create(folder: &Path, header: &Header) -> Result<Self, StoreError> {
        Self::create_with(folder, header, true)
    }

    /// The same; without the column of vectors, it is as earlier versions made it.
    pub(crate) fn create_with(
        folder: &Path,
        header: &Header,
        has_column: bool,
    ) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::io(folder, "cannot create the store"))?;
        env::create_files(folder).map_err(StoreError::io(folder, "cannot create the store"))?;
        let inner = registry::shared(folder, || {
            let env = open_env(folder)?;
            let begun = || {
                let mut txn = env.write_txn()?;
                let tables = Tables::create(&env, &mut txn, has_column)?;
                if tables.meta.get(&txn, "header")?.is_none() {
                    let json =
                        serde_json::to_vec(header).map_err(|e| heed::Error::Encoding(e.into()))?;
                    tables.meta.put(&mut txn, "header", &json)?;
                    let mut sums = Sums::default();
                    sums.set_meta(&tables, &txn)?;
                    tables.meta.put(&mut txn, SUMS, &sums.bytes()?)?;
                }
                txn.commit()
            };
            begun().map_err(engine(folder))?;
            opening(folder, env)
        })?;
        let store = Self { inner };
        store.check_encoder(&header.encoder_id)?;
        store.check_documents(header.documents)?;
        if store.inner.header != *header {
            return Err(store.refused("it was begun with other layers, bits or window".into()));
        }
        Ok(store)
    }

    /// Opens the store in `folder`, the one that has `data.mdb`.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        if !Self::is_in(folder) {
            return Err(StoreError::Missing(folder.to_owned()));
        }
        let inner = registry::shared(folder, || opening(folder, open_env(folder)?))?;
        Ok(Self { inner })
    }

    /// Opens the store in `folder` after a look at every page of its file. [`Store::open`] trusts the pages: where one is
    /// damaged, LMDB may end the process with a signal. Takes as long as reading the pages that are not records.
    pub fn open_checked(folder: &Path) -> Result<Self, StoreError> {
        if !Self::is_in(folder) {
            return Err(StoreError::Missing(folder.to_owned()));
        }
        let is_checked = Cell::new(false);
        let inner = registry::shared(folder, || {
            let env = open_env(folder)?;
            length::check(&env, folder)?;
            pages::check(&env, folder)?;
            is_checked.set(true);
            opening(folder, env)
        })?;
        if !is_checked.get() {
            pages::check(&inner.env, folder)?;
        }
        Ok(Self { inner })
    }

    /// True if `folder` has a store, whole or not.
    pub fn is_in(folder: &Path) -> bool {
        folder.join("data.mdb").is_file()
    }

    #[cfg(test)]
    pub(crate) fn env(&self) -> &Env<WithoutTls> {
        &self.inner.env
    }

    pub(crate) fn create_signs(&self, txn: &mut RwTxn<'_>) -> heed::Result<Database<Bytes, Bytes>> {
        self.inner.env.create_database(txn, Some(SIGNS))
    }

    pub(crate) fn finds_single(&self) -> &AtomicBool {
        &self.inner.finds_single
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.inner.tables
    }

    /// The folder that it was opened in.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// What the store was made for.
    pub fn header(&self) -> &Header {
        &self.inner.header
    }

    /// Refuses another encoder than the one the store was made with.
    pub fn check_encoder(&self, encoder_id: &str) -> Result<(), StoreError> {
        if self.inner.header.encoder_id == encoder_id {
            Ok(())
        } else {
            Err(self.other_encoder(encoder_id))
        }
    }

    /// Refuses documents of the other kind: scores of encoded and of composed documents do not compare.
    pub fn check_documents(&self, documents: Documents) -> Result<(), StoreError> {
        let found = self.inner.header.documents;
        if found == documents {
            return Ok(());
        }
        Err(self.refused(format!(
            "its documents are {}, these are {}; one index holds one kind",
            found.name(),
            documents.name()
        )))
    }

    fn refused(&self, reason: String) -> StoreError {
        StoreError::Refused {
            what: self.inner.path.display().to_string(),
            reason,
        }
    }

    fn other_encoder(&self, expected: &str) -> StoreError {
        StoreError::OtherEncoder {
            path: self.inner.path.clone(),
            found: self.inner.header.encoder_id.clone(),
            expected: expected.to_owned(),
        }
    }

    /// A view of the store as it is now, which later writes do not change. It keeps the store open.
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let begin = || self.inner.env.clone().static_read_txn();
        let txn = match begin() {
            Err(heed::Error::Mdb(heed::MdbError::ReadersFull)) => {
                // Killed processes may have left their slots taken.
                self.inner
                    .env
                    .clear_stale_readers()
                    .map_err(engine(&self.inner.path))?;
                begin()
            }
            begun => begun,
        };
        match txn {
            Ok(txn) => Ok(Snapshot::new(self, ReadTransaction(txn))),
            Err(heed::Error::Mdb(heed::MdbError::ReadersFull)) => Err(StoreError::Readers {
                path: self.inner.path.clone(),
                readers: self.inner.env.max_readers(),
            }),
            Err(error) => Err(engine(&self.inner.path)(error)),
        }
    }

    /// Starts a change, which appears as a whole when it is committed. There is one writer at a time: this
    /// waits for another's end.
    pub fn update(&self) -> Result<Update<'_>, StoreError> {
        Update::begin(self)
    }

    pub(crate) fn write_transaction(&self) -> Result<WriteTransaction<'_>, StoreError> {
        // The reader slot of a killed process would keep pages from being reused. If this fails, the file only grows.
        let _ = self.inner.env.clear_stale_readers();
        let txn = self.inner.env.write_txn();
        Ok(WriteTransaction::new(txn.map_err(engine(self.path()))?))
    }

    /// Writes a copy without free pages to `folder`.
    pub fn copy_compacted(&self, folder: &Path) -> Result<(), StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::io(folder, "cannot create the copy"))?;
        let file = folder.join("data.mdb");
        self.inner
            .env
            .copy_to_path(&file, heed::CompactionOption::Enabled)
            .map_err(engine(folder))?
            .sync_all()
            .map_err(StoreError::io(&file, "cannot sync the copy"))
    }

    /// Size of the store's file.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        self.inner
            .env
            .real_disk_size()
            .map_err(engine(&self.inner.path))
    }
}

fn open_env(folder: &Path) -> Result<Env<WithoutTls>, OpenError> {
    env::open(folder).map_err(|error| match error {
        heed::Error::EnvAlreadyOpened => OpenError::SamePath(error),
        error if env::is_denied(&error) && fs::File::open(folder.join("data.mdb")).is_ok() => {
            OpenError::Other(StoreError::Lock(folder.join(env::LOCK)))
        }
        error => OpenError::Other(engine(folder)(error)),
    })
}

/// What an environment has, once it is known to be whole.
fn opening(folder: &Path, env: Env<WithoutTls>) -> Result<Opening, OpenError> {
    length::check(&env, folder)?;
    let tables = Tables::open(&env).map_err(engine(folder))?;
    let tables = tables.ok_or_else(|| StoreError::Missing(folder.to_owned()))?;
    let header = read_header(&env, &tables, folder)?;
    let file = env.try_clone_inner_file().map_err(engine(folder))?;
    let file = file
        .metadata()
        .map_err(StoreError::io(folder, "cannot read"))?;
    Ok(Opening {
        file: FileId::of(&file),
        env,
        tables,
        header,
    })
}

fn read_header(env: &Env<WithoutTls>, tables: &Tables, path: &Path) -> Result<Header, StoreError> {
    let txn = env.read_txn().map_err(engine(path))?;
    let bytes = tables.meta.get(&txn, "header").map_err(engine(path))?;
    let damaged = |reason: String| StoreError::Damaged {
        path: path.to_owned(),
        what: "the header".into(),
        reason,
    };
    let header: Header =
        serde_json::from_slice(bytes.ok_or_else(|| damaged("it is missing".into()))?)
            .map_err(|e| damaged(e.to_string()))?;
    if header.format != FORMAT {
        return Err(StoreError::Refused {
            what: path.display().to_string(),
            reason: format!(
                "store format {}, this program reads {FORMAT}; build the index again",
                header.format
            ),
        });
    }
    Ok(header)
}
