//! Re-ranking in the shapes of Cohere's and Jina's APIs.

use super::ranking::{Mode, Scorer, Without};
use super::shapes::{json, relevance};
use crate::error::ApiError;
use crate::openapi::Failures;
use crate::read::{Json, element, list, text, values};
use crate::state::State;
use crate::watch::Request;
use axum::Extension;
use axum::extract::State as Shared;
use axum::response::Response;
use becr::{RankOptions, RankedFrom, TextAnswer, TextCandidate};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// Documents to rank for a query.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RerankRequest {
    query: String,
    /// Texts, or objects: `{"id": …}` for a document of the index, `{"text": …}` for any other.
    #[schema(value_type = Vec<DocumentBody>)]
    documents: Box<RawValue>,
    /// How many results are wanted; all unless said otherwise.
    #[schema(minimum = 1)]
    top_n: Option<usize>,
    /// Whether results carry their documents.
    #[serde(default)]
    return_documents: bool,
    /// For clients that must name a model: the name of an index chooses it, any other name is passed over.
    model: Option<String>,
    /// The index; the first unless said otherwise.
    index: Option<String>,
    mode: Option<Mode>,
    scorer: Option<Scorer>,
    /// The weight of the cosine, with the scorer `one-vector`; the head's unless said otherwise.
    weight: Option<f32>,
    /// Parts of the score to leave out.
    without: Option<Without>,
    /// Fields of document objects that are ranked, one after the other, each once; `text` unless said otherwise.
    #[schema(value_type = Option<Vec<String>>)]
    rank_fields: Option<Box<RawValue>>,
}

/// A document to rank.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "for the description; `Given` reads them")]
pub(crate) enum DocumentBody {
    /// A text.
    Text(String),
    /// An object with an `id` of the index, or a `text` with an optional `title`; with both, the text is for an index that
    /// does not have the id. `score` is what another engine gave it, `features` what else is known of it, by name.
    Object(serde_json::Map<String, serde_json::Value>),
}

/// Ranked documents.
#[derive(Serialize, ToSchema)]
pub(crate) struct RerankAnswer {
    /// The request's id.
    id: String,
    /// The index.
    model: String,
    /// Best first.
    results: Vec<ResultBody>,
    meta: MetaBody,
    usage: UsageBody,
}

/// A ranked document.
#[derive(Serialize, ToSchema)]
pub(crate) struct ResultBody {
    /// Its place in the request.
    index: usize,
    /// Between 0 and 1; 0 for a document that the index does not have.
    relevance_score: f64,
    /// The score itself; absent for a document that the index does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
    /// Where its footprints came from: `index`, `encoded`, `cached`, or `unknown` for an id that the index does not have.
    path: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Map<String, serde_json::Value>>)]
    document: Option<Returned>,
}

/// A document as it was sent.
#[derive(Serialize)]
#[serde(untagged)]
enum Returned {
    Object(Box<RawValue>),
    Text { text: Box<RawValue> },
}

/// What the answer was made with.
#[derive(Serialize, ToSchema)]
pub(crate) struct MetaBody {
    api_version: VersionBody,
    /// The state of the index.
    generation: String,
    mode: Mode,
}

/// The version of the API that was asked.
#[derive(Serialize, ToSchema)]
pub(crate) struct VersionBody {
    version: &'static str,
}

/// What it took.
#[derive(Serialize, ToSchema)]
pub(crate) struct UsageBody {
    /// WordPieces that were encoded for this request.
    total_tokens: usize,
}

/// Re-rank documents, as Cohere's version 1 and Jina have it
#[utoipa::path(post, path = "/v1/rerank", tag = "rerank", request_body = RerankRequest,
    responses((status = 200, body = RerankAnswer), Failures))]
pub(crate) async fn v1(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Json(ask): Json<RerankRequest>,
) -> Result<Response, ApiError> {
    answered(&state, &request, ask, "1").await
}

/// Re-rank documents, as Cohere's version 2 has it
#[utoipa::path(post, path = "/v2/rerank", tag = "rerank", request_body = RerankRequest,
    responses((status = 200, body = RerankAnswer), Failures))]
pub(crate) async fn v2(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Json(ask): Json<RerankRequest>,
) -> Result<Response, ApiError> {
    answered(&state, &request, ask, "2").await
}

