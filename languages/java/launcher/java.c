// Compiles a Java submission, or runs one that was compiled, as `javac` and
// `java` would, with no frame or message of its own.
//
// usage: java compile
//        java run
//
// The entry file comes through the gate. Runs in the folder of the submission.
// The classes, and the name of the class to start, go to /artifacts.
//
// Each is a pair: prepare_*() brings its JVM to the point where only the
// submission is missing; submit_*() compiles it, or runs it.

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"
#include "jvm.h"

#define COMPILER "sandpiper/Compiler"
// The class with which `java` itself finds and checks a main class.
#define HELPER "sun/launcher/LauncherHelper"
#define HELPER_MODE_CLASS 1
// Written by the compiler: a length of two bytes and the name in the JVM's own
// form of UTF-8.
#define MAIN_CLASS "/artifacts/.main-class"

// Resources are found where they were submitted. Replaced by the image's build,
// which makes the cache.
#ifndef PROGRAM_CLASS_PATH
#define PROGRAM_CLASS_PATH "/artifacts:."
#endif

// javac descends as deep as expressions nest.
#define COMPILER_STACK (16 << 20)
// The stack that `java` gives its main thread.
#define PROGRAM_STACK (1 << 20)

static struct {
    jclass class;
    jmethodID practise, submit;
} compiler;

static struct {
    jclass helper;
    jmethodID load;
    jfieldID is_static, no_arguments;
    jclass string;
    jmethodID decode;
    jobjectArray arguments;
} program;

static bool prepare_compiler(JNIEnv *env) {
    compiler.class = (*env)->FindClass(env, COMPILER);
    if (compiler.class == NULL)
        return false;
    // Initialises the class, and with it javac and its file manager.
    compiler.practise =
        (*env)->GetStaticMethodID(env, compiler.class, "practise", "(I)Z");
    compiler.submit =
        (*env)->GetStaticMethodID(env, compiler.class, "submit", "([BZ)I");
    bool is_more = !(*env)->ExceptionCheck(env);
    for (int step = 0; is_more && !gate_is_open(); step++)
        is_more = (*env)->CallStaticBooleanMethod(env, compiler.class,
                                                  compiler.practise, step);
    return !(*env)->ExceptionCheck(env);
}

static int submit_compiler(JNIEnv *env, char **arguments) {
    const char *entry = arguments[0];
    jsize length = (jsize)strlen(entry);
    jbyteArray bytes = (*env)->NewByteArray(env, length);
    if (bytes == NULL)
        return EXIT_FAILURE;
    (*env)->SetByteArrayRegion(env, bytes, 0, length, (const jbyte *)entry);
    return (*env)->CallStaticIntMethod(env, compiler.class, compiler.submit,
                                       bytes, arguments[1] != NULL);
}

static bool prepare_program(JNIEnv *env) {
    program.helper = (*env)->FindClass(env, HELPER);
    program.string = (*env)->FindClass(env, "java/lang/String");
    if (program.helper == NULL || program.string == NULL)
        return false;
    program.decode = (*env)->GetMethodID(env, program.string, "<init>",
                                         "([BLjava/lang/String;)V");
    program.load = (*env)->GetStaticMethodID(
        env, program.helper, "checkAndLoadMain",
        "(ZILjava/lang/String;)Ljava/lang/Class;");
    program.is_static =
        (*env)->GetStaticFieldID(env, program.helper, "isStaticMain", "Z");
    program.no_arguments =
        (*env)->GetStaticFieldID(env, program.helper, "noArgMain", "Z");
    program.arguments = (*env)->NewObjectArray(env, 0, program.string, NULL);
    return !(*env)->ExceptionCheck(env);
}

static jstring main_class_name(JNIEnv *env) {
    unsigned char length[2];
    static char name[UINT16_MAX + 1];
    FILE *file = fopen(MAIN_CLASS, "rb");
    if (file == NULL || fread(length, 1, 2, file) != 2
        || fread(name, 1, sizeof name - 1, file)
               != length[0] * 256u + length[1]) {
        fputs("cannot tell what to run\n", stderr);
        exit(EXIT_FAILURE);
    }
    fclose(file);
    return (*env)->NewStringUTF(env, name);
}

