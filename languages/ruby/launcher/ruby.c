// Runs a Ruby submission as `ruby ENTRY ARGUMENTS` would, but for the changes in
// submission.rb.
//
// usage: ruby 3<>GATE
//
// Runs in the folder of the submission. prepare() brings the interpreter to the
// point where only the submission is missing; submit() runs it.

#include <locale.h>
#include <ruby.h>

#include "gate.h"

// Exported, but in no header.
const void *rb_iseqw_to_iseq(VALUE code);

// The module of submission.rb.
static VALUE submission;

static void prepare(void) {
    char *arguments[] = {"ruby", "-r/opt/sandpiper/submission.rb", "/dev/null",
                         NULL};
    void *program = ruby_options(3, arguments);
    int status;
    if (!ruby_executable_node(program, &status))
        exit(ruby_cleanup(status));
    rb_global_variable(&submission);
    submission = rb_const_remove(rb_cObject, rb_intern("Submission"));
}

static VALUE compile(VALUE entry) {
    return rb_funcall(submission, rb_intern("compile"), 1,
                      rb_external_str_new_cstr((const char *)entry));
}

static int submit(char **arguments) {
    int count = 0;
    while (arguments[count] != NULL)
        count++;
    ruby_script(arguments[0]);
    ruby_set_argv(count - 1, arguments + 1);
    int error;
    VALUE code = rb_protect(compile, (VALUE)arguments[0], &error);
    if (error != 0)
        return ruby_cleanup(error);
    // No frame of ours is below those of the program.
    return ruby_run_node((void *)rb_iseqw_to_iseq(code));
}

int main(int argc, char **argv) {
    keep_gate();
    setlocale(LC_CTYPE, "");
    ruby_sysinit(&argc, &argv);
    RUBY_INIT_STACK;
    ruby_init();
    prepare();
    return submit(pass_gate());
}
