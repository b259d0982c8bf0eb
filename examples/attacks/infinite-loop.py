# SPDX-License-Identifier: MIT
"""An infinite loop. It spins on one core and tells when it is still alive after a second.

Harmless: it ends by itself right then, and touches nothing.
"""
import hashlib
import os
import time

print("started infinite-loop", flush=True)
begin = time.monotonic()
while time.monotonic() - begin < 1:
    pass
alive = int(time.monotonic() - begin >= 1)
print("witness", hashlib.sha256(f"{os.environ['BELLJAR_NONCE']} {alive}".encode()).hexdigest(), flush=True)
