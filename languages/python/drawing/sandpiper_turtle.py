# The recording of a turtle's drawing, and its displays: an SVG of the end, and
# beside it, with the same number, JSON that a player can draw:
#
#     {"width": 960, "height": 810,     the window, in pixels
#      "duration": 5230,                milliseconds
#      "truncated": false,              whether the recording ends too early
#      "segments": [...]}               at most 20,000
#
# A segment is a list: its time in milliseconds, a word, and the fields of that
# word. Times do not decrease. The y axis points down.
#
#     view        x, y                  of the window's upper left corner
#     background  color
#     line        item, layer, width, color, [x, y, x, y, ...]
#     extend      item, [x, y, ...]     further points of a line
#     dot         item, layer, diameter, color, x, y
#     polygon     item, layer, width, outline color, fill color, [x, y, ...]
#     text        item, layer, font, color, alignment, x, y, text
#     remove      item
#
# A segment with the number of an item that exists replaces that item. Items are
# drawn from the lowest layer to the highest. A color is "#rrggbb", or "" for a
# polygon without outline or without filling. Lines have round ends and joints,
# and polygons are filled by the even-odd rule. A font is such as
# "bold 16px serif": "italic" and "bold" are optional, and the family is
# sans-serif, serif or monospace. The alignment is left, center or right. y is
# the baseline of the text's last line, and lines are 1.2 times the size of the
# font apart. All other fields are numbers. Images are in the SVG alone.
import atexit
import base64
import functools
import itertools
import json
import os
import re
import time
from itertools import pairwise
import sandpiper_display
from sandpiper_colors import COLORS

MAX_SEGMENTS = 20_000
MAX_SEGMENT_BYTES = 2 * 1024 * 1024
MAX_COORDINATE = 1_000_000
# Milliseconds that a frame lasts, and that a redraw takes.
FRAME_TIME = 20
UPDATE_TIME = 5
LINE_HEIGHT, DESCENT, LETTER_WIDTH = 1.2, 0.22, 0.55
ALIGNMENTS = {"sw": "left", "s": "center", "se": "right"}
ANCHORS = {"left": "start", "center": "middle", "right": "end"}
NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def hex_color(color):
    """Returns a color of Tk as "#rrggbb"; raises ValueError if it is none."""
    name = COLORS.get(color.lower().replace(" ", ""))
    if name is not None:
        return name
    digits = color[1:].lower()
    length = len(digits) // 3
    if (not re.fullmatch("#[0-9a-fA-F]+", color) or len(digits) % 3
            or not 1 <= length <= 4):
        raise ValueError(f'unknown color name "{color}"')
    parts = (digits[i:i + length] for i in range(0, len(digits), length))
    return "#" + "".join((part * 2)[:2] for part in parts)


def image_size(content):
    """Returns the width and height of a GIF or PNG."""
    if content[:6] in (b"GIF87a", b"GIF89a") and len(content) > 10:
        ends, order = (6, 8, 10), "little"
    elif content[:8] == b"\x89PNG\r\n\x1a\n" and len(content) > 24:
        ends, order = (16, 20, 24), "big"
    else:
        raise ValueError("no GIF or PNG")
    return tuple(int.from_bytes(content[start:end], order)
                 for start, end in pairwise(ends))


def number(value):
    """Returns a number that is short in JSON and SVG."""
    if not -MAX_COORDINATE < value < MAX_COORDINATE:
        # It may be infinite, or not a number.
        value = (value > 0) * MAX_COORDINATE - (value < 0) * MAX_COORDINATE
    rounded = round(value, 1)
    whole = int(rounded)
    return whole if whole == rounded else rounded


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


class Font:
    """A font of Tk: a family, a size and styles, as a tuple or as words."""

    def __init__(self, font):
        words = font.split() if isinstance(font, str) else [*map(str, font)]
        sizes = [word for word in words if re.fullmatch(r"-?\d+", word)]
        size = int(sizes[0]) if sizes else 0
        # Points, or pixels if it is negative.
        self.size = -size if size < 0 else round((size or 9) * 4 / 3)
        family = words[0].lower() if words else ""
        if re.search("courier|mono|consol|menlo|fixed", family):
            self.family = "monospace"
        elif re.search("times|georgia|(?<!sans-)serif", family):
            self.family = "serif"
        else:
            self.family = "sans-serif"
        styles = " ".join(words[1:])
        self.style = "".join(f"{style} " for style in ("italic", "bold")
                             if style in styles)

    def __str__(self):
        return f"{self.style}{self.size}px {self.family}"


