"""triton_worker.py: compiles Triton kernels for a device that need not be here; triton_compile.c starts and asks it
(backend/script.py runs before it).

  open                imports Triton. The reply has its version
  compile source, function, options, artifact, folder, cpu_seconds, wall_seconds, memory
                      compiles in a copy of this process, so that a crash, a hang or too much memory costs one
                      configuration and no second import. The reply has status, reason, registers, shared, spill
  describe path, function, settings, settings_name, taken, folder, seconds
                      imports a user's file in a copy of this process. The reply has the problem and the space file of
                      the Triton function in it (triton_adopt.c)

These are the options of a compilation:

  --target=BACKEND:ARCHITECTURE     such as cuda:90
  --arguments=A,B,...               the arguments that are not constexpr, in the function's order, once for each
                                    shape that is known, the task's own first: *f16 is a pointer,
                                    i4096 and l4096 are integers, f is a float, none is None
  -DNAME=VALUE                      num_warps, num_stages, num_ctas, maxnreg and the function's constexpr
                                    parameters; -DNAME_is_TEXT=1 gives the parameter NAME a text
  -DOWN_SIZE_ONLY=1                 the code runs at the task's own shape only

Triton specialises code by its integer arguments (equal to 1, divisible by 16), so an artifact has a variant for the
task's own. It also has one for all others, unless the code runs at the task's own shape only or the first variant
assumes nothing. It begins with a line of JSON, and the binaries follow."""
import ast
import re
import resource
import select
import signal
import struct
import time

triton = None
OLDEST, NEWEST = (3, 2), (3, 9)  # versions that this was tried with
LINE_MAX = 300
POLL_SECONDS = 0.05
REPLY_MAX = 4 << 20  # bytes of a description; a file may have a thousand configurations
KINDS = {"f": "float", "i": "int", "u": "uint", "bf": "bfloat"}
CODES = {"cuda": "cubin", "hip": "hsaco"}


def version_of(text):
    return tuple(int(digits) for digits in re.findall(r"\d+", text)[:2])


def newer(version):
    """Says that Triton is newer than what this was tried with, for an error that may come from that."""
    return ("; it is newer than %d.%d, the newest that is known to work" % NEWEST
            if version_of(version) > NEWEST else "")


def one_line(text):
    lines = [line.strip() for line in str(text).strip().splitlines() if line.strip()]
    return (lines[0] if lines else "no message")[:LINE_MAX]


def told(error):
    """Returns kind and message of an exception in one line."""
    text = str(getattr(error, "msg", error) if isinstance(error, SyntaxError) else error).strip()
    return type(error).__name__ + (": " + one_line(text) if text else "")


def import_triton():
    global triton
    if triton is None:
        try:
            import triton as found
            version = found.__version__
        except Exception as error:
            raise Wrong("a Triton kernel needs Triton, and %s has none that can be imported (%s): make a virtual "
                        "environment with it (`python3 -m venv venv && venv/bin/pip install triton`) and set "
                        "AUTOKERNEL_PYTHON=venv/bin/python" % (sys.executable, one_line(error)))
        if version_of(version) < OLDEST:
            raise Wrong("Triton %s is too old: version %d.%d or later is needed (`%s -m pip install -U triton`)"
                        % ((version,) + OLDEST + (sys.executable,)))
        # The key of Triton's cache holds a hash of all its files, 0.4 s of every compile worker's processor time.
        # The cache lies in the run's own folder, so only the kernel and the options differ between its entries.
        try:
            for name in ("triton.runtime.cache", "triton.compiler.compiler"):
                module = __import__("importlib").import_module(name)
                if hasattr(module, "triton_key"):
                    module.triton_key = lambda: version
        except Exception as error:
            raise Wrong("Triton %s of %s cannot be used: %s%s" % (version, sys.executable, told(error), newer(version)))
        triton = found
    return triton


WARM = """import triton
import triton.language as tl


@triton.jit
def warm(p, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(p + i, tl.load(p + i, mask=i < n) + 1, mask=i < n)
"""
warmed = set()


