//! Documents found by their vectors.

use super::Make;
use super::model::Chance;
use crate::column::Near;
use crate::{DocumentStore, Header, NewDocument, Shape, WriteStore, u32s};
use becr_footprint::pack;
use becr_footprint::signs::packed_dot;
use std::collections::BTreeMap;

const DIM: usize = 40;
const SHAPE: Shape = Shape {
    layers: 1,
    bits: 32,
    vector: 1 + DIM as u16 / 8,
};

/// After any changes, the nearest documents are those of an exhaustive comparison. Stores that cannot search say so.
pub fn the_nearest_are_found<S: WriteStore>(make: Make<'_, S>) {
    let store = make(&Header::new("encoder-1", SHAPE, 2));
    let mut chance = Chance::new(5);
    let mut held: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut numbers: BTreeMap<String, u64> = BTreeMap::new();
    for round in 0..12 {
        let mut update = store.update().unwrap();
        for _ in 0..chance.below(60) {
            let id = format!("d{}", chance.below(90));
            if let Some(number) = numbers.remove(&id) {
                held.remove(&number);
            }
            if chance.below(4) == 0 {
                update.delete(&id).unwrap();
                continue;
            }
            let mean = mean(&mut chance);
            let document = NewDocument {
                id: &id,
                mean: &mean,
                ..Default::default()
            };
            let number = update.put(&document).unwrap();
            numbers.insert(id, number);
            held.insert(number, mean);
        }
        update.commit().unwrap();
        let snapshot = store.snapshot().unwrap();
        let query = vector(&mut chance);
        for wanted in [0, 1, 7, 1000] {
            let found = snapshot.nearest(&query, wanted).unwrap();
            assert_eq!(found.is_some(), snapshot.can_search());
            if let Some(found) = found {
                assert_eq!(
                    found,
                    nearest(&held, &query, wanted),
                    "round {round}, {wanted} wanted"
                );
            }
        }
        let nowhere = snapshot.nearest(&[0.0; DIM], 5).unwrap();
        assert!(nowhere.is_none_or(|found| found.is_empty()));
    }
}

fn nearest(held: &BTreeMap<u64, Vec<u8>>, query: &[f32], wanted: usize) -> Vec<Near> {
    let mut buffer = Vec::new();
    let near = |(&number, mean): (&u64, &Vec<u8>)| Near {
        number,
        similarity: packed_dot(query, u32s(mean), &mut buffer),
    };
    let mut all: Vec<Near> = held
        .iter()
        .map(near)
        .filter(|near| near.similarity != 0.0)
        .collect();
    all.sort_by(|a, b| {
        b.similarity
            .total_cmp(&a.similarity)
            .then(a.number.cmp(&b.number))
    });
    all.truncate(wanted);
    all
}

fn vector(chance: &mut Chance) -> Vec<f32> {
    (0..DIM)
        .map(|_| chance.below(2001) as f32 - 1000.0)
        .collect()
}

/// A packed vector; some have no direction, and are near to nothing.
fn mean(chance: &mut Chance) -> Vec<u8> {
    let vector = match chance.below(9) {
        0 => vec![0.0; DIM],
        _ => vector(chance),
    };
    pack(&vector)
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect()
}
