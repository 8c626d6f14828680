//! An answer for people.

use super::{Answer, ResultRow};
use crate::output;
use becr::{SearchTiming, Snippet, Suggestion};
use std::io::Write;

pub(super) fn print(answer: &Answer<'_>, explain: bool, timing: bool) -> anyhow::Result<()> {
    let mut out = output::stdout();
    if answer.results.is_empty() {
        writeln!(out, "nothing found")?;
    }
    for row in &answer.results {
        result(&mut out, row)?;
    }
    out.flush()?;
    for Suggestion { word, instead } in &answer.suggestions {
        output::note(format_args!(
            "No document has \"{}\". Did you mean \"{}\"?",
            output::printable(word),
            output::printable(instead)
        ));
    }
    let covered = answer.coverage.filter(|covered| covered.words > 0);
    if let Some(covered) = covered.filter(|_| explain) {
        output::note(covered);
    }
    match timing {
        true => {
            let stages = answer.timing_ms.stages().into_iter();
            let stages: Vec<String> = stages
                .map(|(stage, ms)| format!("{stage} {ms:.2} ms"))
                .collect();
            output::note(stages.join(", "));
        }
        false => output::note(time(&answer.timing_ms)),
    }
    Ok(())
}

/// How long it took, and of that what the next query of the same process would not wait for.
fn time(timing: &SearchTiming) -> String {
    let SearchTiming { load, total, .. } = timing;
    match *load >= 1.0 {
        true => format!("{:.1} ms, and {load:.0} ms to load the model", total - load),
        false => format!("{total:.1} ms"),
    }
}

fn result(out: &mut impl Write, row: &ResultRow) -> anyhow::Result<()> {
    let title = match row.title.is_empty() {
        true => "(no title)".into(),
        false => output::name(&row.title),
    };
    let (title, id) = (output::bold(&title), output::name(&row.id));
    write!(out, "{:>4}  {:>8.3}  {title}  [{id}]", row.rank, row.score)?;
    match &row.parts {
        Some(_) => match (row.first_stage_rank, row.meaning_rank) {
            (Some(words), Some(meaning)) => writeln!(out, "  (BM25: {words}, meaning: {meaning})")?,
            (Some(words), None) => writeln!(out, "  (BM25: {words})")?,
            (None, Some(meaning)) => writeln!(out, "  (meaning: {meaning})")?,
            (None, None) => writeln!(out)?,
        },
        None => writeln!(out)?,
    }
    if let Some(path) = &row.path {
        let path = path.display().to_string();
        writeln!(out, "                {}", output::name(&path))?;
    }
    if let Some(snippet) = row
        .snippet
        .as_ref()
        .filter(|snippet| !snippet.text.is_empty())
    {
        writeln!(out, "                {}", passage(snippet))?;
    }
    if let (Some(parts), Some(reasons)) = (&row.parts, &row.explanation) {
        let [meaning, words, others] = becr::PARTS;
        writeln!(
            out,
            "                {meaning} {:+.3}, {words} {:+.3}, {others} {:+.3}",
            parts.deep, parts.lexi, parts.others
        )?;
        writeln!(out, "                {reasons}")?;
    }
    Ok(())
}

/// A snippet in one line, the words nearest to the query in bold.
fn passage(snippet: &Snippet) -> String {
    let clean = |text: &str| -> String {
        let text = output::printable(text)
            .replace("\n\n", " ")
            .replace('\n', " ");
        text.replace('\t', " ")
    };
    let mut line = String::from(if snippet.starts_late { "… " } else { "" });
    let mut at = 0;
    for mark in &snippet.marks {
        line.push_str(&clean(&snippet.text[at..mark.start]));
        line.push_str(&output::bold(&clean(&snippet.text[mark.clone()])));
        at = mark.end;
    }
    line.push_str(&clean(&snippet.text[at..]));
    if snippet.ends_early {
        line.push_str(" …");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loading_a_model_is_not_the_time_of_a_query() {
        let mut timing = SearchTiming {
            total: 903.25,
            load: 900.0,
            ..SearchTiming::default()
        };
        assert_eq!(time(&timing), "3.2 ms, and 900 ms to load the model");
        timing.load = 0.1;
        assert_eq!(time(&timing), "903.2 ms");
    }
}