def warm(options, folder):
    """Compiles a small kernel once in this process, so that its copies need not load the rest of the compiler."""
    import linecache
    target = next((o for o in options if o.startswith("--target=")), None)
    if target in warmed:
        return
    warmed.add(target)
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
    try:
        linecache.cache["warm.py"] = (len(WARM), None, WARM.splitlines(True), "warm.py")
        scope = {"__name__": "ak_warm"}
        exec(compile(WARM, "warm.py", "exec"), scope)
        triton.runtime.driver.set_active(Device(read_options([target, "--arguments="])[2]))
        scope["warm"].run(Pointer(triton.language.float32), 3, BLOCK=32, grid=(1,), warmup=True)
    except Exception:  # the kernel's own compilation will say what is wrong
        pass


class Device:
    """Stands in for the driver of the target: compiling asks it for nothing else."""

    def __init__(self, target):
        self.target = target

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_active_torch_device(self):  # Triton's tutorials ask for it when they are imported
        import torch
        return torch.device("cuda", 0)


class Pointer:
    def __init__(self, dtype):
        self.dtype = dtype

    def data_ptr(self):
        return 0  # the harness aligns every buffer to 16 bytes and more


def value_of(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False}.get(text, text)


def read_options(options):
    defines, lines, target = {}, [], None
    for option in options:
        name, _, value = option.partition("=")
        if name == "--target":
            backend, architecture = value.split(":")
            target = triton.backends.compiler.GPUTarget(
                backend, int(architecture) if architecture.isdigit() else architecture,
                64 if architecture.startswith("gfx9") else 32)
        elif name == "--arguments":
            lines.append(value)
        elif name.startswith("-D"):
            defines[name[2:]] = value_of(value)
    for name in list(defines):
        key, _, text = name.partition("_is_")
        if text:
            defines.setdefault(key, text)
    if target is None or not lines:
        raise Wrong("the options name no target or no arguments")
    return defines, lines, target


def refuse_text(text, name):
    """Refuses a file that defines a Triton function twice, as Python would drop the first without a word, and text
    in another encoding than the file says."""
    seen = {}
    try:
        text.decode()
    except UnicodeDecodeError as error:
        if not re.match(rb"(.*\n)?[ \t\f]*#.*coding[:=]", text):
            raise Wrong("%s:%d: it is not UTF-8: save it as UTF-8, or name its encoding in the first line, as in "
                        "`# -*- coding: latin-1 -*-`" % (name, text.count(b"\n", 0, error.start) + 1))
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and any("'jit'" in ast.dump(d) for d in node.decorator_list):
            if node.name in seen:
                raise Wrong("%s: the lines %d and %d both define the kernel %s: rename one of them"
                            % (name, seen[node.name], node.lineno, node.name))
            seen[node.name] = node.lineno


def advice(error):
    """Returns what to do about an exception of a file that is imported, if that is known."""
    if isinstance(error, ModuleNotFoundError):
        return "; install it for %s, or put it under `if __name__ == \"__main__\":`" % sys.executable
    if isinstance(error, AttributeError) and isinstance(getattr(error, "obj", None), Device):
        return ("; the file is imported where no GPU is asked: put what launches a kernel or asks for the device under "
                "`if __name__ == \"__main__\":`")
    return ""


def run_file(path, name):
    """Runs a source file and returns what it defines."""
    import types
    module = types.ModuleType("ak_kernel")
    module.__file__ = path
    sys.modules["ak_kernel"] = module
    sys.modules["autokernel"] = Decorators()
    try:
        with open(path, "rb") as file:
            text = file.read()
        refuse_text(text, name)
        exec(compile(text, path, "exec"), module.__dict__)
    except Wrong:
        raise
    except BaseException as error:
        place = [frame.lineno for frame in __import__("traceback").extract_tb(error.__traceback__) if frame.filename == path]
        place = place[-1] if place else getattr(error, "lineno", None)
        if isinstance(error, SystemExit):
            error = "the file is imported, and must not end Python then; put that under `if __name__ == \"__main__\":`"
            raise Wrong("%s%s: SystemExit: %s" % (name, ":%d" % place if place else "", error))
        raise Wrong("%s%s: %s%s" % (name, ":%d" % place if place else "", told(error), advice(error)))
    return module.__dict__


def unwrap(found):
    """Returns a kernel without its autotuner, the jit function itself, its heuristics and its autotuner. The decorators
    may be in any order: heuristics above the autotuner are put around the function again without it."""
    tuner, rules, inner = None, [], found
    while not hasattr(inner, "params") and hasattr(inner, "fn"):
        if isinstance(inner, triton.runtime.Autotuner):
            tuner = inner
        else:
            rules.insert(0, inner)
        inner = inner.fn
    found, heuristics = inner, {}
    for rule in reversed(rules):
        heuristics.update(getattr(rule, "values", {}))
    for rule in rules:
        found = triton.heuristics(rule.values)(found) if hasattr(rule, "values") else rule
    return found, inner, heuristics, tuner


