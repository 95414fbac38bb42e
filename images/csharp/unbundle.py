# Takes files out of a .NET program that was published as a single file.
#
# usage: unbundle.py PROGRAM FOLDER NAME...
#
# In the program stands a signature; the eight bytes before it are the offset of
# a header, which lists the files.
import hashlib
import io
import pathlib
import struct
import sys

SIGNATURE = hashlib.sha256(b".net core bundle\n").digest()
# The format of .NET 6 and later.
FORMAT = 6


def main(program, folder, *names):
    data = pathlib.Path(program).read_bytes()
    files = dict(entries(data))
    for name in names:
        offset, size = files[name]
        pathlib.Path(folder, name).write_bytes(data[offset : offset + size])


def entries(data):
    """Yields the path of each file, and where its bytes are."""
    (header,) = struct.unpack_from("<q", data, data.index(SIGNATURE) - 8)
    stream = io.BytesIO(data)
    stream.seek(header)
    major, _, count = read(stream, "<iii")
    if major != FORMAT:
        sys.exit(f"the program has format {major}, not {FORMAT}")
    text(stream)
    # Where two files of settings are, and flags.
    read(stream, "<qqqqQ")
    for _ in range(count):
        offset, size, compressed, _ = read(stream, "<qqqB")
        name = text(stream)
        if compressed == 0:
            yield name, (offset, size)


def read(stream, layout):
    return struct.unpack(layout, stream.read(struct.calcsize(layout)))


def text(stream):
    """A string as .NET writes it: first its length, in groups of seven bits."""
    length = shift = 0
    while True:
        (byte,) = stream.read(1)
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return stream.read(length).decode()


if __name__ == "__main__":
    main(*sys.argv[1:])
