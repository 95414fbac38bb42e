// Submitted names: PHP's names for the submitted files.
#pragma once

// From here on messages, backtraces and Exception::getFile() name the files in
// the working directory by their paths relative to it. __FILE__, __DIR__ and
// included files stay absolute.
void use_submitted_names(void);

// Sets the submission's folder: the working directory.
void set_submission_folder(void);
