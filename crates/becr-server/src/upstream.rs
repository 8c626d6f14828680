//! Candidates from OpenSearch or Elasticsearch.

use crate::error::ApiError;
use crate::settings::UpstreamSettings;
use axum::http::StatusCode;
use becr::Candidate;
use serde_json::Value;
use ureq::Agent;

/// The most bytes of an answer.
const ANSWER_BYTES: u64 = 32 << 20;

/// Another engine, ready to be asked. Calls block: they are for the pool's threads.
pub(crate) struct Upstream {
    agent: Agent,
    url: String,
    template: Value,
    authorization: Option<String>,
    id_field: Option<String>,
}

/// A document that the other engine found.
#[derive(Debug, PartialEq)]
pub(crate) struct Hit {
    id: String,
    score: Option<f32>,
}

impl Hit {
    pub(crate) fn candidate(&self) -> Candidate<'_> {
        Candidate {
            id: &self.id,
            score: self.score,
            features: &[],
        }
    }
}

impl Upstream {
    /// Reads the template; the error says what is wrong with it.
    pub(crate) fn new(settings: &UpstreamSettings) -> Result<Self, String> {
        let template: Value = serde_json::from_str(&settings.template).map_err(|error| {
            format!("the query template of the upstream engine is no JSON: {error}")
        })?;
        if !has(&template, "{{query}}") {
            return Err(
                "the query template of the upstream engine has no \"{{query}}\"".to_owned(),
            );
        }
        let agent = Agent::config_builder()
            .timeout_global(Some(settings.time_limit))
            .max_redirects(0)
            .build();
        Ok(Self {
            agent: agent.into(),
            url: format!("{}/_search", settings.url.trim_end_matches('/')),
            template,
            authorization: settings.authorization.clone(),
            id_field: settings.id_field.clone(),
        })
    }

    /// The best documents for a query, as the other engine has them.
    pub(crate) fn candidates(&self, query: &str, size: usize) -> Result<Vec<Hit>, ApiError> {
        let mut request = self.agent.post(&self.url);
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let failed = |cause: String| ApiError {
            cause: Some(cause),
            ..ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "overloaded",
                "the search engine that this server asks for candidates did not answer; try again later",
            )
        };
        let body = filled(&self.template, query, size);
        let mut response = request
            .send_json(&body)
            .map_err(|error| failed(format!("{}: {error}", self.url)))?;
        let answer = response
            .body_mut()
            .with_config()
            .limit(ANSWER_BYTES)
            .read_json::<Value>();
        let answer = answer.map_err(|error| failed(format!("{}: {error}", self.url)))?;
        hits(&answer, self.id_field.as_deref()).ok_or_else(|| {
            failed(format!(
                "{}: its answer has no `hits.hits` with ids",
                self.url
            ))
        })
    }
}

/// The documents of an answer; `None` if it is none of a search.
fn hits(answer: &Value, id_field: Option<&str>) -> Option<Vec<Hit>> {
    let hit = |hit: &Value| {
        let id = match id_field {
            None => hit.get("_id")?,
            Some(field) => hit.get("_source")?.get(field)?,
        };
        let id = match id {
            Value::String(id) => id.clone(),
            Value::Number(id) => id.to_string(),
            _ => return None,
        };
        // Sorted by something else, hits have no score.
        let score = hit
            .get("_score")
            .and_then(Value::as_f64)
            .map(|score| score.clamp(f32::MIN.into(), f32::MAX.into()) as f32);
        Some(Hit { id, score })
    };
    let all = answer.get("hits")?.get("hits")?.as_array()?;
    all.iter().map(hit).collect()
}

/// The template with its places filled. The query goes in as a string of JSON: whatever it holds, it stays one.
fn filled(template: &Value, query: &str, size: usize) -> Value {
    match template {
        Value::String(text) if text == "{{size}}" => size.into(),
        Value::String(text) => text.replace("{{query}}", query).into(),
        Value::Array(values) => values
            .iter()
            .map(|value| filled(value, query, size))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), filled(value, query, size)))
            .collect(),
        other => other.clone(),
    }
}

