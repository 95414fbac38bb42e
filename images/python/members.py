# Writes the names that may follow a dot in Python, for the editor page.
# web/src/editor/members/library.ts describes the file. The results of methods
# are found by calling them: the interpreter does not know their types.
import builtins
import collections
import copy
import datetime
import decimal
import fractions
import importlib
import inspect
import json
import re
import sys
import types
import warnings

# They do something when they are imported, are no part of programs, or need a
# network or a terminal, which no program has.
SKIPPED = {
    "antigravity", "bdb", "curses", "ensurepip", "fcntl", "ftplib", "idlelib", "imaplib", "lib2to3", "mailbox", "nntplib",
    "pdb", "poplib", "posix", "pty", "pydoc_data", "smtplib", "sre_compile", "sre_constants", "sre_parse", "ssl",
    "telnetlib", "termios", "test", "this", "tty", "turtledemo",
}
MORE_MODULES = [
    "collections.abc", "concurrent.futures", "importlib.resources", "matplotlib.pyplot", "numpy", "numpy.linalg",
    "numpy.random", "os.path", "pandas", "PIL.Image", "unittest.mock", "urllib.parse", "urllib.request",
    "xml.etree.ElementTree",
]
# Only these types of packages: all of them would be too many.
MORE_TYPES = {"numpy": ["ndarray"], "pandas": ["DataFrame", "Series"], "PIL.Image": ["Image"]}


class T: ...


class K: ...


class V: ...


ONE, KEY = T(), K()
PAIR = {KEY: V()}
SAMPLES = [
    "a b", b"a b", bytearray(b"a"), 1, 1.5, 1j, True, range(3), [ONE], (ONE, ONE), {ONE}, frozenset([ONE]), PAIR,
    PAIR.keys(), PAIR.values(), PAIR.items(), collections.deque([ONE]), collections.Counter("a"),
    collections.OrderedDict(PAIR), collections.defaultdict(V, PAIR), datetime.datetime(2000, 1, 1),
    datetime.date(2000, 1, 1), datetime.time(1), datetime.timedelta(1), decimal.Decimal(1), fractions.Fraction(1),
    re.match("a", "a"), re.compile("a"),
]
ARGUMENTS = [
    (), (ONE,), (KEY,), ("a",), (b"a",), (0,), ([ONE],), (["a"],), ([b"a"],), ("a", "b"), (b"a", b"b"), (1, 1),
]
PARAMETERS = {
    list: "T", tuple: "T", set: "T", frozenset: "T", collections.deque: "T", dict: "K,V", collections.OrderedDict: "K,V",
    collections.defaultdict: "K,V", type({}.keys()): "T", type({}.values()): "T", type({}.items()): "T",
}
# Results that no sample shows: of functions that change or need something.
RESULTS = {
    "builtins": {
        "ascii": "str", "bin": "str", "chr": "str", "format": "str", "hex": "str", "input": "str", "len": "int",
        "oct": "str", "open": "io.TextIOWrapper", "ord": "int", "repr": "str", "sorted": "list", "dir": "list[str]",
        "divmod": "tuple", "id": "int", "hash": "int", "vars": "dict", "globals": "dict", "locals": "dict",
    },
    "io.TextIOWrapper": {"read": "str", "readline": "str", "readlines": "list[str]", "write": "int", "name": "str"},
    "io.StringIO": {"read": "str", "readline": "str", "readlines": "list[str]", "getvalue": "str"},
    "json": {"dumps": "str"},
    "numpy": dict.fromkeys(["arange", "array", "linspace", "ones", "zeros"], "numpy.ndarray"),
    "pandas": {"read_csv": "pandas.DataFrame"},
    "PIL.Image": {"new": "PIL.Image.Image", "open": "PIL.Image.Image"},
    "os": {"getcwd": "str", "listdir": "list[str]", "getenv": "str"},
    "os.path": dict.fromkeys(["abspath", "basename", "dirname", "join"], "str"),
    "pathlib.Path": {
        "absolute": "pathlib.Path", "joinpath": "pathlib.Path", "name": "str", "parent": "pathlib.Path",
        "read_bytes": "bytes", "read_text": "str", "resolve": "pathlib.Path", "stem": "str", "suffix": "str",
        "with_suffix": "pathlib.Path", "cwd": "pathlib.Path", "home": "pathlib.Path", "open": "io.TextIOWrapper",
    },
    "random": {"randint": "int", "randrange": "int", "random": "float", "uniform": "float", "sample": "list"},
    "re": {
        "compile": "re.Pattern", "findall": "list[str]", "fullmatch": "re.Match", "match": "re.Match",
        "search": "re.Match", "split": "list[str]", "sub": "str",
    },
    "datetime.datetime": {"now": "datetime.datetime", "today": "datetime.datetime", "strptime": "datetime.datetime"},
    "datetime.date": {"today": "datetime.date", "fromisoformat": "datetime.date"},
    "sys": {"stdin": "io.TextIOWrapper", "stdout": "io.TextIOWrapper", "argv": "list[str]", "version": "str"},
    "time": {"time": "float", "perf_counter": "float", "strftime": "str", "ctime": "str"},
}
EACH = {"io.TextIOWrapper": "str", "io.StringIO": "str"}


