//! Operations to re-rank one query's candidates, counted from the shapes of the models.
//!
//! The convention: a product of an a × b and a b × c matrix is a·b·c multiply-adds; what is done to one number (a kernel's
//! value with its addition, a maximum, a weighted cosine, an exclusive or of 64 bits with its population count) is one
//! operation. What can be computed before the query is there counts nothing: documents of ColBERT and BECR, and the n-grams of
//! CONV-KNRM's documents. Nothing is fitted to anybody's figures.

use super::config::Workload;
use std::fmt::Write;

/// A model's operations.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OperationsRow {
    model: String,
    query_words: u64,
    operations: f64,
}

/// All models, for each length of queries.
pub(super) fn count(workload: &Workload) -> Vec<OperationsRow> {
    let mut rows = Vec::new();
    for &words in &workload.query_words {
        let mut add = |model: String, operations: f64| {
            rows.push(OperationsRow {
                model,
                query_words: words,
                operations,
            });
        };
        let shapes = Shapes::new(workload, words);
        add("KNRM".into(), shapes.knrm());
        add("CONV-KNRM".into(), shapes.conv_knrm());
        add("ColBERT".into(), shapes.colbert());
        add("BERT".into(), shapes.bert());
        add("CEDR-KNRM".into(), shapes.cedr_knrm());
        for &layers in &workload.kept {
            let bits = workload.bits;
            add(
                format!("BECR⁻, L = {layers}, {bits} bits"),
                shapes.becr_minus(layers),
            );
            add(
                format!("BECR, L = {layers}, {bits} bits"),
                shapes.becr(layers),
            );
        }
    }
    rows
}

struct Shapes<'a> {
    workload: &'a Workload,
    /// n.
    words: f64,
    /// Document tokens of all candidates.
    tokens: f64,
}

impl<'a> Shapes<'a> {
    fn new(workload: &'a Workload, words: u64) -> Self {
        Self {
            workload,
            words: words as f64,
            tokens: (workload.documents * workload.tokens) as f64,
        }
    }

    /// Kernels over a matrix of n × m similarities for every candidate.
    fn kernels(&self) -> f64 {
        self.words * self.tokens * self.workload.kernels as f64
    }

    fn knrm(&self) -> f64 {
        self.words * self.tokens * self.workload.word_dim as f64 + self.kernels()
    }

    fn conv_knrm(&self) -> f64 {
        let Workload {
            word_dim, filters, ..
        } = *self.workload;
        let query = self.words * (1 + 2 + 3) as f64 * (word_dim * filters) as f64;
        query + 9.0 * (self.words * self.tokens * filters as f64 + self.kernels())
    }

    /// BERT over a sequence: 12·p² a token and layer for the matrices, 2·s·p for attention.
    fn encoder(&self, sequence: f64) -> f64 {
        let dim = self.workload.dim as f64;
        let token = 12.0 * dim * dim + 2.0 * sequence * dim;
        self.workload.layers as f64 * sequence * token
    }

    fn colbert(&self) -> f64 {
        let Workload {
            dim, projection, ..
        } = *self.workload;
        let query = self.workload.query_tokens as f64;
        let encoded = self.encoder(query) + query * (dim * projection) as f64;
        encoded + query * self.tokens * (projection as f64 + 1.0)
    }

    /// `[CLS] query [SEP] piece [SEP]` for even pieces of each document.
    fn bert(&self) -> f64 {
        let extra = self.words + 3.0;
        let tokens = self.workload.tokens as f64;
        let pieces = (tokens / (512.0 - extra).max(1.0)).ceil();
        let documents = self.workload.documents as f64;
        let score = documents * self.workload.dim as f64;
        documents * pieces * self.encoder(tokens / pieces + extra) + score
    }

    fn cedr_knrm(&self) -> f64 {
        let layers = (self.workload.layers + 1) as f64;
        let similarities = self.words * self.tokens * self.workload.dim as f64;
        self.bert() + layers * (similarities + self.kernels())
    }

    /// Footprints of so many vectors compared with all document tokens, each cosine weighed.
    fn footprints(&self, vectors: f64) -> f64 {
        let words = self.workload.bits.div_ceil(64) as f64;
        self.tokens * vectors * (words + 1.0)
    }

    fn becr_minus(&self, layers: u64) -> f64 {
        let query = self.encoder(self.words + 2.0);
        query + layers as f64 * (self.footprints(self.words) + self.kernels())
    }

    /// A word has one vector, a pair within the window two.
    fn becr(&self, layers: u64) -> f64 {
        let words = self.words as u64;
        let distances = 1..=self.workload.window.min(words.saturating_sub(1));
        let pairs: u64 = distances.map(|distance| words - distance).sum();
        let vectors = (words + 2 * pairs) as f64;
        layers as f64 * (self.footprints(vectors) + self.kernels())
    }
}

