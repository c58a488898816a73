//! The heap of a plugin without WASI.
//!
//! Every call runs in a fresh instance, so every lead pays for the instance's
//! start. The usual heap starts by growing the memory, which costs the host two
//! system calls: one to provide the pages and one to take them back. This one starts
//! in memory that the component has from the beginning, and grows only beyond it.
//! The allocator itself is the standard library's own.

#![expect(unsafe_code, reason = "an allocator deals in raw memory")]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;

use dlmalloc::{Allocator, Dlmalloc};

/// Bytes available from the start: far more than a lead needs. Untouched pages
/// cost nothing.
const FIRST: usize = 1 << 20;

const PAGE: usize = 64 << 10;

#[repr(align(16))]
struct First(UnsafeCell<[u8; FIRST]>);

// SAFETY: a component without threads runs one call at a time.
unsafe impl Sync for First {}

static FIRST_BYTES: First = First(UnsafeCell::new([0; FIRST]));

/// The source of the heap's memory.
struct Memory {
    first_is_taken: UnsafeCell<bool>,
}

// SAFETY: `alloc` returns the first bytes once, then only newly grown pages.
unsafe impl Allocator for Memory {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        // SAFETY: nothing else refers to the flag, and there are no threads.
        let first_is_taken = unsafe { &mut *self.first_is_taken.get() };
        if !*first_is_taken && size <= FIRST {
            *first_is_taken = true;
            return (FIRST_BYTES.0.get().cast(), FIRST, 0);
        }
        let pages = size.div_ceil(PAGE);
        let before = core::arch::wasm32::memory_grow(0, pages);
        if before == usize::MAX {
            return (core::ptr::null_mut(), 0, 0);
        }
        ((before * PAGE) as *mut u8, pages * PAGE, 0)
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        core::ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

struct Heap(UnsafeCell<Dlmalloc<Memory>>);

// SAFETY: a component without threads runs one call at a time.
unsafe impl Sync for Heap {}

// SAFETY: the allocator upholds the trait's contract and is used by one thread.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above; the caller upholds the layout's contract.
        unsafe { (*self.0.get()).malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { (*self.0.get()).calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the pointer came from here.
        unsafe { (*self.0.get()).free(pointer, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; the pointer came from here.
        unsafe { (*self.0.get()).realloc(pointer, layout.size(), layout.align(), size) }
    }
}

#[global_allocator]
static HEAP: Heap = Heap(UnsafeCell::new(Dlmalloc::new_with_allocator(Memory {
    first_is_taken: UnsafeCell::new(false),
})));
