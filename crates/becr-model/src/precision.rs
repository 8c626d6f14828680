//! In what numbers the linear layers compute.

use serde::{Deserialize, Serialize};

/// The numbers of the linear layers. Everything else (attention, norms, GELU, footprints) is f32 in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// Weights and activations in eight bits, sums in 32-bit integers.
    Int8,
}

impl Precision {
    /// `f32` or `int8`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int8 => "int8",
        }
    }
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Precision {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "f32" => Ok(Self::F32),
            "int8" => Ok(Self::Int8),
            _ => Err(format!("'{name}' is no precision: give f32 or int8")),
        }
    }
}
