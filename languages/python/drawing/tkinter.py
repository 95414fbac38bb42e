# The part of tkinter that turtle.py calls. There is no window: canvases record
# the drawing, and the clock is virtual (see sandpiper_turtle.py).
import heapq
import itertools
import os
import re
import sys
import time

import sandpiper_turtle

NO_WINDOW = "tkinter needs a window; only turtle draws here"
NO_INPUT = "keys and clicks need a window"
# The screen of a common desktop: the window of turtle.py is a part of it.
SCREEN_WIDTH, SCREEN_HEIGHT = 1920, 1080
# Timers that set new timers could go on for ever. These end the main loop: the
# milliseconds that it has recorded, and the seconds that it has taken.
MAX_LOOP_TIME = 60_000
MAX_LOOP_SECONDS = 3

SUNKEN, HORIZONTAL, ROUND = "sunken", "horizontal", "round"


def check_importer():
    frame = sys._getframe(2)
    while frame and "importlib" in frame.f_globals.get("__name__", ""):
        frame = frame.f_back
    file = frame.f_code.co_filename if frame else ""
    if os.path.basename(file) != "turtle.py":
        raise ImportError(NO_WINDOW)


check_importer()


def __getattr__(name):
    error = AttributeError if name.startswith("__") else ImportError
    raise error(NO_WINDOW)


class TclError(Exception):
    pass


class simpledialog:
    """Dialogs, on standard input."""

    @staticmethod
    def askstring(title, prompt, parent=None):
        return input(f"{prompt} ")

    @staticmethod
    def askfloat(title, prompt, initialvalue=None, minvalue=None, maxvalue=None,
                 parent=None):
        while True:
            text = input(f"{prompt} ").strip()
            if not text and initialvalue is not None:
                return initialvalue
            try:
                value = float(text)
            except ValueError:
                print("Not a floating-point value. Please try again.")
                continue
            if minvalue is not None and value < minvalue:
                print(f"The allowed minimum value is {minvalue}.",
                      "Please try again.")
            elif maxvalue is not None and value > maxvalue:
                print(f"The allowed maximum value is {maxvalue}.",
                      "Please try again.")
            else:
                return value


class Misc:
    """Methods of all widgets."""

    def __init__(self, master=None, **options):
        if master is None:
            raise TclError(NO_WINDOW)
        self.master = master
        self.tk = master.tk
        self.options = options

    def __getattr__(self, name):
        raise AttributeError(f"no {name} here: {NO_WINDOW}")

    def configure(self, **options):
        # As Tk does, this ignores options that are None.
        given = {k: v for k, v in options.items() if v is not None}
        self.options.update(given)

    config = configure

    def cget(self, name):
        return self.options[name]

    __getitem__ = cget

    def winfo_toplevel(self):
        return self.tk

    def winfo_rgb(self, color):
        try:
            digits = sandpiper_turtle.hex_color(color)[1:]
        except ValueError as error:
            raise TclError(str(error)) from None
        return tuple(0x101 * part for part in bytes.fromhex(digits))

    def winfo_screenwidth(self):
        return SCREEN_WIDTH

    def winfo_screenheight(self):
        return SCREEN_HEIGHT

    def winfo_width(self):
        return self.tk.recording.window[0]

    def winfo_height(self):
        return self.tk.recording.window[1]

    def update(self):
        self.tk.update()

    def after(self, delay, callback=None, *arguments):
        if callback is None:
            self.tk.recording.advance(delay)
        else:
            self.tk.add_timer(delay, callback, arguments)

    def after_idle(self, callback, *arguments):
        self.after(0, callback, *arguments)

    def bind(self, event, callback=None, add=None):
        if event == "<Configure>":
            return
        frame = sys._getframe(1)
        while frame is not None:
            # It waits for a click, which need not come.
            if frame.f_code.co_name == "exitonclick":
                return
            frame = frame.f_back
        turtle = sys.modules.get("turtle")
        raise getattr(turtle, "TurtleGraphicsError", TclError)(NO_INPUT)

    def ignore(self, *arguments, **options):
        """Does nothing: layout, focus, and bindings that are removed."""

    unbind = focus_force = pack = grid = grid_forget = ignore
    rowconfigure = columnconfigure = ignore


