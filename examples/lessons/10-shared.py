# What of the host is there? Each line says what was found.
import os
import socket
import time

print("the clock:", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()))
print("processes:", sum(name.isdigit() for name in os.listdir("/proc")))
for what, attempt in (
    ("passwords", lambda: open("/etc/shadow").readline()),
    ("network", lambda: socket.create_connection(("192.0.2.1", 80), 1)),
):
    try:
        attempt()
        print(f"{what}: there")
    except OSError as error:
        print(f"{what}: {error.strerror}")
