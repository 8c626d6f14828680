//! `BECR.SCORE`: documents scored on the node that has them.
//!
//! ```text
//! BECR.SCORE query generation key extras [key extras …]
//! ```
//!
//! `query` and `extras` are what [`becr_rank`] writes, `generation` is the state of the index that is asked for, `key` the
//! key of a record. For each key one string comes back: `S` and the parts of its score, `N` if there is no such document, `R`
//! if it is to be read in the ordinary way: it was changed since that generation, or its bucket is not whole.
//!
//! Scoring runs on threads of the module's own; the server's lock is held while one record is copied, and let go
//! before the next. A key of a slot that this node does not have is answered with `TRYAGAIN`: Redis cannot check that, as the
//! command declares no keys, which would have to be of one slot. Input that cannot be read is refused with an error.

mod pool;
mod record;
mod score;

use pool::Pool;
use redis_module::{
    Context, RedisError, RedisResult, RedisString, RedisValue, Status, ThreadSafeContext,
};
use score::Job;
use std::sync::OnceLock;

/// Threads that score, unless the module is loaded with another number.
const THREADS: usize = 2;
/// Lists that may wait; one more is refused.
const WAITING: usize = 1024;

static POOL: OnceLock<Pool> = OnceLock::new();

// The signature of a command.
#[allow(clippy::needless_pass_by_value)]
fn score(context: &Context, arguments: Vec<RedisString>) -> RedisResult {
    let job = Job::new(&arguments).map_err(|reason| RedisError::String(format!("ERR {reason}")))?;
    let Some(pool) = POOL.get() else {
        return Err(RedisError::Str("ERR the module's threads do not run"));
    };
    if !pool.has_room() {
        return Err(RedisError::Str("TRYAGAIN too many lists wait to be scored"));
    }
    let blocked = context.block_client();
    pool.run(Box::new(move |work| {
        let thread = ThreadSafeContext::with_blocked_client(blocked);
        // A panic of ours must not take the server along.
        let scored = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            job.run(|key| record::read(&thread, key, job.generation), work)
        }));
        let scored = scored.unwrap_or_else(|_| Err("ERR scoring failed".to_owned()));
        thread.reply(match scored {
            Ok(documents) => Ok(RedisValue::Array(
                documents
                    .into_iter()
                    .map(RedisValue::StringBuffer)
                    .collect(),
            )),
            Err(reason) => Err(RedisError::String(reason)),
        });
    }));
    Ok(RedisValue::NoReply)
}

fn start(_: &Context, arguments: &[RedisString]) -> Status {
    let threads = match arguments.first() {
        None => Some(THREADS),
        Some(threads) => threads
            .to_string_lossy()
            .parse()
            .ok()
            .filter(|&n| (1..=256).contains(&n)),
    };
    match threads {
        Some(threads) => {
            POOL.get_or_init(|| Pool::new(threads, WAITING));
            Status::Ok
        }
        None => Status::Err,
    }
}

// SAFETY: the code that the macro makes hands pointers between Redis and the functions above as redis-module documents
// it; there is no unsafe block of ours.
#[allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    clippy::undocumented_unsafe_blocks,
    clippy::all
)]
mod registered {
    use super::{score, start};

    redis_module::redis_module! {
        name: "becr",
        version: 1,
        // Not the server's: that gives no more than the alignment of C where it is the system's (Valkey and Redis built with
        // libc's malloc), and vectors of 64 bytes need theirs. What a list takes is small, and gone when it is scored.
        allocator: (std::alloc::System, std::alloc::System),
        data_types: [],
        init: start,
        commands: [
            ["becr.score", score, "readonly", 0, 0, 0, ""],
        ],
    }
}
