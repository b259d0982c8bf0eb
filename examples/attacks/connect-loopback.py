# SPDX-License-Identifier: MIT
"""Connects to a service on the loopback of this machine, as to a database that trusts whoever is local.

Harmless: the service is a planted one that says one word to everybody; nothing leaves the machine.
"""
import os
import socket

print("started connect-loopback", flush=True)
with socket.create_connection(("127.0.0.1", int(os.environ["BELLJAR_PORT"])), timeout=5) as service:
    print("witness", service.makefile().readline().strip(), flush=True)
