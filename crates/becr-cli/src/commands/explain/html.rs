//! An explanation as one HTML file that needs nothing else.

use super::shade::{Stretch, stretches};
use super::told_words;
use becr::{ExplainAnswer, ExplainedDocument, PARTS, QueryMode, plain, reason};
use becr_basics::escape;
use becr_rank::{ContributionRow, FeaturePart, QueryTerm, ShadedWord, TermPart, WordPart};

/// Hues of the query's terms.
const HUES: [u16; 6] = [50, 120, 195, 310, 28, 265];
/// Reasons that are not folded away.
const TOLD: usize = 8;

pub(super) fn page(report: &ExplainAnswer) -> String {
    let query = escape(&report.query);
    let documents = report.documents.iter();
    let documents: String = documents.map(|one| document(report, one)).collect();
    let hues: Vec<u16> = (0..report.terms.len()).map(hue).collect();
    let script = include_str!("page.js");
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{query}</title>\n<style>\n{}</style>\n</head>\n<body>\n<h1>{query}</h1>\n{}\
         <div class=\"columns\">\n{documents}</div>\n{}{}\
         <script type=\"application/json\" id=\"hues\">{hues:?}</script>\n<script>\n{script}</script>\n\
         </body>\n</html>\n",
        include_str!("page.css"),
        choice(report),
        difference(report),
        terms(report),
    )
}

fn hue(term: usize) -> u16 {
    HUES[term % HUES.len()]
}

/// The weights of the query's terms and, for a composed query, the token groups of each term.
fn terms(report: &ExplainAnswer) -> String {
    let is_composed = report.mode == QueryMode::Composed;
    let row = |term: &QueryTerm| {
        let groups = term.groups.iter();
        let groups: Vec<String> = groups
            .map(|used| format!("{} {:.2}", escape(&used.group), used.weight))
            .collect();
        let groups = match is_composed {
            true => format!("<td>{}</td>", groups.join(", ")),
            false => String::new(),
        };
        format!(
            "<tr><td>{}</td><td class=\"n\">{:.3}</td>{groups}</tr>\n",
            escape(&term.word),
            term.weight,
        )
    };
    let rows: String = report.terms.iter().map(row).collect();
    let (columns, summary): (&[&str], &str) = match is_composed {
        true => (
            &["term", "weight", "made of"],
            "What the query's words weigh and are made of",
        ),
        false => (&["term", "weight"], "What the query's words weigh"),
    };
    let table = table("", columns, &rows);
    format!("<details><summary>{summary}</summary>\n{table}</details>\n")
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
         {labels}</fieldset>\n\
         <p class=\"key\">The stronger the colour, the more a word stands out from the rest of the text by its closeness to the \
         query; the numbers show when you point at it. <span class=\"bar up\"></span> speaks for a document, <span class=\"bar down\"></span> against it.</p>\n"
    )
}

fn document(report: &ExplainAnswer, document: &ExplainedDocument) -> String {
    let explanation = &document.explanation;
    let place = super::text::place(document);
    let text = match &document.shading {
        Some(shading) => format!(
            "<div class=\"text title\">{}</div>\n<div class=\"text\">{}</div>\n",
            shaded(&shading.title, &shading.title_words),
            shaded(&shading.text, &shading.text_words)
        ),
        None => "<p>The index keeps no texts.</p>\n".to_owned(),
    };
    format!(
        "<section>\n<h2>{} <span class=\"id\">{}</span></h2>\n<p>score {:.3}, {place}</p>\n{text}{}{}</section>\n",
        escape(&document.title),
        escape(&document.id),
        explanation.score,
        reasons(document),
        kernels(report, document),
    )
}

/// Every contribution to a score, largest first; the smaller ones are folded away.
fn reasons(document: &ExplainedDocument) -> String {
    let explanation = &document.explanation;
    let nothing = || std::iter::repeat_n(None, explanation.terms.len());
    let features = nothing()
        .chain(explanation.document_vector.iter().map(Some))
        .chain(explanation.feedback.iter().map(Some))
        .chain(explanation.lexical.iter().map(Some))
        .chain(explanation.cls.map(|_| None))
        .chain(explanation.features.iter().map(Some));
    let mut rows: Vec<_> = explanation.rows().into_iter().zip(features).collect();
    rows.sort_by(|(a, _), (b, _)| b.contribution.abs().total_cmp(&a.contribution.abs()));
    let largest = rows.first().map_or(0.0, |(row, _)| row.contribution.abs());
    let told = rows.len().min(TOLD);
    let html = |rows: &[(ContributionRow, Option<&FeaturePart>)]| -> String {
        rows.iter()
            .map(|(row, feature)| reason_row(row, *feature, largest))
            .collect()
    };
    let columns = [
        "reason",
        "",
        "contribution",
        "value",
        "among the candidates",
        "weight",
    ];
    let [meaning, words, others] = PARTS;
    let sum = format!(
        "<p>All together: {meaning} {:+.3}, {words} {:+.3}, {others} {:+.3}. Where a reason has a weight, it contributes the \
         weight times how its value stands among those of the candidates.</p>\n",
        explanation.deep, explanation.lexi, explanation.others
    );
    let mut shown = table("Why", &columns, &html(&rows[..told])) + &sum;
    if rows.len() > told {
        let rest = table("", &columns, &html(&rows[told..]));
        let count = rows.len() - told;
        shown +=
            &format!("<details><summary>{count} smaller reasons</summary>\n{rest}</details>\n");
    }
    format!("<div class=\"reasons\">\n{shown}</div>\n")
}

