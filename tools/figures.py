#!/usr/bin/env python3
"""Counts in the source tree: files, lines, long functions, long parameter lists, circles of includes, comments.

Usage: figures.py [TREE] [--long] [--check] [--alike] [--since COMMIT]
--long lists what is over a limit; --check fails if something over a limit does not say why.
--alike lists functions whose bodies differ in nothing but names, numbers and texts, the longest first.
--since divides the lines of HEAD, by git blame with moved and copied lines followed (it takes some minutes):
lines that stood in the commit, lines by which functions that were there have grown or were written anew, and
functions and files that came since. A file with less than a tenth of old lines counts as one that came since.

A file over 600 lines says so in its opening comment, a function over 60 lines in the comment before it,
with the words "long because". clang-format puts the braces of a function at the start of a line, which
is what this script goes by.
"""
import argparse, collections, os, re, subprocess, sys

FILE_LINES, FUNCTION_LINES, PARAMETERS = 600, 60, 6

def sources(tree):
    for folder, _, names in sorted(os.walk(os.path.join(tree, "src"))):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.join(folder, name)

def functions(lines):
    """Yields (name, first line, lines, parameters, comment before it) for each function that is defined."""
    for i, line in enumerate(lines):
        if line != "{" or i == 0:
            continue
        begin = i - 1
        while begin > 0 and lines[begin - 1].strip() and not re.match(r"[}#/]|.*[;*]/?$", lines[begin - 1]):
            begin -= 1
        head = " ".join(lines[begin:i])
        match = re.search(r"(\w+)\((.*)\)$", head)
        if not match:
            continue
        end = next((j for j in range(i, len(lines)) if lines[j] == "}"), len(lines) - 1)
        comment = begin
        while comment > 0 and lines[comment - 1].strip() and not lines[comment - 1].startswith(("}", "#")):
            comment -= 1
        depth, count = 0, 1
        for c in match.group(2):
            depth += (c == "(") - (c == ")")
            count += c == "," and depth == 0
        yield match.group(1), begin + 1, end - begin + 1, count, "\n".join(lines[comment:begin])

def circles(graph):
    """Returns the strongly connected parts of more than one file, by Tarjan's algorithm."""
    index, low, stack, on, found = {}, {}, [], set(), []
    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v); on.add(v)
        for w in graph.get(v, ()):
            if w not in index:
                visit(w); low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            part = []
            while True:
                w = stack.pop(); on.discard(w); part.append(w)
                if w == v:
                    break
            if len(part) > 1:
                found.append(sorted(part))
    for v in sorted(graph):
        if v not in index:
            visit(v)
    return found

def alike(tree):
    """Prints the functions that have the same shape: of the body without comments, what it calls of ours is kept."""
    shapes = collections.defaultdict(list)
    for path in sources(tree):
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")[:-1]
        for function, first, length, _, _ in functions(lines):
            body = "\n".join(lines[first - 1:first - 1 + length]).split("\n{", 1)[1]
            names, shape = {}, []
            for token in re.findall(r'/\*.*?\*/|"(?:[^"\\]|\\.)*"|\w+|\S', body, re.S):
                if token.startswith("/*"):
                    continue
                own = re.match(r"[A-Za-z]", token) and not re.match(r"(ak|AK|json)_|(if|for|while|return)$", token)
                shape.append(names.setdefault(token, "v%d" % len(names)) if own or token[0] == '"' else token)
            shapes[" ".join(shape)].append((length, "%s:%d: %s" % (os.path.relpath(path, tree), first, function)))
    for same in sorted((s for s in shapes.values() if len(s) > 1 and s[0][0] > 4), key=lambda s: -s[0][0]):
        print("%d lines: %s" % (same[0][0], ", ".join(where for _, where in same)))

