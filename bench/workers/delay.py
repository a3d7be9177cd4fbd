"""A network link with a latency: relays frames between two TAP devices."""

import collections
import contextlib
import fcntl
import os
import select
import struct
import threading
import time

TUNSETIFF = 0x400454CA  # from Linux' if_tun.h, like the flags
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
FRAME = 64 << 10  # bytes read at once, more than a frame has


def make_tap(name):
    """Creates a network interface and returns the file with its other end. Closing the file removes the interface."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    except OSError:
        os.close(tap)
        raise
    return tap


def write(tap, frame):
    """Writes a frame. One for an interface that is down is lost, as on a wire."""
    with contextlib.suppress(OSError):
        os.write(tap, frame)


def relay(source, target, delay_s, end):
    """Relays each frame `delay_s` after it arrived, until `end` becomes readable."""
    waiting = collections.deque()  # (time, frame)
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        ready = select.select([source, end], [], [], patience)[0]
        if end in ready:
            return
        if source in ready:
            with contextlib.suppress(OSError):  # the interface may be down
                waiting.append((time.monotonic() + delay_s, os.read(source, FRAME)))
        while waiting and waiting[0][0] <= time.monotonic():
            write(target, waiting.popleft()[1])


class Delay(contextlib.AbstractContextManager):
    """Interfaces `slow` and `fast`: frames sent by `slow` reach `fast` after `delay_s`; the other direction has no
    delay. They may be moved to other namespaces and renamed. Raises OSError if TAP devices are not available."""

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
            made.callback(os.close, self._end)  # called first: it ends the threads
            self._made = made.pop_all()

    def __exit__(self, *_):
        self._made.close()
