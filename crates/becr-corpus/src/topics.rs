//! TREC topics: the ad hoc tracks' form, which closes none of its tags, and the Web tracks' XML-like form.

use crate::error::ErrorKind;
use crate::flow::Flow;
use crate::markup::{Markup, Token, attribute, push_decoded};
use crate::queries::{Query, TopicField};

/// A topic being read.
#[derive(Default)]
struct Topic {
    offset: usize,
    number: Flow,
    title: Flow,
    description: Flow,
}

#[derive(Clone, Copy)]
enum Field {
    Number,
    Title,
    Description,
}

impl Field {
    /// The part a tag opens; narratives, subtopics and the like are none of ours.
    fn of(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "num" | "number" => Some(Self::Number),
            "title" | "query" => Some(Self::Title),
            "desc" | "description" => Some(Self::Description),
            _ => None,
        }
    }
}

/// The queries of a topic file, or what is wrong with them, each with the line its topic begins on.
pub(crate) fn topics(source: &str, wanted: TopicField) -> Vec<(u64, Result<Query, ErrorKind>)> {
    let mut found = Vec::new();
    let mut current: Option<Topic> = None;
    let mut field = None;
    for (offset, token) in Markup::new(source) {
        match token {
            Token::Open(name, attributes) if is_topic(name) => {
                found.extend(current.take().map(|topic| topic.query(wanted)));
                let mut topic = Topic {
                    offset,
                    ..Topic::default()
                };
                topic
                    .number
                    .push(attribute(attributes, "number").unwrap_or_default());
                (current, field) = (Some(topic), None);
            }
            Token::Close(name) if is_topic(name) => {
                found.extend(current.take().map(|topic| topic.query(wanted)));
            }
            // An opening tag ends the part before it: the ad hoc topics have no closing ones.
            Token::Open(name, _) => field = Field::of(name),
            Token::Close(_) => field = None,
            Token::Text(piece) => {
                if let (Some(topic), Some(field)) = (&mut current, field) {
                    topic.push(field, piece);
                }
            }
        }
    }
    if let Some(topic) = current {
        found.push((
            topic.offset,
            Err(ErrorKind::Truncated {
                inside: "a topic without </top>",
            }),
        ));
    }
    if found.is_empty() {
        let begin: String = source.trim_start().chars().take(40).collect();
        let kind = ErrorKind::Form {
            expected: "<top> or <topic> records",
            found: format!("{begin:?}"),
        };
        found.push((0, Err(kind)));
    }
    with_lines(source, found)
}

fn is_topic(name: &str) -> bool {
    name.eq_ignore_ascii_case("top") || name.eq_ignore_ascii_case("topic")
}

/// Line numbers in place of offsets, which ascend.
fn with_lines<T>(source: &str, found: Vec<(usize, T)>) -> Vec<(u64, T)> {
    let (mut line, mut counted) = (1, 0);
    let numbered = found.into_iter().map(|(offset, result)| {
        line += memchr::memchr_iter(b'\n', &source.as_bytes()[counted..offset]).count() as u64;
        counted = offset;
        (line, result)
    });
    numbered.collect()
}

impl Topic {
    fn push(&mut self, field: Field, piece: &str) {
        let flow = match field {
            Field::Number => &mut self.number,
            Field::Title => &mut self.title,
            Field::Description => &mut self.description,
        };
        push_decoded(flow, piece);
    }

    /// The query, with the offset of its topic.
    fn query(self, wanted: TopicField) -> (usize, Result<Query, ErrorKind>) {
        let number = self.number.into_text();
        let id = without_label(&number, "Number:").to_owned();
        if id.is_empty() {
            return (
                self.offset,
                Err(ErrorKind::MissingId {
                    expected: "<num> or a number attribute in the topic",
                }),
            );
        }
        let (title, description) = (self.title.into_text(), self.description.into_text());
        let title = without_label(&title, "Topic:");
        let description = without_label(&description, "Description:");
        let text = match wanted {
            TopicField::Title => title.to_owned(),
            TopicField::Description => description.to_owned(),
            TopicField::Both => format!("{title} {description}").trim().to_owned(),
        };
        (self.offset, Ok(Query { id, text }))
    }
}

/// The text without the label the ad hoc topics put before it.
fn without_label<'a>(text: &'a str, label: &str) -> &'a str {
    match text.get(..label.len()) {
        Some(start) if start.eq_ignore_ascii_case(label) => text[label.len()..].trim_start(),
        _ => text,
    }
}
