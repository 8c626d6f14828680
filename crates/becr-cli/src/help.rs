//! `becr --help`: the commands, grouped by what a person wants to do, on one screen.

use clap::Command;
use std::fmt::Write;

/// Commands under a heading.
struct Group {
    heading: &'static str,
    lines: &'static [Line],
}

/// A line of the help.
struct Line {
    names: &'static [&'static str],
    /// What they do, where several commands share the line; one alone says so itself.
    together: &'static str,
}

const fn one(name: &'static [&'static str; 1]) -> Line {
    Line {
        names: name,
        together: "",
    }
}

const fn several(names: &'static [&'static str], together: &'static str) -> Line {
    Line { names, together }
}

const GROUPS: [Group; 6] = [
    Group {
        heading: "Search your documents",
        lines: &[
            one(&["demo"]),
            one(&["sync"]),
            one(&["index"]),
            one(&["search"]),
            one(&["explain"]),
            one(&["serve"]),
        ],
    },
    Group {
        heading: "Rank for another search engine",
        lines: &[one(&["rerank"]), one(&["eval"]), one(&["tune"])],
    },
    Group {
        heading: "Change an index",
        lines: &[
            several(&["add", "update", "delete"], "Change single documents"),
            one(&["compact"]),
        ],
    },
    Group {
        heading: "Look after an index",
        lines: &[one(&["stats"]), one(&["verify"]), one(&["cost"])],
    },
    Group {
        heading: "Large collections, in parts and in clusters",
        lines: &[
            one(&["groups"]),
            one(&["merge"]),
            several(
                &["export", "import"],
                "Copy an index to a Redis Cluster, and back",
            ),
        ],
    },
    Group {
        heading: "Models and shells",
        lines: &[
            one(&["model"]),
            one(&["encode"]),
            several(
                &["completions", "manual"],
                "Write what shells and `man` take",
            ),
        ],
    },
];

/// The flags of every command, as `--help` of each explains them.
const OPTIONS: &str = "\
Options:
  -q, --quiet               Say nothing on standard error but errors
      --color <COLOR>       When to use colours: auto, always, never
  -h, --help, -V, --version Print help, of a command with `becr COMMAND --help`, or the version
";

/// The template of the help of `command`, whose subcommands are there to be described.
pub(crate) fn template(command: &Command) -> String {
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for Group { heading, lines } in &GROUPS {
        let _ = writeln!(text, "{heading}:");
        for Line { names, together } in *lines {
            // Commands behind features that were not built in are left out.
            let found: Vec<&Command> = names
                .iter()
                .filter_map(|name| command.find_subcommand(name))
                .collect();
            let Some(first) = found.first() else {
                continue;
            };
            let about = match together.is_empty() {
                true => first.get_about().map(ToString::to_string),
                false => Some((*together).to_owned()),
            };
            let names: Vec<&str> = found.iter().map(|found| found.get_name()).collect();
            let about = about.unwrap_or_default();
            let about = about.trim_end_matches('.');
            let _ = writeln!(text, "  {:<21} {about}", names.join(", "));
        }
    }
    text + "\n" + OPTIONS + "{after-help}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_stands_once_on_one_screen() {
        let mut command = crate::command();
        let all = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let all: Vec<String> = all.map(|sub| sub.get_name().to_owned()).collect();
        let named: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| group.lines)
            .flat_map(|line| line.names.iter().copied())
            .collect();
        let distinct: BTreeSet<&str> = named.iter().copied().collect();
        assert_eq!(distinct.len(), named.len());
        for name in &all {
            assert!(distinct.contains(name.as_str()), "{name} is in no group");
        }
        let help = command.render_long_help().to_string();
        let lines = help.trim_end().lines().count();
        assert!((24..=40).contains(&lines), "{lines} lines:\n{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{help}"
        );
        let flags = command.get_arguments().filter(|arg| !arg.is_hide_set());
        for flag in flags.filter_map(|flag| flag.get_long()) {
            assert!(OPTIONS.contains(&format!("--{flag}")), "--{flag}");
        }
    }
}
