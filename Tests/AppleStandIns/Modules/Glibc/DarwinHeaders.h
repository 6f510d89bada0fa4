// The headers of Apple's module Darwin that other systems do not have.
#include <mach/mach.h>
#include <sys/event.h>
#include <sys/mount.h>
#include <sys/sysctl.h>
#include <sys/types.h>

// What they lack. (<sys/xattr.h> in bsd/sys of apple-oss-distributions/xnu; Apple's manual page setxattr(2))
int fsetxattr(int fd, const char *name, const void *value, size_t size, u_int32_t position, int options);
