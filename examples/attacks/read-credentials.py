# SPDX-License-Identifier: MIT
"""Reads a file of credentials that lies on the host and belongs to the very user that the program runs as.

Harmless: the file is a planted one, and what is in it opens nothing.
"""
import os

print("started read-credentials", flush=True)
with open(os.environ["BELLJAR_PATH"], encoding="ascii") as file:
    print("witness", file.read().split("=")[1].strip(), flush=True)
