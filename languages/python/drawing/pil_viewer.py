# Added by Sandpiper to Pillow's ImageShow.py: an image that is shown becomes a
# display, since a box has no window.


class DisplayViewer(Viewer):
    format = "PNG"

    def show_image(self, image, **options):
        from io import BytesIO

        import sandpiper_display

        content = BytesIO()
        image.save(content, self.format)
        sandpiper_display.show(png=content.getvalue())
        return 1


register(DisplayViewer, 0)
