//! ^C: says how to go on.

use crate::output;
use std::io::IsTerminal;
use std::sync::{Once, OnceLock};

/// The exit status after an interrupt, as shells have it.
pub(crate) const STATUS: u8 = 130;

static ADVICE: OnceLock<&'static str> = OnceLock::new();
static SAID: Once = Once::new();

/// Has ^C say `advice` before the process ends. Work may end at any moment: what is committed stays.
pub(crate) fn advise(advice: &'static str) {
    if ADVICE.set(advice).is_ok() {
        // Without a handler ^C ends the process all the same, in silence.
        let _ = ctrlc::set_handler(|| {
            say();
            std::process::exit(i32::from(STATUS));
        });
    }
}

/// Says how to go on, once: in the process that was started by the user, its child having ended by the same key.
pub(crate) fn say() {
    SAID.call_once(|| {
        if let Some(advice) = ADVICE.get() {
            // Behind what is left of a bar.
            let line = if std::io::stderr().is_terminal() {
                "\n"
            } else {
                ""
            };
            output::note(format_args!("{line}interrupted: {advice}"));
        }
    });
}
