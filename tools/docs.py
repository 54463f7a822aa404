#!/usr/bin/env python3
"""Holds the documents to the source and to their own rules. Usage: docs.py [TREE] [--wrap]

* Each file and function that docs/walkthrough.md names exists, and each hop leads to the next; the walks are short.
* ARCHITECTURE.md lists the folders of src/ in the order in which lint.sh lets them include each other.
* docs/glossary.md has at most 40 words. Identifiers in src/ and include/, and the documents, use no word of its last
  column. Strings of the source and code quotes of documents may: keys of files keep their names.
* Documents besides the changelog explain every option of the command line. docs/formats.md has every member of the JSON
  that commands and runs write, docs/mended.md and docs/trust.md name tests that exist, trust.md counts them, links lead
  somewhere. Functions that they name exist.
* Lines of documents end at column 120, but for tables, code and links. --wrap fills paragraphs anew."""
import glob, os, re, sys, textwrap

DOWN, UP, ACROSS, WIDTH, WORDS = 12, 14, 8, 120, 40
WALK, GLOSSARY = "docs/walkthrough.md", "docs/glossary.md"

def documents(tree):
    return sorted(p for pattern in ("*.md", "docs/*.md", "bench/**/*.md", "kernels/*/README.md")
                  for p in glob.glob(os.path.join(tree, pattern), recursive=True))

def functions_of(text, name):
    return re.search(r"^[a-z].*\b%s\(" % name, text, re.M)

def connected(row, earlier):
    """Returns whether one of two files names a function of the other, or both name a word that the row quotes."""
    names = lambda text, words: any(re.search(r"\b%s\b" % re.escape(w), text) for w in words)
    return (names(earlier["text"], row["functions"]) or names(row["text"], earlier["functions"])
            or any(names(row["text"], [w]) and names(earlier["text"], [w]) for w in row["quoted"]))

def check_walk(tree, complain):
    walks = []
    for line in open(os.path.join(tree, WALK), encoding="utf-8"):
        match = re.match(r"\| (\d+) \| `([^`]+)` \| (.*?) \| (.*) \|$", line)
        if not match:
            continue
        if int(match[1]) == 1:
            walks.append([])
        path = os.path.join(tree, match[2])
        if not os.path.exists(path):
            complain("%s: there is no %s" % (WALK, match[2]))
            continue
        row = {"file": match[2], "text": open(path, encoding="utf-8").read(),
               "functions": re.findall(r"`(\w+)`", match[3]), "quoted": re.findall(r"`(\w+)`", match[4])}
        for function in row["functions"]:
            if not functions_of(row["text"], function):
                complain("%s: %s has no function %s" % (WALK, match[2], function))
        # A row in italics begins in another process, where no call can lead.
        if walks[-1] and "*" not in match[4] and not any(connected(row, earlier) for earlier in walks[-1]):
            complain("%s: nothing leads from an earlier row to %s" % (WALK, match[2]))
        walks[-1].append(row)
    hops = [len(walk) for walk in walks]
    if len(hops) < 2 or hops[0] > DOWN or hops[1] > UP or max(hops[2:], default=0) > ACROSS:
        complain("%s: %s hops; at most %d down, %d up and %d across" % (WALK, hops, DOWN, UP, ACROSS))

def check_folders(tree, complain):
    order = re.search(r'^order="([^"]*)"', open(os.path.join(tree, "tools/lint.sh"), encoding="utf-8").read(), re.M)
    wanted = [name for name in order[1].split() + ["cli"] if os.path.isdir(os.path.join(tree, "src", name))]
    text = open(os.path.join(tree, "ARCHITECTURE.md"), encoding="utf-8").read()
    listed = re.findall(r"^\| `src/(\w+)/` \|", text, re.M)
    if listed != wanted:
        complain("ARCHITECTURE.md: lists %s; lint.sh has %s" % (" ".join(listed), " ".join(wanted)))
    for folder, names in re.findall(r"^\| `(src/\w+/)` \|.*\| (.*) \|$", text, re.M):
        for name in re.findall(r"`([^`]+)`", names):
            if not os.path.exists(os.path.join(tree, folder, name)):
                complain("ARCHITECTURE.md: there is no %s%s" % (folder, name))

# Files that may keep old words, each with the reason.
ALLOWED = {
    "docs/glossary.md": "it lists the words",
    "docs/kernel-log.md": "a log keeps the words of its day",
}

