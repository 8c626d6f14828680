//! What a caller relies on: errors instead of panics, raw vectors, threads, any order of documents.

use crate::reference::{Case, Random, log_sums};
use becr_footprint::{
    CompositeQuery, DocumentLayout, DocumentTokens, Engine, Error, GroupWeight, Kernels, Relative,
    TiledDocument, VectorDocument, Workspace,
};

fn one_term(uses: &[(usize, f32)]) -> Vec<Vec<GroupWeight>> {
    vec![
        uses.iter()
            .map(|&(group, weight)| GroupWeight { group, weight })
            .collect(),
    ]
}

#[test]
fn raw_vectors_give_the_kernels_of_true_cosines() {
    let (layers, tokens, dim) = (2, 50, 24);
    let mut random = Random::new(9);
    let mut vectors =
        |n: usize| -> Vec<f32> { (0..n).map(|_| 2.0 * random.unit() - 1.0).collect() };
    let (groups, tokens_of) = (vectors(layers * 2 * dim), vectors(layers * tokens * dim));
    let query = CompositeQuery::from_vectors(dim, layers, &groups, one_term(&[(0, 0.3), (1, 0.7)]))
        .unwrap();
    let vectors = VectorDocument::new(layers, tokens, dim, &tokens_of).unwrap();
    let document = DocumentTokens::Vectors(&vectors);
    let engine = Engine::new().unwrap();
    let (mut work, kernels) = (Workspace::new(), Kernels::paper());
    let mut found = vec![0.0; layers * tokens];
    engine
        .similarities(&query, &document, &mut work, &mut found)
        .unwrap();
    let cosine = |a: &[f32], b: &[f32]| {
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter()
                .zip(b)
                .map(|(x, y)| f64::from(*x) * f64::from(*y))
                .sum()
        };
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    };
    let exact: Vec<f64> = (0..layers * tokens)
        .map(|i| {
            let token = &tokens_of[i * dim..][..dim];
            let group = |g: usize| &groups[(i / tokens * 2 + g) * dim..][..dim];
            0.3 * cosine(group(0), token) + 0.7 * cosine(group(1), token)
        })
        .collect();
    for (found, exact) in found.iter().zip(&exact) {
        assert!((f64::from(*found) - exact).abs() < 1e-6);
    }
    let mut sums = vec![0.0; layers * 11];
    engine
        .log_sums(&query, &kernels, &document, None, &mut work, &mut sums)
        .unwrap();
    for (found, exact) in sums.iter().zip(log_sums(&exact, layers, tokens, &kernels)) {
        assert!((f64::from(*found) - exact).abs() < 1e-4, "{found} {exact}");
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let query = CompositeQuery::from_footprints(64, 1, &[1, 2], one_term(&[(0, 1.0)])).unwrap();
    let raw = CompositeQuery::from_vectors(2, 1, &[1.0, 0.0], one_term(&[(0, 1.0)])).unwrap();
    let vectors = VectorDocument::new(1, 1, 2, &[0.0, 1.0]).unwrap();
    let (engine, kernels, mut work) = (Engine::new().unwrap(), Kernels::paper(), Workspace::new());
    let mut ask = |query: &CompositeQuery, document: DocumentTokens, sums: usize| {
        let mut out = vec![0.0; sums];
        engine
            .log_sums(query, &kernels, &document, None, &mut work, &mut out)
            .unwrap_err()
    };
    let tiles = vec![0; 4096];
    let tiled = |layers, bits| {
        let layout = DocumentLayout::new(layers, 3, bits).unwrap();
        DocumentTokens::Footprints(TiledDocument::new(layout, &tiles[..layout.bytes()]).unwrap())
    };
    let error = ask(&query, tiled(1, 32), 11);
    assert_eq!(
        error,
        Error::Mismatch {
            what: "bits",
            query: 64,
            document: 32
        }
    );
    let error = ask(&query, tiled(2, 64), 11);
    assert_eq!(
        error,
        Error::Mismatch {
            what: "layers",
            query: 1,
            document: 2
        }
    );
    let layout = DocumentLayout::new(1, 3, 64).unwrap();
    let document = TiledDocument::new(layout, &tiles[..layout.bytes()]).unwrap();
    let relative = |lengths| Relative {
        offsets: &[0.0, 0.0],
        lengths,
    };
    assert!(
        document.relative(relative(&[1; 2])).is_err(),
        "three tokens"
    );
    let document = document.relative(relative(&[1; 3])).unwrap();
    assert_eq!(
        ask(&query, DocumentTokens::Footprints(document), 11),
        Error::Mismatch {
            what: "terms",
            query: 1,
            document: 2
        }
    );
    assert_eq!(
        ask(&query, DocumentTokens::Vectors(&vectors), 11),
        Error::Representation
    );
    assert_eq!(ask(&raw, tiled(1, 64), 11), Error::Representation);
    assert!(matches!(
        ask(&query, tiled(1, 64), 10),
        Error::Length {
            expected: 11,
            found: 10,
            ..
        }
    ));
}

#[test]
fn order_and_buffers_change_no_number() {
    let mut random = Random::new(10);
    let first = Case::random(&mut random, 128, 2, 70);
    let query = first.composite_query();
    let cases: Vec<Case> = (0..37)
        .map(|i| Case {
            query: first.query.clone(),
            terms: first.terms.clone(),
            groups: first.groups,
            ..Case::random(&mut random, 128, 2, 13 * i)
        })
        .collect();
    let tiles: Vec<Vec<u8>> = cases.iter().map(Case::tiles).collect();
    let mut documents: Vec<DocumentTokens> = cases
        .iter()
        .zip(&tiles)
        .map(|(c, t)| DocumentTokens::Footprints(TiledDocument::new(c.layout(), t).unwrap()))
        .collect();
    let (engine, kernels) = (Engine::new().unwrap(), Kernels::paper());
    let pool = |documents: &[DocumentTokens], work: &mut Workspace| -> Vec<Vec<f32>> {
        let pool = |(i, document): (usize, &DocumentTokens)| {
            let mut sums = vec![f32::NAN; 2 * first.terms.len() * kernels.len()];
            let next = documents.get(i + 1);
            let done = engine.log_sums(&query, &kernels, document, next, work, &mut sums);
            done.unwrap();
            sums
        };
        documents.iter().enumerate().map(pool).collect()
    };
    let mut work = Workspace::new();
    let forward = pool(&documents, &mut work);
    documents.reverse();
    let mut backward = pool(&documents, &mut work);
    backward.reverse();
    assert_eq!(backward, forward);
    documents.reverse();
    // A record that is in the cache already: what is fetched meanwhile is up to the caller.
    for (document, pooled) in documents.iter().zip(&forward) {
        let mut sums = vec![f32::NAN; pooled.len()];
        let work = &mut Workspace::new();
        let done =
            engine.log_sums_of_cached(&query, &kernels, document, &tiles[0], work, &mut sums);
        done.unwrap();
        assert_eq!(&sums, pooled);
    }
}