def load(path, name, function):
    """Runs the source; returns the kernel without its autotuner, the jit function, its heuristics."""
    found = run_file(path, name).get(function)
    if found is None:
        raise Wrong("%s defines no function %s" % (name, function))
    found, inner, heuristics, _ = unwrap(found)
    if not isinstance(inner, triton.runtime.JITFunction):
        raise Wrong("%s: %s is not a function with @triton.jit" % (name, function))
    return found, inner, heuristics


# ---- a user's own file -----------------------------------------------------------------------------------------

SETTINGS = ("name", "description", "sizes", "dtypes", "choices", "arguments", "grid", "parameters", "conditions",
            "constants", "defines", "reference", "flops", "bytes", "tolerance", "awkward", "tune_size", "workspace")
META = ("num_warps", "num_stages", "num_ctas", "maxnreg")
META_VALUES = {"num_warps": [2, 4, 8], "num_stages": [2, 3, 4]}


def find_kernel(scope, path, function):
    kinds = tuple(k for k in (triton.runtime.JITFunction, triton.runtime.Autotuner,
                              getattr(triton.runtime, "Heuristics", None)) if k)
    kernels = {n: v for n, v in scope.items() if isinstance(v, kinds) and unwrap(v)[1].__module__ == "ak_kernel"}
    if function:
        if function not in kernels:
            raise Wrong("%s: there is no Triton kernel %s; there are: %s" % (path, function, ", ".join(kernels) or "none"))
        return function, kernels[function]
    tuned = {n: v for n, v in kernels.items() if isinstance(v, triton.runtime.Autotuner)} or kernels
    if len(tuned) != 1:
        raise Wrong("%s has the kernels %s: name one, as in %s:%s" % (path, ", ".join(tuned), path, next(iter(tuned)))
                    if tuned else "%s has no function with @triton.jit" % path)
    return next(iter(tuned.items()))


def configurations(tuner):
    """Returns the configurations of @triton.autotune as dictionaries."""
    found = []
    for config in tuner.configs if tuner is not None else []:
        values = dict(config.kwargs)
        for name in META:
            if getattr(config, name, None) is not None:
                values[name] = getattr(config, name)
        if values.get("num_ctas") == 1:
            del values["num_ctas"]
        found.append(values)
    return found


def parameter(name, values, default):
    kinds = {str if isinstance(v, str) else float if isinstance(v, (int, float)) else type(v) for v in values + [default]}
    if len(kinds) != 1 or not kinds <= {str, float}:
        raise Wrong("the parameter %s has the values %s: they must be all numbers or all texts; `constants` may be None"
                    % (name, ", ".join(map(repr, values))))
    values = sorted(set(values + [default]))
    kind = "string" if kinds == {str} else "int" if all(isinstance(v, int) for v in values) else "float"
    return {"Name": name, "Type": kind, "Values": [int(v) if isinstance(v, bool) else v for v in values],
            "Default": int(default) if isinstance(default, bool) else default}


