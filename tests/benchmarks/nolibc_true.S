# Exits with 0: what is left of a command's cost when the dynamic linker and the
# C library have no part in it.
        .globl _start
_start: xorl    %edi, %edi
        movl    $231, %eax              # exit_group
        syscall
        .section .note.GNU-stack, "", @progbits
