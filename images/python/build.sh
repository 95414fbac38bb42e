# Builds the launcher of Python inside the image. It holds the interpreter, as
# Debian's own python3 does: the shared library runs loops at two thirds of
# that speed. Modules that are loaded later call functions that nothing in it
# does: all of the archive is linked.
. ./locales.sh
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

gcc -O2 -s -Wall -Wextra -Werror -shared -fPIC nss.c \
    -o "/usr/lib/$(gcc -print-multiarch)/libnss_sandpiper.so.2"
sed -i 's/^hosts:.*/hosts: files sandpiper/' /etc/nsswitch.conf

libraries=/usr/lib/python3/dist-packages

# The colors of Tk, by lower-case names without spaces. They are those of X11,
# but for the names that Tk takes from the web.
python3 - >"$libraries/sandpiper_colors.py" <<'EOF'
with open("/etc/X11/rgb.txt") as file:
    lines = [line.split(maxsplit=3) for line in file if line[0] != "!"]
colors = {
    name.strip().lower().replace(" ", ""): "#%02x%02x%02x" % (*map(int, rgb),)
    for *rgb, name in lines
}
colors |= {
    "aqua": "#00ffff", "crimson": "#dc143c", "fuchsia": "#ff00ff",
    "gray": "#808080", "green": "#008000", "grey": "#808080",
    "indigo": "#4b0082", "lime": "#00ff00", "maroon": "#800000",
    "olive": "#808000", "purple": "#800080", "silver": "#c0c0c0",
    "teal": "#008080",
}
print(f"COLORS = {colors!r}")
EOF
# Debian's tkinter needs Tk, which is left out.
rm -r /usr/lib/python3.13/tkinter
cp tkinter.py sandpiper_display.py sandpiper_plots.py sandpiper_turtle.py \
    "$libraries"
cat pil_viewer.py >>"$libraries/PIL/ImageShow.py"
echo 'backend: module://sandpiper_plots' >>/etc/matplotlibrc

# Matplotlib looks for fonts when it finds no list of them. The list is in the
# image, because all writable folders of a box are new.
fonts=/usr/share/matplotlib
sed -i "s|mpl.get_cachedir(), f\"fontlist-v|\"$fonts\", f\"fontlist-v|" \
    "$libraries/matplotlib/font_manager.py"
MPLCONFIGDIR=/build/matplotlib python3 -m matplotlib.font_manager
test -f "$fonts"/fontlist-v*.json
python3 -m compileall -q "$libraries"/tkinter.py "$libraries"/sandpiper_*.py \
    "$libraries/PIL/ImageShow.py" "$libraries/matplotlib/font_manager.py"

# The libraries' own tests are half of their size. NumPy uses a part of its own.
find "$libraries" -depth -type d -name tests \
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
import autopep8, bs4, mpmath, networkx, numpy.testing, openpyxl, pandas.testing
import PIL.ImageShow, requests, scipy.optimize, scipy.stats, sympy.testing
import turtle, yaml
from matplotlib import pyplot
assert numpy.linalg.solve([[2.0]], [4.0]) == 2
pyplot.figure()
EOF
/opt/sandpiper/python 3<entry

# The names that the editor page offers after a dot.
MPLCONFIGDIR=/build/matplotlib PYTHONDONTWRITEBYTECODE=1 \
    python3 members.py >/opt/sandpiper/members.json
