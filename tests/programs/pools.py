# SPDX-License-Identifier: MIT
# Pools of workers: `pools.py fork|forkserver|spawn|futures|threads`.
import concurrent.futures
import multiprocessing
import sys
import threading


def square(n):
    return n * n


def by_pool(method):
    with multiprocessing.get_context(method).Pool(4) as pool:
        return sum(pool.map(square, range(100), chunksize=5))


def by_futures():
    with concurrent.futures.ProcessPoolExecutor(4) as pool:
        return sum(pool.map(square, range(100)))


def by_threads():
    """Sixteen threads that are all there at once: none passes the barrier before the last has come."""
    barrier = threading.Barrier(16)

    def work(n):
        barrier.wait()
        return sum(map(square, range(n, 100, 16)))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return sum(pool.map(work, range(16)))


if __name__ == "__main__":
    how = sys.argv[1]
    print({"futures": by_futures, "threads": by_threads}.get(how, lambda: by_pool(how))())
