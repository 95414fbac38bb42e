# Displays: pictures that a run shows. Each is a file /tmp/.display/NNN.EXT.
import os

FOLDER = "/tmp/.display"


def show(**contents):
    """Writes a display under the next number: the bytes of each extension."""
    os.makedirs(FOLDER, exist_ok=True)
    # The program may have put other files there.
    stems = (name.partition(".")[0] for name in os.listdir(FOLDER))
    taken = [int(stem) for stem in stems if stem.isdecimal()]
    number = max(taken, default=0) + 1
    for extension, content in contents.items():
        with open(f"{FOLDER}/{number:03}.{extension}", "wb") as file:
            file.write(content)
