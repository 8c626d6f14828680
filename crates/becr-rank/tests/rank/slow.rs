//! The features from their formulas, counted in the texts themselves. Nothing of the ranker or the store is used but
//! words, stems, stop words and WordPieces.

use crate::collection::{Collection, Document, WINDOW, pieces};
use becr_text::lexical::{Analyzer, is_stop_word};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) fn words(text: &str) -> Vec<String> {
    becr_text::words::words(text).map(|w| w.text).collect()
}

fn stem(word: &str) -> String {
    Analyzer::default().stem(word).into_owned()
}

/// Texts by field, 0 the title, 1 the body; and the pairs whose frequency is known.
pub(crate) struct Texts<'a> {
    fields: Vec<[Vec<String>; 2]>,
    stems: Vec<[Vec<String>; 2]>,
    counted: &'a dyn Fn(&str) -> bool,
    /// Whether the nearness of any two words of a query counts, not only of those within the window.
    pub(crate) any_two: bool,
}

impl<'a> Texts<'a> {
    pub(crate) fn new<'t>(
        texts: impl Iterator<Item = (&'t str, &'t str)>,
        counted: &'a dyn Fn(&str) -> bool,
    ) -> Self {
        let fields: Vec<[Vec<String>; 2]> = texts
            .map(|(title, text)| [words(title), words(text)])
            .collect();
        let stems = |words: &Vec<String>| words.iter().map(|word| stem(word)).collect();
        Self {
            stems: fields
                .iter()
                .map(|field| field.each_ref().map(stems))
                .collect(),
            fields,
            counted,
            any_two: false,
        }
    }

    fn idf(&self, frequency: usize) -> f64 {
        let (n, df) = (self.fields.len() as f64, frequency as f64);
        (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
    }

    fn bm25(&self, field: usize, document: usize, idf: f64, tf: usize) -> f64 {
        let total: usize = self.fields.iter().map(|fields| fields[field].len()).sum();
        let average = total as f64 / self.fields.len() as f64;
        let length = self.fields[document][field].len() as f64;
        if tf == 0 {
            return 0.0;
        }
        let tf = tf as f64;
        idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))
    }

    /// All lexical features but the first stage's, by name.
    pub(crate) fn features(&self, query: &str, document: usize) -> BTreeMap<String, f64> {
        let query = words(query);
        let only_stop_words = query.iter().all(|word| is_stop_word(word));
        let counts = |word: &String| only_stop_words || !is_stop_word(word);
        let stems: BTreeSet<String> = query
            .iter()
            .filter(|w| counts(w))
            .map(|w| stem(w))
            .collect();
        let mut pairs = BTreeSet::new();
        let mut near = BTreeSet::new();
        for i in 0..query.len() {
            for j in i + 1..query.len().min(i + WINDOW + 1) {
                pairs.insert((query[i].clone(), query[j].clone()));
            }
            let last = if self.any_two {
                query.len()
            } else {
                query.len().min(i + WINDOW + 1)
            };
            for j in i + 1..last {
                let (a, b) = (stem(&query[i]), stem(&query[j]));
                if counts(&query[i]) && counts(&query[j]) && a != b {
                    near.insert((a.clone().min(b.clone()), a.max(b)));
                }
            }
        }
        let mut features = BTreeMap::new();
        for (field, name) in ["title", "body"].into_iter().enumerate() {
            let text = &self.fields[document][field];
            let text_stems = &self.stems[document][field];
            let (mut tfidfs, mut bm25s) = (Vec::new(), Vec::new());
            for wanted in &stems {
                let tf = text_stems.iter().filter(|stem| *stem == wanted).count();
                let df = (self.stems.iter())
                    .filter(|fields| fields[field].contains(wanted))
                    .count();
                let idf = self.idf(df);
                tfidfs.push(if tf == 0 {
                    0.0
                } else {
                    (1.0 + (tf as f64).ln()) * idf
                });
                bm25s.push(self.bm25(field, document, idf, tf));
            }
            let nearness: Vec<f64> = near
                .iter()
                .map(|(a, b)| nearness(text_stems, a, b))
                .collect();
            summarise(&mut features, &format!("{name}_tfidf"), &tfidfs, true);
            summarise(&mut features, &format!("{name}_bm25"), &bm25s, true);
            summarise(
                &mut features,
                &format!("{name}_proximity"),
                &nearness,
                false,
            );
            let mut sum = 0.0;
            for pair in &pairs {
                let df = match (self.counted)(&format!("{} {}", pair.0, pair.1)) {
                    true => (self.fields.iter())
                        .filter(|fields| co_occurrences(&fields[field], pair) > 0)
                        .count(),
                    false => 1,
                };
                sum += self.bm25(field, document, self.idf(df), co_occurrences(text, pair));
            }
            features.insert(format!("{name}_bm25_pairs"), sum);
        }
        for kind in ["tfidf", "bm25"] {
            let sum =
                features[&format!("title_{kind}_sum")] + features[&format!("body_{kind}_sum")];
            features.insert(format!("sum_{kind}"), sum);
        }
        features
    }
}

