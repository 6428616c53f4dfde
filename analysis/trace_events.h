// Events of a trace as text: one JSON object each, streamed into a gzip file.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/gzip_file.h"
#include "analysis/intervals.h"
#include "backend/runtime/handles.h"

namespace syncopate::analysis {

/// A row of the trace.
struct TraceRow {
  std::int64_t process = 0;
  std::int64_t thread = 0;
};

/// Bytes a nanosecond, which are GB/s, in thousandths.
inline std::uint64_t milli_gbps(std::uint64_t bytes, const Interval& time) {
  return bytes * 1000 /
         static_cast<std::uint64_t>(std::max<runtime::Nanos>(time.end - time.begin, 1));
}

/// Writes the document's head, then events in the order of the calls, then its end. Needs memory
/// for one buffer and one text for each different name. Not thread-safe.
class TraceEvents {
 public:
  explicit TraceEvents(const std::filesystem::path& file) : file_(file) {}

  /// `head`: the members of the document before its events, without braces.
  void begin(std::string_view head);
  void end();

  void process(std::int64_t pid, std::string_view name, std::string_view label,
               std::int64_t sort_index);
  void thread(TraceRow row, std::string_view name);

  /// One slice. `args` is a format of the members of its "args", for the rest of the arguments.
  template <class... Args>
  void slice(std::string_view category, runtime::Name name, TraceRow row, const Interval& time,
             fmt::format_string<Args...> args, Args&&... values) {
    quoted_slice(category, quoted(name), row, time, args, std::forward<Args>(values)...);
  }
  /// The same with a name that need not be kept: in JSON, quotes included.
  template <class... Args>
  void quoted_slice(std::string_view category, std::string_view name, TraceRow row,
                    const Interval& time, fmt::format_string<Args...> args, Args&&... values) {
    open_slice(category, name, row, time);
    put(args, std::forward<Args>(values)...);
    put("}}}}");
  }

  void flow_start(std::uint64_t id, TraceRow row, runtime::Nanos at) { flow('s', "", id, row, at); }
  void flow_end(std::uint64_t id, TraceRow row, runtime::Nanos at) {
    flow('f', ", \"bp\": \"e\"", id, row, at);
  }

  /// `name` in JSON, quotes included; kept, so that each is escaped once. Valid until the end.
  const std::string& quoted(runtime::Name name);

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
  }
  void next();
  void put_time(runtime::Nanos time);
  void open_slice(std::string_view category, std::string_view name, TraceRow row,
                  const Interval& time);
  void flow(char phase, std::string_view binding, std::uint64_t id, TraceRow row,
            runtime::Nanos at);

  static constexpr std::size_t kFlushBytes = std::size_t{1} << 16;

  GzipFile file_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
  std::unordered_map<runtime::Name, std::string> names_;
};

}  // namespace syncopate::analysis
