"""For every test."""

import signal

# A background job of a shell ignores interrupts, nohup ignores hang-ups, and so would every process that a test starts.
for stop, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(stop) is signal.SIG_IGN:
        signal.signal(stop, usual)
