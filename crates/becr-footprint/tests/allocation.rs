//! Pooling a document allocates nothing once the buffers are there.

#![allow(unsafe_code)]

use becr_footprint::{
    CompositeQuery, DocumentLayout, DocumentTokens, Engine, GroupWeight, Implementation, Kernels,
    TiledDocument, Workspace,
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
    let document = DocumentTokens::Footprints(TiledDocument::new(layout, &tiles).unwrap());
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
    let kernels = Kernels::paper();
    for implementation in Implementation::available() {
        let engine = Engine::with(implementation).unwrap();
        let (mut work, mut first, mut sums) = (Workspace::new(), [0.0; 44], [0.0; 44]);
        let mut pool = |out: &mut [f32]| {
            let next = Some(&document);
            let done = engine.log_sums(&query, &kernels, &document, next, &mut work, out);
            done.unwrap();
        };
        pool(&mut first);
        let before = ALLOCATIONS.get();
        for _ in 0..100 {
            pool(&mut sums);
        }
        let after = ALLOCATIONS.get();
        assert_eq!(after, before, "{}", implementation.name());
        assert!(sums == first && sums.iter().all(|sum| sum.is_finite()));
    }
}
