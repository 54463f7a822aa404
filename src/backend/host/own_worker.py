"""own_worker.py: runs a Python function as a baseline. own.c starts it and sends requests; script.py runs before it.

The first request has the function's source and what its parameters may be (host_own.c). The later ones say where the
arguments lie in the shared memory `fd`: offsets, pitches and extents, and the sizes; the function is called once then,
with copies of what is both read and written, so that an exception is told. An empty line runs the function, and is
answered by an empty line.

The function gets views of the arguments, in their own dtype. It writes into the outputs, or returns them: one array,
several in the order of the arguments, or a dictionary of them."""
import hashlib
import mmap
import traceback

started = []  # the last process that the function asked for: the system refuses it, and some libraries hide why


def note_process(event, arguments):
    if event in ("subprocess.Popen", "os.system", "os.fork", "os.forkpty", "os.exec", "os.posix_spawn"):
        started[:] = [arguments[0] if arguments and isinstance(arguments[0], str) else event]


sys.addaudithook(note_process)


task = None
function = None
parameters = []
values = {}
memory = {}


def open_function(request):
    global task, function, parameters, np
    task = request
    try:
        import numpy as np
    except ImportError as error:
        raise Wrong("a Python baseline needs NumPy, and %s has none that can be imported (%s): set AUTOKERNEL_PYTHON "
                    "to a Python that has it" % (sys.executable, error))
    for argument in task["arguments"]:
        try:
            np.dtype(argument["dtype"])
        except TypeError:
            raise Wrong("NumPy has no %s" % argument["dtype"])
    scope = run_source(task["source"], task["file"], task["folder"], "baseline")
    function = find_function(scope, task["file"], task["function"])
    names = [a["name"] for a in task["arguments"]] + task["sizes"] + list(task["choices"]) + ["dtype"]
    parameters.extend(find_parameters(function, task["file"], task["function"], names))
    return {"numpy": np.__version__, "hash": content()}


def content():
    """Returns the hash of the function's file and of the modules of the kernel's folder that it has imported."""
    hasher = hashlib.sha256(task["source"].encode())
    folder = os.path.join(task["folder"], "")
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    for file in sorted(file for file in files if file.startswith(folder)):
        with open(file, "rb") as module:
            hasher.update(os.path.relpath(file, folder).encode() + b"\0" + module.read())
    return hasher.hexdigest()


def place(request):
    """Makes views of the arguments, and runs the function once."""
    key = (request["first"], request["span"])
    if key not in memory:
        memory.clear()
        memory[key] = mmap.mmap(request["fd"], request["span"], offset=request["first"])
    values.clear()
    values.update(task["choices"], dtype=task["dtype"], **dict(zip(task["sizes"], request["sizes"])))
    for a, offset, pitch, extents in zip(task["arguments"], request["offsets"], request["pitches"],
                                         request["extents"]):
        dtype = np.dtype(a["dtype"])
        shape = extents[:a["rank"]]
        strides = [dtype.itemsize] * len(shape)
        for d in range(len(shape) - 2, -1, -1):
            strides[d] = strides[d + 1] * (pitch if d == len(shape) - 2 else shape[d + 1])
        values[a["name"]] = np.ndarray(shape, dtype, memory[key], offset, strides)
    views = {a["name"]: values[a["name"]] for a in task["arguments"] if a["access"] == "inout"}
    values.update({name: view.copy() for name, view in views.items()})
    try:
        run()
    finally:
        values.update(views)
    return {}


def run():
    result = function(**{name: values[name] for name in parameters})
    outputs = [a["name"] for a in task["arguments"] if a["access"] != "in"]
    if result is None:
        return
    if not isinstance(result, dict):
        result = dict(zip(outputs, result if isinstance(result, (tuple, list)) else [result]))
    for name in outputs:
        if name not in result:
            raise Wrong("%s: the result has no %s" % (task["file"], name))
        if np.shape(result[name]) != values[name].shape:
            raise Wrong("%s: %s has the shape %s; it should be %s" % (task["file"], name, np.shape(result[name]),
                                                                      values[name].shape))
        values[name][...] = result[name]


def said(error):
    """Returns one line about an exception, with the line of the user's file where it happened."""
    if isinstance(error, Wrong):
        return str(error)
    line = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == task["file"]]
    where = "%s:%d" % (task["file"], getattr(error, "lineno", None) or (line[-1] if line else 1))
    text = " ".join(("%s: %s: %s" % (where, type(error).__name__, error)).split())
    if started:
        text = "%s; it wanted to start a process (%s), which a baseline may not%s: do it without, or name a shared " \
               "library that was built ahead" % (
                   text[:200], started[0][:60],
                   "; torch.compile for the CPU runs a compiler" if "torch" in sys.modules else "")
    return text


for request in requests:
    if request == b"\n":
        try:
            run()
        except Exception:
            pass  # the outputs are not written then, and the result is wrong
        replies.write(b"\n")
        continue
    started.clear()
    reply_to(request, open_function if task is None else place, said)