async fn answered(
    state: &Arc<State>,
    request: &Request,
    ask: RerankRequest,
    version: &'static str,
) -> Result<Response, ApiError> {
    state.check_query(&ask.query)?;
    if ask.top_n == Some(0) {
        return Err(ApiError::invalid("top_n: ask for at least one result"));
    }
    let named = ask
        .model
        .as_deref()
        .filter(|model| state.index(Some(model)).is_ok());
    let served = state.index(ask.index.as_deref().or(named))?.clone();
    let id = request.id.clone();
    state
        .rank(request, move |state, waited| {
            let without = ask.without.as_ref();
            let options = state.ranking(&served, ask.mode, ask.scorer, ask.weight, without)?;
            let fields = fields(ask.rank_fields.as_deref())?;
            let documents = list(&ask.documents, "documents", state.settings.candidates)?;
            let documents = documents
                .into_iter()
                .enumerate()
                .map(|(place, document)| Given::new(place, document, &fields))
                .collect::<Result<Vec<_>, _>>()?;
            let candidates: Vec<TextCandidate<'_>> =
                documents.iter().map(Given::candidate).collect();
            let ranked = rank(state, &served, &ask.query, &candidates, &options)?;
            let result = |(place, score, path): (usize, Option<f32>, &'static str)| ResultBody {
                index: place,
                relevance_score: score.map_or(0.0, |score| relevance(f64::from(score))),
                score,
                path,
                document: ask.return_documents.then(|| documents[place].returned()),
            };
            let wanted = ask.top_n.unwrap_or(usize::MAX);
            let answer = RerankAnswer {
                id: id.to_string(),
                model: served.name.clone(),
                results: ordered(&ranked).take(wanted).map(result).collect(),
                meta: MetaBody {
                    api_version: VersionBody { version },
                    generation: ranked.ranking.generation.to_string(),
                    mode: Mode(options.mode.unwrap_or_default()),
                },
                usage: UsageBody {
                    total_tokens: ranked.tokens,
                },
            };
            json(&answer, stages(&ranked, waited))
        })
        .await
}

/// The most fields that are ranked.
const FIELDS: usize = 100;

/// The fields that are ranked. One that stands there twice would have its text ranked twice, and a request of a few
/// kilobytes would become gigabytes of text.
fn fields(asked: Option<&RawValue>) -> Result<Vec<String>, ApiError> {
    let Some(asked) = asked else {
        return Ok(vec!["text".to_owned()]);
    };
    let mut fields: Vec<String> = Vec::new();
    for (place, field) in list(asked, "rank_fields", FIELDS)?.into_iter().enumerate() {
        let field: String = element(field, "rank_fields", place)?;
        if fields.contains(&field) {
            return Err(ApiError::invalid(format!(
                "rank_fields: {field:?} stands there twice, and is ranked once; leave one out"
            )));
        }
        fields.push(field);
    }
    Ok(fields)
}

/// A document of a request, understood.
struct Given<'a> {
    /// As it stands there.
    raw: &'a RawValue,
    is_text: bool,
    id: Option<Cow<'a, str>>,
    title: Cow<'a, str>,
    text: Option<Cow<'a, str>>,
    score: Option<f32>,
    features: Vec<(String, f32)>,
}

/// What an object may have beside what is ranked.
const NAMES: [&str; 4] = ["id", "title", "score", "features"];

