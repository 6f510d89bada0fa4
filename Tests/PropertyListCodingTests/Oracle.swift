import Foundation
import TestSupport

/// Another reader of property lists, which reads many files in few processes.
enum Oracle {
    enum Answer: Equatable {
        /// The value, as `exactText`, or `millisecondText` for `plistlib`.
        case read(String)
        case refused
        /// It crashed, or took too long.
        case died
    }

    /// Runs Foundation, restarted without the file that killed it.
    static func foundation(_ files: [Data]) throws -> [Answer] {
        try ask(files) { try Subprocess.run("FoundationOracle", ["--batch"], input: $0) }
    }

    /// Runs `plistlib`.
    static func plistlib(_ files: [Data]) throws -> [Answer] {
        try ask(files) { try Subprocess.run("python3", ["-c", script], input: $0) }
    }

    /// Runs Python's `json`, strictly: a repeated key, null, NaN, and a number or a surrogate that no property list has are refused.
    static func json(_ files: [Data]) throws -> [Answer] {
        try ask(files) { try Subprocess.run("python3", ["-c", jsonScript], input: $0) }
    }

    private static func ask(_ files: [Data], _ run: (Data) throws -> Subprocess) throws -> [Answer] {
        var answers: [Answer] = []
        while answers.count < files.count {
            let rest = files[answers.count...].map { $0.base64EncodedString() + "\n" }.joined()
            let lines = try run(Data(rest.utf8)).text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            answers += lines.map { $0 == "refused" ? .refused : .read(String($0)) }
            if answers.count < files.count { answers.append(.died) }
        }
        return answers
    }

    private static let jsonScript = """
        import base64, json, struct, sys, unicodedata
        sys.setrecursionlimit(5000)
        def refuse(text): raise ValueError(text)
        def integer(text):
            number = int(text)
            return number if -2**63 <= number < 2**64 else refuse(text)
        def real(text):
            number = float(text)
            return number if abs(number) != float("inf") else refuse(text)
        def entries(pairs):
            if len({unicodedata.normalize("NFC", key) for key, value in pairs}) < len(pairs): refuse("repeated")
            return dict(pairs)
        def text(value):
            if value is None: refuse("null")
            if isinstance(value, bool): return "btrue" if value else "bfalse"
            if isinstance(value, int): return "i%d" % value
            if isinstance(value, float): return "r%x" % struct.unpack(">Q", struct.pack(">d", value))
            if isinstance(value, str): return "s" + value.encode().hex()
            if isinstance(value, list): return "[" + ",".join(map(text, value)) + "]"
            if list(value) == ["CF$UID"] and type(value["CF$UID"]) is int and value["CF$UID"] >= 0: return "u%d" % value["CF$UID"]
            return "{" + ",".join(key + "=" + text for key, text in sorted((key.encode().hex(), text(value[key])) for key in value)) + "}"
        for line in sys.stdin:
            try:
                root = json.loads(base64.b64decode(line), parse_int=integer, parse_float=real, parse_constant=refuse, object_pairs_hook=entries)
                answer = text(root)
            except Exception:
                answer = "refused"
            print(answer, flush=True)
        """

    private static let script = """
        import base64, datetime, plistlib, struct, sys
        def text(value):
            if isinstance(value, bool): return "btrue" if value else "bfalse"
            if isinstance(value, int): return "i%d" % value
            if isinstance(value, float): return "rnan" if value != value else "r%x" % struct.unpack(">Q", struct.pack(">d", value))
            if isinstance(value, str): return "s" + value.encode().hex()
            if isinstance(value, bytes): return "D" + value.hex()
            if isinstance(value, plistlib.UID): return "u%d" % value.data
            if isinstance(value, datetime.datetime):
                return "d%.0f" % ((value - datetime.datetime(2001, 1, 1)) / datetime.timedelta(milliseconds=1))
            if isinstance(value, list): return "[" + ",".join(map(text, value)) + "]"
            # In XML it does not know uids.
            if list(value) == ["CF$UID"] and type(value["CF$UID"]) is int and value["CF$UID"] >= 0: return "u%d" % value["CF$UID"]
            return "{" + ",".join(key + "=" + text for key, text in sorted((key.encode().hex(), text(value[key])) for key in value)) + "}"
        for line in sys.stdin:
            try:
                answer = text(plistlib.loads(base64.b64decode(line)))
            except Exception:
                answer = "refused"
            print(answer, flush=True)
        """
}
