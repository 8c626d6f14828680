//! The cost as tables for people.

use super::units::{bytes, operations};
use super::{Cost, PrintedSizes};
use becr_groups::cost::operations::Operations;
use becr_groups::cost::paper::PrintedOperations;
use std::io::{self, Write};

pub(super) fn write(out: &mut impl Write, cost: &Cost) -> io::Result<()> {
    let (collection, encoding) = (&cost.collection, &cost.encoding);
    writeln!(
        out,
        "{} documents of {} tokens; {} words and {} pairs in the token store",
        operations(collection.documents as f64),
        collection.tokens,
        operations(collection.words as f64),
        operations(collection.pairs as f64),
    )?;
    writeln!(
        out,
        "vectors of {} numbers at {} layers; footprints of {} bits at {} layers",
        encoding.dim, encoding.layers, encoding.bits, encoding.stored_layers
    )?;
    storage(out, cost)?;
    trade_offs(out, cost)?;
    work(out, cost)
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

/// A row of the table of work: its name, what we compute and what the paper prints.
type WorkRow = (
    String,
    fn(&Operations) -> Option<f64>,
    fn(&PrintedOperations) -> Option<f64>,
);

fn work(out: &mut impl Write, cost: &Cost) -> io::Result<()> {
    let (workload, encoding) = (&cost.workload, &cost.encoding);
    writeln!(out)?;
    writeln!(
        out,
        "operations to re-rank {} documents: {} kernels, window {}",
        workload.candidates, workload.kernels, workload.window
    )?;
    let (stored, all) = (encoding.stored_layers, encoding.layers);
    let rows: [WorkRow; 12] = [
        (
            format!("BECR, {stored} layers *"),
            |o| Some(o.becr),
            |p| Some(p.becr),
        ),
        (
            format!("BECR, {all} layers *"),
            |o| Some(o.becr_all_layers),
            |p| Some(p.becr_all_layers),
        ),
        (
            format!("BECR⁻, {stored} layers *"),
            |o| Some(o.becr_minus),
            |p| Some(p.becr_minus),
        ),
        (
            format!("BECR⁻, {all} layers *"),
            |o| Some(o.becr_minus_all_layers),
            |p| Some(p.becr_minus_all_layers),
        ),
        ("BERT *".into(), |o| Some(o.bert), |p| Some(p.bert)),
        ("CEDR-KNRM *".into(), |_| None, |p| Some(p.cedr_knrm)),
        ("ColBERT *".into(), |_| None, |p| Some(p.colbert)),
        ("KNRM *".into(), |_| None, |p| Some(p.knrm)),
        (
            "ours: vectors of token groups".into(),
            |o| Some(o.group_vectors as f64),
            |_| None,
        ),
        (
            "ours: 64-bit words XORed, counted".into(),
            |o| Some(o.hamming_words),
            |_| None,
        ),
        ("ours: cosines".into(), |o| Some(o.cosines), |_| None),
        (
            "ours: kernel values added".into(),
            |o| Some(o.kernel_additions),
            |_| None,
        ),
    ];
    let of_paper = |words: u64| {
        cost.paper
            .operations
            .iter()
            .find(move |p| p.query_words == words)
    };
    let columns = |ours: &dyn Fn(&Operations) -> String,
                   printed: &dyn Fn(&PrintedOperations) -> String| {
        let mut cells = Vec::new();
        for operations in &cost.operations {
            cells.push(ours(operations));
            cells.extend(of_paper(operations.query_words).map(printed));
        }
        cells
    };
    row(
        out,
        "",
        &columns(&|o| format!("n = {}", o.query_words), &|_| "(paper)".into()),
    )?;
    for (name, ours, printed) in &rows {
        let text = |value: Option<f64>| value.map_or_else(String::new, operations);
        let cells = columns(&|o| text(ours(o)), &|p| text(printed(p)));
        if cells.iter().any(|cell| !cell.is_empty()) {
            row(out, name, &cells)?;
        }
    }
    row(
        out,
        "ours: footprints read",
        &columns(&|o| bytes(o.bytes_read), &|_| String::new()),
    )?;
    writeln!(
        out,
        "* multiply-adds, the paper's unit: BERT's follow from its shape, BECR's from the paper's table."
    )
}
