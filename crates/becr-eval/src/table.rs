//! Aligned text tables.

use std::fmt;

/// A table with one header line. The first column and all cells of text are aligned to the left, the
/// columns named at the start to the right.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
}

impl Table {
    /// A table of these columns; those at the positions of `right` are aligned to the right.
    #[must_use]
    pub fn new(header: Vec<String>, right: Vec<usize>) -> Self {
        Self {
            rows: vec![header],
            right,
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let width = |column| cells(column).map(|cell| cell.chars().count()).max();
        (0..columns)
            .map(|column| width(column).unwrap_or(0))
            .collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match self.right.contains(&column) {
                    true => line += &format!("{cell:>width$}  "),
                    false => line += &format!("{cell:<width$}  "),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["run", "n", "P@5"].map(String::from).to_vec(), vec![1]);
        table.row(["bm25", "7", "0.5000‡*"].map(String::from).to_vec());
        table.row(["é", "100", "0.1"].map(String::from).to_vec());
        assert_eq!(
            table.to_string(),
            "run     n  P@5\nbm25    7  0.5000‡*\né     100  0.1\n"
        );
    }
}
