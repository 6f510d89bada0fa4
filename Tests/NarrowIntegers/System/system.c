// A C library for WebAssembly without one: memory that is never given back to the system, and the standard streams.
#include "system.h"
#include <stdint.h>

// The blocks have the sizes of powers of two, from 16 bytes on; released ones wait in a list for each size.
struct block { size_t class; struct block *next; };
static struct block *released[32];
static uintptr_t position, end;
extern char __heap_base;

void *malloc(size_t size) {
    size_t class = 4;
    while (((size_t)1 << class) < size + 16) class++;
    struct block *block = released[class];
    if (block) {
        released[class] = block->next;
    } else {
        if (!position) position = end = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
        size_t whole = (size_t)1 << class;
        if (position + whole > end) {
            size_t now = __builtin_wasm_memory_size(0) << 16;
            if (end < now) end = now;
            if (position + whole > end) {
                size_t pages = (position + whole - end + 0xFFFF) >> 16;
                if (__builtin_wasm_memory_grow(0, pages) == (size_t)-1) __builtin_trap();
                end += pages << 16;
            }
        }
        block = (struct block *)position;
        position += whole;
        block->class = class;
    }
    return (char *)block + 16;
}

void free(void *start) {
    if (!start) return;
    struct block *block = (struct block *)((char *)start - 16);
    block->next = released[block->class];
    released[block->class] = block;
}

void *memmove(void *to, const void *from, size_t size) {
    char *target = to;
    const char *source = from;
    if (target < source) for (size_t i = 0; i < size; i++) target[i] = source[i];
    else for (size_t i = size; i > 0; i--) target[i - 1] = source[i - 1];
    return to;
}

void *memcpy(void *to, const void *from, size_t size) { return memmove(to, from, size); }

void *memset(void *start, int byte, size_t size) {
    for (size_t i = 0; i < size; i++) ((unsigned char *)start)[i] = (unsigned char)byte;
    return start;
}

int memcmp(const void *left, const void *right, size_t size) {
    const unsigned char *a = left, *b = right;
    for (size_t i = 0; i < size; i++) if (a[i] != b[i]) return a[i] - b[i];
    return 0;
}

void *realloc(void *start, size_t size) {
    void *moved = malloc(size);
    if (start) {
        size_t old = ((size_t)1 << ((struct block *)((char *)start - 16))->class) - 16;
        memcpy(moved, start, old < size ? old : size);
        free(start);
    }
    return moved;
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment > 16) __builtin_trap();
    *result = malloc(size);
    return 0;
}

struct vector { const void *start; size_t size; };
#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) int name
WASI(fd_read)(int descriptor, const struct vector *vectors, int count, size_t *done);
WASI(fd_write)(int descriptor, const struct vector *vectors, int count, size_t *done);
WASI(random_get)(void *start, size_t size);

ptrdiff_t read(int descriptor, void *start, size_t size) {
    size_t done = 0;
    struct vector vector = {start, size};
    return fd_read(descriptor, &vector, 1, &done) ? -1 : (ptrdiff_t)done;
}

ptrdiff_t write(int descriptor, const void *start, size_t size) {
    size_t done = 0;
    struct vector vector = {start, size};
    return fd_write(descriptor, &vector, 1, &done) ? -1 : (ptrdiff_t)done;
}

// What Swift seeds its hashes with.
void arc4random_buf(void *start, size_t size) { random_get(start, size); }

int putchar(int byte) {
    char character = (char)byte;
    return write(2, &character, 1) == 1 ? byte : -1;
}

// The product of 128-bit integers, of which the compiler calls this function where the processor has none.
__int128 __multi3(__int128 left, __int128 right) {
    uint64_t a = (uint64_t)left, b = (uint64_t)right;
    uint64_t low = (a & 0xFFFFFFFF) * (b & 0xFFFFFFFF);
    uint64_t middle = (a >> 32) * (b & 0xFFFFFFFF) + (low >> 32);
    uint64_t other = (a & 0xFFFFFFFF) * (b >> 32) + (middle & 0xFFFFFFFF);
    uint64_t high = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32) + a * (uint64_t)(right >> 64) + b * (uint64_t)(left >> 64);
    union { struct { uint64_t low, high; } halves; __int128 whole; } product;
    product.halves.low = other << 32 | (low & 0xFFFFFFFF);
    product.halves.high = high;
    return product.whole;
}

