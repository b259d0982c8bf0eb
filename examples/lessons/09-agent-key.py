# Looks for credentials where tools keep them, and "sends" what it finds by printing it.
import pathlib

home = pathlib.Path.home()
for name in (".aws/credentials", ".ssh/id_ed25519", ".netrc", ".git-credentials"):
    try:
        text = (home / name).read_text()
        print(f"{name}: found, {len(text)} characters")
        print(text.splitlines()[-1])
    except OSError as error:
        print(f"{name}: {error.strerror}")
