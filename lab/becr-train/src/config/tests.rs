use super::*;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("folder/c.toml")).map_err(|e| e.to_string())
}

const LEAST: &str =
    "model.base = 'm'\noutput.model = 'o'\n[[data.sets]]\nname = 'a'\npairs = '/abs/p'\n";

#[test]
fn little_needs_to_be_said() {
    let config = parse(LEAST).unwrap();
    assert_eq!(config.output.model, Path::new("folder/o"));
    assert_eq!(config.work(), Path::new("folder/o.training"));
    assert_eq!(
        config.data.sets[0].pairs.as_deref(),
        Some(Path::new("/abs/p"))
    );
    assert_eq!(config.negatives(0), Negatives::default());
    assert_eq!(config.train, TrainOptions::default());
    assert_eq!(config.model.base.as_deref(), Some(Path::new("folder/m")));
    for name in [BUNDLED, "hf:owner/name@v2"] {
        let config = parse(&LEAST.replace("'m'", &format!("'{name}'"))).unwrap();
        assert_eq!(
            config.model.base.as_deref(),
            Some(Path::new(name)),
            "no path"
        );
    }
}

#[test]
fn the_examples_can_be_read() {
    let examples = [
        include_str!("../../configs/becr-small.toml"),
        include_str!("../../configs/own-head.toml"),
        include_str!("../../configs/five-folds.toml"),
    ];
    let [small, tuned, folds] = examples.map(|text| parse(text).unwrap());
    assert_eq!(small.data.sets.len(), 6);
    assert_eq!(small.negatives(0).siblings, 5);
    assert!(tuned.model.head.is_some() && tuned.model.base.is_none());
    assert_eq!(folds.folds.unwrap().count, 5);
}

#[test]
fn what_nobody_knows_is_named_with_its_line() {
    for (from, to, line, told) in [
        (
            "output.model = 'o'",
            "output.model = 'o'\noutput.modle = 'o'",
            3,
            "modle",
        ),
        (
            "pairs = '/abs/p'",
            "pairs = '/abs/p'\nlimit = 3",
            6,
            "limit",
        ),
        ("name = 'a'", "name = 'a'\nrole = 'tests'", 5, "validation"),
        (
            "name = 'a'",
            "name = 'a'\nnegatives = { bm25 = 3, hard = 4 }",
            5,
            "hard",
        ),
        ("name = 'a'", "name = 'a'\ncap = -3", 5, "-3"),
        (
            "output.model = 'o'",
            "output.model = 'o'\ntrain.stepz = 3",
            3,
            "stepz",
        ),
        ("output.model = 'o'", "output.model 'o'", 2, "expected"),
    ] {
        let error = parse(&LEAST.replace(from, to)).unwrap_err();
        assert!(
            error.starts_with(&format!("folder/c.toml:{line}: ")),
            "{error}"
        );
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let judged = "queries = 'q'\nqrels = 'r'";
    for (from, to, told) in [
        ("model.base = 'm'", "", "[model] base"),
        (
            "output.model = 'o'",
            "output.model = 'o'\nindex.path = 'i'",
            "[[data.sets]] 1 (a): pairs bring their documents",
        ),
        (
            "output.model = 'o'",
            "output.model = 'o'\nindex.path = 'i'\nmodel.bits = 64",
            "those of the index",
        ),
        (
            "output.model = 'o'",
            "output.model = 'o'\nvalidation.share = 1.5",
            "from 0 to 1, found 1.5",
        ),
        (
            "output.model = 'o'",
            "output.model = 'o'\nfolds.measures = 'nDGC@10'",
            "[folds] measures",
        ),
        (
            "output.model = 'o'",
            "output.model = 'o'\nmodel.layers = 3",
            "expected",
        ),
        (
            "output.model = 'o'",
            "output.model = 'o'\ndata.candidates = 0",
            "at least 1",
        ),
        ("name = 'a'", "name = 'a b'", "without blanks"),
        (
            "name = 'a'",
            "name = 'a'\nrun = 'r'",
            "leave corpus and run out",
        ),
        ("pairs = '/abs/p'", judged, "corpus: name the files"),
        (
            "pairs = '/abs/p'",
            "queries = 'q'",
            "either pairs, or queries and qrels",
        ),
        (
            "pairs = '/abs/p'",
            "pairs = 'p'\n[[data.sets]]\nname = 'a'\npairs = 'p'",
            "2 (a): an earlier set",
        ),
        (
            "pairs = '/abs/p'",
            "pairs = 'p'\nrole = 'validation'\n[folds]",
            "come from the folds",
        ),
    ] {
        let error = parse(&LEAST.replace(from, to)).unwrap_err();
        assert!(error.contains(told), "{to}: {error}");
    }
}
