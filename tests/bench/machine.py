#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""machine.py BUILD [ROUNDS]: what a virtual machine costs. Each round starts `print(1)` once with every launcher, in a
fresh random order, one right after the other and once more after four idle seconds; told are the milliseconds from the
request to the first byte and to the end. Then what is paid once (a boot, a snapshot), what a spare saves, what one more
machine takes of memory, and how fast output comes out. runsc and crun stand beside it where they are installed and start."""
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 30
IDLE_ROUNDS = max(4, ROUNDS // 4)
BELLJAR = BUILD + "/belljar"
PYTHON = "/usr/bin/python3"
CODE = "print(1)"


def once(argv):
    begin = time.monotonic()
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    byte = os.read(p.stdout.fileno(), 1)
    first = time.monotonic()
    rest, words = p.communicate()
    end = time.monotonic()
    if byte != b"1" or p.returncode != 0:
        raise RuntimeError(words.decode(errors="replace").strip()[-200:] or f"status {p.returncode}")
    return (first - begin) * 1e3, (end - begin) * 1e3


def level(name, *more):
    return [BELLJAR, "run", "-q", "--no-record", "-p", name, *more, "-l", "python", "-c", CODE]


def bundle(folder):
    """A container of the host's own /usr, as crun takes it. On a hybrid host it starts only where no v2 tree is seen."""
    os.makedirs(folder + "/rootfs")
    subprocess.run(["crun", "spec"], cwd=folder, check=True)
    with open(folder + "/config.json") as f:
        c = json.load(f)
    c["process"].update(terminal=False, args=[PYTHON, "-c", CODE])
    c["root"] = {"path": folder + "/rootfs"}
    c["mounts"] += [{"destination": "/" + d, "type": "bind", "source": os.path.realpath("/" + d),
                     "options": ["rbind", "ro"]} for d in ("usr", "lib", "lib64", "bin") if os.path.exists("/" + d)]
    with open(folder + "/config.json", "w") as f:
        json.dump(c, f)


def launchers(folder):
    all_ = [("bare python3", [PYTHON, "-c", CODE]),
            ("belljar, namespaces", level("namespaces")),
            ("belljar, microvm", level("microvm"))]
    if shutil.which("crun") and os.geteuid() == 0:
        bundle(folder)
        all_.append(("crun", ["unshare", "-m", "sh", "-c",
                              f"umount /sys/fs/cgroup/unified 2>/dev/null; exec crun run -b {folder} bench-$$"]))
    if shutil.which("runsc"):
        all_.append(("runsc do", ["runsc", "--rootless", "--network=none", "--ignore-cgroups", "do", PYTHON, "-c", CODE]))
    good = []
    for name, argv in all_:
        try:
            once(argv)
            good.append((name, argv))
        except (RuntimeError, OSError) as why:
            print(f"  {name}: does not start here: {why}")
    return good


def row(name, first, end, bare):
    m = statistics.median
    p95 = sorted(first)[int(len(first) * 0.95)]
    print(f"  {name:24} {m(first):8.1f} {p95:8.1f} {m(end):8.1f} {m(first) / bare:8.1f}x")


def starts(folder, rounds, pause):
    ways = launchers(folder)
    told = {name: ([], []) for name, _ in ways}
    for _ in range(rounds):
        random.shuffle(ways)
        for name, argv in ways:
            time.sleep(pause)
            first, end = once(argv)
            told[name][0].append(first)
            told[name][1].append(end)
    how = f"{pause} s idle before each" if pause else "one after the other"
    print(f"\n{rounds} rounds, {how}: ms to      first byte      p95      end   of bare")
    bare = statistics.median(told["bare python3"][0])
    for name in sorted(told, key=lambda n: statistics.median(told[n][0])):
        row(name, *told[name], bare)


def spares(rounds, pause):
    out = subprocess.run([BUILD + "/tests/bench/spare", str(rounds), str(pause * 1000)], capture_output=True, text=True)
    pairs = [tuple(map(float, line.split())) for line in out.stdout.splitlines()]
    if out.returncode != 0 or not pairs:
        print(f"  no spare: {out.stderr.strip()}")
        return
    first, end = zip(*pairs)
    print(f"  a spare, {'after %d s' % pause if pause else 'at once':12} {statistics.median(first):8.1f} "
          f"{sorted(first)[int(len(first) * 0.95)]:8.1f} {statistics.median(end):8.1f}")


