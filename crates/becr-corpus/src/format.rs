//! The formats, and telling them apart.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::charset::looks_like_text;

/// How a collection is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One JSON object a line: `id` or `_id`, `title`, `text`; other numbers become features.
    Jsonl,
    /// MS MARCO's tab-separated files: passages `id, text`; documents `id, url, title, body`.
    MsMarco,
    /// `<DOC>` records as on TREC disks 4 and 5.
    TrecSgml,
    /// Web crawls: ClueWeb09's WARC/0.18 and standard WARC/1.x.
    Warc,
    /// Files of their own: `.txt`, `.md`, `.html`, `.org`, `.rst`, `.docx`, `.ipynb`, `.eml`, `.csv`, `.log`, source code and text
    /// files without an ending, usually a folder of them.
    Folder,
}

/// Source code, which is read as text.
const SOURCES: [&str; 59] = [
    "adoc", "asm", "bash", "bat", "c", "cc", "clj", "cljs", "cmake", "cpp", "cs", "css", "cxx",
    "dart", "el", "elm", "erl", "ex", "exs", "fish", "fs", "go", "groovy", "h", "hh", "hpp", "hs",
    "java", "jl", "js", "jsx", "kt", "lisp", "lua", "m", "ml", "mli", "nim", "nix", "pas", "php",
    "pl", "pm", "ps1", "py", "r", "rb", "rs", "scala", "scm", "scss", "sh", "sql", "swift", "tex",
    "ts", "tsx", "vim", "zig",
];

/// Names of text files, whatever comes behind a dot or a dash: `README.Debian`, `LICENSE-MIT`.
const TEXTS: [&str; 24] = [
    "authors",
    "bugs",
    "changelog",
    "changes",
    "contributing",
    "contributors",
    "copying",
    "copyright",
    "credits",
    "faq",
    "hacking",
    "history",
    "install",
    "licence",
    "license",
    "maintainers",
    "manifest",
    "news",
    "notice",
    "readme",
    "release",
    "thanks",
    "todo",
    "upgrading",
];

impl Format {
    /// All formats, in the order help texts list them.
    pub const ALL: [Self; 5] = [
        Self::Jsonl,
        Self::MsMarco,
        Self::TrecSgml,
        Self::Warc,
        Self::Folder,
    ];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::MsMarco => "msmarco",
            Self::TrecSgml => "trec",
            Self::Warc => "warc",
            Self::Folder => "folder",
        }
    }

    /// Tells the format of a file by its first bytes where they are telling, else by its name, else by a guess at its bytes.
    pub(crate) fn detect(path: &Path, head: &[u8]) -> Option<Self> {
        Self::of_content(head)
            .or_else(|| Self::of_name(path))
            .or_else(|| Self::guess(begin(head)))
            .or_else(|| Self::detect_in_folder(path, head))
    }

    /// The same for a file that was found in a folder: text without an ending is a note, whatever stands in its first line.
    pub(crate) fn detect_in_folder(path: &Path, head: &[u8]) -> Option<Self> {
        Self::of_content(head)
            .or_else(|| Self::of_name(path))
            .or_else(|| {
                let is_text = is_text_by_name(path) && looks_like_text(head);
                is_text.then_some(Self::Folder)
            })
    }

    /// The format that the first bytes of a file tell beyond doubt.
    pub(crate) fn of_content(head: &[u8]) -> Option<Self> {
        let start = begin(head);
        if start.starts_with(b"WARC/") {
            return Some(Self::Warc);
        }
        if start
            .get(..5)
            .is_some_and(|tag| tag.eq_ignore_ascii_case(b"<DOC>"))
        {
            return Some(Self::TrecSgml);
        }
        None
    }

    /// The format a file name stands for, compression suffixes aside.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        let name = uncompressed(path)?;
        match name.rsplit_once('.')?.1 {
            "jsonl" | "json" | "ndjson" => Some(Self::Jsonl),
            "tsv" => Some(Self::MsMarco),
            "sgml" | "sgm" | "trec" => Some(Self::TrecSgml),
            "warc" => Some(Self::Warc),
            "txt" | "text" | "md" | "markdown" | "html" | "htm" | "xhtml" | "org" | "rst"
            | "docx" | "ipynb" | "eml" | "csv" | "log" | "pdf" => Some(Self::Folder),
            extension if SOURCES.contains(&extension) => Some(Self::Folder),
            _ => None,
        }
    }

    fn guess(start: &[u8]) -> Option<Self> {
        let line = start.split(|&byte| byte == b'\n').next()?;
        match line.iter().filter(|&&byte| byte == b'\t').count() {
            _ if start.starts_with(b"{") => Some(Self::Jsonl),
            1 | 3 => Some(Self::MsMarco),
            _ => None,
        }
    }
}

/// A file's name in lower case without the suffix of its compression.
fn uncompressed(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let suffix = [".gz", ".zst", ".z"]
        .into_iter()
        .find(|suffix| name.ends_with(suffix));
    Some(name[..name.len() - suffix.map_or(0, str::len)].to_owned())
}

/// Whether a name is one that text files have: without an ending, or one of [`TEXTS`].
fn is_text_by_name(path: &Path) -> bool {
    let Some(name) = uncompressed(path) else {
        return false;
    };
    let stem = name.split(['.', '-', '_']).next().unwrap_or_default();
    !name.contains('.') || TEXTS.contains(&stem)
}

/// The beginning of a file without byte order mark and blanks.
fn begin(head: &[u8]) -> &[u8] {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    head.trim_ascii_start()
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is none of [`Format::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format \"{0}\": expected jsonl, msmarco, trec, warc or folder")]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}
