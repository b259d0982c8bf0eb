# Which kernel is this?
import platform

print(platform.release())
