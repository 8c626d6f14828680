//! A model directory as a whole.

use crate::tensor_file::{Data, Tensor, write_tensors};
use crate::{
    Config, HEAD_FILE, Head, MIXER_FILE, MixerWeights, ModelError, TokenizerFile, WORDS_FILE,
    Weights, WordVectors,
};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// How weights are stored in `model.safetensors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// 32-bit floats: exact.
    F32,
    /// 16-bit floats: half the size.
    F16,
    /// Matrices as 8-bit integers with one scale per row: a quarter of the size. Only BECR reads this.
    I8,
}

/// A model: configuration, tokenizer, encoder weights and ranking head of one directory.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The directory it was read from.
    pub directory: PathBuf,
    /// `config.json`.
    pub config: Config,
    /// `tokenizer.json` or `vocab.txt`.
    pub tokenizer: TokenizerFile,
    /// `model.safetensors`.
    pub weights: Weights,
    /// `head.json`, if the model was trained to rank.
    pub head: Option<Head>,
    /// `mixer.safetensors`, if there is one for composed queries.
    pub mixer: Option<MixerWeights>,
    /// `words.bin`, if the vectors of WordPieces come with the model.
    pub words: Option<WordVectors>,
}

/// The file of the encoder's weights.
const WEIGHTS: &str = "model.safetensors";

/// Files of a model directory beside the weights and the configuration, copied when a model is written.
const COMPANIONS: [&str; 4] = [
    "tokenizer.json",
    "vocab.txt",
    "tokenizer_config.json",
    "special_tokens_map.json",
];

impl Model {
    /// Reads and checks a model directory. Whether head and mixer belong to the encoder is for those to check who use
    /// them.
    pub fn read(directory: impl AsRef<Path>) -> Result<Self, ModelError> {
        let directory = directory.as_ref();
        let config = Config::read(&directory.join("config.json"))?;
        let tokenizer = TokenizerFile::read(directory, config.vocab_size)?;
        let weights = Weights::read(&directory.join(WEIGHTS), &config)?;
        let head = directory.join(HEAD_FILE);
        let head = head.is_file().then(|| Head::read(&head)).transpose()?;
        let mixer = directory.join(MIXER_FILE);
        let read = || MixerWeights::read(&mixer, config.hidden_size);
        let mixer = mixer.is_file().then(read).transpose()?;
        let words = directory.join(WORDS_FILE);
        let words = words.is_file().then(|| WordVectors::read(&words));
        Ok(Self {
            directory: directory.to_owned(),
            config,
            tokenizer,
            weights,
            head,
            mixer,
            words: words.transpose()?,
        })
    }

    /// Writes the model to a directory, which is made if need be; the tokenizer's files are copied along. Head and
    /// mixer are left out: weights that were rounded are another encoder, for which both are to be trained.
    pub fn write(&self, directory: impl AsRef<Path>, storage: Storage) -> Result<(), ModelError> {
        let directory = directory.as_ref();
        self.copy_files(directory, &COMPANIONS)?;
        let mut config = self.config.clone();
        let dtype = if storage == Storage::F16 {
            "float16"
        } else {
            "float32"
        };
        for key in ["dtype", "torch_dtype"] {
            if let Some(value) = config.other.get_mut(key) {
                *value = dtype.into();
            }
        }
        config.write(&directory.join("config.json"))?;
        self.weights.write(&directory.join(WEIGHTS), storage)
    }

    /// Writes the model to a directory, which is made if need be, with the files of the weights, the mixer and the word
    /// vectors as they are and the configuration as it has become.
    pub fn copy(&self, directory: impl AsRef<Path>) -> Result<(), ModelError> {
        let directory = directory.as_ref();
        self.copy_files(directory, &COMPANIONS)?;
        self.copy_files(directory, &[WEIGHTS])?;
        self.copy_files(directory, &[MIXER_FILE, WORDS_FILE])?;
        self.config.write(&directory.join("config.json"))
    }

