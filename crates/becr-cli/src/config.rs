//! The configuration file: values of flags that need not be typed.
//!
//! A value of the command line wins over one of the environment, that over one of the file, and that over the default. The
//! file is `$BECR_CONFIG`, else `becr/config.toml` in the user's configuration directory.

use crate::program::Cli;
use anyhow::{Context, anyhow, bail};
use clap::{ArgAction, Command, FromArgMatches, Subcommand};
use std::path::PathBuf;
use toml::{Table, Value};

/// Names another file; `off` or nothing means none.
const VARIABLE: &str = "BECR_CONFIG";

/// Parses the command line, with the file's values in the place of defaults. A name that the program does not have is an
/// error if it should have all of them.
pub(crate) fn parse<C: Subcommand>(
    mut command: Command,
    has_every_flag: bool,
) -> anyhow::Result<Cli<C>> {
    let file = path()?;
    if let Some(path) = &file {
        let read = || -> anyhow::Result<Command> {
            let table: Table = std::fs::read_to_string(path)?.parse()?;
            configured(command.clone(), &table, has_every_flag)
        };
        command = read()
            .with_context(|| format!("{}: this configuration cannot be used", path.display()))?;
    }
    let parsed = command
        .clone()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => Ok(cli),
        Err(error) => {
            // A wrong value may stand in the file as well as on the command line.
            if let (
                Some(path),
                clap::error::ErrorKind::ValueValidation | clap::error::ErrorKind::InvalidValue,
            ) = (&file, error.kind())
            {
                crate::output::note(format_args!(
                    "(values are also read from {})",
                    path.display()
                ));
            }
            let words: Vec<String> = std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            if let Some(hint) = excluded_word(&error, &words).or_else(|| moved_flag(&error, &words))
            {
                return Err(anyhow!(hint));
            }
            error.exit()
        }
    }
}

/// What to say of a query's `-word`, which looks like a flag on the command line: clap would have it passed behind `--`,
/// only to be refused there.
fn excluded_word(error: &clap::Error, line: &[String]) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let searches = line.get(1..)?.iter().any(|word| word == "search");
    if error.kind() != ErrorKind::UnknownArgument || !searches {
        return None;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_word = |word: &&String| {
        word.starts_with(flag.as_str()) && !word.starts_with("--") && word.len() > "-x".len()
    };
    let word = line.iter().find(is_word)?;
    Some(format!(
        "{word}: no such flag, and words cannot be excluded from a search; leave it out of the query"
    ))
}

/// Flags that left `becr` with the reproduction, and their commands.
const MOVED: [(&str, &str); 4] = [
    ("rerank", "--variant"),
    ("rerank", "--raw"),
    ("rerank", "--baseline"),
    ("index", "--compose-documents"),
];

/// What to say of a flag that another program has.
fn moved_flag(error: &clap::Error, line: &[String]) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let found = found.split('=').next()?;
    let moved = MOVED
        .iter()
        .find(|(command, flag)| *flag == found && line.iter().any(|word| word == command));
    let (command, flag) = moved?;
    Some(format!(
        "{flag} is a flag of the laboratory's `becr-lab {command}`; from the sources, `cargo run --release -p becr-lab -- {command} …`"
    ))
}

/// Where the file is, if there is one.
fn path() -> anyhow::Result<Option<PathBuf>> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        if named.is_empty() || named == "off" {
            return Ok(None);
        }
        let path = PathBuf::from(named);
        if !path.is_file() {
            bail!("{}: no such file, but {VARIABLE} names it", path.display());
        }
        return Ok(Some(path));
    }
    let absolute = |variable: &str| {
        let path = std::env::var_os(variable).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let path = folder.map(|folder| folder.join("becr").join("config.toml"));
    Ok(path.filter(|path| path.is_file()))
}

/// A command whose defaults are those of a table: keys are names of flags, for every command that has them, or of
/// commands, with a table for that one.
fn configured(
    mut command: Command,
    table: &Table,
    has_every_flag: bool,
) -> anyhow::Result<Command> {
    for (key, value) in table {
        match value {
            Value::Table(table) => {
                if command.find_subcommand(key).is_none() {
                    if !has_every_flag {
                        continue;
                    }
                    bail!("[{key}]: there is no such command");
                }
                for (flag, value) in table {
                    let values = texts(flag, value)?;
                    let mut found = false;
                    command =
                        command.mut_subcommand(key, |sub| set(sub, flag, &values, &mut found));
                    if !found && has_every_flag {
                        bail!(
                            "[{key}] {flag}: `becr {key}` has no flag --{flag}{}",
                            more(&values)
                        );
                    }
                }
            }
            value => {
                let values = texts(key, value)?;
                let mut found = false;
                command = set(command, key, &values, &mut found);
                if !found && has_every_flag {
                    bail!("{key}: no command has a flag --{key}{}", more(&values));
                }
            }
        }
    }
    Ok(command)
}

