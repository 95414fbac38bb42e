// The end of the interpreter: it takes longer than a small program, to destroy
// what cannot tell. See ending.h.

// gc.freeze() and gc.unfreeze() without their module, and the collector's lists.
#define Py_BUILD_CORE
#include <Python.h>

#include <internal/pycore_gc.h>
#include <internal/pycore_interp.h>

#include "ending.h"

static PyObject *first_stdout;
static PyObject *first_stderr;

void begin_program(void) {
    first_stdout = Py_NewRef(PySys_GetObject("stdout"));
    first_stderr = Py_NewRef(PySys_GetObject("stderr"));
    _PyGC_Freeze(PyInterpreterState_Get());
}

// Whether the end of an object, or of what it alone refers to, runs no code. A
// module may have an end of its own, threads, or functions to call at exit.
// Classes, files and extensions' objects are, or have, types on the heap;
// generators are finalized, and weak references may have callbacks.
static bool ends_silently(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)
           && type->tp_finalize == NULL && type->tp_del == NULL
           && !PyModule_Check(object) && !PyType_Check(object)
           && !PyWeakref_Check(object);
}

// Whether all objects of the program end so. There may be millions.
static bool all_end_silently(PyInterpreterState *interpreter) {
    for (int i = 0; i < NUM_GENERATIONS; i++) {
        PyGC_Head *head = &interpreter->gc.generations[i].head;
        PyGC_Head *next = _PyGCHead_NEXT(head);
        for (; next != head; next = _PyGCHead_NEXT(next)) {
            if (!ends_silently(_Py_FROM_GC(next)))
                return false;
        }
    }
    return true;
}

static bool is_flushed(const char *name, PyObject *first) {
    if (PySys_GetObject(name) != first)
        return false;
    PyObject *result = PyObject_CallMethod(first, "flush", NULL);
    PyErr_Clear();
    Py_XDECREF(result);
    return result != NULL;
}

bool nothing_is_left(void) {
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    // Hooks of sys.addaudithook() are called at the end.
    if (interpreter->audit_hooks == NULL && all_end_silently(interpreter)
        && is_flushed("stdout", first_stdout)
        && is_flushed("stderr", first_stderr))
        return true;
    Py_CLEAR(first_stdout);
    Py_CLEAR(first_stderr);
    _PyGC_Unfreeze(interpreter);
    return false;
}
