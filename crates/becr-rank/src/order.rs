//! From scores to a ranking.

use crate::Scored;

/// The places of `scored`, best first: by score, and by the documents' external ids where scores are the same.
/// `ids` are in the order of `scored`. The order does not depend on that of the list, nor on threads.
///
/// ```
/// use becr_rank::{Scored, ranking};
///
/// let scored = |number, score| Scored { number, score, deep: score, lexi: 0.0, others: 0.0 };
/// let list = [scored(1, 0.5), scored(2, 2.0), scored(3, 0.5)];
/// assert_eq!(ranking(&list, &["tea", "bread", "salt"]), [1, 2, 0]);
/// ```
pub fn ranking(scored: &[Scored], ids: &[&str]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..scored.len()).collect();
    places.sort_by(|&a, &b| {
        let scores = scored[b].score.total_cmp(&scored[a].score);
        scores.then_with(|| ids.get(a).cmp(&ids.get(b)))
    });
    places
}
