// Included before everything else of the core: binds what glibc has moved between its libraries to the oldest version,
// so that a library built on a new system loads on glibc 2.28 (P2). scripts/check-elf watches that nothing newer slips
// in.
#pragma once

#if defined(__x86_64__)
#define DEVICE_AUDIT_OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define DEVICE_AUDIT_OLDEST "GLIBC_2.17"
#else
#error "device-audit knows x86-64 and aarch64"
#endif

#define DEVICE_AUDIT_FLOOR(name) __asm__(".symver " #name "," #name "@" DEVICE_AUDIT_OLDEST)
DEVICE_AUDIT_FLOOR(dlsym);
DEVICE_AUDIT_FLOOR(dlerror);
#undef DEVICE_AUDIT_FLOOR
