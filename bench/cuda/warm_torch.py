#!/usr/bin/env python3
"""Saves the seconds that PyTorch needs to start for each shape of a long comparison: it starts one
interpreter for each shape in advance. Each imports torch, opens the device, compiles the function
that it will be asked for, and waits.

    warm_torch.py --serve FOLDER SECONDS KERNEL:DTYPE:ROWS:COLS...
                                        starts the interpreters; returns when all are ready, or
                                        after SECONDS, when it ends those that are not ready
    AUTOKERNEL_PYTHON=.../warm_torch.py WARM_TORCH=FOLDER autokernel compare ...
    warm_torch.py --stop FOLDER

autokernel calls this script as its Python interpreter (-c TEXT, with the pipes 3 and 4). The script
hands the text and the pipes to a waiting interpreter, and ends when that ends. If none waits, it
becomes an ordinary python3. Each shape is still compiled in the process that is measured, but torch
then finds the code in its cache on disk."""
import array, fcntl, glob, os, select, signal, socket, sys, time

AT_ONCE = os.cpu_count()  # interpreters that may prepare at the same time
DTYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}

def compile_like(spec):
    """Compiles the function that torch_worker.py will compile for this shape, so that it is in torch's cache."""
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
    """Prepares this process, says so on `ready`, and then runs the text that the first client sends."""
    ready = fcntl.fcntl(ready, fcntl.F_DUPFD_CLOEXEC, 200)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 3)  # reserves 3 and 4, so that the driver opens no files there
    os.dup2(nowhere, 4)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    try:
        compile_like(spec)
    except Exception as e:  # the process can still serve, only later
        print("warm_torch: %s: %s" % (spec, e), file=sys.stderr, flush=True)
    listener = socket.socket(socket.AF_UNIX)
    path = os.path.join(folder, "%03d" % number)
    listener.bind(path + ".new")
    listener.listen(1)
    os.rename(path + ".new", path)
    os.write(ready, b"1")
    os.close(ready)
    peer, _ = listener.accept()  # it stays open until this process ends, which tells the client
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
    """Starts the interpreters and returns when all are ready. Ends those that are not ready after `patience` seconds."""
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
                    pass  # it has ended already

def hand_over(folder):
    """Hands the text and the pipes to a waiting interpreter, and waits for its end. Returns False if there is none."""
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
        peer.recv(1)  # returns when the interpreter has ended
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
