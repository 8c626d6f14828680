//! What may be varied from query to query.

use std::str::FromStr;

/// How queries are read and scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// How the query's terms are composed.
    pub variant: Variant,
    /// Parts of the score that are left out.
    pub without: Parts,
}

/// The paper's variants of the deep part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// Uni-grams and pairs from the token store.
    #[default]
    Becr,
    /// BECR⁻: the whole query goes through the encoder, and each word is one vector.
    WholeQuery,
    /// Uni-grams alone.
    NoPairs,
    /// Pairs alone; a word in no known pair keeps its uni-gram.
    NoUnigrams,
    /// Pairs of neighbours only, the weights as the head has them.
    Window1,
}

/// Names on the command line, in the order of the paper's tables.
const VARIANTS: [(&str, Variant); 5] = [
    ("becr", Variant::Becr),
    ("becr-minus", Variant::WholeQuery),
    ("no-pairs", Variant::NoPairs),
    ("no-unigrams", Variant::NoUnigrams),
    ("window-1", Variant::Window1),
];

impl Variant {
    /// `becr`, `becr-minus`, `no-pairs`, `no-unigrams`, `window-1`.
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
