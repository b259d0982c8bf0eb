# What can a program see of the machine that it runs on?
import os

for path in ("/etc/fstab", "/etc/machine-id", "/etc/resolv.conf"):
    try:
        with open(path) as file:
            print(f"{path}: read, {len(file.read())} characters")
    except OSError as error:
        print(f"{path}: {error.strerror}")
processes = [name for name in os.listdir("/proc") if name.isdigit()]
print(f"{len(processes)} processes in sight, one of them is {open('/proc/1/comm').read().strip()}")
