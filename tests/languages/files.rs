//! The files of a submission, as its program finds them.

use crate::Case;
use crate::service::{compile, start_python};

#[test]
#[ignore = "needs the images: make test"]
fn every_path_that_is_allowed_fits() {
    // Many more folders than a program may make.
    let deep = |name: usize| format!("{name}/{}x.py", "d/".repeat(500));
    let deep: Vec<_> = (0..60).map(deep).collect();
    let mut files = vec![("main.py", "print('all there')")];
    files.extend(deep.iter().map(|path| (path.as_str(), "")));
    let request = Case::new("python", &files).request();
    compile(&start_python(&[]), &request).prints("all there\n");
}
