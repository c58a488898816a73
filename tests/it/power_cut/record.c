/* Records the changes of a program to the files of one folder, in order: the names that
 * it creates, renames and removes, its writes with their places, and its syncs.
 *
 * RECORDED_FOLDER is the folder, RECORD the file that the record is appended to. Only
 * files directly in the folder are recorded, and none whose name ends with -shm: that
 * one is shared memory, which need not outlive the machine.
 *
 * A change is made and recorded under one lock. While the file named by RECORD_ENDS
 * exists, the program ends at its next change, under that lock too: so the record has
 * exactly the changes that are in the files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { NAMED = 1, WROTE, CUT, RENAMED, REMOVED, SYNC_BEGAN, SYNC_ENDED };

/* The folder itself, in place of an inode. */
enum { FOLDER = 0 };

struct head {
  uint32_t kind;
  uint32_t name_bytes;
  uint64_t inode;
  uint64_t number;
  uint64_t bytes;
};

static const char *folder;
static const char *ends;
static size_t folder_bytes;
static int record = -1;
static uint64_t syncs;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
  const char *to = getenv("RECORD");
  folder = getenv("RECORDED_FOLDER");
  ends = getenv("RECORD_ENDS");
  if (!to || !folder || !ends) return;
  folder_bytes = strlen(folder);
  syncs = (uint64_t)getpid() << 32;
  record = REAL(open)(to, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (record < 0) abort();
}

/* The name of a file in the folder; none if it is not recorded. */
static const char *name_in(const char *path) {
  if (record < 0 || strncmp(path, folder, folder_bytes) != 0 || path[folder_bytes] != '/') return NULL;
  const char *name = path + folder_bytes + 1;
  size_t length = strlen(name);
  if (length == 0 || strchr(name, '/')) return NULL;
  if (length >= 4 && strcmp(name + length - 4, "-shm") == 0) return NULL;
  return name;
}

struct open_file {
  char path[PATH_MAX];
  const char *name;
  uint64_t inode;
};

/* Whether the file that is open there is recorded. */
static int is_recorded(int fd, struct open_file *file) {
  struct stat of;
  if (record < 0 || fd < 0 || fstat(fd, &of) != 0 || !(S_ISREG(of.st_mode) || S_ISDIR(of.st_mode))) return 0;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, file->path, sizeof file->path - 1);
  if (length < 0) return 0;
  file->path[length] = 0;
  if (S_ISDIR(of.st_mode)) {
    file->name = "";
    file->inode = FOLDER;
    return strcmp(file->path, folder) == 0;
  }
  file->name = name_in(file->path);
  file->inode = of.st_ino;
  return file->name != NULL;
}

static void note(enum kind kind, const char *name, uint64_t inode, uint64_t number, const void *bytes, size_t count) {
  struct head head = {kind, (uint32_t)strlen(name), inode, number, count};
  struct iovec whole[3] = {{&head, sizeof head}, {(void *)name, head.name_bytes}, {(void *)bytes, count}};
  ssize_t length = sizeof head + head.name_bytes + count;
  /* A record with a gap would prove nothing. */
  if (REAL(writev)(record, whole, 3) != length) abort();
}

static void lock(void) { pthread_mutex_lock(&turn); }

static void unlock(void) {
  if (access(ends, F_OK) == 0) _exit(137);
  pthread_mutex_unlock(&turn);
}

/* A regular exit happens between two changes too: the lock is kept. */
__attribute__((destructor)) static void end(void) {
  if (record >= 0) lock();
}

static int opened(int fd, int flags) {
  int saved = errno;
  struct open_file file;
  if (is_recorded(fd, &file) && file.inode != FOLDER) {
    if (flags & O_CREAT) note(NAMED, file.name, file.inode, 0, NULL, 0);
    if (flags & O_TRUNC) note(CUT, "", file.inode, 0, NULL, 0);
  }
  errno = saved;
  return fd;
}

#define OPENING(name, leading, ...)                         \
  int name leading {                                        \
    va_list more;                                           \
    va_start(more, flags);                                  \
    mode_t mode = va_arg(more, mode_t);                     \
    va_end(more);                                           \
    if (record < 0 || !(flags & (O_CREAT | O_TRUNC)))       \
      return REAL(name)(__VA_ARGS__, flags, mode);          \
    lock();                                                 \
    int fd = opened(REAL(name)(__VA_ARGS__, flags, mode), flags); \
    unlock();                                               \
    return fd;                                              \
  }

