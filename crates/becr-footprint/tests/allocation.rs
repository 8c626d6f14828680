//! Scoring allocates nothing once the buffers are there.

#![allow(unsafe_code)]

use becr_footprint::{
    CompositeQuery, Document, DocumentLayout, Engine, GroupWeight, Head, Implementation, Kernels,
    Scoring, TiledDocument, Workspace,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    // Of this thread only: the test harness has one of its own.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is ours.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is ours.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn no_allocation_per_document() {
    let layout = DocumentLayout::new(2, 700, 256).unwrap();
    let tiles = vec![0x5A; layout.bytes()];
    let document = Document::Footprints(TiledDocument::new(layout, &tiles).unwrap());
    let terms = vec![
        vec![
            GroupWeight {
                group: 0,
                weight: 0.5,
            },
            GroupWeight {
                group: 1,
                weight: 0.5,
            },
        ],
        vec![GroupWeight {
            group: 2,
            weight: 1.0,
        }],
    ];
    let query = CompositeQuery::from_footprints(256, 2, &[0x1234_5678; 48], terms).unwrap();
    let (kernels, head) = (Kernels::paper(), Head::new(11, vec![0.1; 22]).unwrap());
    let ask = Scoring {
        query: &query,
        kernels: &kernels,
        head: &head,
        term_weights: &[1.0, 1.0],
    };
    for implementation in Implementation::available() {
        let engine = Engine::with(implementation).unwrap();
        let mut work = Workspace::new();
        let documents = [document; 100];
        let mut scores = [0.0; 100];
        engine
            .score(&ask, &documents[..1], &mut work, &mut scores[..1])
            .unwrap();
        let before = ALLOCATIONS.get();
        engine
            .score(&ask, &documents, &mut work, &mut scores)
            .unwrap();
        let after = ALLOCATIONS.get();
        assert_eq!(after, before, "{}", implementation.name());
        assert!(scores.iter().all(|&s| s == scores[0] && s.is_finite()));
    }
}
