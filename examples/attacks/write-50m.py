# SPDX-License-Identifier: MIT
"""Writes a file of 50 MB into its working folder, and reads it back.

Harmless: the folder is a fresh one that is removed after the run, without a sandbox too.
"""
import hashlib
import os

print("started write-50m", flush=True)
BLOCK = os.environ["BELLJAR_NONCE"].encode().ljust(64, b".") * (1 << 14)  # 1 MB
with open("fifty-megabytes", "wb") as file:
    for _ in range(50):
        file.write(BLOCK)
        file.flush()
written = 0
with open("fifty-megabytes", "rb") as file:
    while block := file.read(len(BLOCK)):
        written += len(block) if block == BLOCK else 0
print("witness", hashlib.sha256(f"{os.environ['BELLJAR_NONCE']} {written}".encode()).hexdigest(), flush=True)
