# Takes memory in small bites until somebody says no.
chunks = []
try:
    while len(chunks) < 512:
        chunks.append(bytearray(b"x") * (1 << 20))
        if len(chunks) % 64 == 0:
            print(len(chunks), "MiB", flush=True)
except MemoryError:
    print("MemoryError at", len(chunks), "MiB")