// Calls the main method that the helper has found, of the four kinds there
// are. An exception stays pending.
static void call_main(JNIEnv *env, jclass main_class) {
    bool is_static = (*env)->GetStaticBooleanField(env, program.helper,
                                                   program.is_static);
    bool no_arguments = (*env)->GetStaticBooleanField(env, program.helper,
                                                      program.no_arguments);
    const char *type = no_arguments ? "()V" : "([Ljava/lang/String;)V";
    jmethodID method =
        is_static ? (*env)->GetStaticMethodID(env, main_class, "main", type)
                  : (*env)->GetMethodID(env, main_class, "main", type);
    if (method == NULL)
        return;
    if (is_static) {
        (*env)->CallStaticVoidMethod(env, main_class, method,
                                     program.arguments);
        return;
    }
    jmethodID constructor =
        (*env)->GetMethodID(env, main_class, "<init>", "()V");
    if (constructor == NULL)
        return;
    jobject object = (*env)->NewObject(env, main_class, constructor);
    if (object != NULL)
        (*env)->CallVoidMethod(env, object, method, program.arguments);
}

// Makes the array for the main method. NewStringUTF would read its own form of
// UTF-8. An exception stays pending.
static void set_arguments(JNIEnv *env, char **texts) {
    jsize count = 0;
    while (texts[count] != NULL)
        count++;
    if (count == 0)
        return;
    program.arguments =
        (*env)->NewObjectArray(env, count, program.string, NULL);
    jstring charset = (*env)->NewStringUTF(env, "UTF-8");
    for (jsize at = 0; at < count && !(*env)->ExceptionCheck(env); at++) {
        jsize length = (jsize)strlen(texts[at]);
        jbyteArray bytes = (*env)->NewByteArray(env, length);
        if (bytes == NULL)
            return;
        (*env)->SetByteArrayRegion(env, bytes, 0, length,
                                   (const jbyte *)texts[at]);
        jobject text = (*env)->NewObject(env, program.string, program.decode,
                                         bytes, charset);
        if (text != NULL)
            (*env)->SetObjectArrayElement(env, program.arguments, at, text);
        (*env)->DeleteLocalRef(env, bytes);
        (*env)->DeleteLocalRef(env, text);
    }
}

static int submit_program(JNIEnv *env, char **arguments) {
    set_arguments(env, arguments + 1);
    if ((*env)->ExceptionCheck(env))
        return EXIT_FAILURE;
    jstring name = main_class_name(env);
    if (name == NULL)
        return EXIT_FAILURE;
    // Prints what is wrong with the class, and exits, if anything is.
    jclass main_class = (*env)->CallStaticObjectMethod(
        env, program.helper, program.load, JNI_TRUE, HELPER_MODE_CLASS, name);
    if (main_class != NULL)
        call_main(env, main_class);
    return EXIT_SUCCESS;
}

static const struct jvm compiler_jvm = {
    .class_path = "/opt/sandpiper/compiler.jar",
    .cache = "/opt/sandpiper/compiler.aot",
    .stack = COMPILER_STACK,
    // It ends before the better compiler's code would pay.
    .options = (const char *const[]){"-XX:TieredStopAtLevel=1", NULL},
    .prepare = prepare_compiler,
    .submit = submit_compiler,
};

static const struct jvm program_jvm = {
    .class_path = PROGRAM_CLASS_PATH,
    .cache = "/opt/sandpiper/program.aot",
    .stack = PROGRAM_STACK,
    // A wrong assertion of a learner's is to be seen. The language is English: a
    // country gives it a currency.
    .options = (const char *const[]){"-enableassertions", "-Duser.country=US",
                                     NULL},
    .prepare = prepare_program,
    .submit = submit_program,
};

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "compile") == 0)
        return run_jvm(&compiler_jvm);
    if (argc == 2 && strcmp(argv[1], "run") == 0)
        return run_jvm(&program_jvm);
    fputs("usage: java compile\n       java run\n", stderr);
    return 2;
}