def space_of(inner, tuner, settings):
    """Returns the parameters of the space and the configurations to begin with."""
    configs = configurations(tuner)
    if tuner is not None:
        if any(getattr(c, "pre_hook", None) for c in tuner.configs) or getattr(tuner, "user_defined_pre_hook", False) \
                or getattr(tuner, "user_defined_post_hook", False):
            raise Wrong("%s: the pre_hook or post_hook of @triton.autotune would not be called: remove it; arrays that it sets "
                        "to zero go into reset_to_zero" % inner.__name__)
        if any(getattr(c, "ir_override", None) for c in tuner.configs):
            raise Wrong("%s: ir_override of a triton.Config is not supported: remove it" % inner.__name__)
    own = dict(settings.get("parameters", {}))
    names = list(dict.fromkeys([n for c in configs for n in c] + list(own)))
    known = {p.name for p in inner.params if p.is_constexpr} | set(META)
    for name in names:
        if name not in known:
            raise Wrong("the parameter %s is not a constexpr of %s; those are: %s"
                        % (name, inner.__name__, ", ".join(sorted(known - set(META))) or "none"))
    if not names and not configs:
        own.update(META_VALUES)
        names = list(own)
    made = []
    for name in names:
        values = list(own.get(name, [])) or [c[name] for c in configs if name in c]
        default = configs[0][name] if configs and name in configs[0] and configs[0][name] in values else values[len(values) // 2]
        made.append(parameter(name, values, default))
    return made, [c for c in configs if set(c) == set(names)]


def decorated(scope, kernel, function, base):
    """Returns the settings in the decorator of a reference; None if no function has one for this kernel."""
    found = {n: v for n, v in scope.items() if isinstance(getattr(v, "autokernel", None), dict) and callable(v)}
    mine = {n: v for n, v in found.items() if v.autokernel["kernel"] in (None, kernel, function)}
    named = {n: v for n, v in mine.items() if v.autokernel["kernel"] is not None}
    mine = named or mine
    if len(mine) > 1:
        raise Wrong("%s: %s are references of %s: say which kernel each is for, as in @autokernel.reference(kernel=%s)"
                    % (base, " and ".join(mine), function, function))
    for name, one in mine.items():
        settings = dict(one.autokernel["settings"])
        if "reference" in settings:
            raise Wrong("%s: the decorated function %s is the reference; leave \"reference\" out" % (base, name))
        settings["reference"] = "%s:%s" % (base, name)
        if isinstance(settings.get("grid"), (str, int)):
            settings["grid"] = [settings["grid"]]
        try:
            return json.loads(json.dumps(settings))
        except (TypeError, ValueError) as error:
            raise Wrong("%s: the settings of %s must be texts, numbers, lists and dictionaries: %s"
                        % (base, name, one_line(error)))
    return None


LOOSE = {"f64": "64*eps", "f32": "64*eps", "f16": "4*eps", "bf16": "4*eps",  # whole numbers are exact
         **dict.fromkeys(("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"), "0")}
ARRAY = ("shape", "access", "dtype", "fill", "pitch", "description", "unused")
PASSED = ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float32", "Float64",
          "Workspace", "Null")


def check_argument(name, value, where):
    """Refuses an argument that is neither an array nor a value, and members that would be left out."""
    if isinstance(value, dict) and "shape" in value:
        for key in value:
            if key not in ARRAY:
                raise Wrong("%s: the argument %s has the unknown key \"%s\"; there are: %s"
                            % (where, name, key, ", ".join(ARRAY)))
    elif isinstance(value, dict):
        if len(value) != 1 or next(iter(value)) not in PASSED:
            raise Wrong("%s: the argument %s must have a \"shape\", or one of %s alone" % (where, name, ", ".join(PASSED)))
    elif isinstance(value, (bool, list)):
        raise Wrong("%s: the argument %s must be an object with a \"shape\", a number, an expression or null" % (where, name))


def check_kinds(settings, where):
    """Refuses settings that are no list, dictionary or text where one is needed."""
    kinds = {"sizes": (dict, "an object of names and numbers, as {\"n\": 1024}"),
             "arguments": (dict, "an object with a member for each argument of the function"),
             "grid": (list, "a list of 1 to 3 expressions, as [\"(n + BLOCK - 1)//BLOCK\"]"),
             "parameters": (dict, "an object of names and lists of values"), "constants": (dict, "an object"),
             "defines": (dict, "an object"), "conditions": (list, "a list of expressions"),
             "choices": (list, "a list of objects"), "dtypes": (list, "a list, as [\"f32\"]"),
             "reference": (str, "a text, as \"file.py:function\"")}
    for key, (kind, text) in kinds.items():
        if not isinstance(settings.get(key, kind()), kind):
            raise Wrong("%s: \"%s\" must be %s" % (where, key, text))
    for name, values in settings.get("parameters", {}).items():
        if not isinstance(values, list) or not values:
            raise Wrong("%s: the parameter %s needs a list of values" % (where, name))
    for name, value in settings["sizes"].items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise Wrong("%s: the size %s must be a whole number of 1 or more" % (where, name))
    if not settings["sizes"] or not settings["grid"]:
        raise Wrong("%s: \"%s\" is empty" % (where, "sizes" if not settings["sizes"] else "grid"))
    if settings.get("dtypes") == []:
        raise Wrong("%s: \"dtypes\" is empty" % where)
    for dtype in settings.get("dtypes", []):
        if dtype not in LOOSE:
            raise Wrong("%s: \"dtypes\" has %s; there are: %s" % (where, json.dumps(dtype), ", ".join(LOOSE)))
    for name, value in settings["arguments"].items():
        check_argument(name, value, where)


