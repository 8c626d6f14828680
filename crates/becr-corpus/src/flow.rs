//! Running text put together from pieces of marked-up text.

/// Text with every run of white space made one blank, none at the ends, and lines and paragraphs where the markup has them.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    text: String,
    gap: Gap,
}

/// What stands between two words, the widest of what was asked for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Blank,
    Line,
    Paragraph,
}

impl Flow {
    /// Adds a piece; it joins the word before unless white space or a break stands between.
    pub(crate) fn push(&mut self, piece: &str) {
        for (index, word) in piece.split(char::is_whitespace).enumerate() {
            if index > 0 {
                self.widen(Gap::Blank);
            }
            if word.is_empty() {
                continue;
            }
            if !self.text.is_empty() {
                self.text.push_str(match self.gap {
                    Gap::None => "",
                    Gap::Blank => " ",
                    Gap::Line => "\n",
                    Gap::Paragraph => "\n\n",
                });
            }
            self.gap = Gap::None;
            self.text.push_str(word);
        }
    }

    /// Adds text whose line ends mean something, as code has it.
    pub(crate) fn push_lines(&mut self, piece: &str) {
        for (index, line) in piece.split('\n').enumerate() {
            if index > 0 {
                self.break_line();
            }
            self.push(line);
        }
    }

    /// Ends the word, as a table cell does.
    pub(crate) fn break_word(&mut self) {
        self.widen(Gap::Blank);
    }

    /// Ends the line, as an item of a list does.
    pub(crate) fn break_line(&mut self) {
        self.widen(Gap::Line);
    }

    /// Ends the paragraph.
    pub(crate) fn break_paragraph(&mut self) {
        self.widen(Gap::Paragraph);
    }

    fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
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

    #[test]
    fn keeps_lines_and_paragraphs() {
        let mut flow = Flow::default();
        flow.break_paragraph();
        flow.push("one ");
        flow.break_paragraph();
        flow.break_line();
        flow.push(" two");
        flow.break_line();
        flow.push_lines("three\n  four\n");
        flow.break_word();
        flow.push("five");
        flow.break_paragraph();
        assert_eq!(flow.into_text(), "one\n\ntwo\nthree\nfour\nfive");
    }
}