fn reason_row(row: &ContributionRow, feature: Option<&FeaturePart>, largest: f64) -> String {
    let value = |part: Option<f32>| match (feature, part) {
        (Some(_), None) => "missing".to_owned(),
        (_, Some(value)) => format!("{value:.3}"),
        (None, None) => String::new(),
    };
    let standing = feature.filter(|feature| feature.value.is_some());
    format!(
        "<tr><td title=\"{}\">{}</td>{}{}<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        escape(&row.name),
        escape(&reason(row)),
        bar(row.contribution, largest),
        number(row.contribution),
        value(feature.and_then(|feature| feature.value)),
        standing.map_or(String::new(), |feature| format!(
            "{:+.3}",
            feature.standardised
        )),
        feature.map_or(String::new(), |feature| format!("{:.3}", feature.weight)),
    )
}

/// A bar as long as a contribution is large.
fn bar(value: f64, largest: f64) -> String {
    let sign = if value < 0.0 { "down" } else { "up" };
    let width = 100.0 * value.abs() / largest.max(1e-9);
    format!(
        "<td class=\"bars\"><span class=\"bar {sign}\" style=\"width:{width:.0}%\"></span></td>"
    )
}

/// What makes the first document's score differ from the second's.
fn difference(report: &ExplainAnswer) -> String {
    let (Some(difference), [first, second]) = (&report.difference, &report.documents[..]) else {
        return String::new();
    };
    let (ours, theirs) = (first.explanation.rows(), second.explanation.rows());
    let mut rows: Vec<_> = difference.rows.iter().zip(ours).zip(theirs).collect();
    rows.sort_by(|((a, _), _), ((b, _), _)| b.contribution.abs().total_cmp(&a.contribution.abs()));
    let largest = rows
        .first()
        .map_or(0.0, |((row, _), _)| row.contribution.abs());
    let row = |((row, ours), theirs): &((&ContributionRow, ContributionRow), ContributionRow)| {
        let cells = [row.contribution, ours.contribution, theirs.contribution];
        let cells: String = cells.into_iter().map(number).collect();
        let bar = bar(row.contribution, largest);
        format!("<tr><td>{}</td>{bar}{cells}</tr>\n", escape(&plain(row)))
    };
    let told = rows.len().min(TOLD);
    let columns = ["reason", "", "difference", &first.id, &second.id];
    let (a, b) = (&first.explanation, &second.explanation);
    let sums: String = [a.score - b.score, a.score, b.score]
        .into_iter()
        .map(number)
        .collect();
    let largest_rows: String = rows[..told].iter().map(row).collect();
    let sum = format!("<tr class=\"sum\"><td>all together</td><td></td>{sums}</tr>\n");
    let title = format!("What makes {} differ from {}", first.id, second.id);
    let mut shown = table(&title, &columns, &(largest_rows + &sum));
    if rows.len() > told {
        let rest: String = rows[told..].iter().map(row).collect();
        let (rest, count) = (table("", &columns, &rest), rows.len() - told);
        shown +=
            &format!("<details><summary>{count} smaller reasons</summary>\n{rest}</details>\n");
    }
    let columns = ["word", "words close to it", "itself", "together"];
    let row = |part: &WordPart| {
        let cells = [part.deep, part.lexi, part.deep + part.lexi].map(number);
        format!(
            "<tr><td>{}</td>{}</tr>\n",
            escape(&part.word),
            cells.concat()
        )
    };
    let words: String = told_words(difference).map(row).collect();
    match words.is_empty() {
        true => shown,
        false => shown + &table("The same by word of the query", &columns, &words),
    }
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

/// A table of finished rows.
fn table(title: &str, columns: &[&str], rows: &str) -> String {
    let mut header = String::new();
    for column in columns {
        let is_text = matches!(
            *column,
            "" | "reason" | "term" | "word" | "made of" | "layer"
        );
        let class = if is_text { "" } else { " class=\"n\"" };
        header += &format!("<th{class}>{}</th>", escape(column));
    }
    let title = match title {
        "" => String::new(),
        title => format!("<h3>{}</h3>\n", escape(title)),
    };
    format!("{title}<div class=\"wide\"><table>\n<tr>{header}</tr>\n{rows}</table></div>\n")
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
    let Some((word, (term, strength))) =
        stretch.word.and_then(|word| Some((word, word.nearest()?)))
    else {
        return text;
    };
    let list = |numbers: &[f32]| -> String {
        let numbers: Vec<String> = numbers.iter().map(|n| format!("{n:.2}")).collect();
        numbers.join(" ")
    };
    format!(
        "<b style=\"--h:{};--s:{strength:.2}\" data-s=\"{}\" title=\"{}\">{text}</b>",
        hue(term),
        list(&word.strengths),
        list(&word.similarities)
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
            strengths: vec![0.88, 0.0],
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
