//! A query, ready to be scored: decomposed, looked up, its words counted in the collection.

use crate::compose::Composed;
use crate::deep::{DeepQuery, term_weights};
use crate::lexical::{LexicalParts, LexicalQuery, idf};
use crate::plan::{QueryPlan, Reading};
use crate::remote::DeepInputs;
use crate::vector::Compared;
use crate::{RankError, RankOptions, Ranker};
use becr_footprint::CompositeQuery;
use becr_model::PairFrequency;
use becr_store::{Answer, DocumentStore, FetchBuffer, Question};
use becr_text::groups::{Coverage, Query};
use std::borrow::Cow;

/// The most words of a query that are looked at; what comes after them is not.
pub const MAX_QUERY_WORDS: usize = 1024;

/// Reads a whole query with the encoder, for [`QueryMode::Encoded`](becr_model::QueryMode).
pub trait QueryEncoder {
    /// Encodes a query.
    fn encode(&self, text: &str) -> Result<EncodedQuery, Box<dyn std::error::Error + Send + Sync>>;
}

/// A query as the encoder reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncodedQuery {
    /// The footprints of every word of the text (as [`becr_text::words::words`] has them, in order),
    /// `[layer][word][bits / 32]`, then, if footprints are relative, the packed vectors of the
    /// words; each word the mean of its WordPieces.
    pub words: Vec<u32>,
    /// The mean of all tokens at the last layer, `[CLS]` and `[SEP]` too, as records have documents' means: packed, if
    /// footprints are relative, else its footprint.
    pub whole: Vec<u32>,
}

impl<F> QueryEncoder for F
where
    F: Fn(&str) -> Result<EncodedQuery, Box<dyn std::error::Error + Send + Sync>>,
{
    fn encode(&self, text: &str) -> Result<EncodedQuery, Box<dyn std::error::Error + Send + Sync>> {
        self(text)
    }
}

/// A query with everything that scoring takes from outside the documents. It belongs to the ranker and the store
/// it was made with.
#[derive(Debug, Clone)]
pub struct RankQuery {
    text: String,
    pub(crate) plan: QueryPlan,
    words: Vec<String>,
    terms: Vec<QueryTerm>,
    coverage: Coverage,
    pub(crate) deep: Option<DeepQuery>,
    /// What `deep` was made of.
    pub(crate) inputs: Option<DeepInputs>,
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
    /// A query that came from elsewhere, as far as scoring needs it.
    pub(crate) fn remote(
        plan: QueryPlan,
        deep: Option<DeepQuery>,
        lexical: LexicalQuery,
        named: Vec<Option<u32>>,
    ) -> Self {
        Self {
            text: String::new(),
            plan,
            words: Vec::new(),
            terms: Vec::new(),
            coverage: Coverage::default(),
            deep,
            inputs: None,
            lexical,
            named,
        }
    }

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

    /// How it was read and is scored.
    pub fn plan(&self) -> &QueryPlan {
        &self.plan
    }

    /// The query as the engine takes it; `None` if it has no terms.
    pub fn composite(&self) -> Option<&CompositeQuery> {
        self.deep.as_ref().map(|deep| &deep.composite)
    }

    /// The direction in which documents' vectors are near to the query; `None` if it has no terms, or if documents have
    /// footprints of their vectors alone.
    pub fn direction(&self) -> Option<Vec<f32>> {
        self.deep.as_ref()?.vector.direction()
    }

    /// How many distinct vectors its terms are composed of.
    pub fn vectors(&self) -> usize {
        self.composite().map_or(0, CompositeQuery::groups)
    }
}

impl Ranker {
    /// Reads a query: decomposes it, looks its token groups up, counts its words in the collection.
    ///
    /// `encoder` is for encoded queries alone. A query without words, or without any the store knows, is
    /// no error: the parts it has nothing to say to are 0. Words beyond [`MAX_QUERY_WORDS`] are not looked at.
    pub fn query<S>(
        &self,
        store: &S,
        text: &str,
        options: &RankOptions,
        encoder: Option<&dyn QueryEncoder>,
    ) -> Result<RankQuery, RankError>
    where
        S: DocumentStore + ?Sized,
    {
        let plan = self.plan(options)?;
        let (query, _) = self.query_for(store, text, &[], &plan, encoder)?;
        Ok(query)
    }

