//! From an index that exists to the size of another.

use serde::Serialize;

/// What a component's size goes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Tokens: footprints, forward index, text.
    Tokens,
    /// Documents: CLS number, features, ids.
    Documents,
    /// Token groups.
    Groups,
    /// Nothing: configuration.
    Fixed,
}

/// A part of an index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Component {
    /// What it is called.
    pub name: String,
    /// What it takes, in bytes.
    pub bytes: f64,
    /// What that goes with.
    pub scale: Scale,
}

/// An index that was built and measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Its documents.
    pub documents: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Its token groups.
    pub groups: u64,
    /// Its parts.
    pub components: Vec<Component>,
}

/// A collection to predict for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Target {
    /// Its documents.
    pub documents: u64,
    /// Tokens per document; those of the measured index if not given.
    pub tokens_per_document: Option<f64>,
    /// Its token groups; those of the measured index if not given, as when it shares the list. Their
    /// number grows more slowly than the collection and cannot be derived from it.
    pub groups: Option<u64>,
}

/// Predicted sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Each part, in the order in which they were measured.
    pub components: Vec<Component>,
    /// All parts, in bytes.
    pub bytes: f64,
    /// What goes with documents and tokens, per document, in bytes.
    pub bytes_per_document: f64,
}

/// What an index of `target` takes if it is built as `measured` was. A part that goes with something
/// the measured index has none of stays as it is.
pub fn predict(measured: &Measured, target: &Target) -> Prediction {
    let ratio = |target: f64, measured: u64| match measured {
        0 => 1.0,
        measured => target / measured as f64,
    };
    let documents = target.documents as f64;
    let by_documents = ratio(documents, measured.documents);
    let by_tokens = match target.tokens_per_document {
        Some(tokens) => ratio(documents * tokens, measured.tokens),
        None => by_documents,
    };
    let by_groups = target
        .groups
        .map_or(1.0, |groups| ratio(groups as f64, measured.groups));
    let factor = |scale| match scale {
        Scale::Tokens => by_tokens,
        Scale::Documents => by_documents,
        Scale::Groups => by_groups,
        Scale::Fixed => 1.0,
    };
    let components: Vec<Component> = measured
        .components
        .iter()
        .map(|component| Component {
            bytes: component.bytes * factor(component.scale),
            ..component.clone()
        })
        .collect();
    let of_documents = components
        .iter()
        .filter(|component| matches!(component.scale, Scale::Tokens | Scale::Documents))
        .map(|component| component.bytes)
        .sum::<f64>();
    Prediction {
        bytes: components.iter().map(|component| component.bytes).sum(),
        bytes_per_document: of_documents / documents.max(1.0),
        components,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(name: &str, bytes: f64, scale: Scale) -> Component {
        Component {
            name: name.into(),
            bytes,
            scale,
        }
    }

    fn measured() -> Measured {
        Measured {
            documents: 1000,
            tokens: 400_000,
            groups: 50_000,
            components: vec![
                component("footprints", 64_000_000.0, Scale::Tokens),
                component("features", 12_000.0, Scale::Documents),
                component("token groups", 16_000_000.0, Scale::Groups),
                component("configuration", 700.0, Scale::Fixed),
            ],
        }
    }

    fn bytes(target: &Target) -> Vec<f64> {
        let prediction = predict(&measured(), target);
        let sum: f64 = prediction.components.iter().map(|c| c.bytes).sum();
        assert_eq!(prediction.bytes, sum);
        prediction.components.iter().map(|c| c.bytes).collect()
    }

    #[test]
    fn every_part_grows_with_its_own() {
        let mut target = Target {
            documents: 50_000,
            tokens_per_document: None,
            groups: None,
        };
        assert_eq!(bytes(&target), [3.2e9, 600_000.0, 16e6, 700.0]);
        target.tokens_per_document = Some(800.0);
        target.groups = Some(100_000);
        assert_eq!(bytes(&target), [6.4e9, 600_000.0, 32e6, 700.0]);
        assert_eq!(
            predict(&measured(), &target).bytes_per_document,
            (6.4e9 + 600_000.0) / 50_000.0
        );
    }

    #[test]
    fn the_same_collection_has_the_same_size() {
        let target = Target {
            documents: 1000,
            tokens_per_document: Some(400.0),
            groups: Some(50_000),
        };
        assert_eq!(
            predict(&measured(), &target).components,
            measured().components
        );
    }

    #[test]
    fn an_empty_index_predicts_no_nonsense() {
        let empty = Measured {
            documents: 0,
            tokens: 0,
            groups: 0,
            ..measured()
        };
        let target = Target {
            documents: 10,
            tokens_per_document: Some(5.0),
            groups: Some(3),
        };
        assert_eq!(predict(&empty, &target).components, empty.components);
    }
}
