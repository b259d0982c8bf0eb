# A program calls home. Nothing leaves this machine: 192.0.2.1 is an address for documentation only.
import socket

for family, address in ((socket.AF_INET, ("192.0.2.1", 80)), (socket.AF_INET6, ("2001:db8::1", 80))):
    try:
        socket.socket(family, socket.SOCK_STREAM).connect(address)
        print(address[0], "answered")
    except OSError as error:
        print(address[0], error.strerror)
