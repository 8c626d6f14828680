//! Text for HTML and SVG.

/// `text` as HTML and XML show it, in elements and in attributes. Control characters that XML has no way to hold become
/// U+FFFD.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(c),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_not_taken_for_markup() {
        assert_eq!(escape("<script>'"), "&lt;script&gt;&#39;");
        assert_eq!(
            escape("a=\"b\" & c\n\u{1b}é"),
            "a=&quot;b&quot; &amp; c\n\u{fffd}é"
        );
    }
}
