//! Documents out of Python iterators and out of files.

use crate::errors::{InvalidInputError, raised};
use crate::observer::Failure;
use becr::corpus::{Corpus, CorpusError, CorpusOptions};
use becr::{Document, SourceError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyIterator};
use std::path::PathBuf;

/// Where documents come from.
pub(crate) enum Source {
    Python(PyDocuments),
    Files(Box<Corpus>),
}

impl Source {
    /// `documents` is a list of paths, or an iterator of `(id, title, text, features)`.
    pub(crate) fn new(documents: &Bound<'_, PyAny>, failure: &Failure) -> PyResult<Self> {
        if let Ok(paths) = documents.extract::<Vec<PathBuf>>() {
            let corpus = Corpus::open(&paths, &CorpusOptions::default());
            let corpus = corpus.map_err(|error| raised(error.into()))?;
            return Ok(Self::Files(Box::new(corpus)));
        }
        Ok(Self::Python(PyDocuments {
            iterator: documents.try_iter()?.unbind(),
            failure: failure.clone(),
        }))
    }

    /// What tells these documents from others, if that can be told without reading them.
    pub(crate) fn identity(&self) -> Option<String> {
        match self {
            Self::Python(_) => None,
            Self::Files(corpus) => corpus.identity().map(str::to_owned),
        }
    }
}

impl Iterator for Source {
    type Item = Result<Document, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Python(documents) => documents.next(),
            Self::Files(corpus) => {
                let document: Result<Document, CorpusError> = corpus.next()?;
                Some(document.map_err(Into::into))
            }
        }
    }
}

/// Documents of a Python iterator, asked for on the calling thread.
pub(crate) struct PyDocuments {
    iterator: Py<PyIterator>,
    failure: Failure,
}

impl Iterator for PyDocuments {
    type Item = Result<Document, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failure.is_set() {
            return None;
        }
        let next = Python::attach(|py| {
            let mut iterator = self.iterator.bind(py).clone();
            let next = iterator.next()?;
            Some(next.and_then(|document| of_tuple(&document)))
        });
        next.map(|document| {
            document.map_err(|error| {
                self.failure.set(error);
                "the iterator of documents raised an exception".into()
            })
        })
    }
}

fn of_tuple(tuple: &Bound<'_, PyAny>) -> PyResult<Document> {
    type Row<'py> = (
        PyBackedStr,
        PyBackedStr,
        PyBackedStr,
        Option<Bound<'py, PyDict>>,
    );
    let (id, title, text, features): Row<'_> = tuple.extract()?;
    let mut document = Document::new(&*id, &*title, &*text);
    for (name, value) in features.into_iter().flatten() {
        let name: PyBackedStr = name.extract()?;
        let value: f64 = value.extract()?;
        if !(value as f32).is_finite() {
            return Err(InvalidInputError::new_err(format!(
                "document {:?}: its {name:?} is {value}, and must be a finite number",
                &*id
            )));
        }
        document.set_feature(&name, value as f32);
    }
    Ok(document)
}
