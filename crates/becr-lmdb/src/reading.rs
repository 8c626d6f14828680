//! A snapshot as re-ranking asks it.

use crate::Snapshot;
use becr_store::{
    DocumentFrequency, DocumentStore, FetchBuffer, Found, GroupRecord, GroupStore, Stem,
    StoreError, Text, Totals,
};
use becr_text::groups::TokenGroup;

/// Nothing is copied: the buffer stays as it is.
impl DocumentStore for Snapshot {
    fn numbers(&self, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
        ids.iter().map(|id| self.number(id)).collect()
    }

    fn fetch<'a>(
        &'a self,
        numbers: &[u64],
        _: &'a mut FetchBuffer,
    ) -> Result<Vec<Option<Found<'a>>>, StoreError> {
        self.find(numbers)
    }

    fn totals(&self) -> Result<Totals, StoreError> {
        self.totals()
    }

    fn words(&self, words: &[&str]) -> Result<Vec<Option<u32>>, StoreError> {
        words.iter().map(|word| self.word(word)).collect()
    }

    fn stems(&self, stems: &[&str]) -> Result<Vec<Stem>, StoreError> {
        stems.iter().map(|stem| self.stem(stem)).collect()
    }

    fn pairs(&self, pairs: &[TokenGroup]) -> Result<Vec<Option<DocumentFrequency>>, StoreError> {
        pairs.iter().map(|pair| self.pair(pair)).collect()
    }

    fn feature_names(&self) -> Result<Vec<String>, StoreError> {
        self.feature_names()
    }

    fn text(&self, number: u64) -> Result<Option<Text>, StoreError> {
        self.text(number)
    }
}

