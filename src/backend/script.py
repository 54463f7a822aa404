"""script.py: what the scripts that script.c starts have in common; it runs before each of them.

Requests are JSON objects, one a line, on descriptor 3. Each gets a reply on descriptor 4: {"ok": true, ...} or
{"ok": false, "error": one line}. Standard output and error are dropped. The process ends when descriptor 3 is closed."""
import sys

sys.path[:] = [folder for folder in sys.path if folder]  # not the folder where autokernel was started

import json
import os

requests, replies = os.fdopen(3, "rb"), os.fdopen(4, "wb", 0)
nowhere = os.open(os.devnull, os.O_RDWR)
for descriptor in (0, 1, 2):  # a failing ptxas prints its whole input
    os.dup2(nowhere, descriptor)


class Wrong(Exception):
    """What is wrong, in a line for the user."""


class Decorators:
    """Stands for the package autokernel in a user's file, which need not be installed here."""

    def reference(self, function=None, *, kernel=None, torch=False, **settings):
        def mark(function):
            function.autokernel = {"kernel": kernel, "torch": torch, "settings": settings}
            return function
        return mark if function is None else mark(function)


def run_source(text, file, folder, module):
    """Runs a user's source and returns what it defines."""
    import linecache
    sys.path.insert(0, folder)
    scope = {"__name__": module, "__file__": os.path.join(folder, file)}
    # Decorators may ask for the source (@triton.jit does).
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)
    return scope


def find_function(scope, file, name):
    if not callable(scope.get(name)):
        raise Wrong("%s defines no function %s" % (file, name))
    return scope[name]


def find_parameters(function, file, name, known, others=()):
    """Returns which known names are parameters of the function. Other parameters need a default, unless they are of
    one of the kinds `others`."""
    import inspect
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in known:
            found.append(parameter.name)
        elif parameter.default is parameter.empty and parameter.kind not in others:
            raise Wrong("%s: the parameter %s of %s is neither an argument nor a size nor an option of the problem; "
                        "there are: %s" % (file, parameter.name, name, ", ".join(known)))
    return found


def reply_to(line, answer, told, failures=Exception):
    """Sends what answer(request) returns, a dictionary, or one line about its failure: told(exception)."""
    try:
        reply = dict(answer(json.loads(line)), ok=True)
    except failures as error:
        reply = {"ok": False, "error": told(error)}
    # Exceptions may hold characters that UTF-8 does not have, such as those for bytes of odd file names.
    replies.write(json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
