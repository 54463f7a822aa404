"""reference_worker.py: computes right results with a Python function; reference_python.c starts and asks it
(backend/script.py runs before it).

  open  file, source, function, folder, names, outputs, modules
                         imports NumPy and runs the source, which must define the function. Its parameters
                         are names of arguments, sizes and options. From the folder it may import only the
                         modules, whose files are part of the kernel's identity
  run   values, arrays   arrays: for each argument its name, file (doubles, in the order of rows), shape,
                         integer, access. Calls the function and writes what it returns to the files: one
                         array, several in the order of the outputs, or a dictionary of them. A function
                         that returns nothing has written into its parameters"""
import inspect
import traceback

np = None
torch = None
file = "reference.py"
function = None
parameters = []
outputs = []
folder = ""
modules = []


def import_numpy():
    global np
    try:
        import numpy as np
    except ImportError as error:
        raise Wrong("a Python reference needs NumPy, and %s has none that can be imported (%s): make a virtual "
                    "environment with it (`python3 -m venv venv && venv/bin/pip install numpy`) and set "
                    "AUTOKERNEL_PYTHON=venv/bin/python" % (sys.executable, error))


def check_imports():
    """Refuses modules of the kernel's folder that the kernel's identity lacks."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        installed = (sys.prefix + os.sep, sys.base_prefix + os.sep)  # even if that is in the kernel's folder
        if not isinstance(path, str) or path.startswith(installed) or "site-packages" in path:
            continue
        name = os.path.relpath(path, folder)
        if not name.startswith("..") and name != file and name not in modules:
            raise Wrong("%s: %s is imported, but is not mentioned by its name where autokernel looks for the modules "
                        "on which results depend: write `import NAME` with a module of Python text" % (file, name))


def prepare(request):
    global file, function, parameters, outputs, torch, folder, modules
    import_numpy()
    file, outputs, folder, modules = request["file"], request["outputs"], request["folder"], request["modules"]
    sys.modules["autokernel"] = Decorators()
    scope = run_source(request["source"], file, folder, "reference")
    check_imports()
    function = find_function(scope, file, request["function"])
    if getattr(function, "autokernel", {}).get("torch"):
        try:
            import torch
        except ImportError as error:
            raise Wrong("%s: the reference %s asks for torch, which %s cannot import (%s): install it, or write it "
                        "with NumPy" % (file, request["function"], sys.executable, error))
    parameters = find_parameters(function, file, request["function"], request["names"],
                                 (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD))
    return {"numpy": np.__version__}


def collect(result, arrays):
    """Returns the outputs by name."""
    if result is None:
        missing = [name for name in outputs if name not in parameters]
        if missing:
            raise Wrong("%s: the function returns nothing and has no parameter %s to write to" % (file, missing[0]))
        return {name: arrays[name] for name in outputs}
    if isinstance(result, dict):
        missing = [name for name in outputs if name not in result]
        if missing:
            raise Wrong("%s: the result has no %s" % (file, missing[0]))
        other = [name for name in result if name not in outputs]
        if other:
            raise Wrong("%s: the result has %r, which is no output; there are: %s" % (file, other[0], ", ".join(outputs)))
        return result
    if len(outputs) == 1:
        return {outputs[0]: result}
    if not isinstance(result, (tuple, list)) or len(result) != len(outputs):
        raise Wrong("%s: the function must return %d arrays (%s)" % (file, len(outputs), ", ".join(outputs)))
    return dict(zip(outputs, result))


def run(request):
    values, arrays = dict(request["values"]), {}
    for a in request["arrays"]:
        array = np.fromfile(a["file"], np.float64).reshape(a["shape"])
        arrays[a["name"]] = array.astype(np.int64) if a["integer"] and a["access"] != "out" else array
    values.update(arrays)
    if torch is not None:  # tensors share the memory of the arrays
        values.update({name: torch.from_numpy(array) for name, array in arrays.items()})
    with np.errstate(all="ignore"):
        found = collect(function(**{name: values[name] for name in parameters}), arrays)
    check_imports()
    for a in request["arrays"]:
        if a["access"] == "in":
            continue
        result = found[a["name"]]
        if isinstance(result, np.ma.MaskedArray):
            raise Wrong("%s: %s is a masked array, and what is masked has no right result: return .filled(value), or .data "
                        "to mean that" % (file, a["name"]))
        result = np.asarray(result.detach() if torch is not None and hasattr(result, "detach") else result)
        if result.dtype.kind not in "fiub":
            raise Wrong("%s: %s holds %s, not numbers" % (file, a["name"], result.dtype))
        if list(result.shape) != a["shape"] and not (result.size == 1 and a["shape"] in ([], [1])):
            raise Wrong("%s: %s has the shape %s; it should be %s"
                        % (file, a["name"], tuple(result.shape), tuple(a["shape"])))
        np.ascontiguousarray(result, np.float64).tofile(a["file"])
    return {}


def told(error):
    """Returns an exception in one line, with the place in the user's file."""
    if isinstance(error, Wrong):
        return str(error)
    place = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if isinstance(error, SyntaxError):
        place = [error.lineno]
    line = ":%d" % place[-1] if place and place[-1] else ""
    text = " ".join(str(getattr(error, "msg", None) or error).split())
    return "%s%s: %s: %s" % (file, line, type(error).__name__, text[:200])


for line in requests:  # a user's file may raise anything, SystemExit too
    reply_to(line, lambda request: {"open": prepare, "run": run}[request["op"]](request), told, BaseException)
