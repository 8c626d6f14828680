//! The engine against the paper's formulas in f64, and its implementations against each other.

mod accuracy;
mod equality;
mod interface;
mod reference;
