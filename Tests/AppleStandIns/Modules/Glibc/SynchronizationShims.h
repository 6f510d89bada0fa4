// In place of the toolchain's _SynchronizationShims.h, which includes headers of Linux: what its Mutex calls when it is inlined.
#include <stdint.h>

static inline uint32_t _swift_stdlib_gettid(void) { return 0; }
static inline uint32_t _swift_stdlib_futex_lock(uint32_t *lock) { return 0; }
static inline uint32_t _swift_stdlib_futex_trylock(uint32_t *lock) { return 0; }
static inline uint32_t _swift_stdlib_futex_unlock(uint32_t *lock) { return 0; }