def describe(request):
    triton.runtime.driver.set_active(Device(triton.backends.compiler.GPUTarget("cuda", 90, 32)))
    path = request["path"]
    base = os.path.basename(path)
    sys.path.insert(0, os.path.dirname(path))
    scope = run_file(path, base)
    function, found = find_kernel(scope, base, request["function"])
    _, inner, heuristics, tuner = unwrap(found)
    settings = request["settings"]
    where = request["settings_name"]
    own = decorated(scope, found, function, base)
    if own is not None and where != base:
        raise Wrong("%s and the decorator of %s both give settings: remove one of them" % (where, own["reference"]))
    if where == base and own is None:
        raise Wrong("%s: no function with @autokernel.reference is for the kernel %s" % (base, function))
    settings = settings if own is None else own
    if not isinstance(settings, dict):
        raise Wrong("%s must be a JSON object" % where)
    for key in settings:
        if key not in SETTINGS:
            raise Wrong("%s: unknown key \"%s\"; there are: %s" % (where, key, ", ".join(SETTINGS)))
    for key in ("sizes", "arguments", "grid", "reference"):
        if key not in settings:
            raise Wrong("%s: \"%s\" is missing" % (where, key))
    check_kinds(settings, where)
    parameters, starts = space_of(inner, tuner, settings)
    tuned = {p["Name"] for p in parameters}
    constants, defines = settings.get("constants", {}), settings.get("defines", {})
    choices = [choice.get("name") for choice in settings.get("choices", []) if isinstance(choice, dict)]
    given = settings["arguments"]
    arguments, passed = [], []
    for p in inner.params:
        if p.is_constexpr:
            default = p.default is not __import__("inspect").Parameter.empty if hasattr(p, "default") else False
            if p.name not in tuned and p.name not in constants and p.name not in defines \
                    and p.name not in heuristics and not default and p.name not in choices:
                raise Wrong("%s: nothing gives the constexpr %s of %s a value: add it to \"parameters\", "
                            "\"constants\" or \"defines\"" % (where, p.name, function))
            continue
        if p.name not in given:
            raise Wrong("%s: the argument %s of %s has neither a shape nor a value: add it to \"arguments\""
                        % (where, p.name, function))
        value = given[p.name]
        if isinstance(value, dict) and "shape" in value:
            one = {"name": p.name, "dtype": value.get("dtype", "dtype"), "shape": value["shape"],
                   "access": value.get("access", "in")}
            for key in ("fill", "pitch", "description", "unused"):
                if key in value:
                    one[key] = value[key]
            if one["access"] != "out":
                one.setdefault("fill", "constant(0)" if tuner is not None and p.name in (tuner.reset_to_zero or [])
                               else "normal(0,1)")
            arguments.append(one)
            passed.append({"Buffer": p.name})
        elif isinstance(value, dict):
            passed.append(value)
        elif value is None:
            passed.append({"Null": True})
        else:
            passed.append({"Float32" if isinstance(value, float) else "Int32": str(value)})
    for key in ("constants", "defines"):
        for n in settings.get(key, {}):
            if n not in META and n not in {p.name for p in inner.params if p.is_constexpr}:
                raise Wrong("%s: \"%s\" has %s, which is not a constexpr of %s" % (where, key, n, function))
    unknown = [n for n in given if n not in {p.name for p in inner.params}]
    if unknown:
        raise Wrong("%s: %s has no parameter %s" % (where, function, unknown[0]))
    if not any(a["access"] != "in" for a in arguments):
        raise Wrong("%s: no argument has \"access\": \"out\", so there is nothing to check" % where)
    for p in parameters:
        if p["Name"] in constants:
            raise Wrong("%s: %s is a parameter and a constant" % (where, p["Name"]))
    name = settings.get("name", function)
    name = "my_" + name if name in request["taken"] else name
    dtypes = settings.get("dtypes", ["f32"])
    sizes = [{"name": n, "default": v} for n, v in settings["sizes"].items()]
    whole = " + ".join("*".join(["(%s)" % e for e in a["shape"]] + ["dtype_bytes"]) for a in arguments)
    problem = {"schema": 1, "name": name, "description": settings.get("description", "%s of %s" % (function, base)),
               "sizes": sizes, "dtypes": dtypes, "choices": settings.get("choices", []), "arguments": arguments,
               "flops": settings.get("flops", "0"), "bytes": settings.get("bytes", whole),
               "reference": settings["reference"],
               "tolerance": settings.get("tolerance", {d: {"relative": LOOSE[d], "rms": LOOSE[d]} for d in dtypes})}
    for key in ("awkward", "tune_size"):
        if key in settings:
            problem[key] = settings[key]
    conditions = [c if isinstance(c, dict) else {"Expression": c, "Description": c}
                  for c in settings.get("conditions", [])]
    space = {"ConfigurationSpace": {"TuningParameters": parameters, "Conditions": conditions},
             "KernelSpecification": {"Language": "Triton", "KernelName": function, "KernelFile": base,
                                     "CompilerOptions": ["-D%s=%s" % item for item in constants.items()],
                                     "Defines": defines, "Workspace": str(settings.get("workspace", "0")),
                                     "Launch": {"Grid": [str(g) for g in settings["grid"]], "Arguments": passed}}}
    if starts:
        space["ConfigurationSpace"]["Starts"] = [{"At": settings["sizes"], "Config": c} for c in starts]
        space["ConfigurationSpace"]["StartsNear"] = 60
    return {"name": name, "problem": json.dumps(problem, indent=2), "space": json.dumps(space, indent=2),
            "file": base}