def once_paid(rounds):
    """In a cache of its own, whose images are there already: what is measured is the machine, not the packing."""
    boots, builds = [], []
    with tempfile.TemporaryDirectory() as cache:
        env = dict(os.environ, XDG_CACHE_HOME=cache)

        def run():
            begin = time.monotonic()
            out = subprocess.run([*level("microvm"), "--events", "2"], env=env, capture_output=True, text=True)
            whole = time.monotonic() - begin
            return whole, {e["text"]: e["t"] for e in map(json.loads, out.stderr.splitlines()) if e["type"] == "progress"}

        run()
        for _ in range(rounds):
            kept = subprocess.run([BELLJAR, "image", "list", "--json"], env=env, capture_output=True, text=True)
            for entry in json.loads(kept.stdout)["entries"]:
                if entry["kind"] == "snapshot":
                    subprocess.run([BELLJAR, "image", "rm", entry["name"]], env=env, stdout=subprocess.DEVNULL)
            whole, at = run()
            boots.append(at["trying the snapshot"] - at["starting the machine"])
            builds.append(whole - run()[0])
    print(f"  a cold boot of the same kernel, to a Python that waits      {statistics.median(boots):6.2f} s")
    print(f"  a snapshot: that, saved, tried once, published              {statistics.median(builds):6.2f} s")


def pss_of(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup") as f:
            total += next(int(line.split()[1]) for line in f if line.startswith("Pss:"))
    return total / 1024


def descendants(pid):
    found = []
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        for child in map(int, f.read().split()):
            found += [child, *descendants(child)]
    return found


def memory(count):
    """Machines that have printed and wait. Of a run of root's QEMU is another user's: only root can read its sizes."""
    runs, sizes = [], []
    code = "import time; print(1); time.sleep(60)"
    try:
        for _ in range(count):
            p = subprocess.Popen([*level("microvm", "--wall", "60s")[:-1], code], stdout=subprocess.PIPE)
            p.stdout.read(1)
            runs.append(p)
            sizes.append(pss_of([q for r in runs for q in descendants(r.pid)
                                 if "qemu" in os.readlink(f"/proc/{q}/exe")]))
    except (OSError, StopIteration) as why:
        print(f"  memory: cannot be read here: {why}")
        return
    finally:
        for p in runs:
            p.kill()
            p.wait()
    print(f"  one machine, proportional size                              {sizes[0]:6.1f} MB")
    print(f"  one more beside {count - 1} others                                  {(sizes[-1] - sizes[0]) / (count - 1):6.1f} MB")


def throughput(megabytes, rounds):
    def run(mb):
        code = f"import os\nb = b'x' * 65536\nfor _ in range({mb * 16}): os.write(1, b)"
        begin = time.monotonic()
        p = subprocess.Popen([*level("microvm", "--output-limit", "unlimited", "--wall", "120s", "--cpu", "120s")[:-1], code],
                             stdout=subprocess.PIPE)
        got = 0
        while part := os.read(p.stdout.fileno(), 1 << 20):
            got += len(part)
        p.wait()
        if got != mb << 20:
            raise RuntimeError(f"{got} of {mb << 20} bytes")
        return time.monotonic() - begin
    rates = [megabytes * 1.048576 / (run(megabytes + 4) - run(4)) for _ in range(rounds)]
    print(f"  output, in writes of 64 KiB                                 {statistics.median(rates):6.0f} MB/s")


def main():
    show = subprocess.run([BELLJAR, "preset", "show", "microvm"], capture_output=True, text=True).stdout
    how = next((line.strip() for line in show.splitlines() if "mulation" in line or "KVM ran" in line), "")
    print(f"What a virtual machine costs. {how}")
    with tempfile.TemporaryDirectory() as folder:
        starts(folder + "/a", ROUNDS, 0)
        spares(ROUNDS, 0)
        starts(folder + "/b", IDLE_ROUNDS, 4)
        spares(IDLE_ROUNDS, 4)
    print()
    once_paid(3)
    memory(4)
    throughput(128, 3)


main()
