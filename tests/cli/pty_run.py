"""Runs commands under a pseudo-terminal of a given width and looks at every line they print.

    pty_run.py WIDTH COMMANDS     COMMANDS: a file with one command of the shell a line; '#': a comment

Prints each line that is wider than the terminal, with its command, and a sum. A line is what stands
between two line breaks or carriage returns, without escape sequences; its width is counted in columns:
East Asian wide characters are two. Exit code 1 if a line is too wide or a command printed nothing.
"""
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unicodedata

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SECONDS = 120


def set_size(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def width_of(text):
    columns = 0
    for c in text:
        if not unicodedata.combining(c):
            columns += 2 if unicodedata.east_asian_width(c) in "WF" else 1
    return columns


def run(command, columns, resize_to=0):
    """What the command prints on a terminal; with resize_to the terminal changes while it runs."""
    master, slave = pty.openpty()
    set_size(slave, columns)
    environment = dict(os.environ, TERM="xterm")
    environment.pop("COLUMNS", None)
    child = subprocess.Popen(["bash", "-c", command], stdin=slave, stdout=slave, stderr=slave,
                             env=environment, start_new_session=True)
    os.close(slave)
    text, begin, resized = b"", time.monotonic(), False
    while time.monotonic() - begin < SECONDS:
        ready, _, _ = select.select([master], [], [], 0.2)
        if ready:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        if resize_to and text and not resized:
            set_size(master, resize_to)
            resized = True
    else:
        child.kill()
    code = child.wait()
    os.close(master)
    return code, text.decode("utf-8", "replace")


def lines_of(text):
    return [ESCAPE.sub("", line) for line in re.split(r"[\r\n]+", text)]


def main():
    columns, bad, count = int(sys.argv[1]), 0, 0
    for command in open(sys.argv[2], encoding="utf-8"):
        command = command.strip()
        if not command or command[0] == "#":
            continue
        _, text = run(command, columns)
        count += 1
        if not text.strip():
            print("prints nothing:", command)
            bad += 1
        for line in lines_of(text):
            if width_of(line) > columns:
                print(f"{width_of(line)} columns: {command}\n  {line}")
                bad += 1
    print(f"{columns} columns: {count} commands, {'all lines fit' if bad == 0 else 'some do not fit'}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
