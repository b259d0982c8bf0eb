# SPDX-License-Identifier: MIT
# asyncio: `loops.py child|server|signals`.
import asyncio
import os
import signal
import sys


async def child():
    cat = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    told, _ = await cat.communicate(b"there and back")
    print(told.decode(), cat.returncode)


async def server():
    async def shout(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    async def ask(port, text):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text.encode() + b"\n")
        answer = await reader.readline()
        writer.close()
        return answer.decode().strip()

    async with await asyncio.start_server(shout, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        print(*await asyncio.gather(*(ask(port, word) for word in ("one", "two", "three"))))


async def signals():
    caught = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, caught.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await caught.wait()
    print("caught")


asyncio.run(globals()[sys.argv[1]]())
