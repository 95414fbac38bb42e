// Hosts the .NET runtime as the dotnet command does, in the two steps of a C#
// submission: `compile` runs our compiler.cs in it, `run` the program.
//
// usage: dotnet compile | run
//
// Runs in the folder of the submission, with the gate. Before it lies the start
// of the runtime and, for `compile`, of the compiler; behind it what was
// submitted. The build script says where things are: RUNTIME, ROSLYN and
// REFERENCES are folders.

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"

#define LAUNCHER "/opt/sandpiper"
#define SAMPLES LAUNCHER "/samples"
#define PROGRAM "/artifacts/Program.dll"
// Names the memory of the box in MiB; the program does not see it.
#define MEMORY "BOX_MEMORY_MIB"
// Kept for what is not the managed heap: the runtime, stacks, files.
#define MEMORY_BESIDE_HEAP 112
// The runtime starts threads by the number of cores; a box has room for 128.
#define MAX_CORES 8
#define MAX_PROPERTIES 16

// Settings that the runtime reads from the environment alone: no debugger's socket in
// /tmp, and no second mapping of all code against attacks on the process.
static const char *const settings[][2] = {
    {"DOTNET_EnableDiagnostics", "0"},
    {"DOTNET_EnableWriteXorExecute", "0"},
};

// The runtime's hosting interface, as coreclrhost.h has it.
typedef int (*initialize_function)(const char *executable, const char *name,
                                   int count, const char *const *keys,
                                   const char *const *values, void **host,
                                   unsigned *domain);
typedef int (*delegate_function)(void *host, unsigned domain,
                                 const char *assembly, const char *type,
                                 const char *method, void **delegate);
typedef int (*execute_function)(void *host, unsigned domain, int count,
                                const char *const *arguments,
                                const char *assembly, unsigned *code);
typedef int (*shutdown_function)(void *host, unsigned domain, int *code);

struct runtime {
    void *library;
    void *host;
    unsigned domain;
};

struct properties {
    const char *keys[MAX_PROPERTIES];
    const char *values[MAX_PROPERTIES];
    int count;
};

static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void check(int result, const char *what) {
    char code[16];
    snprintf(code, sizeof code, "%#x", (unsigned)result);
    if (result < 0)
        fail(what, code);
}

static void *symbol(const struct runtime *runtime, const char *name) {
    void *address = dlsym(runtime->library, name);
    if (address == NULL)
        fail("the runtime lacks a function", dlerror());
    return address;
}

static void add(struct properties *properties, const char *key,
                const char *value) {
    if (properties->count == MAX_PROPERTIES)
        abort();
    properties->keys[properties->count] = key;
    properties->values[properties->count++] = value;
}

// Writes the path of every assembly in the folder, each followed by a colon.
static void list_assemblies(FILE *list, const char *folder) {
    DIR *entries = opendir(folder);
    if (entries == NULL)
        fail(folder, "cannot be read");
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot != NULL && strcmp(dot, ".dll") == 0)
            fprintf(list, "%s/%s:", folder, entry->d_name);
    }
    closedir(entries);
}

// The assemblies that can be loaded by name.
static const char *assemblies(bool compiling) {
    char *text;
    size_t size;
    FILE *list = open_memstream(&text, &size);
    list_assemblies(list, RUNTIME);
    if (compiling) {
        list_assemblies(list, ROSLYN);
        fprintf(list, LAUNCHER "/compiler.dll:");
    }
    fclose(list);
    return text;
}

// The most that the managed heap may take, in bytes; NULL for no limit. A
// program that needs more gets its OutOfMemoryException.
static const char *heap_limit(void) {
    static char bytes[24];
    const char *memory = getenv(MEMORY);
    long long mib = memory == NULL ? 0 : atoll(memory);
    if (mib <= 0)
        return NULL;
    long long heap = mib > 2 * MEMORY_BESIDE_HEAP ? mib - MEMORY_BESIDE_HEAP
                                                  : mib / 2;
    snprintf(bytes, sizeof bytes, "%lld", heap << 20);
    return bytes;
}

static void limit_cores(void) {
    cpu_set_t cores;
    char most[8];
    snprintf(most, sizeof most, "%X", MAX_CORES);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0
        || CPU_COUNT(&cores) > MAX_CORES)
        setenv("DOTNET_PROCESSOR_COUNT", most, 1);
}