/// Nothing is copied: the buffer stays as it is.
impl GroupStore for Snapshot {
    fn fetch_groups<'a>(
        &'a self,
        groups: &[TokenGroup],
        _: &'a mut FetchBuffer,
    ) -> Result<Vec<Option<GroupRecord<'a>>>, StoreError> {
        groups.iter().map(|group| self.group(group)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use becr_store::{Header, NewDocument, Shape};
    use becr_text::groups::Slot;
    use std::collections::HashMap;
    use std::path::Path;

    const SHAPE: Shape = Shape {
        layers: 2,
        bits: 32,
        vector: 0,
    };

    /// A store that hands out copies, as one behind a network does: records as bytes by key.
    #[derive(Default)]
    struct InMemory {
        numbers: HashMap<String, u64>,
        records: HashMap<u64, Vec<u8>>,
        texts: HashMap<u64, Text>,
        words: HashMap<String, u32>,
        stems: HashMap<String, Stem>,
        pairs: HashMap<TokenGroup, DocumentFrequency>,
        groups: HashMap<TokenGroup, Vec<u8>>,
        totals: Totals,
        feature_names: Vec<String>,
    }

    fn damaged(what: String, reason: &str) -> StoreError {
        StoreError::Damaged {
            path: "memory".into(),
            what,
            reason: reason.into(),
        }
    }

    impl DocumentStore for InMemory {
        fn numbers(&self, ids: &[&str]) -> Result<Vec<Option<u64>>, StoreError> {
            Ok(ids
                .iter()
                .map(|&id| self.numbers.get(id).copied())
                .collect())
        }

        fn fetch<'a>(
            &'a self,
            numbers: &[u64],
            buffer: &'a mut FetchBuffer,
        ) -> Result<Vec<Option<Found<'a>>>, StoreError> {
            buffer.clear();
            numbers
                .iter()
                .for_each(|number| buffer.push(self.records.get(number).map(Vec::as_slice)));
            let found = |(&number, bytes): (&u64, Option<&'a [u8]>)| {
                bytes.map(|bytes| Found::new(number, bytes, Path::new("memory")))
            };
            Ok(numbers.iter().zip(buffer.values()).map(found).collect())
        }

        fn totals(&self) -> Result<Totals, StoreError> {
            Ok(self.totals)
        }

        fn words(&self, words: &[&str]) -> Result<Vec<Option<u32>>, StoreError> {
            Ok(words
                .iter()
                .map(|&word| self.words.get(word).copied())
                .collect())
        }

        fn stems(&self, stems: &[&str]) -> Result<Vec<Stem>, StoreError> {
            let find = |stem: &&str| self.stems.get(*stem).cloned().unwrap_or_default();
            Ok(stems.iter().map(find).collect())
        }

        fn pairs(
            &self,
            pairs: &[TokenGroup],
        ) -> Result<Vec<Option<DocumentFrequency>>, StoreError> {
            Ok(pairs
                .iter()
                .map(|pair| self.pairs.get(pair).copied())
                .collect())
        }

        fn feature_names(&self) -> Result<Vec<String>, StoreError> {
            Ok(self.feature_names.clone())
        }

        fn text(&self, number: u64) -> Result<Option<Text>, StoreError> {
            Ok(self.texts.get(&number).cloned())
        }
    }

    impl GroupStore for InMemory {
        fn fetch_groups<'a>(
            &'a self,
            groups: &[TokenGroup],
            buffer: &'a mut FetchBuffer,
        ) -> Result<Vec<Option<GroupRecord<'a>>>, StoreError> {
            buffer.clear();
            groups
                .iter()
                .for_each(|group| buffer.push(self.groups.get(group).map(Vec::as_slice)));
            let read = |(group, bytes): (&TokenGroup, Option<&'a [u8]>)| match bytes {
                Some(bytes) => GroupRecord::decode(bytes, GroupRecord::slots(group), SHAPE)
                    .map(Some)
                    .map_err(|reason| damaged(group.to_string(), reason)),
                None => Ok(None),
            };
            groups.iter().zip(buffer.values()).map(read).collect()
        }
    }

    fn groups() -> [TokenGroup; 3] {
        let pair = |a: &str, b: &str| TokenGroup::Pair(a.into(), b.into());
        [
            pair("river", "bank"),
            TokenGroup::Unigram("river".into()),
            pair("bank", "river"),
        ]
    }

    fn embedded(dir: &std::path::Path) -> Store {
        let store = Store::create(dir, &Header::new("encoder-1", SHAPE, 2)).unwrap();
        let mut update = store.update().unwrap();
        let [pair, unigram, _] = groups();
        let footprints: Vec<u8> = (0..16).collect();
        update.put_group(&pair, &footprints).unwrap();
        update.put_group(&unigram, &footprints[..8]).unwrap();
        for (id, text, cls) in [
            ("a", "The river banks", 0.5),
            ("b", "river bank loans", 2.0),
        ] {
            let document = NewDocument {
                id,
                title: "Rivers",
                text,
                keep_text: id == "a",
                tokens: 2,
                cls,
                footprints: &[cls as u8; 16],
                mean: &[1; 4],
                features: &[("pagerank".into(), cls)],
                ..Default::default()
            };
            update.put(&document).unwrap();
        }
        update.commit().unwrap();
        store
    }

    const IDS: [&str; 3] = ["b", "nobody", "a"];
    const WORDS: [&str; 2] = ["banks", "zebras"];
    const STEMS: [&str; 3] = ["river", "zebra", "loan"];

    /// Takes over what the snapshot says, value by value.
    fn copied(snapshot: &Snapshot) -> InMemory {
        let mut memory = InMemory {
            totals: snapshot.totals().unwrap(),
            feature_names: snapshot.feature_names().unwrap(),
            ..Default::default()
        };
        for row in snapshot.documents().unwrap() {
            let (number, id) = row.unwrap();
            memory.numbers.insert(id.into(), number);
            let record = snapshot.record(number).unwrap().unwrap();
            memory.records.insert(number, record.bytes().to_vec());
            if let Some(text) = snapshot.text(number).unwrap() {
                memory.texts.insert(number, text);
            }
        }
        for word in WORDS {
            if let Some(number) = snapshot.word(word).unwrap() {
                memory.words.insert(word.into(), number);
            }
        }
        for stem in STEMS {
            memory
                .stems
                .insert(stem.into(), snapshot.stem(stem).unwrap());
        }
        for group in groups() {
            if let Some(record) = snapshot.group(&group).unwrap() {
                memory
                    .groups
                    .insert(group.clone(), GroupRecord::encode(record.footprints()));
            }
            if let Some(frequency) = snapshot.pair(&group).unwrap() {
                memory.pairs.insert(group, frequency);
            }
        }
        memory
    }

    /// All that a ranker would ask, as readable rows.
    fn answers<S: DocumentStore + GroupStore>(store: &S, buffer: &mut FetchBuffer) -> Vec<String> {
        let mut rows = Vec::new();
        let found = store.numbers(&IDS).unwrap();
        rows.push(format!("{found:?}"));
        // A number that no document has goes along.
        let numbers: Vec<u64> = found.into_iter().flatten().chain([99]).collect();
        for record in store.fetch(&numbers, buffer).unwrap() {
            rows.push(match record.map(|found| found.check().unwrap()) {
                Some(record) => format!(
                    "{} {} {:?} {:?} {} {:?} {:?} {:?}",
                    record.tokens(),
                    record.cls(),
                    record.footprints(),
                    record.mean(),
                    record.share(),
                    record.lengths(),
                    record.features().collect::<Vec<_>>(),
                    record.forward().words()
                ),
                None => "none".into(),
            });
        }
        for group in store.fetch_groups(&groups(), buffer).unwrap() {
            let second = |group: GroupRecord<'_>| format!("{:?}", group.footprint(1, Slot::Second));
            rows.push(group.map_or("none".into(), second));
        }
        rows.push(format!("{:?}", store.totals().unwrap()));
        rows.push(format!("{:?}", store.words(&WORDS).unwrap()));
        rows.push(format!("{:?}", store.stems(&STEMS).unwrap()));
        rows.push(format!("{:?}", store.pairs(&groups()).unwrap()));
        rows.push(format!("{:?}", store.feature_names().unwrap()));
        for number in numbers {
            rows.push(format!("{:?}", store.text(number).unwrap()));
        }
        rows
    }

    #[test]
    fn two_implementations_give_the_same_answers() {
        let folder = tempfile::tempdir().unwrap();
        let store = embedded(folder.path());
        let snapshot = store.snapshot().unwrap();
        let (mut unused, mut buffer) = (FetchBuffer::default(), FetchBuffer::default());
        let expected = answers(&snapshot, &mut unused);
        assert_eq!(answers(&copied(&snapshot), &mut buffer), expected);
        assert_eq!(
            unused.values().count(),
            0,
            "the memory map is lent, not copied"
        );
        assert_eq!(buffer.values().count(), 3, "the last fetch was of groups");
        assert_eq!(expected[0], "[Some(1), None, Some(0)]");
        assert_eq!(expected[3], "none");
        assert_eq!(expected[4..7], ["[12, 13, 14, 15]", "[4, 5, 6, 7]", "none"]);
    }

    #[test]
    fn damage_on_the_way_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let store = embedded(folder.path());
        let mut memory = copied(&store.snapshot().unwrap());
        memory.records.get_mut(&0).unwrap()[50] ^= 1;
        let mut buffer = FetchBuffer::default();
        let found = memory.fetch(&[1, 0], &mut buffer).unwrap();
        assert!(found[0].unwrap().check().is_ok());
        let error = found[1].unwrap().check().unwrap_err();
        assert!(error.to_string().contains("document 0"), "{error}");
    }
}
