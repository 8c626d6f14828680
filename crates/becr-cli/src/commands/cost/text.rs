//! The cost as tables for people.

use super::units::{bytes, short};
use super::{Cost, PrintedSizes};
use std::io::{self, Write};

pub(super) fn write(out: &mut impl Write, cost: &Cost) -> io::Result<()> {
    let (collection, encoding) = (&cost.collection, &cost.encoding);
    writeln!(
        out,
        "{} documents of {} tokens; {} words and {} pairs in the token store",
        short(collection.documents as f64),
        collection.tokens,
        short(collection.words as f64),
        short(collection.pairs as f64),
    )?;
    writeln!(
        out,
        "vectors of {} numbers at {} layers; footprints of {} bits at {} layers",
        encoding.dim, encoding.layers, encoding.bits, encoding.stored_layers
    )?;
    storage(out, cost)?;
    trade_offs(out, cost)
}

fn row(out: &mut impl Write, name: &str, cells: &[String]) -> io::Result<()> {
    let mut line = format!("{name:<34}");
    for cell in cells {
        line += &format!(" {cell:>13}");
    }
    writeln!(out, "{}", line.trim_end())
}

fn storage(out: &mut impl Write, cost: &Cost) -> io::Result<()> {
    let header = ["documents", "token groups", "a document"];
    writeln!(out)?;
    row(out, "storage", &header.map(String::from))?;
    let (one, all, groups) = (
        &cost.storage.per_document,
        &cost.storage.documents,
        &cost.storage.groups,
    );
    let rows = [
        ("raw vectors", all.raw, groups.raw, one.raw),
        (
            "footprints, the paper's records",
            all.compressed,
            groups.compressed,
            one.compressed,
        ),
        (
            "footprints, our records",
            all.ours,
            groups.compressed,
            one.ours,
        ),
    ];
    for (at, (name, documents, groups, one)) in rows.into_iter().enumerate() {
        row(out, name, &[bytes(documents), bytes(groups), bytes(one)])?;
        if let Some(printed) = &cost.paper.storage {
            printed_storage(out, printed, at)?;
        }
    }
    writeln!(
        out,
        "CLS as one number in place of {} saves {} a document, {} in all; the footprint of the mean vector takes {} of it back.",
        cost.encoding.dim,
        bytes(one.saved_by_cls),
        bytes(all.saved_by_cls),
        bytes(all.ours - (all.compressed - all.saved_by_cls)),
    )
}

/// What the paper prints below a row of its table.
fn printed_storage(
    out: &mut impl Write,
    printed: &PrintedSizes,
    row_number: usize,
) -> io::Result<()> {
    let (documents, groups) = match row_number {
        0 => (printed.documents_raw, printed.groups_raw),
        1 => (
            printed.documents_compressed,
            Some(printed.groups_compressed),
        ),
        _ => return Ok(()),
    };
    let groups = groups.map_or_else(|| "-".into(), exact);
    row(out, "  in the paper", &[exact(documents), groups])
}

/// A size with the digits that the paper prints.
fn exact(value: f64) -> String {
    let (number, unit) = match value {
        value if value >= 1e12 => (value / 1e12, "TB"),
        value => (value / 1e9, "GB"),
    };
    match number {
        number if number < 10.0 && number.fract() == 0.0 => format!("{number:.1} {unit}"),
        number if number >= 1000.0 => bytes(value),
        number => format!("{number} {unit}"),
    }
}

fn trade_offs(out: &mut impl Write, cost: &Cost) -> io::Result<()> {
    let header = ["layers", "documents", "token groups", "(paper)", "(paper)"];
    let columns = if cost.paper.trade_offs.is_some() {
        5
    } else {
        3
    };
    writeln!(out)?;
    row(
        out,
        "the paper's records, by bits",
        &header[..columns]
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
    )?;
    for (at, choice) in cost.trade_offs.iter().enumerate() {
        let name = match choice.bits {
            Some(bits) => format!("{bits} bits"),
            None => "raw vectors".into(),
        };
        let mut cells = vec![
            choice.layers.to_string(),
            bytes(choice.documents),
            bytes(choice.groups),
        ];
        if let Some((documents, groups)) =
            cost.paper.trade_offs.as_ref().and_then(|rows| rows.get(at))
        {
            cells.extend([exact(*documents), exact(*groups)]);
        }
        row(out, &name, &cells)?;
    }
    Ok(())
}
