//! Vectors of texts.

use crate::errors::{of_encoder, raised};
use crate::process::{self, Owned};
use crate::{models, options};
use becr::Encoder;
use becr_encoder::RawDocument;
use numpy::ndarray::{Array2, Array3};
use numpy::{IntoPyArray, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use rayon::prelude::*;
use std::path::PathBuf;

/// Texts between two looks at Python's signals.
const CHUNK: usize = 32;

/// A model that encodes texts.
#[pyclass(frozen, module = "becr._becr")]
pub(crate) struct NativeEncoder(Owned<Encoder>);

#[pymethods]
impl NativeEncoder {
    #[new]
    #[pyo3(signature = (*, model, precision))]
    fn new(py: Python<'_>, model: Option<PathBuf>, precision: PyBackedStr) -> PyResult<Self> {
        process::enter()?;
        let precision = options::named(&precision)?;
        py.detach(|| {
            let model = models::read(model.as_deref())?;
            let encoder = Encoder::with_precision(model, precision);
            let encoder = encoder.map_err(|error| raised(error.into()))?;
            Ok(Self(Owned::new(encoder)))
        })
    }

    /// Length of a vector.
    #[getter]
    fn dim(&self) -> PyResult<usize> {
        Ok(self.0.get()?.backend().shape().dim)
    }

    /// The layers whose vectors are kept; 0 is the embedding layer.
    #[getter]
    fn layers(&self) -> PyResult<Vec<usize>> {
        Ok(self.0.get()?.backend().shape().layers.clone())
    }

    /// WordPieces of a text: the piece, and where it stands, in characters.
    fn tokens(&self, text: PyBackedStr) -> PyResult<Vec<(String, usize, usize)>> {
        let encoder = self.0.get()?;
        let pieces = encoder.word_pieces().pieces(&text);
        let names: std::collections::HashMap<u32, String> = {
            let wanted: std::collections::HashSet<u32> = pieces.ids.iter().copied().collect();
            let all = encoder.word_pieces().vocabulary();
            all.into_iter()
                .filter(|(id, _)| wanted.contains(id))
                .collect()
        };
        let characters = |bytes: usize| text[..bytes].chars().count();
        let spans = pieces.ids.iter().zip(&pieces.spans);
        Ok(spans
            .map(|(id, span)| {
                let name = names.get(id).cloned().unwrap_or_else(|| "[UNK]".to_owned());
                (name, characters(span.start), characters(span.end))
            })
            .collect())
    }

    /// The vectors of a text's WordPieces at every kept layer: `[layers, tokens, dim]`.
    fn token_vectors<'py>(
        &self,
        py: Python<'py>,
        text: PyBackedStr,
        title: PyBackedStr,
    ) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let encoder = self.0.get()?;
        let shape = encoder.backend().shape();
        let raw = py.detach(|| encoder.raw_document(&title, &text));
        let RawDocument {
            tokens, vectors, ..
        } = raw.map_err(of_encoder)?;
        let array = Array3::from_shape_vec((shape.layers.len(), tokens, shape.dim), vectors);
        Ok(array.map_err(shape_error)?.into_pyarray(py))
    }

    /// The mean vectors of texts at the last kept layer: `[texts, dim]`.
    fn mean_vectors<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<PyBackedStr>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let encoder = self.0.get()?;
        let dim = encoder.backend().shape().dim;
        let mut all = Vec::with_capacity(texts.len() * dim);
        for chunk in texts.chunks(CHUNK) {
            py.check_signals()?;
            let means = py.detach(|| {
                let means = chunk.par_iter();
                means
                    .map(|text| encoder.raw_document("", text).map(|raw| raw.mean))
                    .collect::<Result<Vec<_>, _>>()
            });
            means
                .map_err(of_encoder)?
                .iter()
                .for_each(|mean| all.extend(mean));
        }
        let array = Array2::from_shape_vec((texts.len(), dim), all);
        Ok(array.map_err(shape_error)?.into_pyarray(py))
    }
}

fn shape_error(error: numpy::ndarray::ShapeError) -> PyErr {
    crate::errors::BecrError::new_err(format!("vectors of an unexpected shape: {error}"))
}
