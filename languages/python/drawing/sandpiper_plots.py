# Matplotlib's backend in a box. plt.show() makes displays of all open figures
# and closes them, as notebooks do. The end of the program does the same.
import atexit
import contextlib
import os
from io import BytesIO

import matplotlib
from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

import sandpiper_display

MAX_SVG_BYTES = 512 * 1024


class TooLarge(Exception):
    """The SVG of a figure has more than MAX_SVG_BYTES."""


class BoundedBuffer(BytesIO):
    def write(self, data):
        if self.tell() + len(data) > MAX_SVG_BYTES:
            raise TooLarge
        return super().write(data)


class FigureManager(FigureManagerBase):
    was_shown = False

    def show(self):
        figure = self.canvas.figure
        # Drawing a figure begins its animation, which saving it does not.
        if figure.canvas.callbacks.callbacks.get("draw_event"):
            figure.canvas.draw()
        sandpiper_display.show(**picture(figure))
        self.was_shown = True
        # Set again by each change of the figure.
        figure.stale = False

    @classmethod
    def pyplot_show(cls, *, block=None):
        if block is None:
            block = not matplotlib.is_interactive()
        # A program that does not wait, such as an animation by plt.pause(),
        # goes on with its figures: the end of the program shows them.
        if block:
            show_all()
            Gcf.destroy_all()


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager


def picture(figure):
    """Returns the figure as SVG, or as PNG if the SVG is large."""
    axes = figure.axes
    title = figure.get_suptitle() or (axes[0].get_title() if axes else "")
    title = {"Title": title} if title else {}
    # The same figure has the same bytes each time.
    metadata = dict.fromkeys(["Creator", "Date", "Format", "Type"]) | title
    try:
        content = BoundedBuffer()
        with matplotlib.rc_context({"svg.hashsalt": "sandpiper"}):
            figure.savefig(content, format="svg", metadata=metadata)
        return {"svg": content.getvalue()}
    except TooLarge:
        content = BytesIO()
        figure.savefig(content, format="png", metadata=title)
        return {"png": content.getvalue()}


def show_all():
    for manager in Gcf.get_all_fig_managers():
        if manager.canvas.figure.stale or not manager.was_shown:
            manager.show()


def show_at_end(process):
    # A forked process has the figures of its parent, and not to show.
    if os.getpid() == process:
        # The program did not ask for it, so its failure is not the program's.
        with contextlib.suppress(Exception):
            show_all()


# Figures are still open: this runs before what was registered earlier.
atexit.register(show_at_end, os.getpid())