def type_name(dtype):
    """Returns what Triton calls a dtype: "float32" for f32."""
    letters = dtype.rstrip("0123456789")
    name = KINDS.get(letters, "") + dtype[len(letters):]
    if not hasattr(triton.language, name):
        raise Wrong("pointers to %s are not supported" % dtype)
    return name


def argument(text, general):
    kind, rest = text[0], text[1:]
    if kind == "*":
        return Pointer(getattr(triton.language, type_name(rest)))
    if kind == "f":
        return 1.5
    if text == "none":
        return None
    if general:  # a number of no special class; the larger one makes it 64 bits wide
        return 3 if kind == "i" else (1 << 40) + 3
    return int(rest)


def class_of(text):
    """Returns what Triton distinguishes of an argument."""
    if text[0] not in "il":
        return text
    number = int(text[1:])
    return ("one" if number == 1 else "16" if number % 16 == 0 else "any") + ("" if -2**31 <= number < 2**31 else "64")


def sections(elf):
    """Yields name and contents of the sections of a 64-bit ELF file."""
    offset, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQII", elf, offset + i * size) for i in range(count)]
    table = headers[names][4]
    for header in headers:
        start = table + header[0]
        yield elf[start:elf.index(b"\0", start)].decode(), elf[header[4]:header[4] + header[5]]


def facts_of(binary):
    """Returns registers and the stack's bytes of an NVIDIA binary."""
    found = {0x2f: 0, 0x12: 0}  # EIATTR_REGCOUNT and EIATTR_MIN_STACK_SIZE: the symbol, the number
    for name, data in sections(binary):
        at = 0
        while name == ".nv.info" and at + 4 <= len(data):
            form, attribute, size = struct.unpack_from("<BBH", data, at)
            at += 4
            if form == 4:
                if attribute in found and size == 8:
                    found[attribute] = max(found[attribute], struct.unpack_from("<I", data, at + 4)[0])
                at += size
    return found[0x2f], found[0x12]


