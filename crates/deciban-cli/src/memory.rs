//! What happens when memory runs out, as under `ulimit -v`: a message and exit code 1. Rust by itself ends the
//! program by a signal, and leaves temporary files behind.
//!
//! The allocator is that of the system. It checks each answer, because allocations are everywhere: a few large
//! buffers that are asked for with care would leave all the others.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The allocator of the system, whose failures end the program with a message.
pub struct Checked;

/// What is set aside for the last steps.
const RESERVE: Layout = match Layout::from_size_align(1 << 18, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("a power of two"),
};

static SET_ASIDE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread ends the program.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// Sets memory aside for the message. To be called once, at the start.
pub fn set_aside() {
    // SAFETY: the layout has a size above 0.
    SET_ASIDE.store(unsafe { System.alloc(RESERVE) }, Ordering::SeqCst);
}

/// Ends the program, for want of so many bytes.
#[cold]
fn end(bytes: usize) -> *mut u8 {
    if ENDS.get() {
        // Not even the last steps have room: the caller aborts.
        return null_mut();
    }
    if ENDING.swap(true, Ordering::SeqCst) {
        // Another thread is about to end the program.
        loop {
            std::thread::park();
        }
    }
    ENDS.set(true);
    let set_aside = SET_ASIDE.swap(null_mut(), Ordering::SeqCst);
    if !set_aside.is_null() {
        // SAFETY: it was allocated with this layout, and is taken once.
        unsafe { System.dealloc(set_aside, RESERVE) };
    }
    deciban::output::remove_pending();
    let message = format!(
        "deciban: out of memory: {bytes} bytes more could not be had; raise the limit, use fewer threads \
         (RAYON_NUM_THREADS=1), or give fewer rows or columns\n"
    );
    tell(message.as_bytes());
    std::process::exit(1);
}

/// Writes to standard error without its lock, which a thread may hold that waits for memory.
#[cfg(unix)]
fn tell(message: &[u8]) {
    use std::io::Write;
    use std::os::fd::FromRawFd;
    // SAFETY: the descriptor is not closed here, since the file is never dropped.
    let mut stderr = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(2) });
    let _ = stderr.write_all(message);
}

#[cfg(not(unix))]
fn tell(message: &[u8]) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(message);
}

// SAFETY: every call is passed on to the allocator of the system.
unsafe impl GlobalAlloc for Checked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of the trait.
        let found = unsafe { System.alloc(layout) };
        if found.is_null() { end(layout.size()) } else { found }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of the trait.
        let found = unsafe { System.alloc_zeroed(layout) };
        if found.is_null() { end(layout.size()) } else { found }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of the trait.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of the trait.
        let found = unsafe { System.realloc(place, layout, size) };
        if found.is_null() { end(size) } else { found }
    }
}