    fn copy_files(&self, directory: &Path, names: &[&str]) -> Result<(), ModelError> {
        std::fs::create_dir_all(directory).map_err(ModelError::io(directory))?;
        for name in names {
            let (from, to) = (self.directory.join(name), directory.join(name));
            if from.is_file() && from != to {
                // Read and write, not copy: a read-only model must not give read-only files.
                let bytes = std::fs::read(&from).map_err(ModelError::io(&from))?;
                std::fs::write(&to, bytes).map_err(ModelError::io(&to))?;
            }
        }
        Ok(())
    }

    /// What an index is bound to: a hash of the encoder's weights and shape, its tokenizer, the layers kept, the
    /// bits, the hyperplanes and whether footprints are relative. 32 hexadecimal digits.
    ///
    /// Values count, not how they are stored: a model and its f32 copy have the same id. Ranking heads, kernels
    /// and the window may change without a new id.
    pub fn encoder_id(&self) -> String {
        let mut hash = Sha256::new();
        let config = &self.config;
        let settings = config.settings();
        hash.update(b"becr encoder 1\0");
        for number in [
            config.num_attention_heads as u64,
            config.layer_norm_eps.to_bits(),
        ] {
            hash.update(number.to_le_bytes());
        }
        for tensor in self.weights.tensors() {
            hash.update(tensor.name.as_bytes());
            hash.update([0]);
            for size in &tensor.shape {
                hash.update((*size as u64).to_le_bytes());
            }
            update_floats(&mut hash, tensor.data);
        }
        hash.update((self.tokenizer.bytes.len() as u64).to_le_bytes());
        hash.update(&self.tokenizer.bytes);
        let layers = config.kept_layers().unwrap_or_default();
        let planes = settings.hyperplanes;
        hash.update(format!(
            "layers {layers:?} bits {:?} planes {:?} {}",
            settings.bits, planes.kind, planes.seed
        ));
        if settings.relative {
            hash.update(" relative");
        }
        hash.finalize()
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

fn update_floats(hash: &mut Sha256, values: &[f32]) {
    let mut buffer = Vec::with_capacity(4096);
    for chunk in values.chunks(1024) {
        buffer.clear();
        buffer.extend(chunk.iter().flat_map(|x| x.to_le_bytes()));
        hash.update(&buffer);
    }
}

impl Weights {
    /// Writes a safetensors file. In `F32` and `F16`, Hugging Face's loader opens it unchanged.
    pub fn write(&self, path: &Path, storage: Storage) -> Result<(), ModelError> {
        let mut tensors = Vec::new();
        for tensor in self.tensors() {
            store(
                &mut tensors,
                format!("{}{}", self.prefix, tensor.name),
                tensor.shape,
                tensor.data,
                storage,
            );
        }
        for (name, extra) in &self.extra {
            store(
                &mut tensors,
                name.clone(),
                extra.shape.clone(),
                &extra.data,
                storage,
            );
        }
        // Hugging Face's loader refuses files that do not say they come from PyTorch.
        write_tensors(path, &tensors, &[("format", "pt")])
    }
}

pub(crate) fn store<'a>(
    tensors: &mut Vec<Tensor<'a>>,
    name: String,
    shape: Vec<usize>,
    data: &'a [f32],
    storage: Storage,
) {
    match (storage, shape.as_slice()) {
        (Storage::F16, _) => tensors.push(Tensor {
            name,
            shape,
            data: Data::F16(data),
        }),
        (Storage::I8, &[rows, cols]) if cols > 0 => {
            let scale = format!("{name}.scale");
            tensors.push(Tensor {
                name: scale,
                shape: vec![rows],
                data: Data::RowScales(data, cols),
            });
            tensors.push(Tensor {
                name,
                shape,
                data: Data::RowwiseI8(data, cols),
            });
        }
        _ => tensors.push(Tensor {
            name,
            shape,
            data: Data::F32(data),
        }),
    }
}
