//! The memory that this process may use: the lesser of what the machine has and what its
//! control group allows. The default bounds of data held in memory derive from it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use leadhost_domain::limits;

/// Returns the memory that this process may use, in bytes, or `None` if the system does not
/// report it.
pub fn may_use() -> Option<u64> {
    let of_group = std::fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| least_of_groups(&text, Path::new("/sys/fs/cgroup")));
    let of_machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| total(&text));
    match (of_group, of_machine) {
        (Some(group), Some(machine)) => Some(group.min(machine)),
        (group, machine) => group.or(machine),
    }
}

/// Returns the bytes that the rows of one page may have: [`limits::EXPORT_PAGE_BYTES`], or
/// less on a machine with little memory, since several readers hold a page at once, each
/// with its compressed answer.
pub fn page_bytes() -> usize {
    static BYTES: LazyLock<usize> = LazyLock::new(|| page_bytes_of(may_use()));
    *BYTES
}

fn page_bytes_of(memory: Option<u64>) -> usize {
    let share = memory.map_or(u64::MAX, |bytes| bytes / limits::MEMORY_PER_PAGE_BYTE);
    usize::try_from(share)
        .unwrap_or(usize::MAX)
        .clamp(limits::LEAST_PAGE_BYTES, limits::EXPORT_PAGE_BYTES)
}

/// Makes the C library's allocator, which SQLite uses, return large allocations to the
/// system when they are freed. By default it begins to keep them after the first one, for
/// each thread.
#[expect(
    unsafe_code,
    reason = "no dependency offers this call, which takes two numbers"
)]
pub fn give_back_what_is_large() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call only sets a parameter of the allocator, before other threads start.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, limits::LARGE_PIECE_BYTES);
    }
}

fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

/// Returns the lowest limit of any group on the path to the root, for both versions of
/// control groups. A container sees its own group as the root, whatever its path says.
fn least_of_groups(own: &str, mounted: &Path) -> Option<u64> {
    own.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            let (root, file) = if controllers.is_empty() {
                (mounted.to_owned(), "memory.max")
            } else if controllers.split(',').any(|name| name == "memory") {
                (mounted.join("memory"), "memory.limit_in_bytes")
            } else {
                return None;
            };
            least_up_to(&root, path, file)
        })
        .min()
}

fn least_up_to(root: &Path, path: &str, file: &str) -> Option<u64> {
    let mut folder: PathBuf = root.join(path.trim_start_matches('/'));
    let mut least = None;
    while folder.starts_with(root) {
        let given = std::fs::read_to_string(folder.join(file))
            .ok()
            // `max` is not a number, and sets no bound.
            .and_then(|text| text.trim().parse::<u64>().ok());
        least = match (least, given) {
            (Some(least), Some(given)) => Some(u64::min(least, given)),
            (least, given) => least.or(given),
        };
        if !folder.pop() {
            break;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let file = root.join(path);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }

    #[test]
    fn the_lowest_limit_of_all_parent_groups_counts() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "a/memory.max", "1000\n");
        write(root.path(), "a/b/memory.max", "max\n");
        write(root.path(), "memory/c/memory.limit_in_bytes", "700\n");
        write(root.path(), "memory/memory.limit_in_bytes", "900\n");
        let least = |own: &str| least_of_groups(own, root.path());
        assert_eq!(least("0::/a/b\n"), Some(1000));
        assert_eq!(least("0::/\n"), None);
        assert_eq!(least("4:cpu,memory:/c\n0::/a/b\n"), Some(700));
        assert_eq!(least("4:memory:/as/the/machine/sees/it\n"), Some(900));
        assert_eq!(least("3:cpu:/c\n"), None);
    }

    #[test]
    fn pages_are_shorter_where_there_is_little_memory() {
        assert_eq!(page_bytes_of(Some(64 << 20)), limits::LEAST_PAGE_BYTES);
        assert_eq!(page_bytes_of(Some(256 << 20)), 2 << 20);
        assert_eq!(page_bytes_of(Some(2 << 30)), limits::EXPORT_PAGE_BYTES);
        assert_eq!(page_bytes_of(Some(64 << 30)), limits::EXPORT_PAGE_BYTES);
        assert_eq!(page_bytes_of(None), limits::EXPORT_PAGE_BYTES);
    }

    #[test]
    fn the_memory_of_the_machine_is_read() {
        assert_eq!(total("MemTotal:       2 kB\nMemFree: 1 kB\n"), Some(2048));
        assert!(may_use().is_some_and(|bytes| bytes > 1 << 20));
    }
}
