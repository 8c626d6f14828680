//! What the environment says about the hub, in the variables of Hugging Face's own tools.

use crate::HubError;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Where the hub is, where its files are kept, and who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// Address of the hub, without a slash at its end.
    pub endpoint: String,
    /// The cache.
    pub cache: PathBuf,
    /// Who asks, for models that are not for everybody.
    pub token: Option<String>,
    /// Ask nobody: only what the cache has.
    pub offline: bool,
}

impl Settings {
    /// `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE`; the cache is `HF_HUB_CACHE`, or `hub` in `HF_HOME`, or
    /// `~/.cache/huggingface/hub`. Proxies are those of `HTTPS_PROXY` and `NO_PROXY`.
    ///
    /// # Errors
    /// If there is no home directory to keep the cache in.
    pub fn from_env() -> Result<Self, HubError> {
        Self::from(|name| env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn from(var: impl Fn(&str) -> Option<OsString>) -> Result<Self, HubError> {
        let text = |name: &str| var(name)?.into_string().ok();
        let home = || {
            let cache = var("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .or_else(|| Some(env::home_dir()?.join(".cache")))?;
            Some(cache.join("huggingface"))
        };
        let hub = || {
            let home = var("HF_HOME").map(PathBuf::from).or_else(home)?;
            Some(home.join("hub"))
        };
        let cache = var("HF_HUB_CACHE").map(PathBuf::from).or_else(hub);
        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".into());
        let offline = text("HF_HUB_OFFLINE").unwrap_or_default();
        Ok(Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            cache: cache.ok_or(HubError::NoCache)?,
            token: text("HF_TOKEN").map(|token| token.trim().to_owned()),
            offline: ["1", "ON", "YES", "TRUE"].contains(&offline.to_uppercase().as_str()),
        })
    }
}

/// Without the token, which is nobody's to read.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("endpoint", &self.endpoint)
            .field("cache", &self.cache)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("offline", &self.offline)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
        Settings::from(|name| find(name).map(|(_, value)| value.into())).unwrap()
    }

    #[test]
    fn the_variables_of_the_hub_are_ours() {
        let plain = settings(&[("XDG_CACHE_HOME", "/c")]);
        assert_eq!(plain.cache, PathBuf::from("/c/huggingface/hub"));
        assert_eq!(plain.endpoint, "https://huggingface.co");
        assert!(!plain.offline && plain.token.is_none());
        let home = settings(&[
            ("HF_HOME", "/h"),
            ("XDG_CACHE_HOME", "/c"),
            ("HF_HUB_OFFLINE", "0"),
        ]);
        assert_eq!((home.cache, home.offline), (PathBuf::from("/h/hub"), false));
        let all = settings(&[
            ("HF_HOME", "/h"),
            ("HF_HUB_CACHE", "/hub"),
            ("HF_ENDPOINT", "http://mirror/"),
            ("HF_TOKEN", "secret\n"),
            ("HF_HUB_OFFLINE", "true"),
        ]);
        assert_eq!(all.cache, PathBuf::from("/hub"));
        assert_eq!(
            (all.endpoint.as_str(), all.offline),
            ("http://mirror", true)
        );
        assert_eq!(all.token.as_deref(), Some("secret"));
        assert!(!format!("{all:?}").contains("secret"));
    }
}