class Item:
    def __init__(self, kind, points, options, layer):
        self.kind, self.points, self.layer = kind, points, layer
        self.options = options

    def lines(self):
        return NOT_IN_XML.sub("\ufffd", str(self.options["text"])).split("\n")

    def box(self):
        """Returns about the corners of a text."""
        x, y = self.points
        size = Font(self.options["font"]).size
        width = max(map(len, self.lines())) * size * LETTER_WIDTH
        height = len(self.lines()) * size * LINE_HEIGHT
        left = {"sw": 0, "s": 0.5, "se": 1}[self.options["anchor"]] * width
        return x - left, y - height, x - left + width, y

    def state(self):
        """Returns the fields of a segment but for time and item, or None if
        there is nothing to see."""
        option = self.options.get
        color = option("fill") and hex_color(option("fill"))
        if self.kind == "text":
            font = Font(option("font"))
            x, y = self.points
            y -= DESCENT * font.size
            text = "\n".join(self.lines())
            return text.strip() and color and (
                "text", self.layer, str(font), color,
                ALIGNMENTS[option("anchor")], number(x), number(y), text)
        points = [*map(number, self.points)]
        width = number(float(option("width") or 0))
        if self.kind == "polygon":
            outline = option("outline") and hex_color(option("outline"))
            return (color or outline) and (
                "polygon", self.layer, width, outline, color, points)
        if self.kind != "line" or not color:
            return None
        if points == points[:2] * (len(points) // 2):
            return "dot", self.layer, width, color, *points[:2]
        return "line", self.layer, width, color, points

    def svg(self):
        """Returns an element, or nothing."""
        if self.kind == "image":
            return self.image()
        match self.state():
            case "text", _, font, color, align, x, y, text:
                return text_element(font, color, ANCHORS[align], x, y, text)
            case "dot", _, width, color, x, y:
                return (f'<circle cx="{x}" cy="{y}" r="{width / 2}"'
                        f' fill="{color}"/>')
            case "line", _, width, color, points:
                return (f'<polyline points="{" ".join(map(str, points))}"'
                        f' fill="none" stroke="{color}"'
                        f' stroke-width="{width}"/>')
            case "polygon", _, width, outline, color, points:
                return (f'<polygon points="{" ".join(map(str, points))}"'
                        f' fill="{color or "none"}" fill-rule="evenodd"'
                        f' stroke="{outline or "none"}"'
                        f' stroke-width="{width}"/>')
        return ""

    def image(self):
        image = self.options.get("image")
        if not image or not image.content:
            return ""
        (x, y), (width, height) = self.points, image.size
        kind = "gif" if image.content.startswith(b"GIF") else "png"
        content = base64.b64encode(image.content).decode()
        return (f'<image x="{number(x - width / 2)}"'
                f' y="{number(y - height / 2)}" width="{width}"'
                f' height="{height}"'
                f' href="data:image/{kind};base64,{content}"/>')


def text_element(font, color, anchor, x, y, text):
    height = float(re.search(r"(\d+)px", font)[1]) * LINE_HEIGHT
    lines = text.split("\n")
    spans = (f'<tspan x="{x}" y="{number(y - height * below)}">'
             f"{escape(line)}</tspan>"
             for below, line in zip(reversed(range(len(lines))), lines))
    return (f'<text style="font: {font}; white-space: pre" fill="{color}"'
            f' text-anchor="{anchor}">{"".join(spans)}</text>')


class Recording:
    latest = None

    def __init__(self):
        self.title = ""
        self.window = 0, 0
        self.region = 0, 0, 0, 0
        self.color = "#ffffff"
        self.time = 0.0
        # The time at which the recording ended too early.
        self.end = None
        self.items = {}
        self.numbers = itertools.count(1)
        self.layers = itertools.count(1)
        self.top = 0
        self.bottom = 0
        # Items that changed since the last redraw, and before it in this frame.
        self.changed = {}
        self.pending = {}
        self.frame_time = 0.0
        # The states of items that have segments.
        self.recorded = {}
        self.segments = []
        self.segment_bytes = 0
        self.shown = None
        atexit.register(self.show_at_end, os.getpid())
        Recording.latest = self

    # Items.

    def create(self, kind, points, options):
        made = next(self.numbers)
        self.top = next(self.layers)
        self.items[made] = Item(kind, points, options, self.top)
        self.changed[made] = True
        return made

    def change(self, which, points=None, options=None):
        item = self.items.get(which)
        if item is None:
            return
        if points is not None:
            item.points = points
        item.options.update(options or {})
        self.changed[which] = True

    def remove(self, which):
        if self.items.pop(which, None):
            self.changed[which] = True

    def clear(self):
        self.changed.update(dict.fromkeys(self.items, True))
        self.items.clear()

    def to_top(self, which):
        item = self.items.get(which)
        if item and item.layer != self.top:
            item.layer = self.top = next(self.layers)
            self.changed[which] = True

    def to_bottom(self, which):
        item = self.items.get(which)
        if item:
            self.bottom -= 1
            item.layer = self.bottom
            self.changed[which] = True

    def background(self, color):
        self.color = hex_color(color)
        self.changed["background"] = True

    def look(self, window=None, region=None):
        """Sets the size of the window, or the region in its middle."""
        self.window = window or self.window
        self.region = region or self.region
        self.changed["view"] = True

    def corner(self):
        (width, height), (left, top, right, bottom) = self.window, self.region
        return (number((left + right - width) / 2),
                number((top + bottom - height) / 2))

    # Time.

    def advance(self, milliseconds):
        self.time += max(float(milliseconds), 0)

    def advance_to(self, milliseconds):
        self.time = max(self.time, milliseconds)

    def update(self):
        """Notes what a window would show now."""
        if self.time >= self.frame_time + FRAME_TIME:
            # An item that changed again is of this frame. The others are as
            # they were when the frame before it ended, maybe for a long time.
            self.record(which for which in self.pending
                        if which not in self.changed)
            self.frame_time = self.time
            self.record(self.changed)
            self.pending.clear()
        else:
            self.pending.update(self.changed)
        self.changed.clear()
        self.advance(UPDATE_TIME)

    def record(self, numbers):
        for which in numbers:
            if self.end is None:
                self.record_item(which)

    def state(self, which):
        if which == "view":
            return which, *self.corner()
        if which == "background":
            return which, self.color
        item = self.items.get(which)
        return item and item.state()

    def record_item(self, which):
        state = self.state(which)
        before = self.recorded.get(which)
        if not state and not before or state == before:
            return
        if which in ("view", "background"):
            segment = state
        elif not state:
            segment = "remove", which
        elif (state[0] == "line" and before and state[:4] == before[:4]
                and state[4][:len(before[4])] == before[4]):
            segment = "extend", which, state[4][len(before[4]):]
        else:
            segment = state[0], which, *state[1:]
        text = json.dumps([round(self.frame_time), *segment],
                          separators=(",", ":"))
        if (len(self.segments) == MAX_SEGMENTS
                or self.segment_bytes + len(text) > MAX_SEGMENT_BYTES):
            self.end = self.time
            return
        self.segments.append(text)
        self.segment_bytes += len(text) + 1
        self.recorded[which] = state

    def truncate(self):
        self.record(self.pending)
        self.end = self.time

    # Displays.

    def show_at_end(self, process):
        if os.getpid() == process:  # not in a process that it has forked
            self.show()

    def show(self):
        """Makes displays of the drawing, unless it was shown as it is."""
        self.update()
        self.record(self.pending)
        svg = self.svg()
        if svg != self.shown:
            self.shown = svg
            sandpiper_display.show(svg=svg.encode(), json=self.json().encode())

    def svg(self):
        (width, height), (left, top) = self.window, self.corner()
        items = sorted(self.items.values(), key=lambda item: item.layer)
        title = NOT_IN_XML.sub("\ufffd", self.title)
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}"'
            f' height="{height}" viewBox="{left} {top} {width} {height}"'
            ' stroke-linecap="round" stroke-linejoin="round">',
            f"<title>{escape(title)}</title>",
            f'<rect x="{left}" y="{top}" width="{width}" height="{height}"'
            f' fill="{self.color}"/>',
            *filter(None, (item.svg() for item in items)),
            "</svg>\n",
        ])

    def json(self):
        width, height = self.window
        truncated = self.end is not None
        duration = round(self.end if truncated else self.time)
        head = json.dumps({"width": width, "height": height,
                           "duration": duration, "truncated": truncated})
        return f'{head[:-1]}, "segments": [\n{",\n".join(self.segments)}\n]}}\n'


def record_sleep(sleep):
    """Returns time.sleep() for programs that draw: it takes as long in the
    recording."""
    @functools.wraps(sleep)
    def sleep_and_record(seconds, /):
        sleep(seconds)
        if Recording.latest:
            Recording.latest.advance(seconds * 1000)
    return sleep_and_record


time.sleep = record_sleep(time.sleep)
