// Linked into every program. When it crashes, it writes down the addresses of the
// calls that led there, innermost first, so that `cc --crash` can name their lines
// when the program is dead. It dies of the same signal as without.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "crash.h"

// Bounds the time that an endless recursion takes.
#define MAX_CALLS 100000
// "0x", the digits, a newline.
#define MAX_DIGITS (2 + 2 * sizeof(uintptr_t) + 1)

// The linker defines them: where the program's own code begins and ends.
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[];

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static struct {
    uintptr_t list[MAX_ADDRESSES];
    size_t count;
    size_t calls;
} found;

// Its forks crash for themselves.
static pid_t program;
// The signal that it crashes of; 0 before.
static volatile sig_atomic_t crash;

static void add(uintptr_t address) {
    if (address < (uintptr_t)__ehdr_start || address >= (uintptr_t)etext)
        return;
    // As the program's file has it.
    address -= (uintptr_t)__ehdr_start;
    for (size_t i = 0; i < found.count; i++)
        if (found.list[i] == address)
            return;
    if (found.count < MAX_ADDRESSES)
        found.list[found.count++] = address;
}

static _Unwind_Reason_Code add_call(struct _Unwind_Context *context,
                                    void *unused) {
    (void)unused;
    int is_exact = 0;
    uintptr_t address = _Unwind_GetIPInfo(context, &is_exact);
    // A call returns behind itself, which can be the next line.
    add(is_exact ? address : address - 1);
    return ++found.calls < MAX_CALLS ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void write_addresses(void) {
    static char text[MAX_ADDRESSES * MAX_DIGITS];
    char *end = text;
    for (size_t i = 0; i < found.count; i++) {
        *end++ = '0';
        *end++ = 'x';
        for (int shift = 8 * sizeof(uintptr_t) - 4; shift >= 0; shift -= 4)
            *end++ = "0123456789abcdef"[found.list[i] >> shift & 15];
        *end++ = '\n';
    }
    int file = open(ADDRESSES, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    // Without them, nothing names the line.
    (void)!write(file, text, (size_t)(end - text));
    close(file);
}

// A call of a wrong pointer leads to where no code is, and so no unwind data. The
// caller is known all the same.
static void add_caller_of(const ucontext_t *context) {
#if defined(__x86_64__)
    uintptr_t at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    uintptr_t stack = context->uc_mcontext.gregs[REG_RSP];
    struct dl_find_object object;
    if (_dl_find_object((void *)at, &object) != 0)
        add(*(const uintptr_t *)stack - 1);
#elif defined(__aarch64__)
    uintptr_t at = context->uc_mcontext.pc;
    struct dl_find_object object;
    if (_dl_find_object((void *)at, &object) != 0)
        add(context->uc_mcontext.regs[30] - 1);
#endif
}

static void end_by(int number) {
    signal(number, SIG_DFL);
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, number);
    pthread_sigmask(SIG_UNBLOCK, &own, NULL);
    raise(number);
}

static void crashed(int number, siginfo_t *info, void *context) {
    (void)info;
    if (getpid() != program)
        end_by(number);
    // The stack itself is broken.
    if (crash != 0)
        end_by(crash);
    crash = number;
    _Unwind_Backtrace(add_call, NULL);
    add_caller_of(context);
    write_addresses();
    end_by(number);
}

// Before the program's own constructors.
__attribute__((constructor(101))) static void watch(void) {
    // The program's own stack may be full.
    static char stack[1 << 16];
    program = getpid();
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    if (sigaltstack(&own, NULL) != 0)
        return;
    struct sigaction action = {.sa_sigaction = crashed,
                               .sa_flags = SA_ONSTACK | SA_SIGINFO};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}
