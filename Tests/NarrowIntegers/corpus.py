"""Property lists for the codecs, and a check of what they make of them.

usage: corpus.py make FOLDER      writes `input`, which the program reads, with the same seed every time
       corpus.py check FOLDER     compares `narrow` and `wide`, what programs have answered, with each other and with Python's plistlib
"""
import datetime, math, pathlib, plistlib, random, struct, sys

FORMATS = plistlib.FMT_BINARY, plistlib.FMT_XML
COUNT = 150


def leaf(random, format):
    kind = random.randrange(8 if format == plistlib.FMT_BINARY else 7)
    if kind == 0:
        bits = random.randrange(65)
        return random.choice([random.getrandbits(bits), -random.getrandbits(min(bits, 63)), 2**63, 2**64 - 1, -(2**63), 2**31, -(2**31) - 1])
    if kind == 1:
        number = struct.unpack(">d", random.randbytes(8))[0]
        return random.choice([0.0 if math.isnan(number) else number, random.uniform(-1e6, 1e6), random.randrange(1000) / 8, math.inf, -0.0])
    if kind == 2:
        seconds = random.choice([random.randrange(-63_113_904_000, 252_423_993_600), random.randrange(-(2**32), 2**32)])
        fraction = random.choice([0, 0.5]) if format == plistlib.FMT_BINARY else 0
        return datetime.datetime(2001, 1, 1) + datetime.timedelta(seconds=seconds + fraction)
    if kind == 3:
        return random.randbytes(random.choice([0, 3, 14, 15, 200]))
    if kind == 4:
        return random.random() < 0.5
    if kind == 7:
        return plistlib.UID(random.getrandbits(random.randrange(65)))
    return text(random)


def text(random):
    letters = random.choice(["abc", "<&>\"'\t\n", "äöü€", "\U0001F600é", "ab€\U0001F600 "])
    return "".join(random.choices(letters, k=random.choice([0, 1, 5, 14, 15, 16, 90])))


def value(random, format, depth=0):
    if depth > 3 or random.random() < 0.6:
        return leaf(random, format)
    count = random.choice([0, 1, 3, 6])
    if random.random() < 0.5:
        return [value(random, format, depth + 1) for _ in range(count)]
    return {f"{random.getrandbits(40):x}{text(random)}": value(random, format, depth + 1) for _ in range(count)}


def documents():
    """The bytes of each document, and its value if it has one that is known."""
    generator = random.Random(20260131)
    for year in "-999999999", "0000", "0001", "9999", "10000", "999999999":
        yield f"<plist><dict><key>a</key><date>{year}-03-01T12:34:56Z</date></dict></plist>".encode(), None
    for seconds in 8.9e15, -8.9e15, 9e15, 1e300, math.inf, math.nan, 252_423_993_600, -63_113_904_001, 2.0**31, -(2.0**31) - 0.25:
        # A binary property list with this date as its only object.
        yield b"bplist00\x33" + struct.pack(">d", seconds) + bytes([8]) + bytes(6) + b"\1\1" + struct.pack(">QQQ", 1, 0, 17), None
    for format in FORMATS:
        # More leaves than the writer's hash table has room for at first.
        large = {f"key {number}": number * 7 if number % 3 else f"text {number}" for number in range(2000)}
        for root in [large, large | {"key 5": 1, "added": 2}]:
            yield plistlib.dumps(root, fmt=format), root
        for _ in range(COUNT):
            root = {f"key {number}": value(generator, format) for number in range(generator.randrange(12))}
            document = plistlib.dumps(root, fmt=format)
            yield document, root
            # The same with an error somewhere, often in the numbers of the trailer.
            damaged = bytearray(document)
            for _ in range(generator.randrange(1, 4)):
                position = generator.choice([generator.randrange(len(damaged)), max(0, len(damaged) - generator.randrange(1, 33))])
                damaged[position] = generator.choice([0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)])
            yield damaged[: generator.choice([len(damaged), generator.randrange(len(damaged))])], None


def plain(value, whole=False):
    """A value of which equal ones have the same type and the same bits; dates in whole seconds, as XML has them."""
    if isinstance(value, dict):
        return {key: plain(child, whole) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child, whole) for child in value]
    if isinstance(value, float):
        return "real", struct.pack(">d", value)
    if isinstance(value, datetime.datetime):
        return "date", value.replace(microsecond=0) if whole else value
    return type(value).__name__, value.data if isinstance(value, plistlib.UID) else value


def frames(bytes):
    offset = 0
    while offset < len(bytes):
        size = int.from_bytes(bytes[offset : offset + 4], "big")
        yield bytes[offset + 4 : offset + 4 + size]
        offset += 4 + size


def edited(root):
    keys = sorted(root, key=lambda key: key.encode())
    root = root | {"added": [1, {"inside": True}]}
    if len(keys) > 1:
        root[keys[-1]] = -7
    if keys:
        del root[keys[0]]
    return root


def check(folder):
    narrow, wide = (list(frames((folder / name).read_bytes())) for name in ("narrow.output", "wide.output"))
    assert len(narrow) == len(wide) == 8 * len(list(documents())), f"{len(narrow)} and {len(wide)} answers"
    read = 0
    for number, (document, root) in enumerate(documents()):
        answers = narrow[8 * number : 8 * number + 8]
        names = "error", "binary", "XML", "description", "difference", "log", "edited binary", "edited XML"
        for name, answer, expected in zip(names, answers, wide[8 * number : 8 * number + 8]):
            assert answer == expected, f"document {number}, {name}:\n{answer[:400]}\nwhere Int has 64 bits:\n{expected[:400]}\nof\n{document}"
        if root is None:
            continue
        read += 1
        assert not answers[0], f"document {number}: {answers[0]}"
        for name, answer, expected in zip(names[1:], answers[1:], [root, root, None, None, None, edited(root), edited(root)]):
            # A uid is written as a dictionary in XML.
            if expected is None or "XML" in name and document.startswith(b"bplist"):
                continue
            assert plain(plistlib.loads(answer)) == plain(expected), f"document {number}, {name}: another value"
    print(f"32-bit integers: {len(narrow) // 8} documents, of which {read} are well-formed, are read and written as with 64-bit ones")


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "make":
        all = [document for document, _ in documents()]
        (folder / "input").write_bytes(b"".join(len(document).to_bytes(4, "big") + document for document in all))
    else:
        check(folder)
