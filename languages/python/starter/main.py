# Draws how often words occur; the counting is in words.py.
from words import most_common

RHYME = """
How much wood would a woodchuck chuck
if a woodchuck could chuck wood?
A woodchuck would chuck all the wood he could chuck
if a woodchuck could chuck wood.
"""

for word, count in most_common(RHYME, 6):
    print(f"{word:>9} {'#' * count} {count}")