fn summarise(out: &mut BTreeMap<String, f64>, name: &str, values: &[f64], sum: bool) {
    let fold = |f: fn(f64, f64) -> f64| values.iter().copied().reduce(f).unwrap_or(0.0);
    let total: f64 = values.iter().sum();
    out.insert(format!("{name}_max"), fold(f64::max));
    out.insert(format!("{name}_min"), fold(f64::min));
    out.insert(format!("{name}_avg"), total / values.len().max(1) as f64);
    if sum {
        out.insert(format!("{name}_sum"), total);
    }
}

/// 1/d² of the nearest occurrences of two stems.
fn nearness(text: &[String], a: &str, b: &str) -> f64 {
    let places =
        |stem: &str| -> Vec<usize> { (0..text.len()).filter(|&at| text[at] == stem).collect() };
    let mut least = usize::MAX;
    for i in places(a) {
        for j in places(b) {
            least = least.min(i.abs_diff(j));
        }
    }
    if least == usize::MAX {
        0.0
    } else {
        1.0 / (least * least) as f64
    }
}

/// How often the second word of a pair follows the first within the window.
fn co_occurrences(text: &[String], (first, second): &(String, String)) -> usize {
    let mut count = 0;
    for i in 0..text.len() {
        for j in i + 1..text.len().min(i + WINDOW + 1) {
            count += usize::from(text[i] == *first && text[j] == *second);
        }
    }
    count
}

