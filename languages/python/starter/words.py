# Counts words.
import re
from collections import Counter


def most_common(text, limit):
    """The most frequent words of a text, each with its count."""
    words = re.findall(r"[a-z']+", text.lower())
    return Counter(words).most_common(limit)
