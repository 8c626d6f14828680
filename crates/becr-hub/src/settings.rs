//! What the environment says about the hub, in the variables of Hugging Face's own tools.

use crate::HubError;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

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
    /// How long a server is left in peace that has just failed, before a download goes on.
    pub pause: Duration,
}

impl Settings {
    /// `HF_ENDPOINT` and `HF_HUB_OFFLINE`; the cache is `HF_HUB_CACHE`, or `hub` in `HF_HOME`, which is
    /// `~/.cache/huggingface` if not set. The token is `HF_TOKEN`, or what is in the file `HF_TOKEN_PATH`, or `token` in
    /// `HF_HOME`, where `hf auth login` leaves it.
    ///
    /// One proxy is used for all that is asked, over HTTP or HTTPS: the first of `ALL_PROXY`, `HTTPS_PROXY` and
    /// `HTTP_PROXY`, or the same in lower case, that is set. Hosts in `NO_PROXY` are asked directly, and so is a hub
    /// on this machine. A SOCKS proxy is passed over without a word: this build knows none, and asks directly.
    ///
    /// # Errors
    /// If there is no home directory to keep the cache in.
    pub fn from_env() -> Result<Self, HubError> {
        Self::from(|name| env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn from(var: impl Fn(&str) -> Option<OsString>) -> Result<Self, HubError> {
        let text = |name: &str| var(name)?.into_string().ok();
        let path = |name: &str| var(name).map(PathBuf::from);
        let home = path("HF_HOME").or_else(|| {
            let cache = path("XDG_CACHE_HOME").or_else(|| Some(env::home_dir()?.join(".cache")))?;
            Some(cache.join("huggingface"))
        });
        let at_home = |name: &str| Some(home.as_ref()?.join(name));
        let cache = path("HF_HUB_CACHE").or_else(|| at_home("hub"));
        let token = text("HF_TOKEN").and_then(|text| token(&text)).or_else(|| {
            let file = path("HF_TOKEN_PATH").or_else(|| at_home("token"))?;
            token(&fs::read_to_string(file).ok()?)
        });
        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".into());
        let offline = text("HF_HUB_OFFLINE").unwrap_or_default();
        Ok(Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            cache: cache.ok_or(HubError::NoCache)?,
            token,
            offline: ["1", "ON", "YES", "TRUE"].contains(&offline.to_uppercase().as_str()),
            pause: Duration::from_secs(1),
        })
    }
}

/// Without the end of the line that files and shells leave at it; nothing is no token.
fn token(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Without the token, which is nobody's to read.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("endpoint", &self.endpoint)
            .field("cache", &self.cache)
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("offline", &self.offline)
            .field("pause", &self.pause)
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

    #[test]
    fn the_token_of_a_login_is_read_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        let of = |more: &[(&str, &str)]| settings(&[&[("HF_HOME", home)], more].concat()).token;
        assert_eq!(of(&[]), None, "there is no file");
        let file = folder.path().join("token");
        fs::write(&file, " \n").unwrap();
        assert_eq!(of(&[]), None, "there is nothing in it");
        fs::write(&file, "of-the-login\n").unwrap();
        assert_eq!(of(&[]).as_deref(), Some("of-the-login"));
        assert_eq!(of(&[("HF_TOKEN", " ")]).as_deref(), Some("of-the-login"));
        assert_eq!(of(&[("HF_TOKEN", "mine")]).as_deref(), Some("mine"));
        let other = folder.path().join("other");
        fs::write(&other, "elsewhere").unwrap();
        let other = [("HF_TOKEN_PATH", other.to_str().unwrap())];
        assert_eq!(of(&other).as_deref(), Some("elsewhere"));

        // Without HF_HOME, where the cache is by default.
        fs::create_dir(folder.path().join("huggingface")).unwrap();
        fs::write(folder.path().join("huggingface/token"), "usual").unwrap();
        let usual = settings(&[("XDG_CACHE_HOME", home)]);
        assert_eq!(usual.token.as_deref(), Some("usual"));
    }
}
