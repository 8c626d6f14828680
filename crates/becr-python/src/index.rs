//! An index: open, build, change, look after.

use crate::documents::Source;
use crate::errors::{InvalidInputError, raised};
use crate::observer::{Failure, PyObserver, interruptible};
use crate::process::{self, Owned};
use crate::rank::unwritable;
use crate::{models, options};
use becr::{
    Build, Changed, Encoder, Error, Existing, Head, Index, Observer, OpenOptions, TextCache,
};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of footprints that are kept of texts which are in no index.
const TEXT_CACHE: usize = 64 << 20;
/// Tokens that the encoder takes at once when it builds: few, so that Ctrl-C is heard soon.
const BATCH_TOKENS: usize = 1024;

/// An index, open.
#[pyclass(frozen, module = "becr._becr")]
pub(crate) struct NativeIndex {
    index: Owned<Index>,
    texts: Owned<Arc<TextCache>>,
}

impl NativeIndex {
    fn new(index: Index) -> Self {
        Self {
            index: Owned::new(index),
            texts: Owned::new(Arc::new(TextCache::new(TEXT_CACHE))),
        }
    }

    pub(crate) fn index(&self) -> PyResult<&Index> {
        self.index.get()
    }

    pub(crate) fn texts(&self) -> PyResult<&Arc<TextCache>> {
        self.texts.get()
    }
}

/// Work that is observed, detached from the interpreter. An exception of Python that ended it is raised with the
/// library's error, which says what was done before, as its cause.
fn observed<T: Send>(
    py: Python<'_>,
    function: Option<Py<PyAny>>,
    failure: &Failure,
    work: impl FnOnce(&dyn Observer) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let done = py.detach(|| {
        let observer = PyObserver::new(function, failure.clone());
        work(&observer)
    });
    match (done, failure.take()) {
        // The work was done before the exception could end it; the exception is not lost.
        (Ok(_), Some(raised)) => Err(raised),
        (Ok(done), None) => Ok(done),
        (Err(error), Some(exception)) => {
            exception.set_cause(py, Some(raised(error)));
            Err(exception)
        }
        (Err(error), None) => Err(raised(error)),
    }
}

