//! One command: its arguments read, its documents scored.

use crate::record::Found;
use becr_rank::{RankerCache, RemoteQuery, RemoteWorkspace};
use std::ops::Deref;
use std::sync::LazyLock;

static RANKERS: LazyLock<RankerCache> = LazyLock::new(RankerCache::default);

/// Candidates of one command.
const MOST: usize = 100_000;

/// A list to score.
pub(crate) struct Job {
    query: Vec<u8>,
    pub(crate) generation: u64,
    documents: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Job {
    /// Reads the arguments, the command's name among them; the query itself is read on a thread.
    pub(crate) fn new<A: Deref<Target = [u8]>>(arguments: &[A]) -> Result<Self, &'static str> {
        let [_, query, generation, documents @ ..] = arguments else {
            return Err(
                "wrong number of arguments: BECR.SCORE query generation key extras [key extras …]",
            );
        };
        let (pairs, []) = documents.as_chunks::<2>() else {
            return Err("every key needs what its candidate alone has");
        };
        if pairs.len() > MOST {
            return Err("too many keys");
        }
        let generation = std::str::from_utf8(generation)
            .ok()
            .and_then(|text| text.parse().ok());
        Ok(Self {
            query: query.to_vec(),
            generation: generation.ok_or("the generation is not a number")?,
            documents: pairs
                .iter()
                .map(|[key, extras]| (key.to_vec(), extras.to_vec()))
                .collect(),
        })
    }

    /// Scores all documents, each read when its turn comes.
    pub(crate) fn run(
        &self,
        read: impl Fn(&[u8]) -> Found,
        work: &mut RemoteWorkspace,
    ) -> Result<Vec<Vec<u8>>, String> {
        let query = RemoteQuery::decode(&self.query, &RANKERS);
        let query = query.map_err(|reason| format!("ERR the query: {reason}"))?;
        let mut answers = Vec::with_capacity(self.documents.len());
        for (key, extras) in &self.documents {
            answers.push(match read(key) {
                Found::Record(record) => match query.score(&record, extras, work) {
                    Ok(scored) => [&b"S"[..], &scored].concat(),
                    // A damaged record: whoever reads it says which one it is.
                    Err(_) => b"R".to_vec(),
                },
                Found::Absent => b"N".to_vec(),
                Found::Elsewhere => b"R".to_vec(),
                Found::Moved => return Err("TRYAGAIN a slot is not served by this node".to_owned()),
            });
        }
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_arguments_are_read_or_refused(arguments in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..9)) {
            if let Ok(job) = Job::new(&arguments) {
                let read = |_: &[u8]| Found::Record(vec![1, 2, 3]);
                prop_assert!(job.run(read, &mut RemoteWorkspace::default()).is_err());
            }
        }
    }
}