def variant(found, inner, defines, line, general, target):
    """Compiles one variant; returns its facts and its binary."""
    names = [p.name for p in inner.params]
    given = {p.name: defines[p.name] for p in inner.params if p.is_constexpr and p.name in defines}
    options = {k: defines[k] for k in ("num_warps", "num_stages", "num_ctas", "maxnreg") if k in defines}
    texts = line.split(",") if line else []
    plain = [p.name for p in inner.params if not p.is_constexpr]
    if len(texts) != len(plain):
        raise Wrong("%s takes %d arguments that are not constexpr (%s), but the Launch passes %d"
                    % (inner.__name__, len(plain), ", ".join(plain), len(texts)))
    values = {name: argument(text, general) for name, text in zip(plain, texts)}
    kernel = found.run(grid=(1,), warmup=True, **values, **given, **options)
    meta = kernel.metadata
    code = kernel.asm[CODES[target.backend]]
    if isinstance(kernel.src.signature, dict):
        signature = [kernel.src.signature.get(n, kernel.src.signature.get(i, "constexpr")) for i, n in enumerate(names)]
    else:
        signature = list(kernel.src.signature)
    gone = kernel.src.constants  # the keys are names, numbers or paths, depending on the version of Triton
    types = ["" if t == "constexpr" or n in gone or i in gone or (i,) in gone else t
             for i, (n, t) in enumerate(zip(names, signature)) if n in plain]
    for text, kind in zip(texts, types):
        if kind and kind[0] != "*" and kind not in ("i1", "i32", "i64", "fp32", "fp64"):
            raise Wrong("an argument of type %s is not supported" % kind)
    trailing = 0
    if "ptx" in kernel.asm:
        entry = re.search(r"\.entry\s+%s\s*\(([^)]*)\)" % re.escape(meta.name), kernel.asm["ptx"])
        trailing = entry.group(1).count(".param") - sum(1 for t in types if t)
    if getattr(meta, "global_scratch_size", 0) or getattr(meta, "launch_cooperative_grid", False):
        raise Wrong("it needs global scratch memory or a cooperative launch, which are not supported: replace tensor "
                    "descriptors that the kernel makes itself (tl.make_tensor_descriptor) by pointers")
    registers, stack = facts_of(code) if target.backend == "cuda" else (0, 0)
    return {"entry": meta.name, "shared": meta.shared, "num_warps": meta.num_warps, "num_ctas": meta.num_ctas,
            "early": bool(getattr(meta, "launch_pdl", False)), "types": types, "trailing": trailing,
            "registers": registers, "stack": stack, "bytes": len(code)}, code


def check_heuristics(inner, heuristics, defines, lines):
    """Refuses heuristics that differ between the shapes: an artifact has one value of each."""
    plain = [p.name for p in inner.params if not p.is_constexpr]
    first = {}
    for line in lines:
        values = dict(defines)
        values.update({n: argument(t, False) for n, t in zip(plain, line.split(","))})
        for name, rule in heuristics.items():
            value = rule(values)
            if first.setdefault(name, value) != value:
                raise Wrong("the heuristic %s differs between the sizes that are checked (%s and %s): make it a "
                            "parameter, or leave out those sizes" % (name, first[name], value))


def build(request):
    """Compiles all variants and writes the artifact."""
    defines, lines, target = read_options(request["options"])
    triton.runtime.driver.set_active(Device(target))
    found, inner, heuristics = load(request["source"], request["name"], request["function"])
    check_heuristics(inner, heuristics, defines, lines)
    # One variant is specialised for the task's own arguments; the other assumes nothing and is right for all.
    wanted = [(lines[0], False)]
    if not defines.get("OWN_SIZE_ONLY") and any(class_of(t) != "any" for t in lines[0].split(",") if t[0] in "il"):
        wanted.append((lines[0], True))
    variants, codes = [], []
    for line, general in wanted:
        facts, code = variant(found, inner, defines, line, general, target)
        facts["arguments"], facts["general"] = line, general or len(wanted) == 1 and not defines.get("OWN_SIZE_ONLY")
        variants.append(facts)
        codes.append(code)
    head = json.dumps({"triton": triton.__version__, "target": "%s:%s" % (target.backend, target.arch),
                       "variants": variants}) + "\n"
    temporary = request["artifact"] + ".part"
    with open(temporary, "wb") as file:
        file.write(head.encode())
        for code in codes:
            file.write(code)
    os.replace(temporary, request["artifact"])
    return {"status": "ok", "registers": variants[0]["registers"], "shared": variants[0]["shared"],
            "spill": variants[0]["stack"], "variants": len(variants)}