static void start(struct runtime *runtime, bool compiling) {
    struct properties properties = {.count = 0};
    add(&properties, "TRUSTED_PLATFORM_ASSEMBLIES", assemblies(compiling));
    add(&properties, "NATIVE_DLL_SEARCH_DIRECTORIES", RUNTIME "/");
    add(&properties, "APP_CONTEXT_BASE_DIRECTORY", "/artifacts/");
    // A collector's thread of its own would have no core of its own.
    add(&properties, "System.GC.Concurrent", "false");
    // Counting calls for it costs more than a short run gets back.
    add(&properties, "System.Runtime.TieredPGO", "false");
    const char *heap = heap_limit();
    if (heap != NULL)
        add(&properties, "System.GC.HeapHardLimit", heap);
    // The compiler says everything in English; the program has all cultures.
    if (compiling)
        add(&properties, "System.Globalization.Invariant", "true");

    unsetenv(MEMORY);
    size_t count = sizeof settings / sizeof *settings;
    for (size_t i = 0; i < count; i++)
        setenv(settings[i][0], settings[i][1], 1);
    // In 64 MiB, in hexadecimal, most sources compile without a collection.
    if (compiling)
        setenv("DOTNET_GCgen0size", "4000000", 1);
    limit_cores();
    initialize_function initialize =
        (initialize_function)symbol(runtime, "coreclr_initialize");
    check(initialize(LAUNCHER "/dotnet", "Program", properties.count,
                     properties.keys, properties.values, &runtime->host,
                     &runtime->domain),
          "the runtime does not start");
}

static void prepare(struct runtime *runtime, bool compiling) {
    runtime->library = dlopen(RUNTIME "/libcoreclr.so", RTLD_NOW);
    if (runtime->library == NULL)
        fail("the runtime cannot be loaded", dlerror());
    start(runtime, compiling);
}

static void *method(const struct runtime *runtime, const char *assembly,
                    const char *type, const char *name) {
    delegate_function create =
        (delegate_function)symbol(runtime, "coreclr_create_delegate");
    void *function;
    check(create(runtime->host, runtime->domain, assembly, type, name,
                 &function),
          "the runtime lacks a method");
    return function;
}

static void *compilers(const struct runtime *runtime, const char *name) {
    return method(runtime, "compiler", "Sandpiper.Compiler", name);
}

static int compile(void) {
    struct runtime runtime;
    prepare(&runtime, true);
    ((void (*)(const char *))compilers(&runtime, "Prepare"))(REFERENCES);
    int (*submit)(const char *entry, int warnings) =
        (int (*)(const char *, int))(uintptr_t)compilers(&runtime, "Submit");
    if (!gate_is_open())
        ((void (*)(const char *))compilers(&runtime, "WarmUp"))(SAMPLES);
    char **arguments = pass_gate();
    return submit(arguments[0], arguments[1] != NULL);
}

// Writes what was held back. The runtime's account of an overflow, all frames
// of the compiler, becomes the compiler's own error, which has no place then.
static int pass_on(int held, int status) {
    static const char overflow[] = "Stack overflow";
    char text[4096] = "";
    ssize_t length = pread(held, text, sizeof overflow - 1, 0);
    if (WIFSIGNALED(status) && length > 0 && strcmp(text, overflow) == 0) {
        fputs("error CS8078: An expression is too long or complex to "
              "compile\n",
              stderr);
        return EXIT_FAILURE;
    }
    lseek(held, 0, SEEK_SET);
    while ((length = read(held, text, sizeof text)) > 0)
        if (write(STDERR_FILENO, text, (size_t)length) < 0)
            break;
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

// Compiles in a process of its own. If a source is so deep that the stack
// overflows, the runtime aborts and writes every frame of it.
static int compile_apart(void) {
    int held = memfd_create("stderr", MFD_CLOEXEC);
    pid_t child = held < 0 ? -1 : fork();
    if (child < 0)
        fail("the compiler does not start", strerror(errno));
    if (child == 0) {
        dup2(held, STDERR_FILENO);
        // The runtime is not shut down: there is nothing that it holds back.
        _exit(compile());
    }
    close(GATE);
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            fail("the compiler is lost", strerror(errno));
    return pass_on(held, status);
}

static int run(void) {
    struct runtime runtime;
    prepare(&runtime, false);
    // Makes Console.Out, half of the time that a short program takes, and
    // writes nothing to a pipe. It is made in any case: the order in which
    // assemblies are loaded is something that a program sees.
    ((void (*)(void))method(&runtime, "System.Console", "System.Console",
                            "ResetColor"))();
    const char **arguments = (const char **)pass_gate() + 1;
    int count = 0;
    while (arguments[count] != NULL)
        count++;
    execute_function execute =
        (execute_function)symbol(&runtime, "coreclr_execute_assembly");
    unsigned status = 0;
    check(execute(runtime.host, runtime.domain, count, arguments, PROGRAM,
                  &status),
          "the program does not start");
    int code = (int)status;
    shutdown_function shutdown =
        (shutdown_function)symbol(&runtime, "coreclr_shutdown_2");
    shutdown(runtime.host, runtime.domain, &code);
    return code != 0 ? code : (int)status;
}

int main(int count, char **arguments) {
    const char *step = count == 2 ? arguments[1] : "";
    bool compiling = strcmp(step, "compile") == 0;
    if (!compiling && strcmp(step, "run") != 0) {
        fprintf(stderr, "usage: dotnet compile | run\n");
        return EXIT_FAILURE;
    }
    keep_gate();
    return compiling ? compile_apart() : run();
}
