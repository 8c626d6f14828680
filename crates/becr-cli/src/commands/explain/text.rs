//! An explanation in the terminal.

use super::paint::Paint;
use super::passages::standing_out;
use super::shade::{nearest_words, stretches};
use super::{Args, told_words};
use crate::output;
use anyhow::Context;
use becr::{ExplainAnswer, ExplainedDocument, PARTS, QueryMode, Reasons, label, plain, reason};
use becr_eval::Table;
use becr_rank::{
    ContributionRow, FeaturePart, OWN_BM25, Part, ShadedWord, Shading, TermPart, WordPart,
};
use std::io::Write;

/// Words of the document that are listed for a term.
const NEAREST: usize = 6;
/// Words that are named beside a reason, if they are at least this similar.
const FEW: usize = 3;
const NEAR: f32 = 0.5;

pub(super) fn print(report: &ExplainAnswer, args: &Args) -> anyhow::Result<()> {
    let mut out = output::stdout();
    let term = match &args.term {
        Some(word) => Some(term_of(report, word)?),
        None => None,
    };
    let all = args.all || args.kernels;
    if report.terms.is_empty() {
        writeln!(out, "The index knows no word of the query.")?;
    }
    for document in &report.documents {
        lead(&mut out, report, document, all)?;
    }
    lead_difference(&mut out, report, all)?;
    if all {
        writeln!(out)?;
        terms(&mut out, report)?;
        for document in &report.documents {
            score(&mut out, report, document, args.kernels)?;
        }
        difference(&mut out, report)?;
    }
    for document in &report.documents {
        match &document.shading {
            Some(shading) => shaded(&mut out, report, &document.id, shading, term, args.whole)?,
            None => writeln!(
                out,
                "[{}]: the index keeps no texts",
                output::name(&document.id)
            )?,
        }
    }
    out.flush()?;
    Ok(())
}

/// The few largest reasons for a score, in plain words.
fn lead(
    out: &mut impl Write,
    report: &ExplainAnswer,
    document: &ExplainedDocument,
    all: bool,
) -> anyhow::Result<()> {
    let title = output::name(&document.title);
    let id = output::name(&document.id);
    writeln!(out, "{}  [{id}]", output::bold(&title))?;
    let score = document.explanation.score;
    let stands_out = !Reasons::largest(document.explanation.rows()).0.is_empty();
    let most = match stands_out {
        true => "; most of it is",
        false => ": nothing sets it apart from the other candidates",
    };
    writeln!(out, "score {score:.3}, {}{most}", place(document))?;
    let near = |row: &ContributionRow| -> String {
        let term = report.terms.iter().position(|term| term.word == row.name);
        let (Part::Deep, Some(term), Some(shading)) = (row.part, term, &document.shading) else {
            return String::new();
        };
        let near = nearest_words(fields(shading), term, FEW).into_iter();
        let near: Vec<String> = near
            .filter(|(_, similarity)| *similarity >= NEAR)
            .map(|(word, similarity)| format!("{} {similarity:.2}", output::name(&word)))
            .collect();
        match near.is_empty() {
            true => String::new(),
            false => format!(": {}", near.join(", ")),
        }
    };
    reasons(out, document.explanation.rows(), reason, near, all)
}

/// The largest of some contributions, largest first, and the sum of the others.
fn reasons(
    out: &mut impl Write,
    rows: Vec<ContributionRow>,
    name: fn(&ContributionRow) -> String,
    more: impl Fn(&ContributionRow) -> String,
    all: bool,
) -> anyhow::Result<()> {
    let sum = |rows: &[ContributionRow]| rows.iter().map(|row| row.contribution).sum::<f64>();
    let (total, count) = (sum(&rows), rows.len());
    let told = Reasons::largest(rows).0;
    for row in &told {
        let (value, name) = (row.contribution, name(row));
        writeln!(out, "  {value:>+8.3}  {}{}", output::name(&name), more(row))?;
    }
    let rest = total - sum(&told);
    let others = count - told.len();
    if others > 0 {
        writeln!(out, "  {}", remainder(rest, others, all))?;
    }
    writeln!(out)?;
    Ok(())
}

