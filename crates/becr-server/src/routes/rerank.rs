//! Re-ranking in the shapes of Cohere's and Jina's APIs.

use super::ranking::{Mode, Scorer, Without};
use super::shapes::{json, relevance};
use crate::error::ApiError;
use crate::openapi::Failures;
use crate::read::Json;
use crate::state::State;
use crate::watch::Request;
use axum::Extension;
use axum::extract::State as Shared;
use axum::response::Response;
use becr::{RankOptions, RankedFrom, TextAnswer, TextCandidate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// Documents to rank for a query.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RerankRequest {
    query: String,
    /// Texts, or objects: `{"id": …}` for a document of the index, `{"text": …}` for any other.
    documents: Vec<DocumentBody>,
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
    /// Fields of document objects that are ranked, one after the other; `text` unless said otherwise.
    rank_fields: Option<Vec<String>>,
}

/// A document to rank.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(untagged)]
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
    document: Option<serde_json::Map<String, serde_json::Value>>,
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
    state.check_count("documents", ask.documents.len())?;
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
            let documents = ask
                .documents
                .into_iter()
                .enumerate()
                .map(|(place, document)| Given::new(place, document, ask.rank_fields.as_deref()))
                .collect::<Result<Vec<_>, _>>()?;
            let candidates: Vec<TextCandidate<'_>> =
                documents.iter().map(Given::candidate).collect();
            let ranked = rank(state, &served, &ask.query, &candidates, &options)?;
            let result = |(place, score, path): (usize, Option<f32>, &'static str)| ResultBody {
                index: place,
                relevance_score: score.map_or(0.0, |score| relevance(f64::from(score))),
                score,
                path,
                document: ask
                    .return_documents
                    .then(|| documents[place].object.clone()),
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

/// A document of a request, understood.
struct Given {
    /// As it is given back.
    object: serde_json::Map<String, serde_json::Value>,
    id: Option<String>,
    title: String,
    text: Option<String>,
    score: Option<f32>,
    features: Vec<(String, f32)>,
}

impl Given {
    fn new(
        place: usize,
        document: DocumentBody,
        fields: Option<&[String]>,
    ) -> Result<Self, ApiError> {
        let wrong = |what: &str| ApiError::invalid(format!("documents[{place}]: {what}"));
        let object = match document {
            DocumentBody::Text(text) => {
                return Ok(Self {
                    object: serde_json::Map::from_iter([("text".to_owned(), text.clone().into())]),
                    id: None,
                    title: String::new(),
                    text: Some(text),
                    score: None,
                    features: Vec::new(),
                });
            }
            DocumentBody::Object(object) => object,
        };
        let string = |name: &str| match object.get(name) {
            None | Some(serde_json::Value::Null) => Ok(None),
            Some(serde_json::Value::String(value)) => Ok(Some(value.clone())),
            Some(_) => Err(wrong(&format!("`{name}` should be a string"))),
        };
        let text = match fields {
            None => string("text")?,
            Some(fields) => {
                let found = fields
                    .iter()
                    .map(|field| string(field))
                    .collect::<Result<Vec<_>, _>>()?;
                let found: Vec<String> = found.into_iter().flatten().collect();
                (!found.is_empty()).then(|| found.join("\n"))
            }
        };
        let number = |value: &serde_json::Value| {
            let number = value.as_f64().map(|number| number as f32);
            number.filter(|number| number.is_finite())
        };
        let score = match object.get("score") {
            None | Some(serde_json::Value::Null) => None,
            Some(value) => Some(number(value).ok_or_else(|| wrong("`score` should be a number"))?),
        };
        let mut features = Vec::new();
        match object.get("features") {
            None | Some(serde_json::Value::Null) => {}
            Some(serde_json::Value::Object(given)) => {
                for (name, value) in given {
                    let value = number(value).ok_or_else(|| wrong("features should be numbers"))?;
                    features.push((name.clone(), value));
                }
            }
            Some(_) => return Err(wrong("`features` should be an object of numbers")),
        }
        let id = string("id")?;
        if id.is_none() && text.is_none() {
            return Err(wrong("it has neither an `id` nor a `text`"));
        }
        Ok(Self {
            title: string("title")?.unwrap_or_default(),
            id,
            text,
            score,
            features,
            object,
        })
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