def public(names):
    return [name for name in names if not name.startswith("_")]


def modules():
    names = public(sys.stdlib_module_names - SKIPPED) + MORE_MODULES
    found = {"builtins": builtins}
    for name in sorted(names):
        try:
            found[name] = importlib.import_module(name)
        except ImportError:
            # A module of another system, or one that was left out.
            continue
    return found


def keys_of(found):
    """The name of each type: that of a built-in one is bare."""
    keys = {type(sample): type(sample).__name__ for sample in SAMPLES}
    # Where a type is at home, before those who import it.
    places = [(name, module, one) for name, module in found.items() for one in names_in(name, module)]
    for at_home in True, False:
        for name, module, one in places:
            value = getattr(module, one, None)
            if not isinstance(value, type) or name in MORE_TYPES and one not in MORE_TYPES[name]:
                continue
            if name.split(".")[0] in ("numpy", "matplotlib") and one not in MORE_TYPES.get(name, ()):
                continue
            bare = value.__module__ == "builtins"
            if bare or not at_home or value.__module__.lstrip("_") == name:
                key = value.__name__ if bare else f"{name}.{one}"
                if value not in keys or keys[value] == value.__name__ and not bare and value in map(type, SAMPLES):
                    keys[value] = key
    return keys


def names_in(name, module):
    own = public(getattr(module, "__all__", None) or dir(module))
    # Without such a list, the modules that it imports are among its names.
    return sorted(one for one in own if not is_foreign(module, name, one))


def is_foreign(module, name, one):
    value = getattr(module, one, None)
    return value is None and one not in dir(module) or isinstance(value, types.ModuleType) and f"{name}.{one}" not in MORE_MODULES


def called(key, kind):
    """The name of a type, with that of its parameters."""
    return f"{key}[{PARAMETERS[kind]}]" if kind in PARAMETERS else key


def name_of(value, keys, owner=None):
    kind = type(value)
    if kind in (T, K, V):
        return kind.__name__
    if value is None or kind not in keys:
        return ""
    if kind is owner:
        return called(keys[kind], kind)
    if PARAMETERS.get(kind) == "T" and value:
        parts = {name_of(part, keys) for part in value}
        return f"{keys[kind]}[{parts.pop()}]" if len(parts) == 1 else keys[kind]
    return keys[kind]


def result(sample, name, keys):
    for arguments in ARGUMENTS:
        try:
            value = getattr(copy.copy(sample), name)
            value = value(*arguments) if callable(value) else value
        except Exception:
            continue
        # Not an argument that comes back, such as a default.
        if value not in arguments or value is ONE:
            found = name_of(value, keys, type(sample))
            if found:
                return found
    return ""


def entry(kind, key, keys):
    # The bases that are listed themselves have the rest.
    bases = [base for base in kind.__bases__ if base in keys and base is not object]
    inherited = {name for base in bases for name in dir(base)}
    sample = next((sample for sample in SAMPLES if type(sample) is kind), None)
    items = []
    for name in public(dir(kind)):
        known = RESULTS.get(key, {}).get(name) or (result(sample, name, keys) if sample is not None else "")
        if name not in inherited or known:
            items.append(item(name, inspect.getattr_static(kind, name, None), known, keys))
    has = {"is": [keys[base] for base in bases], "has": " ".join(items), "own": "*", "each": EACH.get(key)}
    if sample is not None and hasattr(kind, "__iter__"):
        parts = list(sample)
        has["each"] = name_of(parts[0], keys) if parts else None
        if isinstance(sample, dict) and parts:
            has["at"] = name_of(sample[parts[0]], keys)
    return {name: value for name, value in has.items() if value}


def item(name, value, known, keys):
    if isinstance(value, type) and value in keys and not known:
        return f"{name}={keys[value]}"
    called = callable(value) or isinstance(value, (classmethod, staticmethod))
    return f"{name}{'()' if called else ''}{':' + known if known else ''}"


def members_of(name, module, keys):
    known = RESULTS.get(name, {})
    items = []
    for one in names_in(name, module):
        value = getattr(module, one, None)
        if isinstance(value, types.ModuleType):
            items.append(f"{one}={name}.{one}")
        else:
            found = known.get(one) or ("" if callable(value) else name_of(value, keys))
            items.append(item(one, value, found, keys))
    return " ".join(items)


def main():
    warnings.simplefilter("ignore")
    found = modules()
    keys = keys_of(found)
    lists = {name: members_of(name, module, keys) for name, module in found.items()}
    file = {
        "globals": lists.pop("builtins"),
        "modules": lists,
        "types": {called(key, kind): entry(kind, key, keys) for kind, key in keys.items()},
    }
    json.dump(file, sys.stdout, separators=(",", ":"))


main()