impl<'a> Given<'a> {
    fn new(place: usize, raw: &'a RawValue, fields: &[String]) -> Result<Self, ApiError> {
        let wrong = |what: &str| ApiError::invalid(format!("documents[{place}]: {what}"));
        if let Some(text) = text(raw) {
            return Ok(Self {
                raw,
                is_text: true,
                id: None,
                title: Cow::default(),
                text: Some(text),
                score: None,
                features: Vec::new(),
            });
        }
        let names: Vec<&str> = NAMES
            .into_iter()
            .chain(fields.iter().map(String::as_str))
            .collect();
        let mut found = values(raw, &names).map_err(|error| wrong(&error.to_string()))?;
        // A name may be both: found under its first place.
        for place in NAMES.len()..names.len() {
            let first = names.iter().position(|name| *name == names[place]);
            found[place] = first.and_then(|first| found[first]);
        }
        let is_there = |value: Option<&'a RawValue>| value.filter(|value| value.get() != "null");
        let string = |at: usize| match is_there(found[at]) {
            None => Ok(None),
            Some(value) => match text(value) {
                Some(text) => Ok(Some(text)),
                None => Err(wrong(&format!("`{}` should be a string", names[at]))),
            },
        };
        let mut parts = Vec::new();
        for at in NAMES.len()..names.len() {
            parts.extend(string(at)?);
        }
        let text = match parts.len() {
            0 | 1 => parts.pop(),
            _ => Some(Cow::Owned(parts.join("\n"))),
        };
        let number = |value: &RawValue| {
            let number = serde_json::from_str::<f64>(value.get());
            let number = number.ok().map(|number| number as f32);
            number.filter(|number| number.is_finite())
        };
        let score = match is_there(found[2]) {
            None => None,
            Some(value) => Some(number(value).ok_or_else(|| wrong("`score` should be a number"))?),
        };
        let mut features = Vec::new();
        if let Some(given) = is_there(found[3]) {
            let given: BTreeMap<String, &RawValue> = serde_json::from_str(given.get())
                .map_err(|_| wrong("`features` should be an object of numbers"))?;
            for (name, value) in given {
                let value = number(value).ok_or_else(|| wrong("features should be numbers"))?;
                features.push((name, value));
            }
        }
        let id = string(0)?;
        if id.is_none() && text.is_none() {
            return Err(wrong("it has neither an `id` nor a `text`"));
        }
        Ok(Self {
            raw,
            is_text: false,
            title: string(1)?.unwrap_or_default(),
            id,
            text,
            score,
            features,
        })
    }

    fn returned(&self) -> Returned {
        let raw = self.raw.to_owned();
        match self.is_text {
            true => Returned::Text { text: raw },
            false => Returned::Object(raw),
        }
    }

    fn candidate(&self) -> TextCandidate<'_> {
        TextCandidate {
            id: self.id.as_deref(),
            title: &self.title,
            text: self.text.as_deref(),
            score: self.score,
            features: &self.features,
        }
    }
}

/// Ranks, and counts what was ranked.
pub(super) fn rank(
    state: &State,
    served: &crate::state::Served,
    query: &str,
    candidates: &[TextCandidate<'_>],
    options: &RankOptions,
) -> Result<TextAnswer, ApiError> {
    let budget = state.settings.text_tokens;
    let ranked = served
        .index
        .rerank_texts(query, candidates, options, &served.texts, budget)?;
    state.metrics.coverage(&ranked.ranking.coverage());
    state.metrics.encoded(ranked.tokens);
    let mut paths: BTreeMap<&'static str, u64> = BTreeMap::new();
    ranked
        .from
        .iter()
        .for_each(|from| *paths.entry(name(*from)).or_default() += 1);
    paths
        .into_iter()
        .for_each(|(path, count)| state.metrics.candidates(path, count));
    Ok(ranked)
}

/// All candidates, best first, the unknown ones last: place, score, and where the footprints came from.
pub(super) fn ordered(
    ranked: &TextAnswer,
) -> impl Iterator<Item = (usize, Option<f32>, &'static str)> {
    let known = ranked
        .ranking
        .order
        .iter()
        .map(|(place, scored)| (*place, Some(scored.score)));
    let unknown = ranked.ranking.unknown.iter().map(|place| (*place, None));
    let all = known.chain(unknown);
    all.map(|(place, score)| (place, score, name(ranked.from[place])))
}

/// Where the time went.
pub(super) fn stages(ranked: &TextAnswer, waited: Duration) -> Vec<(&'static str, f64)> {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let timing = ranked.ranking.timing;
    vec![
        ("queue", ms(waited)),
        ("encode", ms(ranked.encoding)),
        ("look_up", ms(timing.look_up)),
        ("fetch", ms(timing.fetch)),
        ("lexical", ms(timing.lexical)),
        ("deep", ms(timing.deep)),
    ]
}

fn name(from: RankedFrom) -> &'static str {
    match from {
        RankedFrom::Index => "index",
        RankedFrom::Encoded => "encoded",
        RankedFrom::Cached => "cached",
        RankedFrom::Unknown => "unknown",
    }
}