/// What a flag that takes one value lacks when it is given a list.
fn more(values: &[&str]) -> &'static str {
    if values.len() == 1 {
        ""
    } else {
        " that takes several values"
    }
}

/// One value, or those of a list.
fn texts(key: &str, value: &Value) -> anyhow::Result<Vec<&'static str>> {
    match value {
        Value::Array(values) if values.is_empty() => bail!("{key}: the list is empty"),
        Value::Array(values) => values.iter().map(|value| text(key, value)).collect(),
        value => Ok(vec![text(key, value)?]),
    }
}

/// A value as it would be typed.
fn text(key: &str, value: &Value) -> anyhow::Result<&'static str> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(is_set) => is_set.to_string(),
        _ => bail!(
            "{key}: expected a string, a number, true or false, found {}",
            value.type_str()
        ),
    };
    // Defaults of flags live as long as the program.
    Ok(String::leak(text))
}

/// Sets the default of a flag, here and in the commands below.
fn set(mut command: Command, flag: &str, values: &[&'static str], found: &mut bool) -> Command {
    let names_it = |arg: &clap::Arg| {
        let takes_value = match arg.get_action() {
            ArgAction::Append => true,
            ArgAction::Set | ArgAction::SetTrue => values.len() == 1,
            _ => false,
        };
        arg.get_long() == Some(flag) && takes_value && !arg.is_required_set()
    };
    let id = command
        .get_arguments()
        .find(|arg| names_it(arg))
        .map(|arg| arg.get_id().clone());
    if let Some(id) = id {
        *found = true;
        command = command.mut_arg(id, |arg| arg.default_values(values.to_vec()));
    }
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        command = command.mut_subcommand(name, |sub| set(sub, flag, values, found));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(file: &str, line: &[&str]) -> anyhow::Result<clap::ArgMatches> {
        let command = configured(crate::command(), &file.parse().unwrap(), true)?;
        Ok(command.try_get_matches_from(line)?)
    }

    #[test]
    fn values_of_the_file_are_defaults() {
        let file = "quiet = true\ndepth = 7\nmodel = \"m\"\n[search]\nk = 3\n[serve]\nindex = [\"a\", \"b\"]\n";
        let matches = parsed(file, &["becr", "search", "x", "word", "--depth", "9"]).unwrap();
        assert!(matches.get_flag("quiet"));
        let (_, search) = matches.subcommand().unwrap();
        assert_eq!(search.get_one::<usize>("depth"), Some(&9));
        assert_eq!(search.get_one::<usize>("k"), Some(&3));
        let matches = parsed(file, &["becr", "index", "x", "--out", "y"]).unwrap();
        let (_, index) = matches.subcommand().unwrap();
        assert_eq!(index.get_one::<PathBuf>("model"), Some(&"m".into()));
        #[cfg(feature = "serve")]
        {
            let matches = parsed(file, &["becr", "serve"]).unwrap();
            let (_, serve) = matches.subcommand().unwrap();
            let indexes: Vec<&String> = serve.get_many("more_indexes").unwrap().collect();
            assert_eq!(indexes, ["a", "b"]);
        }
    }

    #[test]
    fn what_no_command_knows_is_refused_by_name() {
        for (file, said) in [
            ("dept = 7", "--dept"),
            ("[searc]\nk = 1", "[searc]"),
            ("[search]\nout = \"x\"", "--out"),
            ("k = [1, 2]", "several"),
            ("k = []", "empty"),
            ("k = [[1]]", "array"),
            ("[server]\nlisten = \"x\"", "[server]"),
        ] {
            let refused = parsed(file, &["becr", "demo"]);
            let message = refused.map(drop).unwrap_err().to_string();
            assert!(message.contains(said), "{file}: {message}");
        }
        assert!(parsed("depth = 0", &["becr", "search", "x", "y"]).is_err());
    }
}
