// Runs a PHP submission as `php ENTRY` would, but for this: messages go to
// stderr alone, and name the files as they were submitted; readline() shows its
// prompt.
//
// Runs in the folder of the submission. prepare() brings the interpreter to
// the point where only the submission is missing; submit() runs it.

#include <main/php.h>

#include <main/SAPI.h>
#include <main/php_ini.h>
#include <main/php_main.h>
#include <main/php_variables.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gate.h"
#include "names.h"

// The name of this process for PHP: messages go to stderr, and php://stdin is the
// process's own, only in a program of this name.
#define INTERFACE "cli"
#define EXECUTABLE "/usr/bin/php"
#define MEMORY_VARIABLE "BOX_MEMORY_MIB"

// Settings of a learner's machine: every message, and as plain text.
static const char settings[] =
    "display_errors=stderr\n"
    "html_errors=0\n"
    "log_errors=0\n"
    "implicit_flush=1\n"
    "output_buffering=0\n"
    "max_execution_time=0\n"
    "max_input_time=-1\n"
    "register_argc_argv=1\n"
    "short_open_tag=0\n"
    "include_path=.\n"
    "session.save_path=/tmp\n"
    // The extensions that Debian turns on (build.sh).
#include "extensions.h"
    ;

static size_t write_output(const char *text, size_t length) {
    size_t written = 0;
    while (written < length) {
        ssize_t count =
            write(STDOUT_FILENO, text + written, length - written);
        if (count >= 0)
            written += (size_t)count;
        else if (errno != EINTR && errno != EAGAIN)
            php_handle_aborted_connection();
    }
    return written;
}

// error_log() of a program.
static void write_log(const char *message, int syslog_type) {
    (void)syslog_type;
    fprintf(stderr, "%s\n", message);
}

static void register_variables(zval *variables) {
    char *entry = SG(request_info).path_translated;
    php_import_environment_variables(variables);
    php_register_variable("PHP_SELF", entry, variables);
    php_register_variable("SCRIPT_NAME", entry, variables);
    php_register_variable("SCRIPT_FILENAME", entry, variables);
    php_register_variable("PATH_TRANSLATED", entry, variables);
    php_register_variable("DOCUMENT_ROOT", "", variables);
}

// There is no HTTP: headers are neither kept nor sent.
static int ignore_header(sapi_header_struct *header, sapi_header_op_enum op,
                         sapi_headers_struct *headers) {
    (void)header, (void)op, (void)headers;
    return 0;
}

static int ignore_headers(sapi_headers_struct *headers) {
    (void)headers;
    return SAPI_HEADER_SENT_SUCCESSFULLY;
}

static int start(sapi_module_struct *module) {
    return php_module_startup(module, NULL);
}

static sapi_module_struct interface = {
    .name = INTERFACE,
    .pretty_name = "Command Line Interface",
    .startup = start,
    .shutdown = php_module_shutdown_wrapper,
    .ub_write = write_output,
    .sapi_error = php_error,
    .header_handler = ignore_header,
    .send_headers = ignore_headers,
    .register_server_variables = register_variables,
    .log_message = write_log,
    .executable_location = EXECUTABLE,
    .php_ini_ignore = 1,
    .php_ini_ignore_cwd = 1,
    .phpinfo_as_text = 1,
};

// PHP's limit is an eighth below that of the box, so that it is met first: its
// message names the line. The rest is for the interpreter and for files.
static const char *all_settings(void) {
    const char *box = getenv(MEMORY_VARIABLE);
    long limit = box == NULL ? -1 : atol(box) * 7 / 8;
    char *text;
    if (asprintf(&text, "%smemory_limit=%ld%s\n", settings, limit,
                 limit < 0 ? "" : "M")
        < 0)
        abort();
    // The program does not see it.
    unsetenv(MEMORY_VARIABLE);
    return text;
}

static ZEND_INI_MH((*set_display_as_before));

