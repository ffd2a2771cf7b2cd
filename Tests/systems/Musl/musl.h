// The declarations of musl on x86-64 that Divan uses, for type-checking on another C library. Types and numbers as
// in musl's headers; `open` and `fcntl` have the arguments that Divan passes, as Swift's overlay declares them.
//
// Names have a prefix, since the C library of this system has the same ones; Swift sees them without it.
#define SWIFT(name) __attribute__((swift_name(#name)))

typedef __SIZE_TYPE__ size_t;
typedef long ssize_t;
typedef long divan_off_t SWIFT(off_t);
typedef int divan_pid_t SWIFT(pid_t);
typedef unsigned long divan_dev_t SWIFT(dev_t);
typedef unsigned long divan_ino_t SWIFT(ino_t);
typedef unsigned int divan_mode_t SWIFT(mode_t);
typedef unsigned long divan_nlink_t SWIFT(nlink_t);
typedef unsigned int divan_uid_t SWIFT(uid_t);
typedef unsigned int divan_gid_t SWIFT(gid_t);
typedef long divan_blkcnt_t SWIFT(blkcnt_t);
typedef long divan_blksize_t SWIFT(blksize_t);
typedef unsigned int divan_useconds_t SWIFT(useconds_t);
typedef int divan_clockid_t SWIFT(clockid_t);
struct SWIFT(timespec) divan_timespec {
  long tv_sec;
  long tv_nsec;
};
struct SWIFT(stat) divan_stat {
  divan_dev_t st_dev;
  divan_ino_t st_ino;
  divan_nlink_t st_nlink;
  divan_mode_t st_mode;
  divan_uid_t st_uid;
  divan_gid_t st_gid;
  unsigned int __pad0;
  divan_dev_t st_rdev;
  divan_off_t st_size;
  divan_blksize_t st_blksize;
  divan_blkcnt_t st_blocks;
  struct divan_timespec st_atim;
  struct divan_timespec st_mtim;
  struct divan_timespec st_ctim;
};
struct SWIFT(dirent) divan_dirent {
  divan_ino_t d_ino;
  divan_off_t d_off;
  unsigned short d_reclen;
  unsigned char d_type;
  char d_name[256];
};
// Opaque, as in musl.
typedef struct divan___dirstream divan_DIR SWIFT(DIR);
struct divan___pthread;
typedef struct divan___pthread *divan_pthread_t SWIFT(pthread_t);
typedef struct {
  int __i[10];
} divan_pthread_mutex_t SWIFT(pthread_mutex_t);
typedef struct {
  unsigned __attr;
} divan_pthread_mutexattr_t SWIFT(pthread_mutexattr_t);

