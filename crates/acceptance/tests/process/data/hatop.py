"""Runs hatop (first argument) on the runtime socket (second) in a terminal of 120 columns and prints
what it has drawn: each of its pages, then what its own command line answers."""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

# What is typed once this was drawn.
STEPS = [("s1", "\t"), ("TRAFFIC", "\t"), ("HTTP", "\t"), ("ERRORS", "\t"), ("CLI", "show info\r"),
         ("Tainted: 0", "\x1b1"), ("STATUS", "q")]
PATIENCE = 12

hatop, socket = sys.argv[1:]
child, screen = pty.fork()
if child == 0:
    os.environ["TERM"] = "xterm"
    os.execv(hatop, [hatop, "-s", socket, "-i", "1"])
fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 120, 0, 0))
drawn, fresh, end = "", "", time.monotonic() + PATIENCE
steps = list(STEPS)
while time.monotonic() < end:
    if select.select([screen], [], [], 0.1)[0]:
        try:
            data = os.read(screen, 65536)
        except OSError:
            break
        if not data:
            break
        fresh += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][AB0]", " ", data.decode("utf8", "replace"))
    if steps and steps[0][0] in fresh:
        drawn, fresh = drawn + fresh, ""
        os.write(screen, steps.pop(0)[1].encode())
print(drawn + fresh)
sys.exit(f"waited in vain for {steps[0][0]}" if steps else 0)
