#if os(Linux)
    import Foundation

    /// The bytes that the process has allocated and not freed; meaningless if a sanitizer manages the heap.
    var heapUse: Int {
        // Swift's module of the C library has no `malloc.h`.
        typealias Report = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
        guard let report = dlsym(nil, "malloc_info").map({ unsafeBitCast($0, to: Report.self) }) else { return 0 }
        var text: UnsafeMutablePointer<CChar>?
        var count = 0
        guard let file = open_memstream(&text, &count) else { return 0 }
        _ = report(0, file)
        fclose(file)
        defer { free(text) }
        // Totals follow the values of the arenas.
        let totals = text.map { String(cString: $0) }?.components(separatedBy: "</heap>").last ?? ""
        func size(_ name: String) -> Int {
            guard let place = totals.range(of: name) else { return 0 }
            let rest = totals[place.upperBound...]
            return rest.range(of: "size=\"").flatMap { Int(rest[$0.upperBound...].prefix { $0.isNumber }) } ?? 0
        }
        return size("system type=\"current\"") + size("total type=\"mmap\"") - size("total type=\"fast\"") - size("total type=\"rest\"")
    }

    /// The peak memory of the process in bytes; 0 if a sanitizer uses several times as much.
    var peakMemory: Int {
        if dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil { return 0 }
        // The system's usage counter starts with the memory of the parent process.
        return memory("VmHWM:")
    }

    /// The memory in which the process has values, in bytes; 0 if a sanitizer uses several times as much.
    var residentMemory: Int {
        if dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil { return 0 }
        return memory("RssAnon:")
    }

    private func memory(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return (Int(line.filter(\.isNumber)) ?? 0) * 1024
    }
#else
    import Darwin

    /// The bytes that the process has allocated and not freed.
    var heapUse: Int {
        Int(mstats().bytes_used)
    }

    /// The peak memory of the process in bytes.
    var peakMemory: Int {
        var usage = rusage()
        getrusage(RUSAGE_SELF, &usage)
        return usage.ru_maxrss
    }

    /// The memory in which the process has values is not measured here.
    var residentMemory: Int { 0 }
#endif
