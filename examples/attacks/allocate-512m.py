# SPDX-License-Identifier: MIT
"""Allocates 512 MB, writes to every page of it and reads that back, as a program does that wants all memory.

Harmless: it lets go of it right after, and without a sandbox it is run only where much more than that is free.
"""
import hashlib
import os

print("started allocate-512m", flush=True)
SIZE, PAGE = 512 << 20, 4096
memory = bytearray(SIZE)
for at in range(0, SIZE, PAGE):
    memory[at] = at // PAGE % 255 + 1
held = sum(PAGE for at in range(0, SIZE, PAGE) if memory[at] == at // PAGE % 255 + 1)
print("witness", hashlib.sha256(f"{os.environ['BELLJAR_NONCE']} {held}".encode()).hexdigest(), flush=True)