    /// [`Ranker::query`] with a plan that was made before, and in the same round trip the numbers of candidates by their external ids; `None` for those
    /// that the store does not have.
    pub fn query_for<S>(
        &self,
        store: &S,
        text: &str,
        ids: &[&str],
        plan: &QueryPlan,
        encoder: Option<&dyn QueryEncoder>,
    ) -> Result<(RankQuery, Vec<Option<u64>>), RankError>
    where
        S: DocumentStore + ?Sized,
    {
        if store.header().shape != self.shape {
            return Err(RankError::Shape {
                ranker: self.shape,
                store: store.header().shape,
            });
        }
        let words: Vec<String> = becr_text::words::words(text)
            .map(|word| word.text)
            .take(MAX_QUERY_WORDS)
            .collect();
        let decomposed = match plan.reading {
            Reading::Encoded => None,
            Reading::Mixed | Reading::Composed => {
                Some(Query::from_words(&words, &plan.decomposition))
            }
        };
        let parts = LexicalParts::new(&words, self.window, self.head.proximity, &self.analyzer);
        let (stems, stem_of) = self.stems(&parts, &words);
        let distinct: Vec<&str> = parts.words.iter().map(String::as_str).collect();
        let split = |word: &str| self.pieces.split_word(word);
        let pairs = match self.head.pair_frequency {
            PairFrequency::Store => parts.groups(),
            PairFrequency::Words => Vec::new(),
        };
        let question = Question {
            ids,
            words: &distinct,
            stems: &stems.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
            pairs: &pairs,
            groups: decomposed.as_ref().map_or(&[], |query| &query.groups),
            pieces: Some(&split),
        };
        let mut buffer = FetchBuffer::default();
        let answer = store.look_up(&question, &mut buffer)?;
        let Composed {
            mut terms,
            footprints,
            coverage,
            whole,
        } = match decomposed {
            None => self.whole_query(text, &words, plan, encoder)?,
            Some(query) if plan.reading == Reading::Mixed => self.mixed_query(&query, &answer)?,
            Some(query) => self.composed_query(&query, &answer),
        };
        let mut inputs = None;
        let deep = match terms.is_empty() {
            true => None,
            false => {
                self.weigh(&answer, &stem_of, &mut terms);
                let compared = Compared::of(plan.query_vector, whole);
                let (head, shape) = (&self.head.deep, self.shape);
                if store.can_score() {
                    inputs = Some(DeepInputs {
                        footprints: footprints.clone(),
                        compared: compared.clone(),
                    });
                }
                Some(DeepQuery::new(head, shape, &terms, footprints, &compared)?)
            }
        };
        let number = |feature: &becr_model::Feature| {
            let mut names = answer.feature_names.iter();
            names
                .position(|name| *name == feature.name)
                .map(|at| at as u32)
        };
        let named = self.head.others.features.iter().map(number).collect();
        drop(stems);
        let frequency = self.head.pair_frequency;
        let lexical = LexicalQuery::new(parts, &stem_of, &answer, self.window, frequency);
        let query = RankQuery {
            text: text.to_owned(),
            plan: plan.clone(),
            terms,
            coverage,
            deep,
            inputs,
            lexical,
            named,
            words,
        };
        Ok((query, answer.numbers))
    }

    /// The stems to look up, and for each word of the query the place of its stem among them: those of the lexical part
    /// and, if the head has terms for stop words or estimates the frequencies of pairs, theirs.
    fn stems<'a>(
        &self,
        parts: &'a LexicalParts,
        words: &'a [String],
    ) -> (Vec<Cow<'a, str>>, Vec<Option<u32>>) {
        let mut stems: Vec<Cow<'a, str>> = parts.stems.iter().map(Cow::from).collect();
        let mut stem_of = parts.stem_of.clone();
        if self.head.deep.stop_words || self.head.pair_frequency == PairFrequency::Words {
            for (word, stem) in words.iter().zip(&mut stem_of) {
                if stem.is_none() {
                    *stem = Some(stems.len() as u32);
                    stems.push(self.analyzer.stem(word));
                }
            }
        }
        (stems, stem_of)
    }

    /// Gives every term its ω, by the document frequency of its word's stem.
    fn weigh(&self, answer: &Answer<'_>, stem_of: &[Option<u32>], terms: &mut [QueryTerm]) {
        let body = |term: &QueryTerm| {
            let stem = stem_of[term.position].and_then(|at| answer.stems.get(at as usize));
            stem.map_or(0, |stem| stem.frequency.body)
        };
        let idf: Vec<f64> = terms
            .iter()
            .map(|term| idf(answer.totals.documents, body(term)))
            .collect();
        let weights = term_weights(self.head.deep.term_weights, &idf);
        for (term, weight) in terms.iter_mut().zip(weights) {
            term.weight = weight;
        }
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
