# SPDX-License-Identifier: MIT
import pathlib
import subprocess
import sys
import tempfile
import unittest

import words


class Words(unittest.TestCase):
    def test_counts(self):
        self.assertEqual(words.count("a b a"), {"a": 2, "b": 1})

    def test_of_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "text")
            path.write_text("one two two")
            self.assertEqual(words.count(path.read_text())["two"], 2)

    def test_in_another_process(self):
        said = subprocess.check_output([sys.executable, "-c", "print('three three three')"], text=True)
        self.assertEqual(words.count(said), {"three": 3})


if __name__ == "__main__":
    unittest.main()