/// What the contributions that were not told come to.
fn remainder(rest: f64, others: usize, all: bool) -> String {
    // A sum that is next to nothing has no sign worth telling.
    let rest = if rest.abs() < 5e-4 { 0.0 } else { rest };
    let (who, them) = match others {
        1 => ("one other, which is smaller", "it"),
        _ => ("others together, each smaller", "them"),
    };
    let number = match others {
        1 => String::new(),
        others => format!("the {others} "),
    };
    match all {
        true => format!("{rest:>+8.3}  {number}{who}"),
        false => format!("{rest:>+8.3}  {number}{who} (--all shows {them})"),
    }
}

/// What makes the first of two documents come before the second, or behind it.
fn lead_difference(out: &mut impl Write, report: &ExplainAnswer, all: bool) -> anyhow::Result<()> {
    let (Some(difference), [first, second]) = (&report.difference, &report.documents[..]) else {
        return Ok(());
    };
    let (one, other) = (output::name(&first.id), output::name(&second.id));
    let (amount, less) = match difference.score < 0.0 {
        true => (-difference.score, "less"),
        false => (difference.score, "more"),
    };
    writeln!(
        out,
        "[{one}] scores {amount:.3} {less} than [{other}], most of all by"
    )?;
    reasons(out, difference.rows.clone(), plain, |_| String::new(), all)?;
    by_word(out, report)
}

/// The paper's table: which words of the query make two documents differ, by words close to them and by themselves.
fn by_word(out: &mut impl Write, report: &ExplainAnswer) -> anyhow::Result<()> {
    let words = report.difference.iter().flat_map(told_words);
    let header = [
        "  by word of the query",
        "close to it",
        "itself",
        "together",
    ];
    let mut table = Table::new(header.map(String::from).to_vec(), vec![1, 2, 3]);
    let mut rows = 0;
    for WordPart { word, deep, lexi } in words {
        let cells = [*deep, *lexi, deep + lexi].map(|value| format!("{value:+.3}"));
        let word = format!("  {}", output::name(word));
        table.row(std::iter::once(word).chain(cells).collect());
        rows += 1;
    }
    if rows > 0 {
        writeln!(out, "{table}")?;
    }
    Ok(())
}

pub(super) fn place(document: &ExplainedDocument) -> String {
    let found = [
        ("BM25", document.first_stage_rank),
        ("meaning", document.meaning_rank),
    ];
    let found = found
        .into_iter()
        .filter_map(|(way, rank)| Some(format!("{way}: {}", rank?)));
    let found: Vec<String> = found.collect();
    match document.rank {
        Some(rank) if !found.is_empty() => format!("rank {rank} ({})", found.join(", ")),
        _ => "not among the candidates".to_owned(),
    }
}

fn term_of(report: &ExplainAnswer, word: &str) -> anyhow::Result<usize> {
    let wanted = word.to_lowercase();
    let found = report.terms.iter().position(|term| term.word == wanted);
    found.with_context(|| {
        let known: Vec<&str> = report.terms.iter().map(|term| term.word.as_str()).collect();
        format!(
            "the query has no term \"{word}\"; its terms are {}",
            known.join(", ")
        )
    })
}

/// The query's terms: what they weigh, what they are composed of.
fn terms(out: &mut impl Write, report: &ExplainAnswer) -> anyhow::Result<()> {
    writeln!(out, "query  {}", report.query)?;
    if report.terms.is_empty() {
        writeln!(out, "  no word that the index knows: S_deep is 0")?;
    }
    for term in &report.terms {
        let groups = term.groups.iter().map(|used| {
            let of = match used.second {
                true => " (2nd)",
                false => "",
            };
            format!("{}{of} {:.2}", used.group, used.weight)
        });
        let groups: Vec<String> = groups.collect();
        write!(out, "  \"{}\"  weight {:.3}", term.word, term.weight)?;
        match report.mode {
            QueryMode::Composed => writeln!(out, ", made of {}", groups.join(", "))?,
            QueryMode::Encoded => writeln!(out)?,
        }
    }
    match report.mode {
        QueryMode::Composed => writeln!(out, "  {}", report.coverage)?,
        QueryMode::Encoded => writeln!(out, "  read as a whole by the encoder")?,
    }
    Ok(())
}

