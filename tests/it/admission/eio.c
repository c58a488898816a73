/* A disk that fails: while the file named by FAILS_WHILE exists, writing and
 * syncing give EIO. Reads still work. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only files: standard error and sockets are not on the disk. */
static int fails(int fd) {
  struct stat of;
  const char *flag = getenv("FAILS_WHILE");
  return flag && access(flag, F_OK) == 0 && fstat(fd, &of) == 0 && S_ISREG(of.st_mode);
}

#define FAILING(result, name, arguments, ...)                       \
  result name arguments {                                           \
    static result(*real) arguments;                                 \
    if (!real) *(void **)(&real) = dlsym(RTLD_NEXT, #name);         \
    if (fails(fd)) {                                                \
      errno = EIO;                                                  \
      return -1;                                                    \
    }                                                               \
    return real(__VA_ARGS__);                                       \
  }

FAILING(ssize_t, write, (int fd, const void *bytes, size_t count), fd, bytes, count)
FAILING(ssize_t, pwrite, (int fd, const void *bytes, size_t count, off_t at), fd, bytes, count, at)
FAILING(ssize_t, pwrite64, (int fd, const void *bytes, size_t count, off64_t at), fd, bytes, count, at)
FAILING(int, fsync, (int fd), fd)
FAILING(int, fdatasync, (int fd), fd)
