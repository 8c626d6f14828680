//! Running text put together from pieces of marked-up text.

/// Text with every run of white space made one blank, and none at the ends.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    text: String,
    gap: bool,
}

impl Flow {
    /// Adds a piece; it joins the word before unless white space or a break stands between.
    pub(crate) fn push(&mut self, piece: &str) {
        for (index, word) in piece.split(char::is_whitespace).enumerate() {
            self.gap |= index > 0;
            if word.is_empty() {
                continue;
            }
            if self.gap && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.gap = false;
            self.text.push_str(word);
        }
    }

    /// Ends the word, as a paragraph or a table cell does.
    pub(crate) fn break_word(&mut self) {
        self.gap = true;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_pieces_and_collapses_white_space() {
        let mut flow = Flow::default();
        flow.push(" \n a  b");
        flow.push("c");
        flow.break_word();
        flow.push("d\u{a0}\t");
        flow.push("e ");
        assert_eq!(flow.into_text(), "a bc d e");
    }
}
