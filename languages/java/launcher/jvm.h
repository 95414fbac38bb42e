// A JVM in this process, and the thread that speaks to it.
#pragma once

#include <jni.h>
#include <stdbool.h>
#include <stddef.h>

// A JVM and what it does. prepare brings it to the point where only the
// submission is missing; submit gets the entry file and the arguments of the
// program behind it, and returns the exit status. Both run on one thread, and
// may leave an exception pending.
struct jvm {
    const char *class_path;
    // Ahead-of-time cache that the image's build made with the same options.
    const char *cache;
    // Of that thread, in bytes.
    size_t stack;
    // Ends with NULL.
    const char *const *options;
    bool (*prepare)(JNIEnv *env);
    int (*submit)(JNIEnv *env, char **arguments);
};

// Starts the JVM, prepares, submits what comes through the gate, and shuts the
// JVM down, which waits for the program's threads. Returns the exit status: 1
// after an exception, which is printed as the JVM prints uncaught ones.
int run_jvm(const struct jvm *jvm);
