"""A link of two network interfaces that takes its time: a relay between two TAP devices."""

import collections
import contextlib
import fcntl
import os
import select
import struct
import threading
import time

TUNSETIFF = 0x400454CA  # of Linux' if_tun.h, like the flags
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
FRAME = 64 << 10  # bytes that are read at once, more than a frame has


def make_tap(name):
    """A file whose other end is a network interface of that name, which goes when the file is closed."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    except OSError:
        os.close(tap)
        raise
    return tap


def write(tap, frame):
    """As on a wire, a frame for an interface that is down is lost."""
    with contextlib.suppress(OSError):
        os.write(tap, frame)


def relay(source, target, delay_s, end):
    """Hands over frames, each `delay_s` after it came, until there is something to read from `end`."""
    waiting = collections.deque()  # (when, frame)
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        ready = select.select([source, end], [], [], patience)[0]
        if end in ready:
            return
        if source in ready:
            with contextlib.suppress(OSError):  # an interface that is down
                waiting.append((time.monotonic() + delay_s, os.read(source, FRAME)))
        while waiting and waiting[0][0] <= time.monotonic():
            write(target, waiting.popleft()[1])


class Delay(contextlib.AbstractContextManager):
    """Interfaces `slow` and `fast`: what `slow` sends reaches `fast` after `delay_s`, the other direction is at once.
    They may be moved to other namespaces and renamed. Throws OSError where there are no TAP devices."""

    def __init__(self, slow, fast, delay_s):
        with contextlib.ExitStack() as made:
            taps = []
            for name in slow, fast:
                taps.append(make_tap(name))
                made.callback(os.close, taps[-1])
            end, self._end = os.pipe()
            made.callback(os.close, end)
            for source, target, seconds in [(*taps, delay_s), (*reversed(taps), 0)]:
                thread = threading.Thread(target=relay, args=(source, target, seconds, end), daemon=True)
                thread.start()
                made.callback(thread.join)
            made.callback(os.close, self._end)  # first of all: ends the threads
            self._made = made.pop_all()

    def __exit__(self, *_):
        self._made.close()
