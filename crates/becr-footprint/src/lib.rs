//! LSH footprints: a token vector as `b` sign bits.
//!
//! ```
//! use becr_footprint::lsh::{HyperplaneKind, Hyperplanes};
//!
//! let planes = Hyperplanes::generate(4, 32, HyperplaneKind::Gaussian, 7)?;
//! let (mut a, mut b) = ([0_u32; 1], [0_u32; 1]);
//! planes.footprint(&[1.0, 2.0, 0.5, -1.0], &mut a)?;
//! planes.footprint(&[-1.0, -2.0, -0.5, 1.0], &mut b)?;
//! assert_eq!(a[0], !b[0]); // the opposite vector lies on the other side of every plane
//! # Ok::<(), becr_footprint::Error>(())
//! ```

mod error;
pub mod lsh;

pub use error::Error;
