//! Numbers as bytes, little-endian, lists with their lengths before them. Floats keep every bit.

/// Appends to bytes.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn number(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn float(&mut self, value: f32) {
        self.number(value.to_bits());
    }

    pub(super) fn double(&mut self, value: f64) {
        self.0.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    /// All ones for `None`, which no place in a list is.
    pub(super) fn option(&mut self, value: Option<u32>) {
        self.number(value.unwrap_or(u32::MAX));
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn list<T>(&mut self, list: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.number(list.len() as u32);
        list.iter().for_each(|item| write(self, item));
    }
}

/// Reads what [`Writer`] wrote; `None` where the bytes are over.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*chunk)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        Some(self.chunk::<1>()?[0])
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_le_bytes)
    }

    pub(super) fn float(&mut self) -> Option<f32> {
        self.number().map(f32::from_bits)
    }

    pub(super) fn double(&mut self) -> Option<f64> {
        self.chunk()
            .map(|bytes| f64::from_bits(u64::from_le_bytes(bytes)))
    }

    pub(super) fn option(&mut self) -> Option<Option<u32>> {
        Some(Some(self.number()?).filter(|number| *number != u32::MAX))
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A list whose items take at least a byte each: a length that the bytes cannot have is refused before memory is
    /// asked for.
    pub(super) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let length = self.number()? as usize;
        if length > self.0.len() {
            return None;
        }
        (0..length).map(|_| read(self)).collect()
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}