// Natural numbers of up to 4096 bits, the lowest first.
struct natural { uint32_t words[128]; };

static void multiply(struct natural *number, uint32_t factor, uint32_t carry) {
    uint64_t sum = carry;
    for (int i = 0; i < 128; i++) {
        sum += (uint64_t)number->words[i] * factor;
        number->words[i] = (uint32_t)sum;
        sum >>= 32;
    }
}

static int compare(const struct natural *left, const struct natural *right) {
    for (int i = 127; i >= 0; i--)
        if (left->words[i] != right->words[i]) return left->words[i] < right->words[i] ? -1 : 1;
    return 0;
}

// `unit * 2^(exponent + 1100) * mantissa`
static struct natural scaled(const struct natural *unit, uint64_t mantissa, int exponent) {
    struct natural result = {{0}};
    int shift = exponent + 1100, words = shift / 32, bits = shift % 32;
    for (int half = 0; half < 2; half++) {
        struct natural part = *unit;
        multiply(&part, (uint32_t)(mantissa >> (32 * half)), 0);
        multiply(&part, (uint32_t)1 << bits, 0);
        uint64_t sum = 0;
        for (int i = words + half; i < 128; i++) {
            sum += (uint64_t)result.words[i] + part.words[i - words - half];
            result.words[i] = (uint32_t)sum;
            sum >>= 32;
        }
    }
    return result;
}

static uint64_t mantissa(uint64_t bits) { return (bits & 0xFFFFFFFFFFFFF) | (bits >> 52 ? (uint64_t)1 << 52 : 0); }
static int exponent(uint64_t bits) { return (bits >> 52 ? (int)(bits >> 52) : 1) - 1075; }

// What Swift parses the text of a floating-point number with: exactly, for up to 300 digits without an exponent beyond 400.
const char *_swift_stdlib_strtod_clocale(const char *text, double *result) {
    int negative = *text == '-', digits = 0, power = 0, point = 0;
    if (*text == '-' || *text == '+') text++;
    struct natural decimal = {{0}}, unit = {{1}};
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !point); text++) {
        if (*text == '.') { point = 1; continue; }
        multiply(&decimal, 10, (uint32_t)(*text - '0'));
        digits++;
        power -= point;
    }
    if (!digits || digits > 300) return 0;
    if (*text == 'e' || *text == 'E') {
        int sign = text[1] == '-', written = 0, count = 0;
        const char *next = text + 1 + (text[1] == '-' || text[1] == '+');
        for (; *next >= '0' && *next <= '9'; next++, count++) if (written < 10000) written = written * 10 + *next - '0';
        if (!count) return 0;
        power += sign ? -written : written;
        text = next;
    }
    if (power < -400 || power > 400) return 0;
    for (int i = 0; i < power; i++) multiply(&decimal, 10, 0);
    for (int i = 0; i < -power; i++) multiply(&unit, 10, 0);
    struct natural one = decimal;
    decimal = scaled(&one, 1, 0);
    // The largest number that is not above it, and then that or the next, whichever is nearer, or else even.
    uint64_t low = 0, high = (uint64_t)0x7FF << 52;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        struct natural candidate = scaled(&unit, mantissa(middle), exponent(middle));
        if (compare(&candidate, &decimal) <= 0) low = middle; else high = middle;
    }
    struct natural half = scaled(&unit, mantissa(low) * 2 + 1, exponent(low) - 1);
    int order = compare(&decimal, &half);
    if (order > 0 || (order == 0 && (low & 1))) low++;
    union { uint64_t bits; double number; } answer = {low | (uint64_t)negative << 63};
    *result = answer.number;
    return text;
}

int __main_argc_argv(int count, char **arguments);
void _start(void) { __main_argc_argv(0, 0); }
