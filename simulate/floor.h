// Included first where the dynamic loader is called: binds its functions to their oldest versions, because newer glibc
// has moved them and a library that asks for the new place does not load on older systems (P2).
#pragma once

#if defined(__x86_64__)
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");
__asm__(".symver dlmopen,dlmopen@GLIBC_2.3.4");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dladdr,dladdr@GLIBC_2.17");
__asm__(".symver dlmopen,dlmopen@GLIBC_2.17");
__asm__(".symver dlopen,dlopen@GLIBC_2.17");
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
#endif
