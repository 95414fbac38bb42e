// Notes the results of the submission's statements as data: everything that the tables that
// the client draws cannot say, such as NULL beside the text 'NULL'.
#ifndef RESULTS_H
#define RESULTS_H

// Opens the display that the results are written to when the client exits. To be
// called while the client can still open files for writing.
void results_open(void);

// From now on results are noted. No statement is under way.
void results_begin(void);

#endif
