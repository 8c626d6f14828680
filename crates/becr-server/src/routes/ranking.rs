//! How to rank, in requests: the fields of [`RankOptions`] under the library's names.

use crate::error::ApiError;
use crate::state::{Served, State};
use becr::{Part, QueryMode, RankOptions};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A value of the library that requests and answers have by its name.
macro_rules! named {
    ($name:ident, $of:ty, $schema:literal, $description:literal) => {
        #[doc = $description]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(transparent)]
        pub(crate) struct $name(pub(crate) $of);

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new()
                    .schema_type(Type::String)
                    .description(Some($description))
                    .enum_values(Some(<$of>::ALL.map(<$of>::name)))
                    .into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                $schema.into()
            }
        }
    };
}

named!(Mode, QueryMode, "Mode", "How a query is read.");
named!(Scorer, becr::Scorer, "Scorer", "What a score is.");
named!(
    FindBy,
    becr::FindBy,
    "FindBy",
    "By what documents are found."
);

/// Parts of a score to leave out: a list, or in an address their names with commas between.
#[derive(Debug, Clone, Default)]
pub(crate) struct Without(Vec<Part>);

impl<'de> Deserialize<'de> for Without {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Names(String),
            List(Vec<String>),
        }
        let names = match Given::deserialize(deserializer)? {
            Given::Names(names) => {
                let names = names.split(',').filter(|name| !name.is_empty());
                names.map(str::to_owned).collect()
            }
            Given::List(names) => names,
        };
        let parts = names.iter().map(|name| name.parse());
        let parts = parts.collect::<Result<_, String>>();
        parts.map(Self).map_err(serde::de::Error::custom)
    }
}

impl PartialSchema for Without {
    fn schema() -> RefOr<Schema> {
        let part = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(Part::ALL.map(Part::name)));
        let parts = ArrayBuilder::new().items(part);
        let parts = parts.description(Some("Parts of the score to leave out."));
        parts.into()
    }
}

impl ToSchema for Without {
    fn name() -> Cow<'static, str> {
        "Without".into()
    }
}

impl State {
    /// How candidates are ranked: as a request says, where it says nothing as the server is set, and else as the index says.
    pub(crate) fn ranking(
        &self,
        served: &Served,
        mode: Option<Mode>,
        scorer: Option<Scorer>,
        weight: Option<f32>,
        without: Option<&Without>,
    ) -> Result<RankOptions, ApiError> {
        let default = RankOptions::default();
        let mut options = RankOptions {
            mode: mode.map(|mode| mode.0).or(self.settings.mode),
            scorer: scorer.map_or(default.scorer, |scorer| scorer.0),
            weight,
            without: without.map_or(default.without, |without| {
                without.0.iter().copied().collect()
            }),
            ..default
        };
        options.mode = Some(served.index.query_mode(&options)?);
        Ok(options)
    }
}
