//! Adding, changing and deleting documents.

use super::shapes::json;
use crate::error::ApiError;
use crate::openapi::Failures;
use crate::pool::Weight;
use crate::read::{Json, element, list};
use crate::state::{Served, State};
use crate::watch::Request;
use axum::Extension;
use axum::extract::State as Shared;
use axum::response::Response;
use becr::{Changed, Document, Existing};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use utoipa::ToSchema;

/// Documents to keep.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentsRequest {
    #[schema(value_type = Vec<NewDocumentBody>)]
    documents: Box<RawValue>,
    /// The index; the first unless said otherwise.
    index: Option<String>,
}

/// A document to keep.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewDocumentBody {
    #[schema(min_length = 1)]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
    /// Named numbers, such as `pagerank`.
    #[serde(default)]
    features: BTreeMap<String, f32>,
}

/// Documents to delete.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteRequest {
    #[schema(value_type = Vec<String>)]
    ids: Box<RawValue>,
    /// The index; the first unless said otherwise.
    index: Option<String>,
}

/// What was done, durably.
#[derive(Serialize, ToSchema)]
pub(crate) struct ChangedBody {
    added: u64,
    replaced: u64,
    deleted: u64,
    /// Ids that were to be deleted and are not in the index.
    unknown: Vec<String>,
    /// The newest state of the index: later answers are of this one or a later one.
    generation: String,
}

/// Add documents; refuses ids that are there
#[utoipa::path(post, path = "/documents", tag = "documents", request_body = DocumentsRequest,
    responses((status = 200, body = ChangedBody), Failures))]
pub(crate) async fn add(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Json(ask): Json<DocumentsRequest>,
) -> Result<Response, ApiError> {
    put(&state, &request, ask, Existing::Refuse).await
}

/// Add documents, in the place of those that have their ids
#[utoipa::path(put, path = "/documents", tag = "documents", request_body = DocumentsRequest,
    responses((status = 200, body = ChangedBody), Failures))]
pub(crate) async fn update(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Json(ask): Json<DocumentsRequest>,
) -> Result<Response, ApiError> {
    put(&state, &request, ask, Existing::Replace).await
}

async fn put(
    state: &Arc<State>,
    request: &Request,
    ask: DocumentsRequest,
    existing: Existing,
) -> Result<Response, ApiError> {
    let served = state.index(ask.index.as_deref())?.clone();
    let given = list(&ask.documents, "documents", state.settings.candidates)?;
    let document = |(place, given): (usize, &RawValue)| {
        let document: NewDocumentBody = element(given, "documents", place)?;
        Ok(Document {
            id: document.id,
            title: document.title,
            text: document.text,
            features: document.features.into_iter().collect(),
        })
    };
    let documents = given.into_iter().enumerate().map(document);
    let documents = documents.collect::<Result<Vec<_>, ApiError>>()?;
    drop(ask);
    let written = move |served: &Served| {
        let changed = served.index.add(documents, existing, &())?;
        Ok((changed, Vec::new()))
    };
    write(state, request, served, written).await
}

/// Delete documents
#[utoipa::path(delete, path = "/documents", tag = "documents", request_body = DeleteRequest,
    responses((status = 200, body = ChangedBody), Failures))]
pub(crate) async fn delete(
    Shared(state): Shared<Arc<State>>,
    Extension(request): Extension<Request>,
    Json(ask): Json<DeleteRequest>,
) -> Result<Response, ApiError> {
    let served = state.index(ask.index.as_deref())?.clone();
    let given = list(&ask.ids, "ids", state.settings.candidates)?;
    let ids = given.into_iter().enumerate();
    let ids = ids.map(|(place, id)| element(id, "ids", place));
    let ids = ids.collect::<Result<Vec<String>, ApiError>>()?;
    write(&state, &request, served, move |served| {
        Ok(served.index.delete(&ids)?)
    })
    .await
}

/// Has something written. Once begun it is finished, also if the client hangs up or the time is over.
async fn write(
    state: &Arc<State>,
    request: &Request,
    served: Arc<Served>,
    work: impl FnOnce(&Served) -> Result<(Changed, Vec<String>), ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let write = move |waited: Duration| {
        let begun = Instant::now();
        let (changed, unknown) = work(&served)?;
        let body = ChangedBody {
            added: changed.added,
            replaced: changed.replaced,
            deleted: changed.deleted,
            unknown,
            generation: served.index.reload()?.to_string(),
        };
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        json(
            &body,
            vec![("queue", ms(waited)), ("write", ms(begun.elapsed()))],
        )
    };
    state
        .writers
        .run(request.deadline, Weight::Light, write)
        .await?
}
