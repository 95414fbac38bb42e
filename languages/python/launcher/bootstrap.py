# Makes the imports of a submission compile under the names it was submitted
# with. Runs before the submission, in a namespace of its own; frames of this
# code are left out of tracebacks, as importlib's are.
import sys
import _frozen_importlib_external as external


class SourceFileLoader(external.SourceFileLoader):
    """Loads a submitted module."""

    def source_to_code(self, data, path, *, _optimize=-1):
        return external._bootstrap._call_with_frames_removed(
            compile, data, submitted_name(path), "exec", dont_inherit=True,
            optimize=_optimize)


def submitted_name(path, box=external._os.getcwd() + "/"):
    return path.removeprefix(box)


def find_in_box(path, box=external._os.getcwd()):
    full = external._path_abspath(path or ".")
    if full != box and not full.startswith(box + "/"):
        raise ImportError("not a folder of the submission")
    return make_finder(path)


extensions, _, bytecode = external._get_supported_file_loaders()
make_finder = external.FileFinder.path_hook(
    extensions, (SourceFileLoader, external.SOURCE_SUFFIXES), bytecode)
sys.path_hooks.insert(0, find_in_box)
sys.stdout.reconfigure(line_buffering=True)
