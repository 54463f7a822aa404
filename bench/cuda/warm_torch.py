#!/usr/bin/env python3
"""Takes the seconds that PyTorch needs to start out of a comparison of many shapes: interpreters that
have imported torch, have a context on the device and have compiled what they will be asked for wait
to be used, one for each shape.

    warm_torch.py --serve FOLDER SECONDS KERNEL:DTYPE:ROWS:COLS...
                                        starts them; returns when all are ready, or after so many
                                        seconds, when those that are not are ended
    AUTOKERNEL_PYTHON=.../warm_torch.py WARM_TORCH=FOLDER autokernel compare ...
    warm_torch.py --stop FOLDER

As the interpreter of autokernel it hands over what it was asked to run (-c TEXT) and the pipes (3 and
4) to one that waits, and stays until that has ended; without one it becomes an ordinary python3. What
is compiled beforehand is only found again, in torch's own cache on disk: each shape is still compiled
in the process that is measured."""
import array, fcntl, glob, os, select, signal, socket, sys, time

AT_ONCE = os.cpu_count()  # of those that prepare
DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}

def compile_like(spec):
    """What torch_worker.py compiles for this shape, once."""
    import torch
    kernel, dtype, rows, cols = spec.split(":")
    shape, dtype = (int(rows), int(cols)), getattr(torch, DTYPES[dtype])
    functional = torch.nn.functional
    functions = {
        "softmax": lambda *given: torch.softmax(given[0], -1),
        "layernorm": lambda *given: functional.layer_norm(given[0], shape[1:], given[1], given[2], 1e-5),
        "rmsnorm": lambda *given: functional.rms_norm(given[0], shape[1:], given[1], 1e-5),
    }
    sizes = [shape] + [shape[1:]] * {"softmax": 0, "layernorm": 2, "rmsnorm": 1}[kernel]
    with torch.no_grad():
        given = [torch.zeros(size, dtype=dtype, device="cuda") for size in sizes]
        torch.compile(functions[kernel], dynamic=False)(*given)
        torch.cuda.synchronize()
        del given
        torch.cuda.empty_cache()

def wait_to_be_used(folder, number, spec, ready):
    """One process: prepares, then becomes what the first that connects asks for."""
    ready = fcntl.fcntl(ready, fcntl.F_DUPFD_CLOEXEC, 200)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 3)  # so that nothing else is there: the driver keeps files open
    os.dup2(nowhere, 4)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    try:
        compile_like(spec)
    except Exception as e:  # it can still be of use
        print("warm_torch: %s: %s" % (spec, e), file=sys.stderr, flush=True)
    listener = socket.socket(socket.AF_UNIX)
    path = os.path.join(folder, "%03d" % number)
    listener.bind(path + ".new")
    listener.listen(1)
    os.rename(path + ".new", path)
    os.write(ready, b"1")
    os.close(ready)
    peer, _ = listener.accept()  # open until we end
    text, ancillary, _, _ = peer.recvmsg(1 << 20, socket.CMSG_SPACE(8))
    pipes = array.array("i")
    pipes.frombytes(ancillary[0][2][:8])
    while not text.endswith(b"\0"):
        text += peer.recv(1 << 20)
    for i, pipe in enumerate(pipes):
        os.dup2(pipe, 3 + i)
        os.close(pipe)
    exec(compile(text[:-1].decode(), "torch_worker.py", "exec"), {"__name__": "__main__"})
    os._exit(0)

def serve(folder, patience, specs):
    """Returns when all are ready; after so many seconds those that are not are ended."""
    os.makedirs(folder, exist_ok=True)
    done, ready = os.pipe()
    deadline = time.monotonic() + patience
    waiting, count = list(enumerate(specs)), 0
    while count < len(specs):
        while waiting and len(specs) - len(waiting) - count < AT_ONCE:
            number, spec = waiting.pop(0)
            child = os.fork()
            if child == 0:
                os.setsid()
                os.close(done)
                wait_to_be_used(folder, number, spec, ready)
            with open(os.path.join(folder, "%03d.pid" % number), "w") as f:
                f.write(str(child))
        left = max(0, deadline - time.monotonic())
        if not select.select([done], [], [], left)[0]:
            break
        count += len(os.read(done, 1))
    end(folder, lambda path: not os.path.exists(path))
    print("warm_torch: %d of %d are ready" % (count, len(specs)), file=sys.stderr)

def end(folder, which):
    for path in sorted(glob.glob(os.path.join(folder, "*.pid"))):
        if which(path[:-len(".pid")]):
            with open(path) as f:
                try:
                    os.kill(int(f.read()), signal.SIGKILL)
                except OSError:
                    pass  # has done its work

def hand_over(folder):
    """True: somebody did it for us."""
    for path in sorted(glob.glob(os.path.join(folder, "[0-9][0-9][0-9]"))):
        try:
            os.rename(path, path + ".taken")
        except OSError:
            continue
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(path + ".taken")
        text = sys.argv[2].encode() + b"\0"
        peer.sendmsg([text[:1]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [3, 4]))])
        peer.sendall(text[1:])
        os.close(3)
        os.close(4)
        peer.recv(1)  # its end
        return True
    return False

def main():
    if sys.argv[1] == "--serve":
        serve(sys.argv[2], float(sys.argv[3]), sys.argv[4:])
    elif sys.argv[1] == "--stop":
        end(sys.argv[2], lambda path: True)
    elif not hand_over(os.environ.get("WARM_TORCH", "")):
        os.execvp("python3", ["python3"] + sys.argv[1:])

main()
