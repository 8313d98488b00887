/**
 * Program that runs Python code in one namespace, for Python 3.8 and later. Requests are JSON lines on descriptor 3; see
 * `runner-messages.ts` for its messages. It exits with status 120 in an older interpreter.
 */
export const PYTHON_RUNNER = String.raw`
import sys
if sys.version_info < (3, 8):
    sys.exit(120)
import __future__, ast, base64, inspect, io, json, linecache, os, re, signal, threading, traceback, types

MARK = sys.argv[1].encode()
PIECE = 3500
MOST_DATA = 4 * 2**20
MOST_COMMANDS = 100
METHODS = {
    "text/html": "_repr_html_", "text/markdown": "_repr_markdown_", "text/latex": "_repr_latex_",
    "image/svg+xml": "_repr_svg_", "image/png": "_repr_png_", "image/jpeg": "_repr_jpeg_",
    "application/json": "_repr_json_",
}
sys.argv = [""]
sys.stdout.reconfigure(line_buffering=True)
os.set_inheritable(3, False)
os.environ.setdefault("MPLBACKEND", "Agg")
requests = os.fdopen(3, "r", encoding="utf-8")
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
lock = threading.RLock()
number = 0
count = 0
is_running = is_sending = is_interrupted = has_tables = False


def interrupt(signum, frame):
    global is_interrupted
    if is_sending:
        is_interrupted = True
    elif is_running:
        raise KeyboardInterrupt


def send(fd, message):
    global is_sending, is_interrupted
    with lock:
        is_sending = True
        try:
            data = json.dumps(message).encode()
            for at in range(0, len(data), PIECE):
                # At most PIPE_BUF bytes: output of other programs cannot get between.
                end = b"." if at + PIECE >= len(data) else b"+"
                os.write(fd, b"\0" + MARK + end + data[at:at + PIECE] + b"\0")
        finally:
            is_sending = False
    if is_interrupted and is_running:
        is_interrupted = False
        raise KeyboardInterrupt


def text_of(value):
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if isinstance(value, str) else json.dumps(value)


def columns_of(value):
    # Returns the columns of a table of pandas as JSON text.
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
    if not isinstance(frame, type) or not isinstance(value, frame):
        return None
    def plain(each):
        return None if each != each else each.isoformat() if hasattr(each, "isoformat") else each
    try:
        columns = value.to_dict(orient="list")
        rows = {str(name): [plain(each) for each in values] for name, values in columns.items()}
        return json.dumps(rows, default=str)
    except Exception:
        return None


def bundle_of(value):
    data = {"text/plain": repr(value)[:2**20]}
    if type(value) in (dict, list):
        try:
            data["application/json"] = json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            pass
    if isinstance(value, type):
        return data
    found = {}
    for name, method in METHODS.items():
        function = getattr(type(value), method, None)
        try:
            found[name] = function(value) if callable(function) else None
        except Exception:
            pass
    found["e2b/data"] = columns_of(value) if has_tables else None
    function = getattr(type(value), "_repr_mimebundle_", None)
    try:
        bundle = function(value, include=None, exclude=None) if callable(function) else {}
        found.update(bundle[0] if isinstance(bundle, tuple) else bundle or {})
    except Exception:
        pass
    for name, each in found.items():
        if isinstance(each, tuple):
            each = each[0]
        if each is not None:
            data[str(name)] = text_of(each)
    return data


def show(data, is_value):
    for name in [name for name, each in data.items() if len(each) > MOST_DATA]:
        print("a result of type", name, "exceeds 4 MiB and is omitted", file=sys.stderr)
        del data[name]
    sys.stdout.flush()
    send(1, {"type": "result", "run": number, "data": data, "isValue": is_value})


def display(*values):
    for value in values:
        show(bundle_of(value), False)


def show_figures():
    plot = sys.modules.get("matplotlib.pyplot")
    for each in plot.get_fignums() if plot else []:
        figure = plot.figure(each)
        image = io.BytesIO()
        figure.savefig(image, format="png", bbox_inches="tight")
        plot.close(figure)
        show({"text/plain": repr(figure), "image/png": text_of(image.getvalue())}, False)


loop = None
features = 0
FEATURES = 0
for feature in __future__.all_feature_names:
    FEATURES |= getattr(__future__, feature).compiler_flag


def evaluate(code):
    global loop
    value = eval(code, main.__dict__)
    if not code.co_flags & inspect.CO_COROUTINE:
        return value
    if loop is None:
        import asyncio
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    return loop.run_until_complete(value)


def dedented(text):
    # Without this, code from an indented literal of a client fails; notebooks accept it as well.
    lines = text.splitlines(True)
    first = next((each for each in lines if each.strip() and not each.lstrip().startswith("#")), "")
    indent = first[:len(first) - len(first.lstrip(" \t"))]
    if not indent:
        return text
    return "".join(each[len(indent):] if each.startswith(indent) else each for each in lines)


def shell(command, program=None):
    import importlib, subprocess
    sys.stdout.flush()
    if program is None:
        subprocess.call(command, shell=True)
    else:
        subprocess.run([program, "-c", command], check=True)
    # It may have installed modules.
    importlib.invalidate_caches()


def lines_of(command):
    import subprocess
    sys.stdout.flush()
    return subprocess.run(command, shell=True, stdout=subprocess.PIPE).stdout.decode(errors="replace").splitlines()


def change_directory(path):
    os.chdir(os.path.expanduser(path.strip("'\"") or "~"))
    print(os.getcwd())


SUPPORTED = "!COMMAND, NAME = !COMMAND, %cd, %pip, %matplotlib and, as the first line, %%bash"


def python_of(line):
    # Returns Python code for a line of notebooks that is not Python; None for others.
    start = line.lstrip(" \t")
    indent = line[:len(line) - len(start)]
    name, _, rest = start.rstrip().partition(" ")
    target, is_assigned, command = start.partition("=")
    if start.startswith("!!"):
        return indent + "__lines__(%r)" % start[2:]
    if start.startswith("!"):
        return indent + "__shell__(%r)" % start[1:]
    names = target.replace(",", " ").split()
    if is_assigned and command.lstrip().startswith("!") and all(map(str.isidentifier, names)):
        return indent + "%s= __lines__(%r)" % (target, command.lstrip()[1:])
    if name == "%pip":
        import shlex
        return indent + "__shell__(%r)" % (shlex.quote(sys.executable) + " -m " + start[1:])
    if name == "%cd":
        return indent + "__cd__(%r)" % rest
    if name == "%matplotlib":
        return indent + "pass"
    if name.startswith("%"):
        raise SyntaxError("%s is a command of IPython, not Python; supported are %s" % (name, SUPPORTED))
    if start.startswith("?") or start.rstrip().endswith("?"):
        asked = start.strip().strip("?")
        raise SyntaxError("%s is a question to IPython, not Python; use help(%s)" % (start.strip(), asked))
    return None


def parse(text, name):
    first, _, rest = text.lstrip().partition("\n")
    if first.rstrip() in ("%%bash", "%%sh"):
        return ast.parse("__shell__(%r, %r)" % (rest, first.strip()[2:]), name)
    # Only lines that are an error otherwise: a text of several lines may contain the same.
    lines = text.split("\n")
    for _ in range(MOST_COMMANDS):
        try:
            return ast.parse("\n".join(lines), name)
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            code = python_of(lines[at]) if 0 <= at < len(lines) else None
            if code is None:
                raise
            lines[at] = code
    return ast.parse("\n".join(lines), name)


class Variables:
    def __init__(self, values):
        self.values = values
        self.old = {name: os.environ.get(name) for name in values}

    def set(self):
        os.environ.update(self.values)

    def reset(self):
        for name, value in self.old.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run(text):
    text = dedented(text)
    name = "<cell %d>" % count
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    tree = parse(text, name)
    last = tree.body.pop().value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    global features
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | features
    code = compile(tree, name, "exec", flags, True)
    # What a piece imports from __future__ is valid for the next ones.
    features |= code.co_flags & FEATURES
    evaluate(code)
    flags |= features
    if last is not None:
        value = evaluate(compile(ast.Expression(last), name, "eval", flags, True))
        if value is not None:
            main._ = value
            show(bundle_of(value), True)
    show_figures()


def error_of(error):
    try:
        trace = error.__traceback__
        while trace and not trace.tb_frame.f_code.co_filename.startswith("<cell "):
            trace = trace.tb_next
        shown = traceback.TracebackException(type(error), error, trace)
        # Frames of this program.
        shown.stack[:] = [each for each in shown.stack if each.filename != "<string>"]
        text = "".join(shown.format())[-100000:]
        value = str(error)[:10000]
        if isinstance(error, NameError) and re.search(r"'(In|Out|get_ipython)'", value):
            value += "; only IPython has it, and this is Python, in which _ is the last value"
        return {"name": type(error).__name__, "value": value, "traceback": text}
    except Exception:
        return {"name": "Exception", "value": "the error has no text", "traceback": ""}


main.display = display
main.__shell__, main.__lines__, main.__cd__ = shell, lines_of, change_directory
signal.signal(signal.SIGINT, interrupt)
send(1, {"type": "ready", "version": "%d.%d.%d" % sys.version_info[:3]})
for line in requests:
    request = json.loads(line)
    number = request["run"]
    has_tables = request.get("tables", False)
    count += 1
    error = None
    variables = Variables(request.get("environment", {}))
    try:
        variables.set()
        is_interrupted = False
        is_running = True
        run(request["code"])
        is_running = False
    except BaseException as raised:
        is_running = False
        error = error_of(raised)
    try:
        variables.reset()
    except Exception:
        pass
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    send(2, {"type": "mark", "run": number})
    send(1, {"type": "end", "run": number, "count": count, "error": error})
os._exit(0)
`
