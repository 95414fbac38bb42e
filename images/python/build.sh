# Builds the launcher of Python inside the image. It holds the interpreter, as
# Debian's own python3 does: the shared library runs loops at two thirds of
# that speed. Modules that are loaded later call functions that nothing in it
# does: all of the archive is linked.
{
    echo '// The text of bootstrap.py.'
    echo 'static const char bootstrap_source[] = {'
    od -An -v -tx1 bootstrap.py | sed 's/ \(..\)/0x\1,/g'
    echo '0};'
} >bootstrap.h
python=$(echo /usr/lib/python3.13/config-3.13-*/libpython3.13.a)
gcc -O2 -s -Wall -Wextra -Werror -I/usr/include/python3.13 \
    -o /opt/sandpiper/python python.c ending.c sha2.c \
    -no-pie -Wl,--export-dynamic \
    -Wl,--whole-archive "$python" -Wl,--no-whole-archive \
    -lexpat -lm -lz -l:libmd.a

# The replaced functions must agree with OpenSSL's, whatever the length.
cat >check.py <<'EOF'
import _sha2
import hashlib
for bits in 224, 256, 384, 512:
    ours, reference = getattr(_sha2, f"sha{bits}")(), hashlib.new(f"sha{bits}")
    for length in range(300):
        for state in ours, reference:
            state.update(b"x" * length)
        assert ours.digest() == reference.digest(), (bits, length)
        assert ours.copy().hexdigest() == reference.hexdigest(), (bits, length)
EOF
# A file stands for the gate.
printf check.py >entry
/opt/sandpiper/python 3<entry

# The libraries' own tests are half of their size. NumPy uses a part of its own.
find /usr/lib/python3/dist-packages -depth -type d -name tests \
    -not -path '*/numpy/_core/tests' -exec rm -r {} +
# Each is imported from bytecode that is there and up to date: the image
# cannot be written to later, so a stale file would cost its compilation every
# time.
cat >check.py <<'EOF'
import importlib._bootstrap_external as external
import sys
def compiled(self, data, path, **options):
    sys.exit(f"{path} has no bytecode")
external.SourceLoader.source_to_code = compiled
import mpmath, numpy.testing, pandas.testing, sympy.testing
assert numpy.linalg.solve([[2.0]], [4.0]) == 2
EOF
/opt/sandpiper/python 3<entry