/// A document's score, part by part.
fn score(
    out: &mut impl Write,
    report: &ExplainAnswer,
    document: &ExplainedDocument,
    kernels: bool,
) -> anyhow::Result<()> {
    let explanation = &document.explanation;
    let title = output::name(&document.title);
    writeln!(out, "\n[{}]  {title}", output::name(&document.id))?;
    let [meaning, words, others] = PARTS;
    writeln!(out, "{:<30} {:>9.4}", "score (S)", explanation.score)?;
    writeln!(
        out,
        "{:<30} {:>9.4}",
        format!("{meaning} (S_deep)"),
        explanation.deep
    )?;
    for part in &explanation.terms {
        let name = format!("\"{}\"", part.term.word);
        writeln!(out, "    {name:<26} {:>+9.4}", part.contribution)?;
    }
    features(out, Part::Deep, explanation.document_vector.as_slice())?;
    features(out, Part::Deep, explanation.feedback.as_slice())?;
    writeln!(
        out,
        "{:<30} {:>9.4}",
        format!("{words} (S_lexi)"),
        explanation.lexi
    )?;
    features(out, Part::Lexi, &explanation.lexical)?;
    if explanation.lexical.iter().any(|part| part.name == OWN_BM25) {
        writeln!(
            out,
            "      no candidate has a score by keywords: our own BM25 takes its place"
        )?;
    }
    writeln!(
        out,
        "{:<30} {:>9.4}",
        format!("{others} (S_others)"),
        explanation.others
    )?;
    if let Some(cls) = explanation.cls {
        writeln!(out, "    {:<26} {cls:>+9.4}", "cls")?;
    }
    features(out, Part::Others, &explanation.features)?;
    let cells: Vec<&TermPart> = explanation.terms.iter().collect();
    if !cells.is_empty() {
        writeln!(out, "S_deep by layer and kernel, all terms")?;
        layers(out, report, &cells)?;
    }
    if kernels {
        for part in &explanation.terms {
            writeln!(out, "\"{}\" by layer and kernel", part.term.word)?;
            layers(out, report, &[part])?;
        }
    }
    Ok(())
}

fn features(out: &mut impl Write, part: Part, features: &[FeaturePart]) -> std::io::Result<()> {
    for feature in features {
        let FeaturePart {
            name,
            value,
            standardised,
            weight,
            contribution,
        } = feature;
        write!(out, "    {name:<26} {contribution:>+9.4}")?;
        match value {
            // A sum of nothing is −0: adding 0 takes the sign away.
            Some(value) => writeln!(
                out,
                "   value {:.4}, standardised {standardised:+.3}, weight {weight:+.4}",
                value + 0.0
            )?,
            None => writeln!(out, "   missing, weight {weight:+.4}")?,
        }
        let row = ContributionRow {
            part,
            name: name.clone(),
            contribution: *contribution,
        };
        let plain = plain(&row);
        if plain != *name {
            writeln!(out, "      {plain}")?;
        }
    }
    Ok(())
}

/// Contributions by layer (rows) and kernel (columns), summed over terms.
fn layers(out: &mut impl Write, report: &ExplainAnswer, terms: &[&TermPart]) -> anyhow::Result<()> {
    let centres = &report.kernels;
    let header = ["    layer \\ μ".to_owned()].into_iter();
    let header = header.chain(centres.iter().map(|centre| format!("{centre:.2}")));
    let columns = header.chain(["sum".to_owned()]).collect();
    let mut table = Table::new(columns, (1..=centres.len() + 1).collect());
    for (layer, name) in report.layers.iter().enumerate() {
        let sums: Vec<f64> = (0..centres.len())
            .map(|kernel| {
                let cells = terms.iter().map(|term| term.cells[layer][kernel]);
                cells.map(|cell| cell.contribution).sum()
            })
            .collect();
        let mut row = vec![format!("    {name}")];
        row.extend(sums.iter().map(|sum| match sum.abs() < 5e-4 {
            true => "·".to_owned(),
            false => format!("{sum:.3}"),
        }));
        row.push(format!("{:.3}", sums.iter().sum::<f64>()));
        table.row(row);
    }
    write!(out, "{table}")?;
    Ok(())
}