int divan_close(int) SWIFT(close(_:));
int divan_open(const char *, int, divan_mode_t) SWIFT(open(_:_:_:));
int divan_fcntl(int, int, int) SWIFT(fcntl(_:_:_:));
ssize_t divan_pread(int, void *, size_t, divan_off_t) SWIFT(pread(_:_:_:_:));
ssize_t divan_pwrite(int, const void *, size_t, divan_off_t) SWIFT(pwrite(_:_:_:_:));
ssize_t divan_write(int, const void *, size_t) SWIFT(write(_:_:_:));
divan_off_t divan_lseek(int, divan_off_t, int) SWIFT(lseek(_:_:_:));
int divan_ftruncate(int, divan_off_t) SWIFT(ftruncate(_:_:));
int divan_fsync(int) SWIFT(fsync(_:));
int divan_flock(int, int) SWIFT(flock(_:_:));
int divan_fstat(int, struct divan_stat *) SWIFT(fstat(_:_:));
int divan_lstat(const char *, struct divan_stat *) SWIFT(lstat(_:_:));
int divan_stat(const char *, struct divan_stat *) SWIFT(stat(_:_:));
int divan_mkdir(const char *, divan_mode_t) SWIFT(mkdir(_:_:));
int divan_rmdir(const char *) SWIFT(rmdir(_:));
int divan_unlink(const char *) SWIFT(unlink(_:));
int divan_rename(const char *, const char *) SWIFT(rename(_:_:));
int divan_link(const char *, const char *) SWIFT(link(_:_:));
char *divan_realpath(const char *, char *) SWIFT(realpath(_:_:));
void divan_free(void *) SWIFT(free(_:));
void *divan_mmap(void *, size_t, int, int, int, divan_off_t) SWIFT(mmap(_:_:_:_:_:_:));
int divan_munmap(void *, size_t) SWIFT(munmap(_:_:));
divan_DIR *divan_fdopendir(int) SWIFT(fdopendir(_:));
int divan_closedir(divan_DIR *) SWIFT(closedir(_:));
struct divan_dirent *divan_readdir(divan_DIR *) SWIFT(readdir(_:));
int divan_isatty(int) SWIFT(isatty(_:));
_Noreturn void divan_exit(int) SWIFT(exit(_:));
int divan_usleep(divan_useconds_t) SWIFT(usleep(_:));
int divan_clock_gettime(divan_clockid_t, struct divan_timespec *) SWIFT(clock_gettime(_:_:));
divan_pid_t divan_getpid(void) SWIFT(getpid());
divan_pthread_t divan_pthread_self(void) SWIFT(pthread_self());
int divan_pthread_mutex_init(divan_pthread_mutex_t *, const divan_pthread_mutexattr_t *) SWIFT(pthread_mutex_init(_:_:));
int divan_pthread_mutex_destroy(divan_pthread_mutex_t *) SWIFT(pthread_mutex_destroy(_:));
int divan_pthread_mutex_lock(divan_pthread_mutex_t *) SWIFT(pthread_mutex_lock(_:));
int divan_pthread_mutex_unlock(divan_pthread_mutex_t *) SWIFT(pthread_mutex_unlock(_:));
typedef void (*divan_sig_t)(int) SWIFT(sig_t);
divan_sig_t divan_signal(int, divan_sig_t) SWIFT(signal(_:_:));
extern const divan_sig_t divan_SIG_IGN SWIFT(SIG_IGN);
extern int divan_errno SWIFT(errno) __attribute__((swift_attr("nonisolated(unsafe)")));
extern void *const divan_MAP_FAILED SWIFT(MAP_FAILED);

int divan_fdatasync(int) SWIFT(fdatasync(_:));
int divan_strerror_r(int, char *, size_t) SWIFT(strerror_r(_:_:_:));
static const divan_mode_t divan_S_IFMT SWIFT(S_IFMT) = 0170000;
static const divan_mode_t divan_S_IFREG SWIFT(S_IFREG) = 0100000;
static const divan_mode_t divan_S_IFDIR SWIFT(S_IFDIR) = 0040000;
static const divan_clockid_t divan_CLOCK_REALTIME SWIFT(CLOCK_REALTIME) = 0;
#define O_DIRECTORY 0200000
#define O_NOFOLLOW 0400000
#define O_RDONLY 0
#define O_RDWR 2
#define O_CREAT 0100
#define O_EXCL 0200
#define O_NONBLOCK 04000
#define O_CLOEXEC 02000000
#define F_DUPFD_CLOEXEC 1030
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8
#define PROT_READ 1
#define MAP_SHARED 1
#define SIGPIPE 13
#define EPERM 1
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define ENXIO 6
#define EBADF 9
#define EWOULDBLOCK 11
#define ENOMEM 12
#define EACCES 13
#define EBUSY 16
#define EEXIST 17
#define ENOTDIR 20
#define EISDIR 21
#define EINVAL 22
#define ENAMETOOLONG 36
#define ENFILE 23
#define EMFILE 24
#define ENOTTY 25
#define EFBIG 27
#define ENOSPC 28
#define EROFS 30
#define EMLINK 31
#define EPIPE 32
#define ENOTEMPTY 39
#define ELOOP 40
#define ESTALE 116
#define EDQUOT 122
#define ECANCELED 125
