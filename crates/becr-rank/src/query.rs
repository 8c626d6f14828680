//! A query, ready to be scored: decomposed, looked up, its words counted in the collection.

use crate::deep::{DeepQuery, term_weights};
use crate::lexical::{LexicalQuery, idf};
use crate::{Options, RankError, Ranker, Variant};
use becr_footprint::CompositeQuery;
use becr_store::{DocumentStore, GroupStore, Totals};
use becr_text::groups::Coverage;

/// The most words of a query that are looked at; what comes after them is not.
pub const MAX_QUERY_WORDS: usize = 1024;

/// Reads a whole query with the encoder, for BECR⁻.
pub trait QueryEncoder {
    /// The footprints of every word of `text` (as [`becr_text::words::words`] has them, in order),
    /// `[layer][word][bits / 32]`, then, if footprints are relative, the packed vectors of the
    /// words; each word the mean of its WordPieces.
    fn footprints(&self, text: &str) -> Result<Vec<u32>, Box<dyn std::error::Error + Send + Sync>>;
}

impl<F> QueryEncoder for F
where
    F: Fn(&str) -> Result<Vec<u32>, Box<dyn std::error::Error + Send + Sync>>,
{
    fn footprints(&self, text: &str) -> Result<Vec<u32>, Box<dyn std::error::Error + Send + Sync>> {
        self(text)
    }
}

/// A query with everything that scoring takes from outside the documents. It belongs to the ranker and the store
/// it was made with.
#[derive(Debug, Clone)]
pub struct RankQuery {
    text: String,
    pub(crate) options: Options,
    words: Vec<String>,
    terms: Vec<QueryTerm>,
    coverage: Coverage,
    pub(crate) deep: Option<DeepQuery>,
    pub(crate) lexical: LexicalQuery,
    /// For each named feature of the head, its number in records.
    pub(crate) named: Vec<Option<u32>>,
}

/// A word of the query that has a deep term.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct QueryTerm {
    /// Position among the query's words.
    pub position: usize,
    /// The word.
    pub word: String,
    /// ω.
    pub weight: f32,
    /// What it is composed of. The weights sum to 1.
    pub groups: Vec<GroupUse>,
}

/// The part of a token group in a term.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct GroupUse {
    /// The group's words, as the store has it; the word itself for BECR⁻.
    pub group: String,
    /// True for the vector of a pair's second word.
    pub second: bool,
    /// Distance of a pair's words in the query; 0 for a uni-gram or a WordPiece.
    pub distance: usize,
    /// Its weight in the term.
    pub weight: f32,
    /// Which of the query's distinct vectors ([`RankQuery::vectors`]) it is.
    pub vector: usize,
}

impl RankQuery {
    /// The query as it was asked.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its words, stop words too, as far as they are looked at.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The terms of the deep part. None for a query without a word the store knows.
    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// What was looked for in the token store and what was found.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// How it is scored.
    pub fn options(&self) -> Options {
        self.options
    }

    /// The query as the engine takes it; `None` if it has no terms.
    pub fn composite(&self) -> Option<&CompositeQuery> {
        self.deep.as_ref().map(|deep| &deep.composite)
    }

    /// How many distinct vectors its terms are composed of.
    pub fn vectors(&self) -> usize {
        self.composite().map_or(0, CompositeQuery::groups)
    }
}

impl Ranker {
    /// Reads a query: decomposes it, looks its token groups up, counts its words in the collection.
    ///
    /// `encoder` is for [`Variant::WholeQuery`] alone. A query without words, or without any the store knows, is
    /// no error: the parts it has nothing to say to are 0. Words beyond [`MAX_QUERY_WORDS`] are not looked at.
    pub fn query<S>(
        &self,
        store: &S,
        text: &str,
        options: &Options,
        encoder: Option<&dyn QueryEncoder>,
    ) -> Result<RankQuery, RankError>
    where
        S: DocumentStore + GroupStore + ?Sized,
    {
        let words: Vec<String> = becr_text::words::words(text)
            .map(|word| word.text)
            .take(MAX_QUERY_WORDS)
            .collect();
        let (mut terms, vectors, coverage) = match options.variant {
            Variant::WholeQuery => self.whole_query(text, &words, encoder)?,
            _ => self.composed_query(store, &words, options.variant)?,
        };
        let totals = store.totals()?;
        let lexical = LexicalQuery::new(store, &totals, &words, self.window, &self.analyzer)?;
        let deep = match terms.is_empty() {
            true => None,
            false => {
                self.weigh(store, &totals, &lexical.bodies, &mut terms)?;
                let shape = self.shape;
                Some(DeepQuery::new(&self.head.deep, shape, &terms, vectors)?)
            }
        };
        let names = store.feature_names()?;
        let number = |feature: &becr_model::Feature| {
            let at = names.iter().position(|name| *name == feature.name);
            at.map(|at| at as u32)
        };
        Ok(RankQuery {
            text: text.to_owned(),
            options: *options,
            terms,
            coverage,
            deep,
            lexical,
            named: self.head.others.features.iter().map(number).collect(),
            words,
        })
    }

    /// Gives every term its ω. `bodies` has the document frequencies of the words that were looked up already.
    fn weigh<S>(
        &self,
        store: &S,
        totals: &Totals,
        bodies: &[Option<u32>],
        terms: &mut [QueryTerm],
    ) -> Result<(), RankError>
    where
        S: DocumentStore + ?Sized,
    {
        // Stop words, if the head has them.
        let missing = terms.iter().filter(|term| bodies[term.position].is_none());
        let stems: Vec<_> = missing.map(|term| self.analyzer.stem(&term.word)).collect();
        let names: Vec<&str> = stems.iter().map(AsRef::as_ref).collect();
        let others = if names.is_empty() {
            Vec::new()
        } else {
            store.stems(&names)?
        };
        let mut others = others.into_iter();
        let bodies = terms.iter().map(|term| {
            let other = || others.next().map_or(0, |stem| stem.frequency.body);
            bodies[term.position].unwrap_or_else(other)
        });
        let idf: Vec<f64> = bodies.map(|body| idf(totals.documents, body)).collect();
        let weights = term_weights(self.head.deep.term_weights, &idf);
        for (term, weight) in terms.iter_mut().zip(weights) {
            term.weight = weight;
        }
        Ok(())
    }
}

#[cfg(test)]
impl GroupUse {
    pub(crate) fn example() -> Self {
        Self {
            group: "w".into(),
            second: false,
            distance: 0,
            weight: 1.0,
            vector: 0,
        }
    }
}