OPENING(open, (const char *path, int flags, ...), path)
OPENING(open64, (const char *path, int flags, ...), path)
OPENING(openat, (int at, const char *path, int flags, ...), at, path)
OPENING(openat64, (int at, const char *path, int flags, ...), at, path)

/* The place of bytes that were written at the current position of the file. */
static off_t written_at(int fd, ssize_t count) { return lseek(fd, 0, SEEK_CUR) - count; }

#define WRITING(name, parameters, place, ...)                             \
  ssize_t name parameters {                                               \
    struct open_file file;                                                \
    if (!is_recorded(fd, &file)) return REAL(name)(__VA_ARGS__);          \
    lock();                                                               \
    ssize_t count = REAL(name)(__VA_ARGS__);                              \
    int saved = errno;                                                    \
    if (count > 0) note(WROTE, "", file.inode, place, bytes, count);      \
    unlock();                                                             \
    errno = saved;                                                        \
    return count;                                                         \
  }

WRITING(write, (int fd, const void *bytes, size_t size), written_at(fd, count), fd, bytes, size)
WRITING(pwrite, (int fd, const void *bytes, size_t size, off_t at), at, fd, bytes, size, at)
WRITING(pwrite64, (int fd, const void *bytes, size_t size, off64_t at), at, fd, bytes, size, at)

/* Several pieces are written in sequence, which is allowed. */
ssize_t writev(int fd, const struct iovec *pieces, int count) {
  struct open_file file;
  if (!is_recorded(fd, &file)) return REAL(writev)(fd, pieces, count);
  ssize_t all = 0;
  for (int piece = 0; piece < count; piece++) {
    ssize_t written = write(fd, pieces[piece].iov_base, pieces[piece].iov_len);
    if (written < 0) return all > 0 ? all : written;
    all += written;
    if ((size_t)written < pieces[piece].iov_len) break;
  }
  return all;
}

#define CUTTING(name, type)                                              \
  int name(int fd, type length) {                                        \
    struct open_file file;                                               \
    if (!is_recorded(fd, &file)) return REAL(name)(fd, length);          \
    lock();                                                              \
    int done = REAL(name)(fd, length);                                   \
    int saved = errno;                                                   \
    if (done == 0) note(CUT, "", file.inode, length, NULL, 0);           \
    unlock();                                                            \
    errno = saved;                                                       \
    return done;                                                         \
  }

CUTTING(ftruncate, off_t)
CUTTING(ftruncate64, off64_t)

/* Everything written before a sync began is on the disk when it has ended. Other
 * changes continue meanwhile. */
#define SYNCING(name)                                              \
  int name(int fd) {                                               \
    struct open_file file;                                         \
    if (!is_recorded(fd, &file)) return REAL(name)(fd);            \
    lock();                                                        \
    uint64_t number = syncs++;                                     \
    note(SYNC_BEGAN, "", file.inode, number, NULL, 0);             \
    unlock();                                                      \
    int done = REAL(name)(fd);                                     \
    int saved = errno;                                             \
    lock();                                                        \
    if (done == 0) note(SYNC_ENDED, "", file.inode, number, NULL, 0); \
    unlock();                                                      \
    errno = saved;                                                 \
    return done;                                                   \
  }

SYNCING(fsync)
SYNCING(fdatasync)

static uint64_t inode_of(const char *path) {
  struct stat of;
  return lstat(path, &of) == 0 ? of.st_ino : FOLDER;
}

int rename(const char *from, const char *to) {
  const char *name = name_in(to);
  if (!name || !name_in(from)) return REAL(rename)(from, to);
  lock();
  uint64_t inode = inode_of(from);
  int done = REAL(rename)(from, to);
  int saved = errno;
  /* The old name is recorded as bytes. */
  if (done == 0) note(RENAMED, name, inode, 0, name_in(from), strlen(name_in(from)));
  unlock();
  errno = saved;
  return done;
}

int linkat(int at, const char *from, int to_at, const char *to, int flags) {
  const char *name = name_in(to);
  if (!name) return REAL(linkat)(at, from, to_at, to, flags);
  lock();
  int done = REAL(linkat)(at, from, to_at, to, flags);
  int saved = errno;
  if (done == 0) note(NAMED, name, inode_of(to), 0, NULL, 0);
  unlock();
  errno = saved;
  return done;
}

int unlink(const char *path) {
  const char *name = name_in(path);
  if (!name) return REAL(unlink)(path);
  lock();
  uint64_t inode = inode_of(path);
  int done = REAL(unlink)(path);
  int saved = errno;
  if (done == 0) note(REMOVED, name, inode, 0, NULL, 0);
  unlock();
  errno = saved;
  return done;
}
