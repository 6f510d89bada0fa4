// What the codecs and the program of the test use of a C library. `system.c` implements it.
#include <stddef.h>

void *malloc(size_t size);
void *realloc(void *block, size_t size);
void free(void *block);
int memcmp(const void *left, const void *right, size_t size);
ptrdiff_t read(int descriptor, void *buffer, size_t size);
ptrdiff_t write(int descriptor, const void *buffer, size_t size);