/// S_deep without the document vector, and the document vector's similarity, from rows of footprints.
pub(crate) fn deep(
    collection: &Collection,
    head: &becr_model::Head,
    query: &str,
    document: &Document,
) -> (f64, Option<f64>) {
    let query = words(query);
    let terms = terms(collection, &query);
    if terms.is_empty() {
        return (0.0, None);
    }
    let n = collection.documents.len() as f64;
    let idf: Vec<f64> = terms
        .iter()
        .map(|(word, _)| {
            let has = |d: &&Document| words(&d.text).iter().any(|w| stem(w) == stem(word));
            let df = collection.documents.iter().filter(has).count() as f64;
            (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
        })
        .collect();
    let omega: Vec<f64> = idf
        .iter()
        .map(|idf_i| match head.deep.term_weights {
            becr_model::TermWeights::Sum => 1.0,
            becr_model::TermWeights::Mean => 1.0 / terms.len() as f64,
            becr_model::TermWeights::Idf => idf_i / idf.iter().sum::<f64>(),
        })
        .collect();
    let width = usize::from(collection.shape.bits) / 32;
    let layers = usize::from(collection.shape.layers);
    let relative = collection.shape.is_relative();
    let kernels = &head.deep.kernels;
    let mut score = 0.0;
    for layer in 0..layers {
        for ((_, groups), omega) in terms.iter().zip(&omega) {
            let similarities: Vec<f64> = (0..document.tokens)
                .map(|token| {
                    let row = &document.rows[(layer * document.tokens + token) * width..][..width];
                    let parts = groups.iter().map(|(weight, f)| {
                        let rest = cosine(&f[layer], row);
                        if !relative {
                            return weight * rest;
                        }
                        let length = f64::from(document.lengths[token]) / 128.0;
                        let share = f64::from(document.share);
                        weight * (share * dot(&f[layers], &document.mean) + length * rest)
                    });
                    parts.sum::<f64>().clamp(-1.0, 1.0)
                })
                .collect();
            for (k, (mu, sigma)) in kernels.mu.iter().zip(&kernels.sigma).enumerate() {
                let (mu, sigma) = (f64::from(*mu), f64::from(*sigma));
                let kernel = |c: &f64| (-(c - mu) * (c - mu) / (2.0 * sigma * sigma)).exp();
                let sum: f64 = similarities.iter().map(kernel).sum();
                let alpha = f64::from(head.deep.alpha[layer][k]);
                score += omega * alpha * (f64::from(kernels.epsilon) + sum).ln();
            }
        }
    }
    let total: f64 = omega.iter().sum();
    let vector = terms.iter().zip(&omega).map(|((_, groups), omega)| {
        let parts = groups.iter().map(|(w, f)| match relative {
            true => w * dot(&f[layers], &document.mean),
            false => w * cosine(&f[layers - 1], &document.mean),
        });
        omega / total * parts.sum::<f64>()
    });
    let vector: f64 = vector.sum();
    (score, (document.tokens > 0).then_some(vector))
}

/// The dot product of two packed vectors.
fn dot(a: &[u32], b: &[u32]) -> f64 {
    let number = |words: &[u32], i: usize| {
        let level = f64::from(words[1 + i / 8] >> (4 * (i % 8)) & 15);
        let level = if level > 7.0 { level - 16.0 } else { level };
        (level + 0.5) * f64::from(f32::from_bits(words[0]))
    };
    (0..8 * (a.len() - 1))
        .map(|i| number(a, i) * number(b, i))
        .sum()
}

fn cosine(a: &[u32], b: &[u32]) -> f64 {
    let differing: u32 = a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum();
    (std::f64::consts::PI * f64::from(differing) / (32 * a.len()) as f64).cos()
}

/// A group's weight in a term and its footprints by layer.
type Weighted = (f64, Vec<Vec<u32>>);

/// The deep terms: words with their groups, weights summing to 1.
fn terms(collection: &Collection, query: &[String]) -> Vec<(String, Vec<Weighted>)> {
    let only_stop_words = query.iter().all(|word| is_stop_word(word));
    let mut terms = Vec::new();
    for (i, word) in query.iter().enumerate() {
        if is_stop_word(word) && !only_stop_words {
            continue;
        }
        let mut groups: Vec<Weighted> = Vec::new();
        for (j, other) in query.iter().enumerate() {
            let distance = i.abs_diff(j);
            if distance == 0 || distance > WINDOW {
                continue;
            }
            let (key, slot) = match i < j {
                true => (format!("{word} {other}"), 0),
                false => (format!("{other} {word}"), 1),
            };
            if let Some(footprints) = footprints(collection, &key, slot) {
                groups.push((1.0 / distance as f64, footprints));
            }
        }
        match footprints(collection, word, 0) {
            Some(footprints) => groups.push((0.25, footprints)),
            None => {
                let known: Vec<_> = pieces()
                    .split_word(word)
                    .iter()
                    .filter_map(|piece| footprints(collection, piece, 0))
                    .collect();
                let weight = 0.25 / known.len() as f64;
                groups.extend(known.into_iter().map(|footprints| (weight, footprints)));
            }
        }
        let total: f64 = groups.iter().map(|(weight, _)| weight).sum();
        groups.iter_mut().for_each(|(weight, _)| *weight /= total);
        if !groups.is_empty() {
            terms.push((word.clone(), groups));
        }
    }
    terms
}

/// The footprints of a group by layer, and at last its packed vector, if it has one.
fn footprints(collection: &Collection, key: &str, slot: usize) -> Option<Vec<Vec<u32>>> {
    let all = collection.groups.get(key)?;
    let (slots, width) = (
        key.split(' ').count(),
        usize::from(collection.shape.bits) / 32,
    );
    let (layers, words) = (
        usize::from(collection.shape.layers),
        usize::from(collection.shape.vector),
    );
    let at = |layer: usize| all[(layer * slots + slot) * width..][..width].to_vec();
    let vector = all[layers * slots * width + slot * words..][..words].to_vec();
    Some((0..layers).map(at).chain([vector]).collect())
}
