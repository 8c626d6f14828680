//! What may be asked for from query to query. The command, the server, Python and the benchmarks take their options from
//! here, so that what one of them can say, all can.

use crate::{Part, RankError};
use becr_model::QueryMode;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;

/// The weight of the cosine in [`Scorer::OneVector`] where neither the caller nor the head says another.
pub const ANCHOR_WEIGHT: f32 = 0.8;

/// How candidates are ranked.
///
/// As JSON: `{"mode": "composed", "scorer": "one-vector", "weight": 0.5, "without": ["lexi"]}`, every key optional.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RankOptions {
    /// How the query is read; `None` as the index and its head say.
    pub mode: Option<QueryMode>,
    /// What the score is.
    pub scorer: Scorer,
    /// The weight of the cosine in [`Scorer::OneVector`]; `None` for the head's, or else [`ANCHOR_WEIGHT`].
    pub weight: Option<f32>,
    /// Parts of the score that are left out.
    pub without: Parts,
    /// What a composed query is composed of: the paper's ablations. For experiments, so it is not in the serialised form.
    #[serde(skip)]
    pub variant: Variant,
}

impl RankOptions {
    /// The default, for composed queries whatever the head says.
    pub fn composed() -> Self {
        Self {
            mode: Some(QueryMode::Composed),
            ..Self::default()
        }
    }

    /// Refuses options that contradict each other, whatever the index.
    pub fn check(&self) -> Result<(), RankError> {
        let refuse = |reason| Err(RankError::Options(reason));
        if self.variant != Variant::Becr && self.mode == Some(QueryMode::Encoded) {
            return refuse(
                "an encoded query is not composed of token groups: leave the variant at its default",
            );
        }
        match (self.scorer, self.weight) {
            (Scorer::Composite, Some(_)) => refuse(
                "a weight goes with the scorer one-vector: the composite scorer's are the head's",
            ),
            (_, Some(weight)) if !weight.is_finite() => {
                refuse("the weight of the one-vector score must be a finite number")
            }
            _ => Ok(()),
        }
    }
}

/// What a candidate's score is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scorer {
    /// The head's sum: S = S_deep + S_lexi + S_others.
    #[default]
    Composite,
    /// The first stage's score (min–max over the list) + weight · z(cosine of the whole query's vector and the
    /// document's), and nothing of the head but the weight: what anybody with the same encoder would try first.
    OneVector,
}

impl Scorer {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Composite, Self::OneVector];

    /// `composite`, `one-vector`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Composite => "composite",
            Self::OneVector => "one-vector",
        }
    }
}

impl FromStr for Scorer {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named("scorer", &Self::ALL, Self::name, name)
    }
}

/// What a composed query is composed of: the paper's ablations of the deep part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// Uni-grams from the token store, mixed; uni-grams and pairs, composed, if there is no mixer.
    #[default]
    Becr,
    /// The paper's composition of uni-grams and pairs, whether there is a mixer or not.
    Plain,
    /// Uni-grams alone.
    NoPairs,
    /// Pairs alone; a word in no known pair keeps its uni-gram.
    NoUnigrams,
    /// Pairs of neighbours only, the weights as the head has them.
    Window1,
}

impl Variant {
    /// All of them, in the order of the paper's tables.
    pub const ALL: [Self; 5] = [
        Self::Becr,
        Self::Plain,
        Self::NoPairs,
        Self::NoUnigrams,
        Self::Window1,
    ];

    /// `becr`, `plain`, `no-pairs`, `no-unigrams`, `window-1`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Becr => "becr",
            Self::Plain => "plain",
            Self::NoPairs => "no-pairs",
            Self::NoUnigrams => "no-unigrams",
            Self::Window1 => "window-1",
        }
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named("variant", &Self::ALL, Self::name, name)
    }
}

/// Parts of the score, as a set: in JSON a list of their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts {
    /// S_deep.
    pub deep: bool,
    /// S_lexi.
    pub lexi: bool,
    /// S_others.
    pub others: bool,
}

impl Parts {
    /// Adds a part.
    pub fn add(&mut self, part: Part) {
        match part {
            Part::Deep => self.deep = true,
            Part::Lexi => self.lexi = true,
            Part::Others => self.others = true,
        }
    }

    /// Whether it is one of them.
    pub fn contains(&self, part: Part) -> bool {
        match part {
            Part::Deep => self.deep,
            Part::Lexi => self.lexi,
            Part::Others => self.others,
        }
    }
}

impl FromIterator<Part> for Parts {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Self {
        let mut set = Self::default();
        parts.into_iter().for_each(|part| set.add(part));
        set
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(Part::ALL.iter().filter(|part| self.contains(**part)))
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Part>::deserialize(deserializer)?
            .into_iter()
            .collect())
    }
}

/// The value of a name; the error lists the names there are.
pub(crate) fn named<T: Copy>(
    what: &str,
    all: &[T],
    name_of: impl Fn(T) -> &'static str,
    name: &str,
) -> Result<T, String> {
    let found = all.iter().copied().find(|one| name_of(*one) == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|one| name_of(*one)).collect();
        format!("no {what} {name:?}; there are {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for scorer in Scorer::ALL {
            assert_eq!(scorer.name().parse(), Ok(scorer));
            assert_eq!(serde_json::to_value(scorer).unwrap(), scorer.name());
        }
        for variant in Variant::ALL {
            assert_eq!(variant.name().parse(), Ok(variant));
        }
        for part in Part::ALL {
            assert_eq!(part.name().parse(), Ok(part));
            assert_eq!(serde_json::to_value(part).unwrap(), part.name());
        }
        assert!("best".parse::<Variant>().unwrap_err().contains("no-pairs"));
        assert!("best".parse::<Scorer>().unwrap_err().contains("one-vector"));
        assert!("all".parse::<Part>().unwrap_err().contains("others"));
    }

    #[test]
    fn options_are_read_from_json_and_unknown_keys_refused() {
        let read = serde_json::from_str::<RankOptions>;
        assert_eq!(read("{}").unwrap(), RankOptions::default());
        let text =
            r#"{"mode": "encoded", "scorer": "one-vector", "weight": 0.5, "without": ["lexi"]}"#;
        let options = read(text).unwrap();
        assert_eq!(options.mode, Some(QueryMode::Encoded));
        assert_eq!(options.scorer, Scorer::OneVector);
        assert!(options.without.lexi && !options.without.deep && !options.without.others);
        let again = serde_json::to_string(&options).unwrap();
        assert_eq!(read(&again).unwrap(), options);
        for wrong in [
            r#"{"k": 5}"#,
            r#"{"scorer": "best"}"#,
            r#"{"without": ["all"]}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let refused = |options: RankOptions| options.check().unwrap_err().to_string();
        let default = RankOptions::default();
        let weight = RankOptions {
            weight: Some(0.5),
            ..default
        };
        assert!(refused(weight).contains("scorer one-vector"));
        let infinite = RankOptions {
            scorer: Scorer::OneVector,
            weight: Some(f32::INFINITY),
            ..default
        };
        assert!(refused(infinite).contains("finite"));
        let encoded = RankOptions {
            mode: Some(QueryMode::Encoded),
            variant: Variant::NoPairs,
            ..default
        };
        assert!(refused(encoded).contains("variant"));
        default.check().unwrap();
    }
}