fn has(template: &Value, place: &str) -> bool {
    match template {
        Value::String(text) => text.contains(place),
        Value::Array(values) => values.iter().any(|value| has(value, place)),
        Value::Object(fields) => fields.values().any(|value| has(value, place)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_stays_a_string() {
        let template = serde_json::from_str(UpstreamSettings::TEMPLATE).unwrap();
        let query = "\"}}, \"script\": {{size}} \\";
        let body = filled(&template, query, 25);
        assert_eq!(body["size"], 25);
        assert_eq!(body["query"]["multi_match"]["query"], query);
    }

    #[test]
    fn templates_are_checked() {
        let with = |template: &str| {
            let settings = UpstreamSettings {
                url: "http://localhost:9200/a/".into(),
                template: template.into(),
                authorization: None,
                id_field: None,
                time_limit: std::time::Duration::from_secs(1),
            };
            Upstream::new(&settings).map(|upstream| upstream.url)
        };
        assert_eq!(
            with(UpstreamSettings::TEMPLATE).unwrap(),
            "http://localhost:9200/a/_search"
        );
        assert!(with("{").unwrap_err().contains("no JSON"));
        assert!(with("{}").unwrap_err().contains("{{query}}"));
    }

    /// In the shape of the example under "Run a search" in Elasticsearch's reference, shortened; OpenSearch's is the same.
    const SCORED: &str = r#"{
        "took": 5, "timed_out": false,
        "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
        "hits": {
            "total": {"value": 20, "relation": "eq"}, "max_score": 1.3862942,
            "hits": [{"_index": "my-index-000001", "_id": "0", "_score": 1.3862942,
                      "_source": {"message": "GET /search HTTP/1.1 200 1070000", "user": {"id": "kimchy"}}}]
        }
    }"#;
    /// In the shape of "Start searching" in its getting-started guide: sorted by a field, so without scores.
    const SORTED: &str = r#"{
        "took": 63, "timed_out": false,
        "_shards": {"total": 5, "successful": 5, "skipped": 0, "failed": 0},
        "hits": {
            "total": {"value": 1000, "relation": "eq"}, "max_score": null,
            "hits": [{"_index": "bank", "_id": "0", "sort": [0], "_score": null, "_source": {"account_number": 0}},
                     {"_index": "bank", "_id": "1", "sort": [1], "_score": null, "_source": {"account_number": 1}}]
        }
    }"#;
    /// Version 2 and 5: a type beside the id, the total a number.
    const OLD: &str = r#"{
        "took": 1, "timed_out": false, "_shards": {"total": 5, "successful": 5, "failed": 0},
        "hits": {"total": 1, "max_score": 0.30685282,
                 "hits": [{"_index": "my_index", "_type": "my_type", "_id": "my_id", "_score": 0.30685282,
                           "_source": {"testField": "abc"}}]}
    }"#;

    #[test]
    fn published_answers_are_read() {
        let read = |text: &str, field| hits(&serde_json::from_str(text).unwrap(), field);
        let hit = |id: &str, score| Hit {
            id: id.into(),
            score,
        };
        assert_eq!(read(SCORED, None), Some(vec![hit("0", Some(1.386_294_2))]));
        assert_eq!(
            read(SORTED, None),
            Some(vec![hit("0", None), hit("1", None)])
        );
        assert_eq!(
            read(OLD, None),
            Some(vec![hit("my_id", Some(0.306_852_82))])
        );
        // Ids of our own are in a field, as a number or a text.
        assert_eq!(
            read(SORTED, Some("account_number")),
            Some(vec![hit("0", None), hit("1", None)])
        );
        assert_eq!(
            read(OLD, Some("testField")),
            Some(vec![hit("abc", Some(0.306_852_82))])
        );
        assert_eq!(read(OLD, Some("missing")), None);
        assert_eq!(read(r#"{"hits": {"hits": []}}"#, None), Some(Vec::new()));
    }

    #[test]
    fn answers_without_hits_are_refused() {
        for wrong in [
            r#"{"error": "x"}"#,
            r#"{"hits": {"hits": [{"_score": 1}]}}"#,
            "[]",
            "7",
        ] {
            assert_eq!(
                hits(&serde_json::from_str(wrong).unwrap(), None),
                None,
                "{wrong}"
            );
        }
    }
}
