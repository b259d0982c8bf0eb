# SPDX-License-Identifier: MIT
# A very small repository: what test_prices.py tests. The command to run is in there.
import socket

TAX_PERCENT = 19
RATE_SERVICE = ("127.0.0.1", 8765)


def total(cents):
    """The sum of prices in cents, tax added, half a cent rounded up."""
    return (sum(cents) * (100 + TAX_PERCENT) + 50) // 100


def rate_of_today():
    """Asks the service for the rate of today."""
    with socket.create_connection(RATE_SERVICE, timeout=2) as service:
        service.sendall(b"rate\n")
        return float(service.recv(64))