#[pymethods]
impl NativeIndex {
    /// Opens an index.
    #[staticmethod]
    #[pyo3(signature = (path, *, head, model))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        head: Option<PathBuf>,
        model: Option<PathBuf>,
    ) -> PyResult<Self> {
        process::enter()?;
        py.detach(|| {
            let mut options = OpenOptions::new();
            if let Some(head) = head {
                options = options.head(Head::read(&head).map_err(|error| raised(error.into()))?);
            }
            if model.is_some() {
                options = options.model(models::read(model.as_deref())?);
            }
            Ok(Self::new(options.open(path).map_err(raised)?))
        })
    }

    /// Builds an index and opens it; gives it and what was built, as JSON.
    #[staticmethod]
    #[pyo3(signature = (documents, out, *, model, mode, precision, overwrite, keep_text, identity, lexical, progress))]
    #[allow(clippy::too_many_arguments)]
    fn build(
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        out: PathBuf,
        model: Option<PathBuf>,
        mode: PyBackedStr,
        precision: Option<PyBackedStr>,
        overwrite: bool,
        keep_text: bool,
        identity: Option<String>,
        lexical: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Self, String)> {
        process::enter()?;
        let mode = options::named(&mode)?;
        let precision = precision.as_deref().map(options::named).transpose()?;
        let failure = Failure::default();
        let documents = Source::new(documents, &failure)?;
        let mut build = Build::new()
            .overwrite(overwrite)
            .keep_text(keep_text)
            .mode(mode);
        if let Some(identity) = identity.or_else(|| documents.identity()) {
            build = build.identity(identity);
        }
        if !lexical {
            build = py.detach(|| {
                let model = models::read(model.as_deref())?;
                let precision = precision.unwrap_or_else(|| becr::models::precision(&model));
                let encoder = Encoder::with_precision(model.clone(), precision);
                let encoder = encoder.map_err(|error| raised(error.into()))?;
                let encoder = Arc::new(encoder.with_batch_tokens(BATCH_TOKENS));
                Ok::<_, PyErr>(build.model(model).encoder(encoder))
            })?;
        }
        let (index, summary) = observed(py, progress, &failure, |observer| match lexical {
            true => build.lexical(&out, documents, observer),
            false => build.run(&out, documents, observer),
        })?;
        let summary = serde_json::to_string(&summary).map_err(unwritable)?;
        Ok((Self::new(index), summary))
    }

    /// Where the index is.
    #[getter]
    fn path(&self) -> PyResult<PathBuf> {
        Ok(self.index()?.path().to_owned())
    }

    /// How queries are read unless said otherwise: "composed" or "encoded".
    #[getter]
    fn mode(&self, py: Python<'_>) -> PyResult<&'static str> {
        let index = self.index()?;
        let mode = py.detach(|| index.query_mode(&Default::default()));
        Ok(mode.map_err(raised)?.name())
    }

    /// What the documents were encoded in: "f32" or "int8".
    #[getter]
    fn precision(&self) -> PyResult<&'static str> {
        Ok(self.index()?.precision().map_err(raised)?.name())
    }

    /// How many documents there are.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let index = self.index()?;
        let documents = py.detach(|| index.view()?.documents());
        Ok(documents.map_err(raised)? as usize)
    }

    /// Whether the index has a document.
    fn contains(&self, py: Python<'_>, id: PyBackedStr) -> PyResult<bool> {
        let index = self.index()?;
        let found = py.detach(|| {
            let view = index.view()?;
            let snapshot = view.snapshot()?;
            Ok::<_, Error>(snapshot.number(&id)?.is_some())
        });
        found.map_err(raised)
    }

    /// Title and text of a document, if the index has it and keeps texts.
    fn text(&self, py: Python<'_>, id: PyBackedStr) -> PyResult<Option<(String, String)>> {
        let index = self.index()?;
        let text = py.detach(|| index.view()?.text(&id)).map_err(raised)?;
        Ok(text.map(|text| (text.title, text.text)))
    }

    /// Adds documents; `existing` is "refuse", "skip" or "replace". Gives added, replaced, skipped.
    #[pyo3(signature = (documents, *, existing, progress))]
    fn add(
        &self,
        py: Python<'_>,
        documents: &Bound<'_, PyAny>,
        existing: PyBackedStr,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64)> {
        let index = self.index()?;
        let existing = match &*existing {
            "refuse" => Existing::Refuse,
            "skip" => Existing::Skip,
            "replace" => Existing::Replace,
            other => {
                return Err(InvalidInputError::new_err(format!(
                    "existing {other:?}: there are \"refuse\", \"skip\" and \"replace\""
                )));
            }
        };
        let failure = Failure::default();
        let documents = Source::new(documents, &failure)?;
        let changed = observed(py, progress, &failure, |observer| {
            index.add(documents, existing, observer)
        })?;
        let Changed {
            added,
            replaced,
            skipped,
            ..
        } = changed;
        Ok((added, replaced, skipped))
    }

    /// Deletes documents, all in one step; gives how many, and the ids that the index did not have.
    fn delete(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<(u64, Vec<String>)> {
        let index = self.index()?;
        let (changed, unknown) = py.detach(|| index.delete(&ids)).map_err(raised)?;
        Ok((changed.deleted, unknown))
    }

    /// Writes the contents anew; gives the size in bytes before and after.
    #[pyo3(signature = (*, progress))]
    fn compact(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<(u64, u64)> {
        let index = self.index()?;
        let failure = Failure::default();
        observed(py, progress, &failure, |observer| index.compact(observer))
    }

    /// Looks for the newest state and says which it is.
    fn reload(&self, py: Python<'_>) -> PyResult<String> {
        let index = self.index()?;
        let generation = py.detach(|| index.reload()).map_err(raised)?;
        Ok(generation.to_string())
    }

    /// What the index holds and takes: JSON. Reads every record.
    fn stats(&self, py: Python<'_>) -> PyResult<String> {
        let index = self.index()?.clone();
        let stats = interruptible(py, move || index.stats())?.map_err(raised)?;
        let mut json = serde_json::to_value(&stats).map_err(unwritable)?;
        if let Some(store) = &stats.store {
            json["per_document"] =
                serde_json::to_value(store.per_document()).map_err(unwritable)?;
        }
        Ok(json.to_string())
    }

    /// Reads everything: documents, token groups, problems, what could not be checked.
    fn verify(&self, py: Python<'_>) -> PyResult<(u64, u64, Vec<String>, Vec<String>)> {
        let index = self.index()?.clone();
        let found = interruptible(py, move || index.verify())?.map_err(raised)?;
        Ok((
            found.documents,
            found.groups,
            found.problems,
            found.unchecked,
        ))
    }
}