class Tk(Misc):
    """The window, which has the clock and the timers."""

    def __init__(self):
        # The window of turtle.py is a subclass.
        if type(self).__name__ != "_Root":
            raise TclError(NO_WINDOW)
        self.tk = self
        self.recording = sandpiper_turtle.Recording()
        self.timers = []
        self.timer_numbers = itertools.count()
        self.in_timer = False

    def title(self, text=None):
        self.recording.title = str(text)

    def geometry(self, text):
        width, height = re.match(r"(\d+)x(\d+)", text).groups()
        self.recording.look(window=(int(width), int(height)))

    def update(self):
        self.recording.update()
        self.run_timers(self.recording.time)

    def add_timer(self, delay, callback, arguments):
        due = self.recording.time + max(float(delay), 0)
        entry = (due, next(self.timer_numbers), callback, arguments)
        heapq.heappush(self.timers, entry)

    def run_timers(self, until):
        # A callback that draws comes here again.
        if self.in_timer:
            return
        # Those that a callback sets wait for the next time.
        last = next(self.timer_numbers)
        self.in_timer = True
        try:
            while (self.timers and self.timers[0][0] <= until
                   and self.timers[0][1] < last):
                due, _, callback, arguments = heapq.heappop(self.timers)
                self.recording.advance_to(due)
                callback(*arguments)
        finally:
            self.in_timer = False

    def mainloop(self):
        recording = self.recording
        recorded = recording.time + MAX_LOOP_TIME
        end = time.monotonic() + MAX_LOOP_SECONDS
        while self.timers and not self.in_timer:
            if recording.end is not None:
                break
            if self.timers[0][0] > recorded or time.monotonic() > end:
                recording.truncate()
                break
            self.run_timers(self.timers[0][0])
            recording.update()
        recording.show()

    def destroy(self):
        self.timers.clear()
        self.recording.show()

    wm_protocol = protocol = resizable = Misc.ignore


class Frame(Misc):
    pass


class Scrollbar(Misc):
    set = Misc.ignore


class PhotoImage:
    """An image of a file, which is part of the picture as it stands."""

    def __init__(self, file=None, width=0, height=0, master=None):
        self.content, self.size = b"", (width, height)
        if file is None:
            return
        try:
            with open(file, "rb") as opened:
                self.content = opened.read()
        except OSError as error:
            reason = (error.strerror or "").lower()
            raise TclError(f'couldn\'t open "{file}": {reason}') from None
        try:
            self.size = sandpiper_turtle.image_size(self.content)
        except ValueError:
            raise TclError(
                f'couldn\'t recognize data in image file "{file}"') from None

    def blank(self):
        pass

    def width(self):
        return self.size[0]

    def height(self):
        return self.size[1]


class Canvas(Misc):
    """A canvas whose items are those of the recording."""

    def __init__(self, master=None, **options):
        super().__init__(master, **options)
        self.recording = self.tk.recording

    def configure(self, **options):
        super().configure(**options)
        if options.get("bg") is not None:
            self.recording.background(options["bg"])
        if "scrollregion" in options:
            self.recording.look(region=options["scrollregion"])

    config = configure

    def create(self, kind, points, options):
        if len(points) == 1:
            points = points[0]
        return self.recording.create(kind, list(map(float, points)), options)

    def create_line(self, *points, **options):
        return self.create("line", points, options)

    def create_polygon(self, *points, **options):
        return self.create("polygon", points, {"width": 1} | options)

    def create_text(self, *points, **options):
        return self.create("text", points, options)

    def create_image(self, *points, **options):
        return self.create("image", points, options)

    def coords(self, number, *points):
        if not points:
            item = self.recording.items.get(number)
            return item.points.copy() if item else []
        if len(points) == 1:
            points = points[0]
        self.recording.change(number, list(map(float, points)))

    def itemconfigure(self, number, **options):
        self.recording.change(number, options=options)

    itemconfig = itemconfigure

    def delete(self, number):
        if number == "all":
            self.recording.clear()
        else:
            self.recording.remove(number)

    def tag_raise(self, number):
        self.recording.to_top(number)

    def tag_lower(self, number):
        self.recording.to_bottom(number)

    def type(self, number):
        item = self.recording.items.get(number)
        return item and item.kind

    def find_all(self):
        items = self.recording.items.items()
        return tuple(number for number, item
                     in sorted(items, key=lambda entry: entry[1].layer))

    def bbox(self, number):
        return self.recording.items[number].box()

    def canvasx(self, x):
        return x

    canvasy = canvasx

    def tag_bind(self, number, event, callback=None, add=None):
        self.bind(event, callback)

    def tag_unbind(self, number, event):
        pass

    def xview(self, *arguments):
        pass

    def yview(self, *arguments):
        pass

    def xview_moveto(self, fraction):
        pass

    def yview_moveto(self, fraction):
        pass