// Many programs begin with ini_set('display_errors', 1), to see messages at
// all. They see them where they are anyway, and not in their output as well.
static ZEND_INI_MH(set_display) {
    zend_result result = set_display_as_before(entry, new_value, mh_arg1,
                                               mh_arg2, mh_arg3, stage);
    if (PG(display_errors) == PHP_DISPLAY_ERRORS_STDOUT)
        PG(display_errors) = PHP_DISPLAY_ERRORS_STDERR;
    return result;
}

static void keep_messages_apart(void) {
    zend_ini_entry *display = zend_hash_str_find_ptr(
        EG(ini_directives), ZEND_STRL("display_errors"));
    set_display_as_before = display->on_modify;
    display->on_modify = set_display;
}

// readline() as at a terminal, where it shows its prompt. PHP's own one shows
// none to a pipe, and reads past what fgets(STDIN) would read next.
static PHP_FUNCTION(read_line) {
    char *prompt = NULL;
    size_t prompt_length = 0;
    ZEND_PARSE_PARAMETERS_START(0, 1)
        Z_PARAM_OPTIONAL
        Z_PARAM_STRING_OR_NULL(prompt, prompt_length)
    ZEND_PARSE_PARAMETERS_END();
    write_output(prompt, prompt_length);
    zval *constant = zend_get_constant_str(ZEND_STRL("STDIN"));
    php_stream *stream = NULL;
    if (constant != NULL)
        php_stream_from_zval_no_verify(stream, constant);
    size_t length = 0;
    char *line = stream == NULL
                     ? NULL
                     : php_stream_get_line(stream, NULL, 0, &length);
    if (line == NULL)
        RETURN_FALSE;
    if (length > 0 && line[length - 1] == '\n')
        length--;
    RETVAL_STRINGL(line, length);
    efree(line);
}

static void replace_readline(void) {
    zend_internal_function *function =
        zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("readline"));
    function->handler = PHP_FN(read_line);
}

static void prepare(void) {
    // A closed pipe is an error of the write.
    signal(SIGPIPE, SIG_IGN);
    zend_signal_startup();
    sapi_startup(&interface);
    // sapi_startup() empties it.
    interface.ini_entries = all_settings();
    if (interface.startup(&interface) == FAILURE)
        exit(EXIT_FAILURE);
    keep_messages_apart();
    replace_readline();
    use_submitted_names();
}

static void set_stream(const char *name, const char *address,
                       const char *mode) {
    php_stream *stream = php_stream_open_wrapper(address, mode, 0, NULL);
    if (stream == NULL)
        return;
    // Destructors may still write to it.
    stream->flags |= PHP_STREAM_FLAG_NO_RSCR_DTOR_CLOSE;
    zend_constant constant;
    php_stream_to_zval(stream, &constant.value);
    ZEND_CONSTANT_SET_FLAGS(&constant, 0, 0);
    constant.name = zend_string_init_interned(name, strlen(name), false);
    zend_register_constant(&constant);
}

static int submit(char **arguments) {
    const char *entry = arguments[0];
    int count = 0;
    while (arguments[count] != NULL)
        count++;
    set_submission_folder();
    FILE *file = fopen(entry, "rb");
    if (file == NULL) {
        perror(entry);
        return EXIT_FAILURE;
    }
    // Programs stay in the working directory, wherever the entry file is.
    SG(options) |= SAPI_OPTION_NO_CHDIR;
    SG(request_info).argc = count;
    SG(request_info).argv = arguments;
    SG(request_info).path_translated = (char *)entry;
    if (php_request_startup() == FAILURE)
        return EXIT_FAILURE;
    CG(skip_shebang) = 1;
    set_stream("STDIN", "php://stdin", "rb");
    set_stream("STDOUT", "php://stdout", "wb");
    set_stream("STDERR", "php://stderr", "wb");

    zend_file_handle script;
    zend_stream_init_fp(&script, file, entry);
    script.primary_script = true;
    php_execute_script(&script);
    zend_destroy_file_handle(&script);
    // Shutdown functions and destructors run here, and may set the status.
    php_request_shutdown(NULL);
    return EG(exit_status);
}

int main(void) {
    keep_gate();
    prepare();
    return submit(pass_gate());
}
