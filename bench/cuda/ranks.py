"""The Rank of a space file, a text or named parts (docs/formats.md), for the scripts that fit or evaluate one."""
import json, re

MEMBER = re.compile(r'^( *)"Rank":\s*', re.M)
WORD = re.compile(r"'[^']*'|(?<![\w.])[A-Za-z_]\w*")

def parts_of(rank):
    """Returns [(name, text)] of the parts of a Rank, the value last."""
    if isinstance(rank, str):
        return [("Value", rank)]
    return [(part["Name"], str(part["Value"])) for part in rank["Let"]] + [("Value", rank["Value"])]

def written_out(rank):
    """Returns a Rank as one expression, in which the parts are written out."""
    known = {}
    for name, text in parts_of(rank):
        value = WORD.sub(lambda m: known.get(m[0], m[0]), text)
        known[name] = "(%s)" % value
    return value

def filled(texts, constants):
    """Makes a Rank of {name: text}, the value last and without empty texts. {2*a} in a text stands for the number that it is with
    these constants."""
    number = lambda m: "%.4g" % eval(m[1], {}, constants)
    *let, (_, value) = ((name, re.sub(r"\{(.*?)\}", number, text)) for name, text in texts.items() if text)
    return {"Let": [{"Name": name, "Value": text} for name, text in let], "Value": value}

def in_lines(rank, indent):
    """Returns a Rank as JSON with each part on a line of its own. `indent` is that of the member."""
    if isinstance(rank, str):
        return json.dumps(rank)
    parts = ",\n".join('%s{ "Name": %s, "Value": %s }' % (3 * indent, json.dumps(part["Name"]), json.dumps(part["Value"])) for part in rank["Let"])
    return '{\n%s"Let": [\n%s\n%s],\n%s"Value": %s\n%s}' % (2 * indent, parts, 2 * indent, 2 * indent, json.dumps(rank["Value"]), indent)

def replaced(space, rank):
    """Returns the text of a space file with this Rank in place of its own."""
    found = MEMBER.search(space)
    _, end = json.JSONDecoder().raw_decode(space, found.end())
    return space[:found.start()] + '%s"Rank": %s' % (found[1], in_lines(rank, found[1])) + space[end:]