pub(super) fn markdown(workload: &Workload, rows: &[OperationsRow]) -> String {
    let Workload {
        documents, tokens, ..
    } = workload;
    let mut text = format!(
        "# Operations to re-rank {documents} documents of {tokens} tokens\n\n| model | n | operations | ratio |\n|---|---:|---:|---:|\n"
    );
    for row in rows {
        // The last model of each length is BECR with the fewest layers.
        let least = rows
            .iter()
            .rfind(|other| other.query_words == row.query_words);
        let ratio = row.operations / least.map_or(1.0, |least| least.operations);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {ratio:.1} |",
            row.model,
            row.query_words,
            short(row.operations)
        );
    }
    text += "\nMultiply-adds of matrix products, and one operation for what is done to one number: a kernel's value, a maximum,\n\
        a weighted cosine, an exclusive or of 64 bits with its population count. What can be computed before the query is there counts\n\
        nothing. Counted from shapes; nothing is measured or fitted.\n";
    text
}

pub(super) fn csv(rows: &[OperationsRow]) -> String {
    let mut text = String::from("model,query_words,operations\n");
    for row in rows {
        let _ = writeln!(
            text,
            "\"{}\",{},{}",
            row.model, row.query_words, row.operations
        );
    }
    text
}

fn short(number: f64) -> String {
    match number {
        n if n >= 1e12 => format!("{:.1}T", n / 1e12),
        n if n >= 1e9 => format!("{:.1}G", n / 1e9),
        n => format!("{:.0}M", n / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[OperationsRow], model: &str, words: u64) -> f64 {
        let found = rows
            .iter()
            .find(|row| row.model == model && row.query_words == words);
        found.unwrap().operations
    }

    /// Shapes small enough to count by hand: 2 documents of 10 tokens, 2 words, 4 numbers a vector.
    #[test]
    fn by_hand() {
        let workload = Workload {
            documents: 2,
            tokens: 10,
            query_words: vec![2],
            dim: 4,
            layers: 1,
            kept: vec![2],
            bits: 128,
            kernels: 3,
            window: 2,
            word_dim: 5,
            filters: 2,
            projection: 3,
            query_tokens: 6,
        };
        let rows = count(&workload);
        // 2·20 similarities of 5 numbers, and 3 kernels.
        assert_eq!(of(&rows, "KNRM", 2), 40.0 * 5.0 + 40.0 * 3.0);
        // 2 words · 6 · 5 · 2, and nine matrices of 40 similarities of 2 numbers with 3 kernels.
        assert_eq!(of(&rows, "CONV-KNRM", 2), 120.0 + 9.0 * (80.0 + 120.0));
        // 6 tokens · (12·16 + 2·6·4) + 6·4·3 + 6·20·(3 + 1).
        assert_eq!(of(&rows, "ColBERT", 2), 6.0 * 240.0 + 72.0 + 480.0);
        // Sequences of 15 tokens: 15·(192 + 120) each, and 4 for the score.
        assert_eq!(of(&rows, "BERT", 2), 2.0 * 15.0 * 312.0 + 8.0);
        assert_eq!(
            of(&rows, "CEDR-KNRM", 2),
            9368.0 + 2.0 * (40.0 * 4.0 + 120.0)
        );
        // Two words and a pair are four vectors, of 2 machine words each.
        assert_eq!(
            of(&rows, "BECR, L = 2, 128 bits", 2),
            2.0 * (20.0 * 4.0 * 3.0 + 120.0)
        );
        // [CLS], two words and [SEP]: 4·(192 + 32).
        assert_eq!(
            of(&rows, "BECR⁻, L = 2, 128 bits", 2),
            896.0 + 2.0 * (20.0 * 2.0 * 3.0 + 120.0)
        );
    }

    #[test]
    fn the_papers_shapes() {
        let workload = Workload::default();
        let rows = count(&workload);
        // BERT reads 150 documents of 857 tokens: the paper's profiler says 12.2T.
        assert!((of(&rows, "BERT", 3) / 12.2e12 - 1.0).abs() < 0.05);
        let (many, few) = (
            of(&rows, "BECR, L = 13, 256 bits", 3),
            of(&rows, "BECR, L = 5, 256 bits", 3),
        );
        assert!((many / few - 2.6).abs() < 1e-9);
        let table = markdown(&workload, &rows);
        assert!(table.contains("| BECR, L = 5, 256 bits | 5 |"), "{table}");
    }
}
