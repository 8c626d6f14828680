//! Opening LMDB, and telling the system what will be read.
#![allow(unsafe_code)]

use heed::{Env, EnvFlags, EnvOpenOptions, WithoutTls};
use rustix::io::Errno;
use rustix::mm::Advice;
use std::fs::File;
use std::io::ErrorKind::PermissionDenied as DENIED;
use std::path::Path;

/// Address space set aside for the memory map. The file grows only as it is filled.
const MAP_SIZES: [usize; 4] = [1 << 41, 1 << 38, 1 << 35, 1 << 32];
const DATA: &str = "data.mdb";
/// Where readers enter themselves, so that a writer leaves what they see alone.
pub(crate) const LOCK: &str = "lock.mdb";
const TABLES: u32 = 16;
/// Snapshots that may exist at a time, of all processes together: 64 bytes each in the lock file.
pub(crate) const READERS: u32 = 4096;

/// Opens the environment in `dir`, for reading and writing or, where the store's file cannot be written, for reading: that
/// takes write permission for the lock file all the same, but on a read-only file system.
pub(crate) fn open(dir: &Path) -> heed::Result<Env<WithoutTls>> {
    let data = dir.join(DATA);
    let read_only = std::fs::metadata(&data).is_ok_and(|meta| meta.permissions().readonly())
        || File::options()
            .write(true)
            .open(&data)
            .is_err_and(|e| e.kind() == DENIED);
    // LMDB would make it for its owner alone. Where we may not, opening says so.
    let _ = create(&dir.join(LOCK));
    let mut last = None;
    // Systems that limit address space refuse the larger maps.
    for size in MAP_SIZES {
        let mut opened = open_with(dir, size, read_only);
        // Nobody writes to a read-only file system: reading goes without a lock there.
        if is(&opened, Errno::ROFS) {
            opened = open_with(dir, size, true);
        }
        if !is(&opened, Errno::NOMEM) {
            return opened;
        }
        last = opened.err();
    }
    Err(last.unwrap_or(heed::Error::Io(std::io::ErrorKind::OutOfMemory.into())))
}

/// Creates the files of a new store, with the permissions that new files get here.
pub(crate) fn create_files(dir: &Path) -> std::io::Result<()> {
    create(&dir.join(DATA))?;
    create(&dir.join(LOCK))
}

fn create(path: &Path) -> std::io::Result<()> {
    match File::options().write(true).create_new(true).open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        created => created.map(drop),
    }
}

/// Whether a file may not be opened by us.
pub(crate) fn is_denied(error: &heed::Error) -> bool {
    matches!(error, heed::Error::Io(e) if e.kind() == DENIED)
}

fn is<T>(result: &heed::Result<T>, errno: Errno) -> bool {
    matches!(result, Err(heed::Error::Io(e)) if e.raw_os_error() == Some(errno.raw_os_error()))
}

fn open_with(dir: &Path, map_size: usize, read_only: bool) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options
        .map_size(map_size)
        .max_dbs(TABLES)
        .max_readers(READERS);
    // Records are read at random: reading ahead of a page fault would fetch what nobody asked for.
    let mut flags = EnvFlags::NO_READ_AHEAD;
    if read_only {
        flags |= EnvFlags::READ_ONLY;
    }
    // SAFETY: the two flags change how pages are fetched and whether writes are refused, not the guarantees
    // that references into the map rest on.
    unsafe { options.flags(flags) };
    // SAFETY: the map stays valid as long as nothing but LMDB changes or truncates `data.mdb`. The folder
    // belongs to the index, all processes open it through LMDB with its lock file, and it must lie on a
    // local disk, as the documentation of the index says.
    unsafe { options.open(dir) }
}

/// Asks the system to read a part of the memory map soon, without waiting for it.
pub(crate) fn will_need(bytes: &[u8]) {
    advise(bytes, Advice::WillNeed);
}

/// Has the system read a part of the memory map and map its pages, and waits for it. Where the system cannot,
/// the first touch does it.
pub(crate) fn populate(bytes: &[u8]) {
    #[cfg(target_os = "linux")]
    advise(bytes, Advice::LinuxPopulateRead);
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

fn advise(bytes: &[u8], advice: Advice) {
    let page = rustix::param::page_size();
    let start = bytes.as_ptr() as usize / page * page;
    let length = bytes.as_ptr() as usize + bytes.len() - start;
    // SAFETY: both kinds of advice make pages present: they neither change memory nor the validity of any
    // reference, and the range covers the pages of a live slice.
    let _ = unsafe { rustix::mm::madvise(start as *mut _, length, advice) };
}
