//! Many batches, with the device kept busy.

use crate::encoder::BurnEncoder;
use crate::results::Returned;
use becr_encoder::{Batch, EncodeError, Encoded, Wanted};
use burn::tensor::backend::Backend as Device;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Encodes batches as they come and hands each result, in order, to `done`.
///
/// The device has the next batch before the last one is read, and results are unpacked on a thread of their own.
/// For full speed let `batches` be the receiving end of a bounded channel that other threads tokenise into.
/// A batch travels with a `T` of the caller's, for example the documents it was made of. Ends with the first error.
pub fn encode_stream<B: Device, T: Send, E: From<EncodeError> + Send>(
    encoder: &BurnEncoder<B>,
    batches: impl IntoIterator<Item = (T, Batch, Wanted)>,
    done: impl FnMut(T, Encoded) -> Result<(), E> + Send,
) -> Result<(), E> {
    thread::scope(|scope| {
        let (returned, unpacking) = sync_channel(2);
        let unpacker = scope.spawn(move || unpack(&unpacking, done));
        let mut running = None;
        for (with, batch, wanted) in batches {
            let launched = encoder.launch(&batch, &wanted)?;
            if let Some((with, launched)) = running.replace((with, launched)) {
                // Nobody listens any more when `done` has failed: its error is the result.
                if returned.send((with, launched.wait()?)).is_err() {
                    break;
                }
            }
        }
        if let Some((with, launched)) = running {
            // As above.
            let _ = returned.send((with, launched.wait()?));
        }
        drop(returned);
        unpacker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn unpack<T, E: From<EncodeError>>(
    returned: &Receiver<(T, Returned)>,
    mut done: impl FnMut(T, Encoded) -> Result<(), E>,
) -> Result<(), E> {
    returned
        .iter()
        .try_for_each(|(with, returned)| done(with, returned.unpack()?))
}
