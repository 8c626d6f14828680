//! An explanation as one HTML file that needs nothing else.

use super::shade::{Stretch, stretches};
use becr::{ExplainAnswer, ExplainedDocument, FAINTEST, label, strength};
use becr_basics::escape;
use becr_rank::{ContributionRow, FeaturePart, Part, QueryTerm, ShadedWord, TermPart};

/// Hues of the query's terms.
const HUES: [u16; 6] = [50, 120, 195, 310, 28, 265];

pub(super) fn page(report: &ExplainAnswer) -> String {
    let query = escape(&report.query);
    let documents = report.documents.iter();
    let documents: String = documents.map(|one| document(report, one)).collect();
    let hues: Vec<u16> = (0..report.terms.len()).map(hue).collect();
    let script = include_str!("page.js").replace("FAINTEST", &FAINTEST.to_string());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{query}</title>\n<style>\n{}</style>\n</head>\n<body>\n<h1>{query}</h1>\n\
         <p>Why these scores: S = S_deep + S_lexi + S_others.</p>\n{}{}{}\
         <div class=\"columns\">\n{documents}</div>\n\
         <script type=\"application/json\" id=\"hues\">{hues:?}</script>\n<script>\n{script}</script>\n\
         </body>\n</html>\n",
        include_str!("page.css"),
        difference(report),
        terms(report),
        choice(report),
    )
}

fn hue(term: usize) -> u16 {
    HUES[term % HUES.len()]
}

/// What the query's terms weigh and are composed of.
fn terms(report: &ExplainAnswer) -> String {
    let row = |term: &QueryTerm| {
        let groups = term.groups.iter();
        let groups: Vec<String> = groups
            .map(|used| format!("{} {:.2}", escape(&used.group), used.weight))
            .collect();
        format!(
            "<tr><td>{}</td><td class=\"n\">{:.3}</td><td>{}</td></tr>\n",
            escape(&term.word),
            term.weight,
            groups.join(", ")
        )
    };
    let rows: String = report.terms.iter().map(row).collect();
    table(
        "The query's terms",
        &["term", "weight", "composed of"],
        &rows,
    )
}

/// A button for each term, and one for all.
fn choice(report: &ExplainAnswer) -> String {
    let label = |(number, term): (usize, &QueryTerm)| {
        format!(
            "<label style=\"--h:{}\"><input type=\"radio\" name=\"term\" value=\"{number}\"> {}</label>\n",
            hue(number),
            escape(&term.word)
        )
    };
    let labels: String = report.terms.iter().enumerate().map(label).collect();
    format!(
        "<fieldset><legend>Words are shaded by similarity to</legend>\n\
         <label><input type=\"radio\" name=\"term\" value=\"all\" checked> the closest term</label>\n\
         {labels}</fieldset>\n"
    )
}

fn document(report: &ExplainAnswer, document: &ExplainedDocument) -> String {
    let explanation = &document.explanation;
    let place = match (document.rank, document.first_stage_rank) {
        (Some(rank), Some(first)) => format!("rank {rank}, BM25 rank {first}"),
        _ => "not among the candidates of BM25".to_owned(),
    };
    let text = match &document.shading {
        Some(shading) => format!(
            "<div class=\"text title\">{}</div>\n<div class=\"text\">{}</div>\n",
            shaded(&shading.title, &shading.title_words),
            shaded(&shading.text, &shading.text_words)
        ),
        None => "<p>The index keeps no texts.</p>\n".to_owned(),
    };
    let parts = [
        ("S_deep", explanation.deep),
        ("S_lexi", explanation.lexi),
        ("S_others", explanation.others),
    ];
    let parts: String = parts
        .iter()
        .map(|(name, value)| format!("<tr><td>{name}</td>{}</tr>\n", number(*value)))
        .collect();
    let score = number(explanation.score);
    let parts = format!("{parts}<tr class=\"sum\"><td>S</td>{score}</tr>\n");
    let rows: String = explanation.rows().iter().map(row).collect();
    let features = explanation
        .document_vector
        .iter()
        .chain(&explanation.feedback)
        .chain(&explanation.lexical)
        .chain(&explanation.features);
    let features: String = features.map(feature).collect();
    format!(
        "<section>\n<h2>{} <span class=\"id\">{}</span></h2>\n<p>{place}</p>\n{text}{}{}{}{}</section>\n",
        escape(&document.title),
        escape(&document.id),
        table("Parts", &["part", "contribution"], &parts),
        table("Contributions", &["part", "", "contribution"], &rows),
        table(
            "Features",
            &["feature", "value", "standardised", "weight", "contribution"],
            &features
        ),
        kernels(report, document),
    )
}

fn row(row: &ContributionRow) -> String {
    let (part, name) = (part(row.part), escape(&label(row)));
    let value = number(row.contribution);
    format!("<tr><td>{part}</td><td>{name}</td>{value}</tr>\n")
}

fn feature(feature: &FeaturePart) -> String {
    let value = feature
        .value
        .map_or("missing".into(), |v| format!("{v:.4}"));
    format!(
        "<tr><td>{}</td><td class=\"n\">{value}</td><td class=\"n\">{:.3}</td><td class=\"n\">{:.4}</td>{}</tr>\n",
        escape(&feature.name),
        feature.standardised,
        feature.weight,
        number(feature.contribution)
    )
}

