# Makes the runtime that a self-contained .NET program brings along an installed
# one.
#
# usage: runtime.py PROGRAM.deps.json FOLDER
#
# The program's list of files says which of them are the runtime's. Its host
# wants such a list beside the installed files, too.
import json
import pathlib
import shutil
import sys

FRAMEWORK = "Microsoft.NETCore.App"


def main(listing, folder):
    listing = pathlib.Path(listing)
    content = json.loads(listing.read_text())
    target = content["runtimeTarget"]["name"]
    [(library, parts)] = [
        (name, parts)
        for name, parts in content["targets"][target].items()
        if name.startswith(f"runtimepack.{FRAMEWORK}")
    ]
    version = library.rpartition("/")[2]
    shared = pathlib.Path(folder, "shared", FRAMEWORK, version)
    resolver = pathlib.Path(folder, "host/fxr", version)
    for place in (shared, resolver):
        place.mkdir(parents=True)
    for name in [*parts["runtime"], *parts["native"]]:
        if (listing.parent / name).exists():
            install(listing.parent / name, shared)
    install(listing.parent / "libhostfxr.so", resolver)
    content = {
        "runtimeTarget": {"name": target},
        "targets": {target: {library: parts}},
        "libraries": {
            library: {"type": "package", "serviceable": True, "sha512": ""}
        },
    }
    (shared / f"{FRAMEWORK}.deps.json").write_text(json.dumps(content))


def install(file, folder):
    shutil.copyfile(file, folder / file.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
