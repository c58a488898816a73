//! Ways to use time, memory and the stack.

use std::hint::black_box;

pub fn for_ever() -> ! {
    loop {
        black_box(());
    }
}

/// Runs this many rounds and returns.
pub fn burn(rounds: usize) -> u64 {
    let mut sum = 0_u64;
    for round in 0..rounds as u64 {
        sum = black_box(sum.wrapping_mul(31).wrapping_add(round));
    }
    sum
}

#[allow(unconditional_recursion, reason = "the stack is to run out")]
pub fn recurse(left: u64) -> u64 {
    let here = black_box([left; 64]);
    recurse(left.wrapping_sub(1)).wrapping_add(here[7])
}

/// Allocates memory, a mebibyte at a time, until that fails.
pub fn grow_until_refused() -> ! {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(black_box(vec![1; 1 << 20]));
    }
}

/// Touches page after page of this many mebibytes, which the limit allows, and then
/// each of them again for ever.
pub fn touch(mebibytes: usize) -> ! {
    const PAGE: usize = 4 << 10;
    let most = bytes(mebibytes) / PAGE;
    let mut pages: Vec<Vec<u8>> = Vec::new();
    while pages.len() < most {
        pages.push(black_box(vec![1; PAGE]));
    }
    loop {
        for page in &mut pages {
            page[7] = black_box(page[7].wrapping_add(1));
        }
    }
}

/// Writes all of this many mebibytes with one instruction, for ever.
pub fn fill(mebibytes: usize) -> ! {
    let mut memory = vec![1_u8; bytes(mebibytes)];
    loop {
        black_box(&mut memory).fill(black_box(7));
    }
}

/// Copies one half of this many mebibytes to the other with one instruction, for ever.
pub fn copy(mebibytes: usize) -> ! {
    let mut memory = vec![1_u8; bytes(mebibytes)];
    let half = memory.len() / 2;
    loop {
        black_box(&mut memory).copy_within(..half, half);
    }
}

/// Takes this many mebibytes, and touches none of them.
pub fn hold(mebibytes: usize) {
    drop(black_box(Vec::<u8>::with_capacity(bytes(mebibytes))));
}

/// The default: most of what an instance may have by default.
fn bytes(mebibytes: usize) -> usize {
    let mebibytes = if mebibytes == 0 { 96 } else { mebibytes };
    mebibytes.saturating_mul(1 << 20)
}