def glossary(tree, complain):
    """Returns the words of the last column, each with the word to use instead."""
    words, count = {}, 0
    for line in open(os.path.join(tree, GLOSSARY), encoding="utf-8"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 3 or cells[0] in ("word", "") or set(cells[0]) == {"-"}:
            continue
        count += 1
        if len(cells[1]) < 10:
            complain("%s: %s has no meaning" % (GLOSSARY, cells[0]))
        words.update((word.strip(), cells[0]) for word in cells[2].split(",") if word.strip())
    if not 0 < count <= WORDS or not words:
        complain("%s: %d words; at most %d" % (GLOSSARY, count, WORDS))
    return words

def identifiers(text):
    """Yields the identifiers of a source with their lines; comments and strings do not count."""
    text = re.sub(r"/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    for number, line in enumerate(text.split("\n"), 1):
        for identifier in re.findall(r"[A-Za-z_]\w*", line):
            yield number, identifier

def prose(text):
    """Yields the lines of a document with their numbers, without code."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith("    "):
            yield number, re.sub(r"`[^`]*`", "", line)

def check_words(tree, complain):
    words = glossary(tree, complain)
    pattern = re.compile(r"\b(%s)s?\b" % "|".join(words), re.I)
    sources = [p for folder in ("src", "include") for kind in ("h", "c", "def")
               for p in glob.glob(os.path.join(tree, folder, "**", "*." + kind), recursive=True)]
    for path in sorted(sources) + documents(tree):
        name = os.path.relpath(path, tree)
        text = open(path, encoding="utf-8").read()
        if name in ALLOWED:
            continue
        for number, part in (prose if name.endswith(".md") else identifiers)(text):
            for match in pattern.finditer(part if name.endswith(".md") else part.replace("_", " ")):
                complain("%s:%d: \"%s\": the glossary says \"%s\"" % (name, number, match[1], words[match[1].lower()]))

# Files that write members of JSON which users read. Those of tools for agents are the protocol's (mcp*.c).
WRITERS = ("src/cli/[!m]*.c", "src/lab/*.c", "src/report/*.c", "src/tuner/*.c", "src/worker/fleet.c")
MEMBER = r'\bak_json_set\w*\(\s*\w+,\s*"(\w+)"'

def check_names(tree, complain):
    read = lambda path: open(os.path.join(tree, path), encoding="utf-8").read()
    texts = {os.path.relpath(p, tree): read(os.path.relpath(p, tree)) for p in documents(tree)}
    explained = "\n".join(text for name, text in texts.items() if name != "CHANGELOG.md")
    for option in re.findall(r'^X\(\w+, "([\w-]+)"', read("src/cli/options.def"), re.M):
        if not re.search(r"--%s(?![\w-])" % option, explained):
            complain("no document explains --%s" % option)
    members = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]+`", re.sub("```", "", texts["docs/formats.md"])))))
    for path in sorted(p for kind in WRITERS for p in glob.glob(os.path.join(tree, kind))):
        for member in sorted(set(re.findall(MEMBER, read(os.path.relpath(path, tree)))) - members):
            complain("docs/formats.md: nothing says what \"%s\" is (%s)" % (member, os.path.relpath(path, tree)))

def check_functions(tree, complain):
    """Names of functions in the documents exist, but for those that exports of a kernel define, and for names of the past."""
    source = "\n".join(open(path, encoding="utf-8", errors="replace").read()
                       for folder in ("src", "include", "runtime", "python", "kernels", "tests", "bench", "examples")
                       for path in glob.glob(os.path.join(tree, folder, "**/*.*"), recursive=True)
                       if re.search(r"\.(c|h|cu|cl|py|def|json|in|sh)$", path) and "/results/" not in path)
    known = set(re.findall(r"\bakr?_[a-z0-9_]+", source))
    kernels = tuple("ak_%s_" % os.path.basename(os.path.dirname(p)) for p in glob.glob(os.path.join(tree, "kernels/*/problem.json")))
    for path in documents(tree):
        if os.path.basename(path) in ("mended.md", "kernel-log.md", "CHANGELOG.md"):
            continue
        for name in re.findall(r"\bakr?_[a-z0-9_]*[a-z0-9]\b(?![*<])", open(path, encoding="utf-8").read()):
            if name not in known and not name.startswith(kernels):
                complain("%s: there is no %s" % (os.path.relpath(path, tree), name))

def check_tests(tree, complain):
    tests = {p: open(p, encoding="utf-8", errors="replace").read()
             for kind in ("CMakeLists.txt", "adversarial/*.c", "cli/*.sh", "fuzz/*.c", "python/*.py", "unit/*.c")
             for p in glob.glob(os.path.join(tree, "tests", kind))}
    known = "\n".join([os.path.splitext(p)[0] + " " for p in tests] + list(tests.values()))
    for name in ("docs/mended.md", "docs/trust.md"):
        text = open(os.path.join(tree, name), encoding="utf-8").read()
        for test, functions, more in re.findall(
                r"`((?:adversarial|cli|fuzz|python|unit)\b[/\w]*)(: [^`]*)?`((?:, `[a-z]\w+`)*)", text):
            for wanted in [test.replace("fuzz/", "fuzz/fuzz_")] + re.findall(r"\w+", functions + more):
                if not re.search(r"\b%s\b" % re.escape(wanted), known):
                    complain("%s: there is no test %s" % (name, wanted))

    host, opencl, cuda = (re.search(pattern, text) for pattern in (
        r"\n\* (\d+) attacks on the host and (\d+) in place",
        r"`adversarial/opencl` runs (\d+) attacks, (\d+) in place", r"CUDA device (\d+) attacks,\D*(\d+) more"))
    suite = tests[os.path.join(tree, "tests", "adversarial/test_adversarial.c")]
    for told, folder in ((host, ""), (opencl, "opencl"), (cuda, "cuda")):
        for said, part in zip(told.groups(), ("attacks", "in_place")):
            path = os.path.join(tree, "tests/adversarial", folder + ("_in_place" if part == "in_place" else ""))
            rows = open(os.path.join(path, "attacks.def"), encoding="utf-8").read() if folder else \
                re.search(r"attack %s\[\] = \{(.*?)^\};" % part, suite, re.M | re.S)[1]
            count = len(re.findall(r'[({][1-9]\d*, "', rows))  # 0 is honest
            if count != int(said):
                complain("docs/trust.md: says %s, but %s %s has %d attacks" % (said, folder or "host", part, count))

def check_links(tree, complain):
    slug = lambda title: re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    for path in documents(tree):
        text = open(path, encoding="utf-8").read()
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, anchor = link.partition("#")
            target = os.path.join(os.path.dirname(path), file) if file else path
            if ":" in link:
                continue
            titles = re.findall(r"^#+ (.*)$", open(target, encoding="utf-8").read(), re.M) if target.endswith(".md") \
                and os.path.exists(target) else []
            if not os.path.exists(target) or (anchor and titles and anchor not in map(slug, titles)):
                complain("%s: the link %s leads nowhere" % (os.path.relpath(path, tree), link))

def too_long(line):
    return len(line) > WIDTH and not line.startswith(("|", "    ", "#")) and " " in line[:WIDTH] and "](" not in line

def check_width(tree, complain):
    for path in documents(tree):
        fenced = False
        for number, line in enumerate(open(path, encoding="utf-8").read().split("\n"), 1):
            fenced ^= line.startswith("```")
            if not fenced and too_long(line):
                complain("%s:%d: a line is longer than %d columns" % (os.path.relpath(path, tree), number, WIDTH))

def wrap(tree):
    """Wraps each paragraph, or item of a list, that has too long a line."""
    for path in documents(tree):
        lines, out, fenced, at = open(path, encoding="utf-8").read().split("\n"), [], False, 0
        while at < len(lines):
            line = lines[at]
            fenced ^= line.startswith("```")
            plain = not fenced and line.strip() and not line.startswith(("|", "    ", "#", "```", "<", "!"))
            if not plain:
                out.append(line)
                at += 1
                continue
            end = at + 1
            while (end < len(lines) and lines[end].strip() and not re.match(r"(\||    |#|```|<|\s*[*-] |\s*\d+\. )", lines[end])):
                end += 1
            block = lines[at:end]
            if any(len(l) > WIDTH for l in block):
                match = re.match(r"(\s*(?:[*-] |\d+\. )?)", block[0])
                indent = match[1]
                text = " ".join([block[0][len(indent):]] + [l.strip() for l in block[1:]])
                block = textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent),
                                      break_long_words=False, break_on_hyphens=False)
            out += block
            at = end
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(out))

def main():
    args = [a for a in sys.argv[1:] if not a.startswith("--")]
    tree = args[0] if args else "."
    if "--wrap" in sys.argv:
        wrap(tree)
        return
    bad = []
    for check in (check_walk, check_folders, check_names, check_functions, check_tests, check_links, check_words, check_width):
        check(tree, bad.append)
    print("\n".join("docs: " + line for line in bad) if bad else "docs: clean")
    sys.exit(1 if bad else 0)

main()