def lines_since(tree, commit):
    """Prints for each folder how many lines are old, grown, in new functions and in new files."""
    def git(*words):
        return subprocess.run(["git", "-C", tree, *words], capture_output=True, text=True, errors="replace",
                              check=True).stdout
    old = set(git("rev-list", commit).split())
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for path in sources(tree):
        name = os.path.relpath(path, tree)
        blame = git("blame", "-w", "-M", "-C", "-C", "--porcelain", "HEAD", "--", name)
        stood = [m in old for m in re.findall(r"^([0-9a-f]{40}) \d+ \d+", blame, re.M)]
        with open(path, encoding="utf-8") as f:
            lines = f.read().split("\n")[:-1]
        folder = "/".join(os.path.dirname(name).split("/")[1:3])
        if sum(stood) < len(stood) / 10:
            sums[folder][3] += len(stood)
            continue
        added = sum(length - sum(stood[first - 1:first - 1 + length]) for _, first, length, _, _ in functions(lines)
                    if not any(stood[first - 1:first - 1 + length]))
        sums[folder][0] += sum(stood)
        sums[folder][1] += len(stood) - sum(stood) - added
        sums[folder][2] += added
    print("%-16s %8s %8s %14s %10s" % ("folder", "stood", "grown", "new functions", "new files"))
    for folder, row in sorted(sums.items()) + [("all", [sum(column) for column in zip(*sums.values())])]:
        print("%-16s %8d %8d %14d %10d" % (folder, *row))

def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("tree", nargs="?", default=".")
    ap.add_argument("--long", action="store_true")
    ap.add_argument("--check", action="store_true")
    ap.add_argument("--alike", action="store_true")
    ap.add_argument("--since", metavar="COMMIT")
    args = ap.parse_args()
    if args.alike:
        alike(args.tree)
        return
    if args.since:
        lines_since(args.tree, args.since)
        return
    sys.setrecursionlimit(10000)
    files = lines_all = count = lines_in = long_files = long_functions = many = includes = asserts = ladders = 0
    comments = comment_lines = header_lines = 0
    silent, over, graph, statuses = [], [], {}, 0
    for path in sources(args.tree):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        lines = text.split("\n")[:-1]
        name = os.path.relpath(path, args.tree)
        files += 1
        lines_all += len(lines)
        header_lines += len(lines) if name.endswith(".h") else 0
        own = re.findall(r'^#include "([^"]+)"', text, re.M)
        includes += len(own)
        stem = os.path.relpath(path, os.path.join(args.tree, "src"))[:-2]
        graph.setdefault(stem, set()).update(i[:-2] for i in own if i.endswith(".h") and i[:-2] != stem)
        asserts += len(re.findall(r"\b(?:assert|AK_ASSERT)\(", text))
        ladders += text.count("if (status == AK_OK")
        for comment in re.findall(r"/\*(?! *-{3}).*?\*/", text, re.S):
            comments += 1
            comment_lines += comment.count("\n") + 1
        opening = text[:text.index("*/")] if text.startswith("/*") else ""
        if len(lines) > FILE_LINES:
            long_files += 1
            over.append("%s: %d lines" % (name, len(lines)))
            if "long because" not in opening:
                silent.append(over[-1])
        for function, first, length, parameters, comment in functions(lines):
            count += 1
            lines_in += length
            if length > FUNCTION_LINES:
                long_functions += 1
                over.append("%s:%d: %s has %d lines" % (name, first, function, length))
                if "long because" not in comment:
                    silent.append(over[-1])
            if parameters > PARAMETERS:
                many += 1
                over.append("%s:%d: %s has %d parameters" % (name, first, function, parameters))
    graph = {v: [w for w in ws if w in graph] for v, ws in graph.items()}
    rings = circles(graph)
    if args.check:
        for line in silent:
            print("figures: %s and does not say why" % line)
        for ring in rings:
            print("figures: these include each other in a circle: %s" % ", ".join(ring))
        sys.exit(1 if silent or rings else 0)
    if args.long:
        print("\n".join(over + ["circle: " + ", ".join(ring) for ring in rings]))
        return
    print("%d files, %d lines, %d functions (mean %.0f lines)" % (files, lines_all, count, lines_in / max(count, 1)))
    print("%d files over %d lines, %d functions over %d lines, %d with more than %d parameters" % (
        long_files, FILE_LINES, long_functions, FUNCTION_LINES, many, PARAMETERS))
    print("%d circles of includes, %.1f own includes a file, %d asserts, %d tests of status == AK_OK" % (
        len(rings), includes / max(files, 1), asserts, ladders))
    print("%d comments of %d lines; %d lines of headers" % (comments, comment_lines, header_lines))

main()
