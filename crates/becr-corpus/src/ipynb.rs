//! Jupyter notebooks: JSON whose cells are Markdown, code, and what the code printed.

use serde_json::Value;

use crate::error::ErrorKind;
use crate::markdown::markdown;

/// Title and text: the first heading of the cells in Markdown, and all cells in their order. Pictures are left out.
pub(crate) fn notebook(source: &str) -> Result<(String, String), ErrorKind> {
    let file: Value = serde_json::from_str(source).map_err(|error| ErrorKind::Json {
        detail: error.to_string(),
    })?;
    let (mut title, mut pieces) = (String::new(), Vec::new());
    for cell in cells(&file) {
        // The code of old notebooks is called `input`.
        let source = text(&cell["source"]).or_else(|| text(&cell["input"]));
        let source = source.unwrap_or_default();
        match cell["cell_type"].as_str() {
            Some("markdown") => {
                let (heading, body) = markdown(&source);
                match title.is_empty() {
                    true => title = heading,
                    false => pieces.push(heading),
                }
                pieces.push(body);
            }
            _ => pieces.push(source),
        }
        let outputs = cell["outputs"].as_array().into_iter().flatten();
        pieces.extend(outputs.filter_map(output));
    }
    let pieces = pieces.iter().map(|piece| piece.trim());
    let pieces: Vec<&str> = pieces.filter(|piece| !piece.is_empty()).collect();
    Ok((title, pieces.join("\n\n")))
}

/// The cells, also of notebooks of version 3, which have them in worksheets.
fn cells(file: &Value) -> Vec<&Value> {
    let sheets = file["worksheets"].as_array().into_iter().flatten();
    let sheets = sheets.filter_map(|sheet| sheet["cells"].as_array());
    file["cells"]
        .as_array()
        .into_iter()
        .chain(sheets)
        .flatten()
        .collect()
}

/// What a cell shows: printed lines, a value, or an error.
fn output(output: &Value) -> Option<String> {
    let error = || {
        Some(format!(
            "{}: {}",
            output["ename"].as_str()?,
            output["evalue"].as_str()?
        ))
    };
    text(&output["text"])
        .or_else(|| text(&output["data"]["text/plain"]))
        .or_else(error)
}

/// Text, or a list of its lines.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => Some(lines.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_what_they_show() {
        let source = r###"{"nbformat": 4, "metadata": {"no": "no"}, "cells": [
            {"cell_type": "markdown", "source": ["# The *owl*\n", "\n", "hunts"], "metadata": {}},
            {"cell_type": "code", "source": "print('mice')", "execution_count": 1, "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["mice\n"]},
                {"output_type": "display_data", "data": {"image/png": "no", "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "KeyError", "evalue": "'barn'", "traceback": ["no"]}]},
            {"cell_type": "markdown", "source": "## Food\nvoles"}]}"###;
        let (title, text) = notebook(source).unwrap();
        assert_eq!(title, "The owl");
        let shown =
            "hunts\n\nprint('mice')\n\nmice\n\n<Figure>\n\nKeyError: 'barn'\n\nFood\n\nvoles";
        assert_eq!(text, shown);
        let old = r#"{"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1"]}]}]}"#;
        assert_eq!(notebook(old).unwrap().1, "x = 1");
        assert!(matches!(notebook("{"), Err(ErrorKind::Json { .. })));
        assert_eq!(notebook("[1]").unwrap(), Default::default());
    }
}