def reason(error):
    """Returns one line of an exception of Triton, with the place in the source if it has one."""
    text = str(error)
    place = re.search(r"at (\d+):(\d+):", text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if place and lines:
        what = str(cause).strip().splitlines()[-1] if cause is not error and str(cause).strip() else lines[-1]
        return one_line("line %s of the function: %s" % (place.group(1), what))
    # The message of ptxas follows Triton's own lines, and names a temporary file that no longer exists.
    ptxas = re.search(r"^ptxas\S* (?:.*; )?(?:error|fatal) *: *(.*)$", text, re.MULTILINE)
    if ptxas:
        return one_line("ptxas: " + ptxas.group(1))
    wrong = [line for line in lines if "error" in line.lower()]
    return one_line("%s: %s" % (type(error).__name__, (wrong or lines or ["no message"])[0]))


def child(request, pipe, work):
    os.environ["TRITON_CACHE_DIR"] = os.path.join(request["folder"], "triton")
    resource.setrlimit(resource.RLIMIT_CPU, (request["cpu_seconds"],) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if request["memory"] > 0:
        resource.setrlimit(resource.RLIMIT_AS, (request["memory"],) * 2)
    try:
        for descriptor in (3, 4):  # a user's file could write to them
            os.close(descriptor)
        reply = work(request)
    except Wrong as error:
        reply = {"status": "rejected", "reason": one_line(error)}
    except MemoryError:
        reply = {"status": "out_of_memory", "reason": "Triton needs more memory than it may take"}
    except BaseException as error:
        ours = newer(triton.__version__) if isinstance(error, (AttributeError, ImportError, TypeError)) else ""
        reply = {"status": "compile_error", "reason": reason(error) + ours, "log": str(error)[-4000:]}
    with os.fdopen(pipe, "w", encoding="utf-8", errors="replace") as out:
        json.dump(reply, out, ensure_ascii=False)
    os._exit(0)


def apart(request, work):
    """Runs `work` in a copy of this process, and returns its reply or why there is none."""
    import_triton()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        child(request, writing, work)
    os.close(writing)
    text, status, used, late = listen(pid, reading, request["wall_seconds"])
    try:
        return json.loads(text)
    except ValueError:
        pass  # the copy ended before it could answer
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    seconds = used.ru_utime + used.ru_stime
    who, ended = request.get("who", "Triton"), request.get("ended", "")
    if number == signal.SIGXCPU or number == signal.SIGKILL and seconds >= 0.9 * request["cpu_seconds"]:
        return {"status": "timed_out", "reason": "%s took longer than %d s of processor time" % (who, request["cpu_seconds"])}
    if late:
        return {"status": "timed_out", "reason": "%s took longer than %d s" % (who, request["wall_seconds"])}
    return {"status": "compile_error", "reason": "%s was ended by signal %d" % (who, number) if number
            else "%s ended without a result%s" % (who, ended)}


def listen(pid, reading, wall_seconds):
    """Reads what a copy of this process writes until it ends. Processes that it has left behind may keep the pipe
    open; they end with this process, whose group they cannot leave. Returns the text, how the copy ended, what it
    used, and whether it was late."""
    text, ended, closed, late = b"", 0, False, False
    deadline = time.monotonic() + wall_seconds
    os.set_blocking(reading, False)
    while True:
        if not ended:
            ended, status, used = os.wait4(pid, os.WNOHANG)
        ready = not closed and select.select([reading], [], [], 0 if ended else POLL_SECONDS)[0]
        part = os.read(reading, 1 << 16) if ready else b""
        text += part
        closed = closed or len(text) > REPLY_MAX or bool(ready) and not part
        if ended and (closed or not part):
            break
        if closed:
            time.sleep(POLL_SECONDS / 10)
        if not late and time.monotonic() > deadline:
            late = True
            os.kill(pid, signal.SIGKILL)
    os.close(reading)
    return text.decode(errors="replace"), status, used, late


def answer(request):
    if request["op"] == "open":
        return {"version": import_triton().__version__}
    if request["op"] == "describe":
        name = os.path.basename(request["path"])
        request.update(memory=0, who="%s: importing it" % name, ended=" (does it call os._exit?)",
                       cpu_seconds=request["seconds"], wall_seconds=2 * request["seconds"])
        reply = apart(request, describe)
        if "status" in reply:
            more = "; AUTOKERNEL_IMPORT_SECONDS=%d would allow more" % (4 * request["seconds"])
            raise Wrong(reply["reason"] + (more if reply["status"] == "timed_out" else ""))
        return reply
    import_triton()
    warm(request["options"], request["folder"])
    return apart(request, build)


def failure(error):
    if isinstance(error, Wrong):
        return one_line(error)
    return "Triton %s: %s%s" % (getattr(triton, "__version__", "is not imported"), told(error),
                                newer(getattr(triton, "__version__", "0")))


for line in requests:
    reply_to(line, answer, failure)
