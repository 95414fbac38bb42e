// Runs a Python submission as `python3 ENTRY` would, but for two things:
// tracebacks name the files as they were submitted, and stdout is
// line-buffered, so that complete lines are there when the run is ended.
//
// Runs in the folder of the submission. prepare() brings the interpreter to
// the point where only the submission is missing; submit() runs it.

#include <Python.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bootstrap.h"
#include "ending.h"
#include "gate.h"

#define EXECUTABLE L"/usr/bin/python3"
// CPython leaves frames of this file out of the tracebacks of failed imports.
#define HIDDEN_FILE "<frozen importlib._bootstrap_external>"
// The exit status of an interpreter that could not flush its output.
#define EXIT_NOT_FLUSHED 120

static void fail(PyStatus status) {
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
}

// Ends the process with the pending exception, which is no fault of the
// submission.
static void fail_python(void) {
    PyErr_Print();
    exit(EXIT_FAILURE);
}

static PyObject *checked(PyObject *object) {
    if (object == NULL)
        fail_python();
    return object;
}

static void set(PyObject *dictionary, const char *name, PyObject *value) {
    if (PyDict_SetItemString(dictionary, name, checked(value)) != 0)
        fail_python();
    Py_DECREF(value);
}

// Runs our own Python code in a namespace that looks like importlib's.
static void bootstrap(void) {
    PyObject *code = checked(
        Py_CompileString(bootstrap_source, HIDDEN_FILE, Py_file_input));
    PyObject *names = checked(PyDict_New());
    set(names, "__name__", PyUnicode_FromString("_frozen_importlib_external"));
    set(names, "__builtins__", Py_NewRef(PyEval_GetBuiltins()));
    Py_DECREF(checked(PyEval_EvalCode(code, names, names)));
    Py_DECREF(code);
    Py_DECREF(names);
}

// Of the main module, which has its path when there is one.
static PyObject *loader;

static void make_loader(void) {
    PyObject *importlib =
        checked(PyImport_ImportModule("_frozen_importlib_external"));
    loader = checked(PyObject_CallMethod(importlib, "SourceFileLoader", "ss",
                                         "__main__", ""));
    Py_DECREF(importlib);
}

static void prepare(void) {
    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.parse_argv = 0;
    // It is in the home folder, which is the submission's: its files would run
    // before the program.
    config.user_site_directory = 0;
    // The submission's folder stays as it was submitted.
    config.write_bytecode = 0;
    // Subprocesses and multiprocessing start the real interpreter.
    fail(PyConfig_SetString(&config, &config.program_name, EXECUTABLE));
    fail(PyConfig_SetString(&config, &config.executable, EXECUTABLE));
    fail(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);
    bootstrap();
    make_loader();
    begin_program();
}

static PyObject *strings(char **texts) {
    PyObject *list = checked(PyList_New(0));
    for (; *texts != NULL; texts++)
        if (PyList_Append(list, checked(PyUnicode_DecodeFSDefault(*texts)))
            != 0)
            fail_python();
    return list;
}

// Of the library, declared in a header of its own sources alone.
extern const PyConfig *_Py_GetConfig(void);

// sys.argv, sys.orig_argv and sys.path[0] as the command line sets them.
static void set_arguments(char **arguments, const char *folder) {
    PyObject *original = strings(arguments);
    if (PyList_Insert(original, 0, checked(PyUnicode_FromString("python3")))
            != 0
        || PySys_SetObject("argv", strings(arguments)) != 0
        || PySys_SetObject("orig_argv", original) != 0
        || PyList_Insert(PySys_GetObject("path"), 0,
                         checked(PyUnicode_DecodeFSDefault(folder)))
               != 0)
        fail_python();
    // Other interpreters of the program put it into their own sys.path.
    PyConfig *config = (PyConfig *)_Py_GetConfig();
    config->sys_path_0 = Py_DecodeLocale(folder, NULL);
}

// The names that `python3 ENTRY` puts into the main module.
static PyObject *main_names(const char *path) {
    PyObject *names = PyModule_GetDict(checked(PyImport_AddModule("__main__")));
    PyObject *file = checked(PyUnicode_DecodeFSDefault(path));
    if (PyObject_SetAttrString(loader, "path", file) != 0)
        fail_python();
    set(names, "__loader__", loader);
    set(names, "__file__", file);
    set(names, "__cached__", Py_NewRef(Py_None));
    return names;
}

// Runs the entry file under its submitted name; NULL with an exception set when
// it does not compile, or ends with one.
static PyObject *run(const char *entry, const char *path, PyObject *names) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, entry);
        return NULL;
    }
    return PyRun_FileEx(file, entry, Py_file_input, names, names, true);
}

// Ends as the interpreter does after an interrupt that nobody caught: its
// parent sees the signal.
static void end_by_interrupt(void) {
    signal(SIGINT, SIG_DFL);
    kill(getpid(), SIGINT);
}

static int submit(char **arguments) {
    const char *entry = arguments[0];
    char folder[PATH_MAX], path[PATH_MAX * 2];
    if (getcwd(folder, sizeof folder) == NULL) {
        perror("cannot tell the working directory");
        return EXIT_FAILURE;
    }
    snprintf(path, sizeof path, "%s/%s", folder, entry);
    PyObject *names = main_names(path);
    // A script's own folder is where its imports are looked for.
    char *slash = strrchr(path, '/');
    *slash = '\0';
    set_arguments(arguments, path);
    *slash = '/';

    int status = EXIT_SUCCESS;
    bool interrupted = false;
    PyObject *result = run(entry, path, names);
    if (result == NULL) {
        status = EXIT_FAILURE;
        interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
        // Ends the process on SystemExit.
        PyErr_Print();
    }
    Py_XDECREF(result);
    if (!interrupted && nothing_is_left())
        _exit(status);
    if (Py_FinalizeEx() < 0)
        status = EXIT_NOT_FLUSHED;
    if (interrupted)
        end_by_interrupt();
    return status;
}

int main(void) {
    keep_gate();
    prepare();
    return submit(pass_gate());
}
