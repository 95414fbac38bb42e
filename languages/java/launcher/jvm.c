// Starts a JVM that is sized to the box and says nothing of its own.

#include "jvm.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "gate.h"

// Removed from the environment that the program sees.
#define MEMORY_VARIABLE "BOX_MEMORY_MIB"
#define DEFAULT_MEMORY_MIB 512
// The compiler's threads, the common pool and the carriers of virtual threads
// grow with this number, and all of them count against the box's limit.
#define MAX_PROCESSORS 4
#define MAX_OPTIONS 32
#define MAX_OPTION_BYTES 256

// Replaced by the image's build, which makes the cache.
#ifndef CACHE_OPTION
#define CACHE_OPTION "-XX:AOTCache=%s"
#endif

struct options {
    JavaVMOption list[MAX_OPTIONS];
    char texts[MAX_OPTIONS][MAX_OPTION_BYTES];
    int count;
};

struct task {
    const struct jvm *jvm;
    struct options options;
    int status;
};

static const char *const common_options[] = {
    // The collector with the fewest threads and the least memory of its own.
    "-XX:+UseSerialGC",
    // A cache that is not moved is neither patched nor copied.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:ArchiveRelocationMode=0",
    // Messages of the JVM itself would go to stdout: its warnings, and a report
    // of its own crash, for which the signal speaks.
    "-Xlog:disable",
    "-XX:-PrintWarnings",
    "-XX:+SuppressFatalErrorMessage",
    "-XX:-UsePerfData",
    // The heap is sized here; the box shows no files of its control group.
    "-XX:-UseContainerSupport",
    NULL,
};

static void fail(const char *what) {
    fprintf(stderr, "cannot %s\n", what);
    exit(EXIT_FAILURE);
}

static void add(struct options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct options *options, const char *format, ...) {
    if (options->count == MAX_OPTIONS)
        fail("hold so many options");
    char *text = options->texts[options->count];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, MAX_OPTION_BYTES, format, arguments);
    va_end(arguments);
    if (length >= MAX_OPTION_BYTES)
        fail("hold so long an option");
    options->list[options->count++].optionString = text;
}

static void add_memory(struct options *options) {
    const char *text = getenv(MEMORY_VARIABLE);
    long box = text == NULL ? 0 : strtol(text, NULL, 10);
    if (box <= 0)
        box = DEFAULT_MEMORY_MIB;
    unsetenv(MEMORY_VARIABLE);
    // The rest holds the JVM itself, compiled code, stacks and files, so that
    // a full heap is an OutOfMemoryError rather than the end of the box.
    add(options, "-Xmx%ldm", box * 3 / 4);
    add(options, "-Xms%ldm", box / 10);
    add(options, "-XX:MaxDirectMemorySize=%ldm", box / 8);
}

static void add_processors(struct options *options) {
    cpu_set_t set;
    // Fails if the machine has more processors than the set has bits.
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                            : MAX_PROCESSORS;
    if (count > MAX_PROCESSORS)
        count = MAX_PROCESSORS;
    add(options, "-XX:ActiveProcessorCount=%d", count);
}

static void add_all(struct options *options, const struct jvm *jvm) {
    add(options, "-Djava.class.path=%s", jvm->class_path);
    add(options, CACHE_OPTION, jvm->cache);
    add_memory(options);
    add_processors(options);
    for (const char *const *option = common_options; *option; option++)
        add(options, "%s", *option);
    for (const char *const *option = jvm->options; *option; option++)
        add(options, "%s", *option);
}

static void *run(void *argument) {
    struct task *task = argument;
    JavaVMInitArgs arguments = {
        .version = JNI_VERSION_10,
        .nOptions = task->options.count,
        .options = task->options.list,
    };
    JavaVM *machine;
    JNIEnv *env;
    if (JNI_CreateJavaVM(&machine, (void **)&env, &arguments) != JNI_OK)
        fail("start a JVM");
    task->status = EXIT_FAILURE;
    if (task->jvm->prepare(env))
        task->status = task->jvm->submit(env, pass_gate());
    if ((*env)->ExceptionCheck(env))
        task->status = EXIT_FAILURE;
    // Hands a pending exception to the thread's handler, which prints it.
    (*machine)->DetachCurrentThread(machine);
    (*machine)->DestroyJavaVM(machine);
    return NULL;
}

int run_jvm(const struct jvm *jvm) {
    static struct task task;
    keep_gate();
    task.jvm = jvm;
    add_all(&task.options, jvm);
    // The first thread's stack is the kernel's, and grows as it likes; the JVM
    // finds the end of a stack, and so a StackOverflowError, on others only.
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, jvm->stack) != 0
        || pthread_create(&thread, &attributes, run, &task) != 0
        || pthread_join(thread, NULL) != 0)
        fail("start a thread");
    return task.status;
}
