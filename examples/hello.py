# SPDX-License-Identifier: MIT
# $ belljar run examples/hello.py
"""The smallest thing worth running: where am I, and what am I given?"""
import os
import platform

print("hello from", platform.node(), "as uid", os.getuid())
print("working in", os.getcwd(), "beside", sorted(os.listdir(".")))
print("with the environment", dict(sorted(os.environ.items())))
