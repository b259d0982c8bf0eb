# SPDX-License-Identifier: MIT
# What stands in the target's place until there is a Python program to run: an interpreter that has started and imported
# already, confined as the program will be. It says that it waits, reads the same request as stage.c, and becomes
# `python3 -u FILE ARGUMENTS...`, as far as a program can tell: __main__, sys.argv, sys.path, the environment, tracebacks,
# exit statuses. What is not done at its end is the interpreter taking itself apart, which nobody would see: the process
# ends once its threads, exit functions and buffers are through.
import sys


def wait():
    import atexit
    import gc
    import multiprocessing
    import os
    import random
    import struct
    import threading
    import time

    def warm():
        # Imported ahead, as most programs want some of them and each costs time where instructions are translated.
        import argparse, asyncio, base64, collections, contextlib, copy, csv, dataclasses, datetime, decimal  # noqa
        import enum, functools, glob, hashlib, importlib.util, inspect, io, itertools, json, logging, math  # noqa
        import multiprocessing, operator, pathlib, pickle, platform, queue, random, re, shutil, signal, socket  # noqa
        import statistics, string, subprocess, tempfile, textwrap, threading, time, traceback, typing  # noqa
        import urllib.parse, uuid, zlib  # noqa

    def settle():
        # All of the interpreter and its libraries is read once: a copy of the machine need not ask the disk.
        with open("/proc/self/maps", "rb") as maps:
            paths = {line.split()[-1] for line in maps if line.split()[-1].startswith(b"/")}
        for path in paths:
            try:
                with open(path, "rb") as file:
                    while file.read(1 << 20):
                        pass
            except OSError:
                pass

    def read(count):
        parts = bytearray()
        while len(parts) < count:
            part = os.read(0, count - len(parts))
            if not part:
                os._exit(125)
            parts += part
        return bytes(parts)

    def request():
        body = read(struct.unpack("=I", read(4))[0])
        argc, envc, code_len = struct.unpack_from("=III", body)
        words = body[12:len(body) - code_len].split(b"\0")
        code = body[len(body) - code_len:] if code_len else None
        return words[0], words[1:1 + argc], words[1 + argc:1 + argc + envc], code

    def renew(env):
        # Of the environment little changes from one run to the next.
        nonlocal known
        now = set(env)
        changed = set()
        for entry in now - known:
            name, _, value = entry.partition(b"=")
            os.environb[name] = value
            changed.add(name)
        for entry in known - now:
            name = entry.partition(b"=")[0]
            if name not in changed:
                del os.environb[name]
                changed.add(name)
        known = now
        random.seed()  # a clone of a snapshot has the state of all others
        multiprocessing.current_process().authkey = os.urandom(32)
        if b"TZ" in changed:
            time.tzset()

    # What is short comes with the request: the file has the same, for whoever looks.
    def load(path, code):
        if code is None:
            with open(path, "rb") as file:
                code = file.read()
        return compile(code, os.fsdecode(path), "exec", dont_inherit=True)

    def finish(code):
        try:
            threading._shutdown()
        finally:
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass
        os._exit(code)

    def status_of(error):
        code = error.code
        if code is None:
            return 0
        if isinstance(code, int):
            return code & 0xFF
        print(code, file=sys.stderr)
        return 1

    def main_module():
        main = type(sys)("__main__")
        sys.modules["__main__"] = main
        vars(main).update(__annotations__={}, __builtins__=__builtins__, __file__=None, __cached__=None)
        return vars(main)

    def become(path, argv):
        sys.argv = [os.fsdecode(word) for word in argv]
        names["__file__"] = os.fsdecode(path)
        sys.path[0] = names["__file__"].rpartition("/")[0]

    def die_of_interrupt():
        import signal
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)

    def run(path, argv, code):
        status = 0
        become(path, argv)
        try:
            exec(load(path, code), names)
        except SystemExit as error:
            status = status_of(error)
        except BaseException as error:
            status = 1
            # Without the frames of this file: what is shown is the program's.
            trace = error.__traceback__
            while trace and trace.tb_frame.f_code.co_filename == __file__:
                trace = trace.tb_next
            error.__traceback__ = trace
            sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
            sys.excepthook(type(error), error, trace)
            if isinstance(error, KeyboardInterrupt):
                die_of_interrupt()
        finish(status)

    warm()
    exec(compile("import sys\nsys.stdout.write('')\nx = [i for i in range(3)]\nf'{x!r}'\n", "warm", "exec"), {})
    settle()
    gc.collect()
    gc.freeze()
    names = main_module()
    known = {name + b"=" + value for name, value in os.environb.items()}
    os.write(1, b"waiting\n")
    cwd, argv, env, code = request()
    while not cwd:  # a run of belljar's own first: whatever it takes to run something has been done once by then
        renew(known.union(env))
        exec(load(argv[2], code), {"__name__": "__warm__"})
        sys.stdout.flush()
        os.write(1, b"waiting\n")
        cwd, argv, env, code = request()
    os.chdir(cwd)
    renew(env)
    run(argv[2], argv[2:], code)  # python3 -u FILE ARGUMENTS...


wait()
