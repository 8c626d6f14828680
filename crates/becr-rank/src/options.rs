//! What may be varied from query to query.

use becr_model::QueryMode;
use std::str::FromStr;

/// The weight of the query's cosine in [`Variant::OneVector`] where nobody says another.
pub const ANCHOR_WEIGHT: f32 = 0.8;

/// How queries are read and scored.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Options {
    /// How the query is read.
    pub mode: QueryMode,
    /// What a composed query is composed of, or what it is scored by.
    pub variant: Variant,
    /// Parts of the score that are left out.
    pub without: Parts,
    /// The weight of [`Variant::OneVector`], in the place of the head's.
    pub anchor_weight: Option<f32>,
}

impl Options {
    /// Whether the whole query goes through the encoder.
    pub fn is_encoded(&self) -> bool {
        self.mode == QueryMode::Encoded || self.variant == Variant::WholeQuery
    }
}

/// The paper's variants of the deep part, and the anchor that it has to be better than.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// Uni-grams from the token store, mixed; uni-grams and pairs, composed, if there is no mixer.
    #[default]
    Becr,
    /// The paper's composition of uni-grams and pairs, whether there is a mixer or not.
    Plain,
    /// BECR⁻: another name for [`QueryMode::Encoded`].
    WholeQuery,
    /// Uni-grams alone.
    NoPairs,
    /// Pairs alone; a word in no known pair keeps its uni-gram.
    NoUnigrams,
    /// Pairs of neighbours only, the weights as the head has them.
    Window1,
    /// The first stage's score (min–max over the list) + weight · z(cosine of the whole query's vector and the
    /// document's), and nothing of the head but the weight: what anybody with the same encoder would try first.
    OneVector,
}

/// Names on the command line, in the order of the paper's tables.
const VARIANTS: [(&str, Variant); 7] = [
    ("becr", Variant::Becr),
    ("plain", Variant::Plain),
    ("becr-minus", Variant::WholeQuery),
    ("no-pairs", Variant::NoPairs),
    ("no-unigrams", Variant::NoUnigrams),
    ("window-1", Variant::Window1),
    ("one-vector", Variant::OneVector),
];

impl Variant {
    /// `becr`, `plain`, `becr-minus`, `no-pairs`, `no-unigrams`, `window-1`, `one-vector`.
    pub fn name(self) -> &'static str {
        let row = VARIANTS.iter().find(|(_, variant)| *variant == self);
        row.map_or("becr", |(name, _)| name)
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        VARIANTS.iter().map(|(_, variant)| *variant)
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let row = VARIANTS.iter().find(|(known, _)| *known == name);
        row.map(|(_, variant)| *variant).ok_or_else(|| {
            let known = VARIANTS.map(|(name, _)| name).join(", ");
            format!("no variant {name:?}; there are {known}")
        })
    }
}

/// Parts of the score.
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
    /// Adds a part by its name: `deep`, `lexi`, `others`.
    pub fn add(&mut self, name: &str) -> Result<(), String> {
        match name {
            "deep" => self.deep = true,
            "lexi" => self.lexi = true,
            "others" => self.others = true,
            _ => return Err(format!("no part {name:?}; there are deep, lexi, others")),
        }
        Ok(())
    }
}
