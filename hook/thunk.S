// A hook that leaves no frame: asks plan(argument 1, 2, 3, the stack at the call) for the address to go on at and jumps there with
// the arguments as they came, so that the original sees the real caller (P3: dlopen searches the RPATH and RUNPATH of its
// caller) and a stack taken inside it does not show us.

#if defined(__x86_64__)

.macro hook name, plan
    .globl \name
    .hidden \plan
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    leaq 24(%rsp), %rcx
    call \plan
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmpq *%rax
    .cfi_endproc
    .size \name, . - \name
.endm

#elif defined(__aarch64__)

.macro hook name, plan
    .globl \name
    .hidden \plan
    .type \name, %function
    .p2align 4
\name:
    .cfi_startproc
    hint #34  // bti c
    stp x29, x30, [sp, #-48]!
    .cfi_def_cfa_offset 48
    .cfi_offset x29, -48
    .cfi_offset x30, -40
    mov x29, sp
    stp x0, x1, [sp, #16]
    str x2, [sp, #32]
    add x3, sp, #48
    bl \plan
    mov x16, x0
    ldp x0, x1, [sp, #16]
    ldr x2, [sp, #32]
    ldp x29, x30, [sp], #48
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    br x16
    .cfi_endproc
    .size \name, . - \name
.endm

#endif

    .text
    hook dlopen, device_audit_plan_dlopen
    hook __cxa_throw, device_audit_plan_throw
    hook abort, device_audit_plan_abort
    hook _exit, device_audit_plan_exit
    hook _Exit, device_audit_plan_Exit

    .section .note.GNU-stack, "", %progbits