/// What makes the first document's score differ from the second's.
fn difference(report: &ExplainAnswer) -> String {
    let (Some(difference), [first, second]) = (&report.difference, &report.documents[..]) else {
        return String::new();
    };
    let (ours, theirs) = (first.explanation.rows(), second.explanation.rows());
    let rows = difference.rows.iter().zip(ours).zip(theirs);
    let rows = rows.map(|((row, ours), theirs)| {
        let cells = [ours.contribution, theirs.contribution, row.contribution];
        let (part, name) = (part(row.part), escape(&label(row)));
        let cells: String = cells.into_iter().map(number).collect();
        format!("<tr><td>{part}</td><td>{name}</td>{cells}</tr>\n")
    });
    let (a, b) = (&first.explanation, &second.explanation);
    let sums = [
        ("S_deep", a.deep, b.deep),
        ("S_lexi", a.lexi, b.lexi),
        ("S_others", a.others, b.others),
        ("S", a.score, b.score),
    ];
    let sums = sums.into_iter().map(|(name, a, b)| {
        let cells: String = [a, b, a - b].into_iter().map(number).collect();
        format!("<tr class=\"sum\"><td>{name}</td><td></td>{cells}</tr>\n")
    });
    let rows: String = rows.chain(sums).collect();
    let title = format!("{} less {}", first.id, second.id);
    let columns = ["part", "", &first.id, &second.id, "difference"];
    table(&title, &columns, &rows)
}

/// The deep part by layer and kernel: of all terms together, and of each.
fn kernels(report: &ExplainAnswer, document: &ExplainedDocument) -> String {
    let terms = &document.explanation.terms;
    let all: Vec<&TermPart> = terms.iter().collect();
    let each = terms.iter().map(|term| {
        let title = format!("\u{201c}{}\u{201d} by layer and kernel", term.term.word);
        (title, vec![term])
    });
    let tables = std::iter::once(("All terms by layer and kernel".to_owned(), all)).chain(each);
    let tables: String = tables
        .map(|(title, terms)| layers(report, &title, &terms))
        .collect();
    format!("<details><summary>Layers and kernels</summary>\n{tables}</details>\n")
}

fn layers(report: &ExplainAnswer, title: &str, terms: &[&TermPart]) -> String {
    let centres: Vec<String> = report.kernels.iter().map(|mu| format!("{mu:.2}")).collect();
    let row = |(layer, name): (usize, &usize)| {
        let cell = |kernel: usize| {
            let cells = terms.iter().map(|term| term.cells[layer][kernel]);
            number(cells.map(|cell| cell.contribution).sum())
        };
        let cells: String = (0..centres.len()).map(cell).collect();
        format!("<tr><td>{name}</td>{cells}</tr>\n")
    };
    let rows: String = report.layers.iter().enumerate().map(row).collect();
    let columns: Vec<&str> = std::iter::once("layer")
        .chain(centres.iter().map(String::as_str))
        .collect();
    table(title, &columns, &rows)
}

fn part(part: Part) -> &'static str {
    match part {
        Part::Deep => "deep",
        Part::Lexi => "lexi",
        Part::Others => "others",
    }
}

/// A table of finished rows.
fn table(title: &str, columns: &[&str], rows: &str) -> String {
    let mut header = String::new();
    for column in columns {
        let is_text = matches!(
            *column,
            "" | "part" | "term" | "composed of" | "feature" | "layer"
        );
        let class = if is_text { "" } else { " class=\"n\"" };
        header += &format!("<th{class}>{}</th>", escape(column));
    }
    format!(
        "<h3>{}</h3>\n<div class=\"wide\"><table>\n<tr>{header}</tr>\n{rows}</table></div>\n",
        escape(title)
    )
}

/// A contribution, coloured by its sign.
fn number(value: f64) -> String {
    let sign = match value {
        value if value > 0.0 => " up",
        value if value < 0.0 => " down",
        _ => "",
    };
    format!("<td class=\"n{sign}\">{value:+.4}</td>")
}

fn shaded(text: &str, words: &[ShadedWord]) -> String {
    stretches(text, words).iter().map(word).collect()
}

fn word(stretch: &Stretch<'_>) -> String {
    let text = escape(stretch.text);
    let Some((term, similarity)) = stretch.nearest() else {
        return text;
    };
    let similarities: Vec<String> = stretch
        .similarities
        .iter()
        .map(|similarity| format!("{similarity:.2}"))
        .collect();
    let list = similarities.join(" ");
    format!(
        "<b style=\"--h:{};--s:{:.2}\" data-s=\"{list}\" title=\"{list}\">{text}</b>",
        hue(term),
        strength(similarity)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_document_says_is_not_taken_for_html() {
        let word = |start, end| ShadedWord {
            start,
            end,
            similarities: vec![0.9, 0.1],
        };
        let text = "<b> & \"q\"";
        let html = shaded(text, &[word(1, 2), word(7, 8)]);
        assert!(
            html.starts_with("&lt;<b style=\"--h:50;--s:0.88\""),
            "{html}"
        );
        assert!(html.contains(">b</b>&gt; &amp; &quot;<b"), "{html}");
        assert_eq!(escape("<script>'"), "&lt;script&gt;&#39;");
    }
}