/// The table that says what makes the first document's score differ from the second's.
fn difference(out: &mut impl Write, report: &ExplainAnswer) -> anyhow::Result<()> {
    let (Some(difference), [first, second]) = (&report.difference, &report.documents[..]) else {
        return Ok(());
    };
    writeln!(out)?;
    let (one, other) = (output::name(&first.id), output::name(&second.id));
    let header = ["part", "", &one, &other, "difference"];
    let mut table = Table::new(header.map(String::from).to_vec(), vec![2, 3, 4]);
    let (ours, theirs) = (first.explanation.rows(), second.explanation.rows());
    for ((row, ours), theirs) in difference.rows.iter().zip(ours).zip(theirs) {
        let part = match row.part {
            Part::Deep => "deep",
            Part::Lexi => "lexi",
            Part::Others => "others",
        };
        let cells = [ours.contribution, theirs.contribution, row.contribution];
        table.row(cells_of(part, &label(row), cells));
    }
    let (a, b) = (&first.explanation, &second.explanation);
    for (name, a, b) in [
        ("S_deep", a.deep, b.deep),
        ("S_lexi", a.lexi, b.lexi),
        ("S_others", a.others, b.others),
        ("S", a.score, b.score),
    ] {
        table.row(cells_of(name, "", [a, b, a - b]));
    }
    write!(out, "{table}")?;
    Ok(())
}

fn cells_of(part: &str, name: &str, [ours, theirs, difference]: [f64; 3]) -> Vec<String> {
    vec![
        part.to_owned(),
        name.to_owned(),
        format!("{ours:.4}"),
        format!("{theirs:.4}"),
        format!("{difference:+.4}"),
    ]
}

fn fields(shading: &Shading) -> [(&str, &[ShadedWord]); 2] {
    [
        (&shading.title, &shading.title_words),
        (&shading.text, &shading.text_words),
    ]
}

/// The text, its words shaded by their similarity to a term, or each to the term it is closest to.
fn shaded(
    out: &mut impl Write,
    report: &ExplainAnswer,
    id: &str,
    shading: &Shading,
    term: Option<usize>,
    whole: bool,
) -> anyhow::Result<()> {
    let words: Vec<&str> = report.terms.iter().map(|term| term.word.as_str()).collect();
    let paint = Paint::new(words.clone(), term);
    writeln!(out, "[{}] {}", output::name(id), paint.legend())?;
    let painted = |text: &str, words: &[ShadedWord]| -> String {
        let painted = stretches(text, words);
        let painted = painted.iter().map(|stretch| paint.stretch(stretch));
        painted.collect()
    };
    // A title has one line.
    let title = painted(&shading.title, &shading.title_words).replace('\n', "\\n");
    if !title.trim().is_empty() {
        writeln!(out, "{title}")?;
    }
    let mut print = |text: &str, words: &[ShadedWord]| -> std::io::Result<()> {
        let painted = painted(text, words);
        match painted.trim().is_empty() {
            true => Ok(()),
            false => writeln!(out, "{painted}"),
        }
    };
    let passages = match whole {
        true => None,
        false => standing_out(&shading.text, &shading.text_words, term),
    };
    match passages {
        None => print(&shading.text, &shading.text_words)?,
        Some(passages) => {
            let told: usize = passages.iter().map(|passage| passage.words.len()).sum();
            for passage in &passages {
                print(&passage.text, &passage.words)?;
                print("…", &[])?;
            }
            let all = shading.text_words.len();
            writeln!(out, "({told} of {all} words; --whole shows the whole text)")?;
        }
    }
    for (number, word) in words.iter().enumerate() {
        let near = nearest_words(fields(shading), number, NEAREST).into_iter();
        let near: Vec<String> = near
            .map(|(word, similarity)| format!("{word} {similarity:.2}"))
            .collect();
        writeln!(out, "nearest to \"{word}\": {}", near.join(", "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_counted_in_words() {
        assert_eq!(
            remainder(-1e-9, 1, false),
            "  +0.000  one other, which is smaller (--all shows it)"
        );
        assert_eq!(
            remainder(-0.25, 3, true),
            "  -0.250  the 3 others together, each smaller"
        );
    }
}
