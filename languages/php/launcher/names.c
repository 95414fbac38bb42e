// Submitted names: see names.h. A file is compiled under its relative name, and
// what its code can see of an absolute one is put in before that.

#include <main/php.h>

#include <Zend/zend_compile.h>
#include <Zend/zend_language_parser.h>
#include <Zend/zend_stream.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

#define DECLARATION_CHILDREN 5

// With the slash at its end.
static char folder[PATH_MAX];
static size_t folder_length;
static zend_op_array *(*compile_as_before)(zend_file_handle *, int);
static zend_string *(*resolve_as_before)(zend_string *);

// Whether it is a name that compile_submitted() gave, or of a string that such
// a file hands to eval().
static bool is_relative(const zend_string *name) {
    return ZSTR_VAL(name)[0] != '/' && strstr(ZSTR_VAL(name), "://") == NULL;
}

static zend_string *absolute(const zend_string *name) {
    return zend_string_concat2(folder, folder_length, ZSTR_VAL(name),
                               ZSTR_LEN(name));
}

static void put_in(zend_ast **place, zend_string *text) {
    uint32_t line = zend_ast_get_lineno(*place);
    zval value;
    ZVAL_STR(&value, text);
    *place = zend_ast_create_zval_with_lineno(&value, line);
}

// Replaces __FILE__ and __DIR__ by what they are in the absolute name.
static void replace_names(zend_ast **place, void *absolute_name) {
    zend_string *name = absolute_name;
    zend_ast *node = *place;
    if (node == NULL)
        return;
    if (node->kind == ZEND_AST_MAGIC_CONST) {
        if (node->attr == T_FILE) {
            put_in(place, zend_string_copy(name));
        } else if (node->attr == T_DIR) {
            zend_string *text =
                zend_string_init(ZSTR_VAL(name), ZSTR_LEN(name), false);
            ZSTR_LEN(text) = zend_dirname(ZSTR_VAL(text), ZSTR_LEN(text));
            put_in(place, text);
        }
    } else if (node->kind >= ZEND_AST_FUNC_DECL
               && node->kind <= ZEND_AST_PROPERTY_HOOK) {
        zend_ast **children = ((zend_ast_decl *)node)->child;
        for (int i = 0; i < DECLARATION_CHILDREN; i++)
            replace_names(&children[i], name);
    } else if (!zend_ast_is_special(node)) {
        zend_ast_apply(node, replace_names, name);
    }
}

static void replace_names_in_file(zend_ast *tree) {
    zend_string *compiled = zend_get_compiled_filename();
    if (!is_relative(compiled))
        return;
    zend_string *name = absolute(compiled);
    replace_names(&tree, name);
    zend_string_release(name);
}

static zend_op_array *compile_submitted(zend_file_handle *file, int type) {
    char *text;
    size_t length;
    // Opens the file, which gives its absolute name.
    if (zend_stream_fixup(file, &text, &length) == FAILURE) {
        if (EG(exception) == NULL)
            zend_message_dispatcher(type == ZEND_REQUIRE
                                        ? ZMSG_FAILED_REQUIRE_FOPEN
                                        : ZMSG_FAILED_INCLUDE_FOPEN,
                                    ZSTR_VAL(file->filename));
        return NULL;
    }
    zend_string *opened = file->opened_path;
    if (opened == NULL || strncmp(ZSTR_VAL(opened), folder, folder_length) != 0)
        return compile_as_before(file, type);
    // Code holds no reference to its file's name: interned, it stays until the
    // request ends.
    file->opened_path = zend_new_interned_string(
        zend_string_init(ZSTR_VAL(opened) + folder_length,
                         ZSTR_LEN(opened) - folder_length, false));
    zend_op_array *code = compile_as_before(file, type);
    // The path that include_once compares.
    file->opened_path = opened;
    return code;
}

// PHP looks for an included file beside the including one by the latter's name,
// which after chdir() leads nowhere when it is relative.
static zend_string *resolve_submitted(zend_string *name) {
    zend_string *found = resolve_as_before(name);
    zend_string *includer = found == NULL && zend_is_executing()
                                ? zend_get_executed_filename_ex()
                                : NULL;
    if (includer == NULL || !is_relative(includer) || !is_relative(name))
        return found;
    const char *slash = strrchr(ZSTR_VAL(includer), '/');
    size_t length = slash == NULL ? 0 : slash + 1 - ZSTR_VAL(includer);
    zend_string *beside =
        zend_string_concat3(folder, folder_length, ZSTR_VAL(includer), length,
                            ZSTR_VAL(name), ZSTR_LEN(name));
    found = resolve_as_before(beside);
    zend_string_release(beside);
    return found;
}

void use_submitted_names(void) {
    compile_as_before = zend_compile_file;
    zend_compile_file = compile_submitted;
    resolve_as_before = zend_resolve_path;
    zend_resolve_path = resolve_submitted;
    zend_ast_process = replace_names_in_file;
}

void set_submission_folder(void) {
    if (getcwd(folder, sizeof folder - 1) == NULL) {
        perror("cannot tell the working directory");
        exit(EXIT_FAILURE);
    }
    strcat(folder, "/");
    folder_length = strlen(folder);
}
