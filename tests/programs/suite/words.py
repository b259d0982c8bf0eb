# SPDX-License-Identifier: MIT
"""What the tests of this small repository are about."""


def count(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts
